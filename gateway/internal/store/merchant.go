package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

const (
	merchantColumns = `m.merchant_id, m.name, m.country, m.contact_email, m.support_contact, m.logo_name, m.status, m.reason,
	m.currencies, m.networks, m.types, m.limits, m.daily_limits, m.created_by, m.created_at, m.approved_by, m.approved_at, m.suspended_by, m.suspended_at,
	m.version, m.n, m.told >= m.tell`

	getMerchantSQL = `SELECT ` + merchantColumns + ` FROM merchants m WHERE m.merchant_id = $1`

	lockMerchantSQL = getMerchantSQL + ` FOR UPDATE`

	insertMerchantSQL = `INSERT INTO merchants AS m (merchant_id, name, country, contact_email, support_contact, created_by)
VALUES ($1, $2, $3, $4, $5, $6) RETURNING ` + merchantColumns

	// The version grows with the clock too, so that it is no older after a restore.
	updateMerchantSQL = `UPDATE merchants AS m SET name = $2, country = $3, contact_email = $4, support_contact = $5, logo_name = $6, status = $7,
	reason = $8, currencies = $9, networks = $10, types = $11, limits = $12, approved_by = $13, approved_at = $14, suspended_by = $15,
	suspended_at = $16, logo = CASE WHEN $17 THEN $18 ELSE logo END, version = ` + nextVersion + `,
	tell = CASE WHEN $19 THEN ` + nextVersion + ` ELSE tell END, tell_at = CASE WHEN $19 THEN now() ELSE tell_at END, daily_limits = $20
WHERE merchant_id = $1 RETURNING ` + merchantColumns

	nextVersion = `greatest(version + 1, (extract(epoch FROM now()) * 1000000)::bigint)`

	// The lock lasts until the key is committed, so a suspension comes before it or after it.
	shareMerchantSQL = `SELECT status FROM merchants WHERE merchant_id = $1 FOR SHARE`

	statusSQL = `SELECT status FROM merchants WHERE merchant_id = $1`

	countKeysSQL = `SELECT count(*) FROM api_keys WHERE merchant_id = $1 AND mode = $2 AND revoked_at IS NULL AND kind = '` + apikey.KindKey + `'`

	draftMerchantSQL = `INSERT INTO merchants (merchant_id, name, created_by) VALUES ($1, $1, $2) ON CONFLICT DO NOTHING`

	listMerchantsSQL = `SELECT ` + merchantColumns + ` FROM merchants m
WHERE ($1 = '' OR m.status = $1) AND ($2 = '' OR m.merchant_id ILIKE $2 OR m.name ILIKE $2) AND ($3 = 0 OR m.n < $3)
ORDER BY m.n DESC LIMIT $4`

	untoldSQL = `UPDATE merchants AS m SET tell_at = now() + make_interval(secs => $2) WHERE m.merchant_id IN (
	SELECT merchant_id FROM merchants WHERE told < tell AND tell_at <= now() ORDER BY tell_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING ` + merchantColumns + `, m.tell,
	` + shardsOf

	shardsOf = `array_prepend(coalesce((SELECT h.shard FROM merchant_shards h WHERE h.merchant_id = m.merchant_id), '` + string(shard.First) + `'),
	ARRAY(SELECT v.shard FROM merchant_moves v WHERE v.merchant_id = m.merchant_id ORDER BY v.moved_at))`

	moveFromSQL = `SELECT ` + merchantColumns + `, m.version, ` + shardsOf + ` FROM merchants m WHERE m.merchant_id = $1 FOR UPDATE`

	moveSQL = `INSERT INTO merchant_moves (merchant_id, shard) VALUES ($1, $2)`

	toldSQL = `UPDATE merchants SET told = greatest(told, $2) WHERE merchant_id = $1`

	tellAgainSQL = `UPDATE merchants SET told = 0, tell_at = now() WHERE tell > 0`

	// The version is the time of its change in microseconds.
	waitingSQL = `SELECT count(*) FROM merchants WHERE told < tell AND tell < (extract(epoch FROM now()) - $1) * 1000000`

	logoSQL = `SELECT logo FROM merchants WHERE logo_name = $1 AND logo IS NOT NULL LIMIT 1`
)

