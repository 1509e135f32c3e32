package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/link"
)

const (
	linkColumns = `l.id, l.merchant_id, l.mode, l.key_id, l.type, l.title, l.description, l.fiat_currency, l.fiat_amount, l.minimum, l.maximum, l.account_id,
	l.usage_limit, l.uses, l.expires_at, l.ended_at, l.created_at`
	findLink  = `SELECT ` + linkColumns + ` FROM payment_links l WHERE l.id = $1`
	lockLink  = findLink + ` AND l.merchant_id = $2 AND l.mode = $3 FOR UPDATE`
	listLinks = `SELECT ` + linkColumns + ` FROM payment_links l WHERE l.merchant_id = $1 AND l.mode = $2 AND l.id COLLATE "C" < $3 ORDER BY l.id COLLATE "C" DESC LIMIT $4`
	// The lock makes the creates of one merchant and mode serial, so that none passes the limit.
	lockLinks  = `SELECT pg_advisory_xact_lock(hashtextextended('payment links ' || $1 || ' ' || $2, 0))`
	insertLink = `INSERT INTO payment_links (id, merchant_id, mode, key_id, type, title, description, fiat_currency, fiat_amount, minimum, maximum, account_id,
	usage_limit, expires_at, created_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15
WHERE (SELECT count(*) FROM payment_links WHERE merchant_id = $2 AND mode = $3 AND ended_at IS NULL) < $16`
	saveLink = `UPDATE payment_links SET title = $2, description = $3, usage_limit = $4, expires_at = $5, ended_at = $6 WHERE id = $1`

	useLink = `UPDATE payment_links SET uses = uses + 1 WHERE id = $1 AND ended_at IS NULL AND (expires_at IS NULL OR expires_at > now())
	AND (usage_limit = 0 OR uses < usage_limit)`
	// Payments that came to nothing give their place back. Every payment of the link is written under the lock of its row,
	// so the lock comes first, and a statement of its own counts: one that waits for the lock would count what it saw
	// before. Many payments are counted every few seconds at most, since anybody can ask.
	usedUpLink = `SELECT usage_limit > 0 AND uses >= usage_limit, usage_limit > $2 AND recounted_at > clock_timestamp() - interval '5 seconds'
FROM payment_links WHERE id = $1 FOR UPDATE`
	recountLink = `UPDATE payment_links l SET uses = (SELECT count(*) FROM payment_link_uses u JOIN payments p ON p.id = u.payment_id
	WHERE u.link_id = l.id AND p.status NOT IN ('expired', 'cancelled')), recounted_at = clock_timestamp() WHERE l.id = $1 RETURNING uses < usage_limit`
	// Of the newest payments of a link alone, so that the cost has a bound.
	waitingOfLink = `SELECT count(*) FROM (SELECT u.payment_id FROM payment_link_uses u WHERE u.link_id = $1 ORDER BY u.payment_id DESC LIMIT 2 * $2) AS newest
	JOIN payments p ON p.id = newest.payment_id WHERE p.status IN ('created', 'pending') AND p.created_at > now() - make_interval(secs => $3)`
	noteUse = `INSERT INTO payment_link_uses (link_id, payment_id) VALUES ($1, $2)`
)

func scanLink(row pgx.CollectableRow) (l link.Link, err error) {
	err = row.Scan(&l.ID, &l.Owner.MerchantID, &l.Owner.Mode, &l.Owner.KeyID, &l.Type, &l.Title, &l.Description, &l.Currency, (*number)(&l.Amount),
		(*number)(&l.Minimum), (*number)(&l.Maximum), &l.AccountID, &l.UsageLimit, &l.Uses, (*instant)(&l.ExpiresAt), (*instant)(&l.EndedAt), (*instant)(&l.CreatedAt))
	return l, err
}

func oneLink(ctx context.Context, q postgres.Querier, sql string, args ...any) (link.Link, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return link.Link{}, fmt.Errorf("read a payment link: %w", err)
	}
	l, err := pgx.CollectExactlyOneRow(rows, scanLink)
	if errors.Is(err, pgx.ErrNoRows) {
		return link.Link{}, link.ErrUnknown
	}
	return l, wrap(err, "read a payment link")
}

