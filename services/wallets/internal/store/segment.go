package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/wallet"
)

const (
	countAddressesSQL = `SELECT coalesce((SELECT last_seq FROM counters WHERE mode = $1 AND family = $2), 0)`

	afterSQL = `SELECT seq, key FROM addresses WHERE mode = $1 AND family = $2 AND seq > $3 ORDER BY seq LIMIT $4`

	segmentsSQL = `SELECT last_seq, ends FROM address_segments WHERE mode = $1 AND family = $2 AND last_seq > $3 ORDER BY last_seq LIMIT $4`

	// A counter grows by what its transaction commits, so the addresses below it are all there.
	unsealedSQL = `SELECT c.mode, c.family FROM counters c WHERE c.last_seq - coalesce((SELECT max(s.last_seq) FROM address_segments s
WHERE s.mode = c.mode AND s.family = c.family), 0) >= $1`

	// Two processes that seal at once make the same segment.
	sealSQL = `WITH next AS (SELECT seq, key FROM addresses WHERE mode = $1 AND family = $2 AND seq > coalesce((SELECT max(last_seq)
	FROM address_segments WHERE mode = $1 AND family = $2), 0) ORDER BY seq LIMIT $3)
INSERT INTO address_segments (mode, family, last_seq, count, ends)
SELECT $1, $2, max(seq), count(*), string_agg(substring(key FROM octet_length(key) - 7), ''::bytea ORDER BY seq) FROM next
HAVING count(*) = $3 ON CONFLICT DO NOTHING`
)

// SegmentSize is how many addresses a segment has. Segments of a megabyte keep statements short, and a start of a
// hundred million addresses at 763 rows.
const SegmentSize = 1 << 17

const (
	segmentsPage = 16
	endBytes     = 8

	// afterPage bounds one statement: a million addresses must not run into its time limit.
	afterPage = 50_000
)

// CountAddresses is how many addresses were committed, or somewhat more after a restore.
func (s *Store) CountAddresses(ctx context.Context, mode tenant.Mode, family money.Family) (count int64, err error) {
	err = s.pool.QueryRow(ctx, countAddressesSQL, mode, family).Scan(&count)
	return count, err
}

// AddressesAfter calls f for every committed address with a larger seq, ascending, with its key or, of an address in a
// segment, the key's last eight bytes. The key is valid until f returns. Within a segment f gets the seq before it.
func (s *Store) AddressesAfter(ctx context.Context, mode tenant.Mode, family money.Family, seq int64, f func(seq int64, key []byte)) error {
	if seq == 0 { // a later reading is behind by less than a segment
		var err error
		if seq, err = s.readSegments(ctx, mode, family, f); err != nil {
			return fmt.Errorf("reading segments of %s %s addresses: %w", mode, family, err)
		}
	}
	for {
		rows, err := s.pool.Query(ctx, afterSQL, mode, family, seq, afterPage)
		if err != nil {
			return err
		}
		var key pgtype.DriverBytes
		tag, err := pgx.ForEachRow(rows, []any{&seq, &key}, func() error {
			f(seq, key)
			return nil
		})
		if err != nil || tag.RowsAffected() < afterPage {
			return err
		}
	}
}

// readSegments calls f for every address in a segment and returns the last seq of them.
func (s *Store) readSegments(ctx context.Context, mode tenant.Mode, family money.Family, f func(seq int64, key []byte)) (read int64, err error) {
	for {
		rows, err := s.pool.Query(ctx, segmentsSQL, mode, family, read, segmentsPage)
		if err != nil {
			return read, err
		}
		var last int64
		var ends pgtype.DriverBytes
		tag, err := pgx.ForEachRow(rows, []any{&last, &ends}, func() error {
			for len(ends) > endBytes {
				f(read, ends[:endBytes])
				ends = ends[endBytes:]
			}
			read = last
			f(read, ends)
			return nil
		})
		if err != nil || tag.RowsAffected() < segmentsPage {
			return read, err
		}
	}
}

// SealSegment writes one segment of size addresses for each mode and family that has so many new ones, and reports
// whether it wrote any: there may be more.
func (s *Store) SealSegment(ctx context.Context, size int) (more bool, err error) {
	rows, err := s.pool.Query(ctx, unsealedSQL, size)
	if err != nil {
		return false, fmt.Errorf("finding addresses without a segment: %w", err)
	}
	due, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wallet.Slot])
	if err != nil {
		return false, fmt.Errorf("finding addresses without a segment: %w", err)
	}
	for _, slot := range due {
		tag, err := s.pool.Exec(ctx, sealSQL, slot.Mode, slot.Family, size)
		if err != nil {
			return false, fmt.Errorf("sealing a segment of %s addresses: %w", slot, err)
		}
		more = more || tag.RowsAffected() > 0
	}
	return more, nil
}