var _ merchant.Store = (*Store)(nil)

// scanMerchant reads merchantColumns, and the columns that are selected after them.
func scanMerchant(row pgx.Row, more ...any) (m merchant.Merchant, err error) {
	var approved, suspended *time.Time
	var limits, daily []byte
	err = row.Scan(append([]any{
		&m.ID, &m.Name, &m.Country, &m.ContactEmail, &m.SupportContact, &m.LogoName, (*string)(&m.Status), &m.Reason,
		&m.Terms.Currencies, &m.Terms.Networks, &m.Terms.Types, &limits, &daily, &m.CreatedBy, &m.CreatedAt, &m.ApprovedBy, &approved, &m.SuspendedBy, &suspended,
		&m.Version, &m.N, &m.Told,
	}, more...)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return merchant.Merchant{}, merchant.ErrNotFound
	}
	if err != nil {
		return merchant.Merchant{}, err
	}
	m.ApprovedAt, m.SuspendedAt = value(approved), value(suspended)
	if err := errors.Join(json.Unmarshal(limits, &m.Terms.Limits), json.Unmarshal(daily, &m.Terms.DailyLimits)); err != nil {
		return merchant.Merchant{}, fmt.Errorf("read the limits of a merchant: %w", err)
	}
	return m, nil
}

// uniqueViolation is PostgreSQL's code for a key that exists.
const uniqueViolation = "23505"

// InsertMerchant implements merchant.Store.
func (s *Store) InsertMerchant(ctx context.Context, m merchant.Merchant, by audit.Entry, once merchant.Once) (made merchant.Merchant, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		made, err = scanMerchant(tx.QueryRow(ctx, insertMerchantSQL, m.ID, m.Name, m.Country, m.ContactEmail, m.SupportContact, m.CreatedBy))
		if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == uniqueViolation {
			return merchant.ErrExists
		}
		if err != nil {
			return fmt.Errorf("insert the merchant: %w", err)
		}
		if err := writeAudit(ctx, tx, by); err != nil || !once.Key.Sent() {
			return err
		}
		answer, err := once.Answer(made)
		if err != nil {
			return err
		}
		return idempotency.Put(ctx, tx, once.Key, answer)
	})
	return made, err
}

// UpdateMerchant implements merchant.Store.
func (s *Store) UpdateMerchant(ctx context.Context, id string,
	f func(merchant.Merchant) (merchant.Merchant, *merchant.Logo, bool, *audit.Entry, error),
) (m merchant.Merchant, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		old, err := scanMerchant(tx.QueryRow(ctx, lockMerchantSQL, id))
		if err != nil {
			return err
		}
		next, logo, tell, entry, err := f(old)
		if m = next; err != nil || entry == nil {
			return err
		}
		limits, err := json.Marshal(next.Terms.Limits)
		daily, err2 := json.Marshal(next.Terms.DailyLimits)
		if err := errors.Join(err, err2); err != nil {
			return fmt.Errorf("encode the limits: %w", err)
		}
		var picture []byte
		if logo != nil {
			picture = logo.Image
		}
		t := next.Terms
		m, err = scanMerchant(tx.QueryRow(ctx, updateMerchantSQL, id, next.Name, next.Country, next.ContactEmail, next.SupportContact, next.LogoName,
			string(next.Status), next.Reason, list(t.Currencies), list(t.Networks), list(t.Types), limits, next.ApprovedBy, null(next.ApprovedAt),
			next.SuspendedBy, null(next.SuspendedAt), logo != nil, picture, tell, daily))
		if err != nil {
			return fmt.Errorf("write the merchant: %w", err)
		}
		return writeAudit(ctx, tx, *entry)
	})
	return m, err
}