// FindLink implements links.Store.
func (s *Store) FindLink(ctx context.Context, linkID string) (link.Link, error) {
	return oneLink(ctx, s.pool, findLink, linkID)
}

// LinksOf implements links.Store.
func (s *Store) LinksOf(ctx context.Context, o tenant.Owner, before string, most int) ([]link.Link, error) {
	const last = link.Prefix + "zzzzzzzzzzzzzzzzzzzzzzzzzzz"
	if before == "" {
		before = last
	}
	rows, err := s.pool.Query(ctx, listLinks, o.MerchantID, string(o.Mode), before, most)
	if err != nil {
		return nil, fmt.Errorf("list payment links: %w", err)
	}
	found, err := pgx.CollectRows(rows, scanLink)
	return found, wrap(err, "list payment links")
}

// InsertLink implements links.Store.
func (s *Store) InsertLink(ctx context.Context, l link.Link, k idempotency.Key, a idempotency.Answer) error {
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, lockLinks, l.Owner.MerchantID, string(l.Owner.Mode)); err != nil {
			return fmt.Errorf("lock payment links: %w", err)
		}
		tag, err := tx.Exec(ctx, insertLink, l.ID, l.Owner.MerchantID, string(l.Owner.Mode), l.Owner.KeyID, string(l.Type), l.Title, l.Description,
			string(l.Currency), l.Amount, l.Minimum, l.Maximum, l.AccountID, l.UsageLimit, nullTime(l.ExpiresAt), l.CreatedAt, link.OpenMost)
		if err != nil {
			return fmt.Errorf("write a payment link: %w", err)
		}
		if tag.RowsAffected() == 0 {
			return link.ErrMany
		}
		return idempotency.Put(ctx, tx, k, a)
	})
	return refusedOnce(k, err)
}

// ChangeLink implements links.Store.
func (s *Store) ChangeLink(ctx context.Context, o tenant.Owner, linkID string, change func(link.Link) (link.Link, error)) (changed link.Link, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		l, err := oneLink(ctx, tx, lockLink, linkID, o.MerchantID, string(o.Mode))
		if err != nil {
			return err
		}
		if changed, err = change(l); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, saveLink, linkID, changed.Title, changed.Description, changed.UsageLimit, nullTime(changed.ExpiresAt), nullTime(changed.EndedAt))
		return wrap(err, "change a payment link")
	})
	return changed, err
}

// recountFree is the limit up to which the payments of a link are counted whenever somebody asks.
const recountFree = 1000

// FreeLink implements links.Store.
func (s *Store) FreeLink(ctx context.Context, linkID string) (free bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var full bool
		var lately *bool
		if err := tx.QueryRow(ctx, usedUpLink, linkID, recountFree).Scan(&full, &lately); err != nil {
			return err
		}
		if free = !full; free || lately != nil && *lately {
			return nil
		}
		return tx.QueryRow(ctx, recountLink, linkID).Scan(&free)
	})
	return free, wrap(err, "count the payments of a link")
}

// WaitingPayments implements links.Store.
func (s *Store) WaitingPayments(ctx context.Context, linkID string, most int, within time.Duration) (n int, err error) {
	err = s.pool.QueryRow(ctx, waitingOfLink, linkID, most, within.Seconds()).Scan(&n)
	return n, wrap(err, "count the payments of a link that wait")
}

// use counts a payment against its link, in the transaction that writes the payment.
func use(ctx context.Context, tx pgx.Tx, linkID, paymentID string) error {
	tag, err := tx.Exec(ctx, useLink, linkID)
	if err != nil {
		return fmt.Errorf("use a payment link: %w", err)
	}
	if tag.RowsAffected() == 0 {
		return link.ErrClosed
	}
	_, err = tx.Exec(ctx, noteUse, linkID, paymentID)
	return wrap(err, "use a payment link")
}
