package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/outbox"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/wallet"
)

const (
	// Allocations wait for each other on the counter's row; deriving the most that one may ask for takes a second.
	patientSQL = `SET LOCAL lock_timeout = '12s'`

	requestSQL = `INSERT INTO allocations (request_id, mode, family, count) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`

	requestedSQL = `SELECT mode, family, count, coalesce(first_seq, 0) FROM allocations WHERE request_id = $1 FOR UPDATE`

	countSQL = `UPDATE counters SET next_index = next_index + $3, last_seq = last_seq + $3
WHERE mode = $1 AND family = $2 RETURNING next_index - $3, last_seq - $3 + 1`

	addSQL = `INSERT INTO addresses (mode, family, seq, account, idx, key, address, wallet_id)
SELECT $1, $2, $3 + o - 1, $4, $5 + o - 1, k, a, w
FROM unnest($6::bytea[], $7::text[], $8::text[]) WITH ORDINALITY AS n(k, a, w, o)`

	grantSQL = `UPDATE allocations SET first_seq = $2, granted_at = now() WHERE request_id = $1`

	grantedSQL = `SELECT wallet_id, address FROM addresses WHERE mode = $1 AND family = $2 AND seq >= $3 AND seq < $3 + $4 ORDER BY seq`

	waitingSQL = `SELECT request_id, mode, family, count FROM allocations WHERE first_seq IS NULL ORDER BY created_at LIMIT 100`

	sampleSQL = `SELECT a.mode, a.family, a.account, a.idx, a.address FROM counters c
CROSS JOIN LATERAL (SELECT 1::bigint UNION SELECT c.last_seq
	UNION SELECT 1 + floor(random() * c.last_seq)::bigint FROM generate_series(1, $1)) AS pick(seq)
JOIN addresses a ON a.mode = c.mode AND a.family = c.family AND a.seq = pick.seq
WHERE c.last_seq > 0`
)

// Allocate grants a request: it makes the addresses, commits them and writes the answer, all in one transaction. It
// ignores a message that was handled before, and answers a new message with a known request id with the same addresses.
// Without a source it keeps the request, which is granted later (see Waiting).
func (s *Store) Allocate(ctx context.Context, messageID string, r wallet.Request, source derivation.Source) error {
	wrote := false
	err := s.tx(ctx, func(tx pgx.Tx) error {
		wrote = false
		if messageID != "" {
			fresh, err := inbox.Fresh(ctx, tx, messageID)
			if err != nil || !fresh {
				return err
			}
		}
		if _, err := tx.Exec(ctx, patientSQL); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, requestSQL, r.ID, r.Mode, r.Family, r.Count); err != nil {
			return err
		}
		var known wallet.Request
		var first int64
		if err := tx.QueryRow(ctx, requestedSQL, r.ID).Scan(&known.Mode, &known.Family, &known.Count, &first); err != nil {
			return err
		}
		if known.ID = r.ID; known != r {
			return wallet.ErrOtherRequest
		}
		if first == 0 && source == nil {
			return nil
		}
		answer, err := s.grant(ctx, tx, r, first, source)
		if errors.Is(err, wallet.ErrNoStock) {
			return nil // it waits like one without keys
		}
		if err != nil {
			return err
		}
		msgs, err := s.messages.AddressesAllocated(ctx, answer)
		if err != nil {
			return err
		}
		wrote = true
		return outbox.Insert(ctx, tx, msgs...)
	})
	if err != nil {
		return fmt.Errorf("allocating %d %s %s addresses: %w", r.Count, r.Mode, r.Family, err)
	}
	if wrote {
		s.wake()
	}
	return nil
}

// grant returns the addresses of a request: the earlier ones, or new ones.
func (s *Store) grant(ctx context.Context, tx pgx.Tx, r wallet.Request, first int64, source derivation.Source) (wallet.Allocation, error) {
	if first == 0 {
		var err error
		if _, imported := source.(derivation.Pooled); imported {
			first, _, err = s.take(ctx, tx, wallet.Slot{Mode: r.Mode, Family: r.Family}, s.newIDs(r.Count))
		} else {
			first, err = s.derive(ctx, tx, r, source)
		}
		if err != nil {
			return wallet.Allocation{}, err
		}
		if _, err := tx.Exec(ctx, grantSQL, r.ID, first); err != nil {
			return wallet.Allocation{}, err
		}
	}
	rows, err := tx.Query(ctx, grantedSQL, r.Mode, r.Family, first, r.Count)
	if err != nil {
		return wallet.Allocation{}, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wallet.Address])
	if err == nil && len(list) != r.Count {
		err = fmt.Errorf("request %s has %d addresses instead of %d", r.ID, len(list), r.Count)
	}
	return wallet.Allocation{Request: r, Addresses: list}, err
}

// derive takes the next indices under the counter's row lock and stores their addresses.
func (s *Store) derive(ctx context.Context, tx pgx.Tx, r wallet.Request, source derivation.Source) (int64, error) {
	var index, first int64
	if err := tx.QueryRow(ctx, countSQL, r.Mode, r.Family, r.Count).Scan(&index, &first); err != nil {
		return 0, fmt.Errorf("taking the next indices: %w", err)
	}
	made, err := source.Derive(uint32(index), r.Count) //nolint:gosec // an index has 31 bits
	if err != nil {
		return 0, fmt.Errorf("deriving from index %d: %w", index, err)
	}
	keys, texts, wallets := make([][]byte, len(made)), make([]string, len(made)), make([]string, len(made))
	now := s.now()
	for i, d := range made {
		keys[i], texts[i], wallets[i] = d.Key, d.Address, id.New(id.Wallet, now)
	}
	if _, err := tx.Exec(ctx, addSQL, r.Mode, r.Family, first, int64(source.Account()), index, keys, texts, wallets); err != nil {
		return 0, fmt.Errorf("storing addresses: %w", err)
	}
	return first, nil
}

// Waiting returns requests that could not be granted yet, oldest first.
func (s *Store) Waiting(ctx context.Context) ([]wallet.Request, error) {
	rows, err := s.pool.Query(ctx, waitingSQL)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[wallet.Request])
}

// Sample returns the first, the newest and up to n random issued addresses of every mode and family.
func (s *Store) Sample(ctx context.Context, n int) ([]wallet.Issued, error) {
	rows, err := s.pool.Query(ctx, sampleSQL, n)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[wallet.Issued])
}