// list is a list that is never null.
func list(some []string) []string {
	if some == nil {
		return []string{}
	}
	return some
}

// Merchant implements merchant.Store.
func (s *Store) Merchant(ctx context.Context, id string) (merchant.Merchant, error) {
	return scanMerchant(s.pool.QueryRow(ctx, getMerchantSQL, id))
}

// Merchants implements merchant.Store.
func (s *Store) Merchants(ctx context.Context, f merchant.Filter) ([]merchant.Merchant, error) {
	pattern := ""
	if f.Search != "" {
		pattern = "%" + strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(f.Search) + "%"
	}
	rows, err := s.pool.Query(ctx, listMerchantsSQL, string(f.Status), pattern, f.Before, f.Limit)
	if err != nil {
		return nil, fmt.Errorf("list merchants: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (merchant.Merchant, error) { return scanMerchant(row) })
}

// Logo returns the picture with a name, nil when there is none.
func (s *Store) Logo(ctx context.Context, name string) (picture []byte, err error) {
	err = s.pool.QueryRow(ctx, logoSQL, name).Scan(&picture)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return picture, err
}

// StatusOf implements apikey.Store.
func (s *Store) StatusOf(ctx context.Context, id string) (status merchant.Status, err error) {
	err = s.pool.QueryRow(ctx, statusSQL, id).Scan((*string)(&status))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return status, err
}

// CountKeys implements apikey.Store.
func (s *Store) CountKeys(ctx context.Context, id string, mode tenant.Mode) (n int, err error) {
	err = s.pool.QueryRow(ctx, countKeysSQL, id, string(mode)).Scan(&n)
	return n, err
}

// mayHaveKey refuses a key that the merchant may not have, under a lock of the merchant until the key is committed.
func mayHaveKey(ctx context.Context, tx pgx.Tx, k apikey.Key, by audit.Entry) error {
	if k.Mode == tenant.Test {
		tag, err := tx.Exec(ctx, draftMerchantSQL, k.MerchantID, by.Actor)
		if err != nil {
			return fmt.Errorf("make the draft of the merchant: %w", err)
		}
		if tag.RowsAffected() == 1 {
			by.Act, by.Object, by.Detail, by.Confirms = audit.MerchantCreated, "merchant:"+k.MerchantID, nil, nil
			return writeAudit(ctx, tx, by)
		}
		return nil
	}
	var status merchant.Status
	err := tx.QueryRow(ctx, shareMerchantSQL, k.MerchantID).Scan((*string)(&status))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read the merchant's status: %w", err)
	}
	return status.MayHaveKey(k.Mode)
}

var _ merchant.Untold = (*Store)(nil)

// Untold implements merchant.Untold.
func (s *Store) Untold(ctx context.Context, most int) ([]merchant.Notice, error) {
	rows, err := s.pool.Query(ctx, untoldSQL, most, merchant.TellAgain.Seconds())
	if err != nil {
		return nil, fmt.Errorf("take changes of merchants: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (merchant.Notice, error) {
		var version int64
		var shards []string
		m, err := scanMerchant(row, &version, &shards)
		return merchant.NoticeOf(m, version, codes(shards)), err
	})
}

// Told implements merchant.Untold.
func (s *Store) Told(ctx context.Context, id string, version int64) error {
	_, err := s.pool.Exec(ctx, toldSQL, id, version)
	return err
}

// TellAgain has the gateways that run send payments every merchant again of which payments has to know a change.
func (s *Store) TellAgain(ctx context.Context, by audit.Entry) (merchants int64, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, tellAgainSQL)
		if err != nil {
			return fmt.Errorf("send the changes of merchants again: %w", err)
		}
		merchants = tag.RowsAffected()
		return writeAudit(ctx, tx, by)
	})
	return merchants, err
}

// Waiting implements merchant.Untold.
func (s *Store) Waiting(ctx context.Context, longer time.Duration) (n int, err error) {
	err = s.pool.QueryRow(ctx, waitingSQL, longer.Seconds()).Scan(&n)
	return n, err
}
