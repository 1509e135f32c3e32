package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
)

const (
	personalPayments = `SELECT id, merchant_id, mode, payer, receiver FROM payments WHERE id > $1 ORDER BY id LIMIT $2`
	personalPayouts  = `SELECT id, payment_id, receiver FROM payouts WHERE id > $1 ORDER BY id LIMIT $2`
	// A row that changed meanwhile was sealed again by that change.
	resealPayment = `UPDATE payments SET payer = $4, payer_index = $5, receiver = $6, account_index = $7
WHERE id = $1 AND payer IS NOT DISTINCT FROM $2 AND receiver IS NOT DISTINCT FROM $3`
	resealPayout = `UPDATE payouts SET receiver = $3 WHERE id = $1 AND receiver = $2`

	// One batch of a walk over the runs of a merchant, as in listOwned, in the order of ids, so that a payment that
	// changes its run keeps its place. One statement writes the found payments and the position. walk_of names the
	// walk. There are two walks, because a payment may be committed a little after its time: the first is asked_at, the
	// second a minute (erasure.Commit) later.
	walkPayments = `WITH looked AS MATERIALIZED (
	SELECT found.id, found.theirs FROM unnest($4::text[]) AS s(status) CROSS JOIN unnest($5::text[]) AS t(type) CROSS JOIN LATERAL (
		SELECT p.id COLLATE "C" AS id, coalesce(p.payer_index = ANY($3), false) AND p.created_at <= $6 AS theirs FROM payments p
		WHERE p.status = s.status AND p.type = t.type AND p.mode = $2 AND p.merchant_id = $1 AND p.id COLLATE "C" > $7
		ORDER BY p.id COLLATE "C" LIMIT $8) AS found
	ORDER BY found.id LIMIT $8
), kept AS (
	INSERT INTO erasure_payments (erasure_id, payment_id) SELECT $9, id FROM looked WHERE theirs ON CONFLICT DO NOTHING
)
UPDATE erasures SET walk_of = $10, walk_after = (SELECT CASE WHEN count(*) = $8 THEN max(id) END FROM looked)
WHERE id = $9 AND asked_at = $6 AND done_at IS NULL RETURNING walk_after`
	walkedTo = `SELECT coalesce(walk_of = $2, false), walk_after FROM erasures WHERE id = $1`

	// due selects payments whose wait w has ended: $1 and $2 are the waits and their durations.
	due = `p.wait = w.wait AND p.since <= now() - w.micros * interval '1 microsecond'`
	// The erasures with a due payment, an unfinished walk, or no payment left, which only need to be marked as done.
	dueErasures = `SELECT DISTINCT p.erasure_id FROM unnest($1::text[], $2::bigint[]) AS w(wait, micros) JOIN erasure_payments p ON ` + due + `
JOIN erasures e ON e.id = p.erasure_id AND e.done_at IS NULL
UNION SELECT id FROM erasures e WHERE done_at IS NULL AND (walk_of IS DISTINCT FROM asked_at + $3 * interval '1 second'
	OR walk_after IS NOT NULL OR NOT EXISTS (SELECT FROM erasure_payments p WHERE p.erasure_id = e.id))`
	// An earlier release ends an erasure and leaves the rows of its payments.
	dropEnded = `DELETE FROM erasure_payments p USING unnest($1::text[], $2::bigint[]) AS w(wait, micros), erasures e
WHERE ` + due + ` AND e.id = p.erasure_id AND e.done_at IS NOT NULL`
	dueOfErasure = `SELECT p.payment_id FROM unnest($1::text[], $2::bigint[]) AS w(wait, micros) JOIN erasure_payments p ON ` + due + `
WHERE p.erasure_id = $3 ORDER BY p.payment_id`
	leftOfErasure = `SELECT count(*) FILTER (WHERE wait = 'open'), count(*) FILTER (WHERE wait = 'law'), count(*) FILTER (WHERE wait = 'copies')
FROM erasure_payments WHERE erasure_id = $1`

	// A payment has ended when its money can only move by an operator's decision. Late money may still need the payer
	// of an expired or cancelled payment, but for a shorter time than other services hold copies. The payment is read
	// after the lock, in a separate statement that sees all earlier changes.
	lockErased  = `SELECT id FROM ONLY payments WHERE id = $1 FOR UPDATE`
	selectEnded = `WITH found AS (
	SELECT p.receiver, p.payer_index, coalesce((SELECT max(h.at) FROM history h WHERE h.payment_id = p.id), p.created_at) AS moved,
		coalesce((SELECT array_agg(o.id ORDER BY o.id) FROM payouts o WHERE o.payment_id = p.id), '{}') AS payouts,
		p.status IN ('settled', 'refunded', 'expired', 'cancelled') AND NOT EXISTS (SELECT FROM payouts o WHERE o.payment_id = p.id
			AND (o.next_at IS NOT NULL OR o.state IN ('created', 'sending', 'pending', 'unknown'))) AS over,
		p.mode = 'live' AND EXISTS (SELECT FROM deposits d WHERE d.payment_id = p.id) AS lawful
	FROM ONLY payments p WHERE p.id = $1
)
SELECT receiver, payouts, moved, CASE WHEN payer_index IS NULL THEN 'forgotten' WHEN NOT over THEN 'open'
	WHEN lawful AND moved > now() - $2 * interval '1 second' THEN 'law'
	WHEN NOT lawful AND moved > now() - $3 * interval '1 second' THEN 'copies' ELSE '' END
FROM found`
	waitOn         = `UPDATE erasure_payments SET wait = $3, since = CASE WHEN $3 = 'open' THEN now() ELSE $4 END WHERE erasure_id = $1 AND payment_id = $2`
	waited         = `DELETE FROM erasure_payments WHERE erasure_id = $1 AND payment_id = $2`
	forgetPayer    = `UPDATE ONLY payments SET payer = NULL, payer_index = NULL, account_index = NULL, receiver = $2, metadata = '{}', description = '' WHERE id = $1`
	forgetReceiver = `UPDATE payouts SET receiver = $2 WHERE id = $1`
	noteAudit      = `INSERT INTO audit (operator, action, detail) VALUES ($1, $2, $3)`
)

// resealBatch is the number of rows that Reseal reads at once.
const resealBatch = 500

// Reseal seals all personal data under the first master key, and returns the number of changed rows. It may run beside
// the service, and again after it was stopped. It passes over the rows until it finds none to change: a payment that is
// archived or attached during a pass may escape it.
func (s *Store) Reseal(ctx context.Context) (changed int64, err error) {
	for {
		n, err := s.resealOnce(ctx)
		if changed += n; n == 0 || err != nil {
			return changed, err
		}
	}
}

// resealOnce passes over all rows once.
func (s *Store) resealOnce(ctx context.Context) (changed int64, err error) {
	for _, pass := range []struct {
		rows, query string
		reseal      func(pgx.CollectableRow, *pgx.Batch) (string, error)
	}{
		{"payments", personalPayments, s.resealPayment},
		{"payouts", personalPayouts, s.resealPayout},
		{"archived payouts", personalArchived, s.resealArchived},
		{"settlement accounts", personalAccounts, s.resealAccount},
	} {
		n, err := s.walk(ctx, pass.query, pass.reseal)
		if changed += n; err != nil {
			return changed, fmt.Errorf("seal %s again: %w", pass.rows, err)
		}
	}
	erasures, err := erasure.Reseal(ctx, s.pool, s.keys)
	return changed + erasures, err
}

// walk calls reseal for every row of a table. reseal returns the row's id and queues a statement if the row changes.
func (s *Store) walk(ctx context.Context, query string, reseal func(row pgx.CollectableRow, into *pgx.Batch) (id string, err error)) (changed int64, err error) {
	for last := ""; ; {
		rows, err := s.pool.Query(ctx, query, last, resealBatch)
		if err != nil {
			return changed, err
		}
		batch := &pgx.Batch{}
		ids, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (string, error) { return reseal(row, batch) })
		if err != nil {
			return changed, err
		}
		if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
			return changed, err
		}
		changed += int64(batch.Len())
		if len(ids) < resealBatch {
			return changed, nil
		}
		last = ids[len(ids)-1]
	}
}

func (s *Store) resealPayment(row pgx.CollectableRow, into *pgx.Batch) (id string, err error) {
	var p payment.Payment
	var payer, receiver []byte
	if err := row.Scan(&p.ID, &p.MerchantID, &p.Mode, &payer, &receiver); err != nil {
		return "", err
	}
	if !s.stale(payer) && !s.stale(receiver) {
		return p.ID, nil
	}
	if err := opened(s.keys, payer, payerPlace(p.ID), &p.Payer); err != nil {
		return "", fmt.Errorf("payer of %s: %w", p.ID, err)
	}
	if err := opened(s.keys, receiver, receiverPlace(p.ID), &p.Receiver); err != nil {
		return "", fmt.Errorf("receiver of %s: %w", p.ID, err)
	}
	newPayer, err := sealed(s.keys, p.Payer, payerPlace(p.ID))
	if err != nil {
		return "", err
	}
	newReceiver, err := sealed(s.keys, p.Receiver, receiverPlace(p.ID))
	if err != nil {
		return "", err
	}
	into.Queue(resealPayment, p.ID, payer, receiver, newPayer, s.payerIndex(p), newReceiver, s.accountIndex(p))
	return p.ID, nil
}

func (s *Store) resealPayout(row pgx.CollectableRow, into *pgx.Batch) (id string, err error) {
	var paymentID string
	var receiver []byte
	if err := row.Scan(&id, &paymentID, &receiver); err != nil {
		return "", err
	}
	if !s.stale(receiver) {
		return id, nil
	}
	var r payment.Receiver
	if err := opened(s.keys, receiver, receiverPlace(paymentID), &r); err != nil {
		return "", fmt.Errorf("receiver of payout %s: %w", id, err)
	}
	fresh, err := sealed(s.keys, r, receiverPlace(paymentID))
	if err != nil {
		return "", err
	}
	into.Queue(resealPayout, id, receiver, fresh)
	return id, nil
}

// stale reports a stored value that is not sealed under the first key.
func (s vault) stale(raw []byte) bool { return raw != nil && s.keys.Stale(raw) }

// Payer names a merchant's payer whom an operator erases.
type Payer struct {
	MerchantID string      `json:"merchantId"`
	Mode       tenant.Mode `json:"mode"`
	ChatID     string      `json:"chatId"`
}

// The reasons why a payment waits for its erasure.
const (
	waitOpen   = "open"
	waitLaw    = "law"
	waitCopies = "copies"

	forgottenPayer = "forgotten" // already erased
)

const (
	lookAgain   = time.Hour // between two reads of an open payment
	erasureWalk = 50        // payments of a batch, which reads as many of each run
)

// AskErasure records the erasure of a payer and the payer's payments, and erases those that may be erased at once.
// EraseDue erases the rest. The audit entry names the payer by its index only.
func (s *Store) AskErasure(ctx context.Context, operator string, payer Payer, r erasure.Retention) (erasure.Done, error) {
	asked, err := erasure.Ask(ctx, s.pool, s.keys, operator, payer)
	if err != nil {
		return erasure.Done{}, err
	}
	done, err := erasure.Look(ctx, s.pool, asked, s.eraser(r))
	if err != nil {
		return done, err
	}
	return done, s.audit(ctx, s.pool, operator, "payer.erased", map[string]any{
		"erasure": asked.ID, "mode": payer.Mode, "merchantId": payer.MerchantID,
		"payerIndex": hex.EncodeToString(s.keys.Blind(payer.ChatID, blindPlace(payer.Mode, payer.MerchantID))),
		"payments":   done.Erased, "open": done.Open, "kept": done.Kept, "copied": done.Copied,
	})
}

// EraseDue erases the payers of payments that are due by now. Call it regularly: it reads due rows only.
func (s *Store) EraseDue(ctx context.Context, r erasure.Retention) error {
	waits, micros := waitsOf(r)
	if _, err := s.pool.Exec(ctx, dropEnded, waits, micros); err != nil {
		return fmt.Errorf("delete rows of ended erasures: %w", err)
	}
	rows, err := s.pool.Query(ctx, dueErasures, waits, micros, erasure.Commit.Seconds())
	if err != nil {
		return fmt.Errorf("find due erasures: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return fmt.Errorf("find due erasures: %w", err)
	}
	if len(ids) == 0 {
		return nil
	}
	return erasure.Due(ctx, s.pool, s.keys, ids, s.eraser(r))
}

// waitsOf returns the waits of payments and their durations.
func waitsOf(r erasure.Retention) (waits []string, micros []int64) {
	return []string{waitOpen, waitLaw, waitCopies}, []int64{lookAgain.Microseconds(), r.Laundering.Microseconds(), r.Copies.Microseconds()}
}

// eraser erases a payer: identity, receiver's account and the merchant's metadata, in every ended payment that named
// the payer at the time of the request. Amounts, history, ledger and the bank's code stay. Each payment is erased in
// its own transaction, and a failed one does not delay the others.
func (s *Store) eraser(r erasure.Retention) func(context.Context, erasure.Asked[Payer]) (erasure.Done, error) {
	return func(ctx context.Context, asked erasure.Asked[Payer]) (done erasure.Done, err error) {
		if err := s.walkErasure(ctx, asked); err != nil {
			return done, fmt.Errorf("find a payer's payments: %w", err)
		}
		waits, micros := waitsOf(r)
		rows, err := s.pool.Query(ctx, dueOfErasure, waits, micros, asked.ID)
		if err != nil {
			return done, fmt.Errorf("find due payments of an erasure: %w", err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return done, fmt.Errorf("find due payments of an erasure: %w", err)
		}
		for _, id := range ids {
			erased, failed := s.erase(ctx, asked, id, r)
			switch {
			case failed != nil:
				err = errors.Join(err, fmt.Errorf("erase the payer of %s: %w", id, failed))
			case erased:
				done.Erased++
			}
		}
		if err != nil {
			return done, err
		}
		if err := s.pool.QueryRow(ctx, leftOfErasure, asked.ID).Scan(&done.Open, &done.Kept, &done.Copied); err != nil {
			return done, fmt.Errorf("count payments of an erasure: %w", err)
		}
		return done, nil
	}
}

// walkErasure records the payments of the payer, in two walks for each request. It continues an interrupted walk.
func (s *Store) walkErasure(ctx context.Context, asked erasure.Asked[Payer]) error {
	walk := asked.At
	if asked.Seen {
		walk = walk.Add(erasure.Commit)
	}
	var begun bool
	var after *string
	if err := s.pool.QueryRow(ctx, walkedTo, asked.ID, walk).Scan(&begun, &after); err != nil {
		return err
	}
	if !begun {
		after = new(string)
	}
	who := asked.Person
	indexes := s.keys.Blinds(who.ChatID, blindPlace(who.Mode, who.MerchantID))
	for after != nil {
		err := s.pool.QueryRow(ctx, walkPayments, who.MerchantID, string(who.Mode), indexes, statusNames(nil), typeNames("", payment.Types()), asked.At,
			*after, erasureWalk, asked.ID, walk).Scan(&after)
		if errors.Is(err, pgx.ErrNoRows) { // requested again meanwhile, or ended; that call walks
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// erase erases the payer of one payment, or records the reason of its wait.
func (s *Store) erase(ctx context.Context, asked erasure.Asked[Payer], paymentID string, r erasure.Retention) (erased bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var receiver []byte
		var payouts []string
		var moved time.Time
		var wait string
		if err := s.hot(ctx, tx, attachByID, []any{paymentID}, func() error {
			return tx.QueryRow(ctx, lockErased, paymentID).Scan(&paymentID)
		}); err != nil {
			return err
		}
		row := tx.QueryRow(ctx, selectEnded, paymentID, r.Laundering.Seconds(), r.Copies.Seconds())
		if err := row.Scan(&receiver, &payouts, &moved, &wait); err != nil {
			return err
		}
		switch erased = wait == ""; {
		case wait == forgottenPayer: // by another request
			_, err := tx.Exec(ctx, waited, asked.ID, paymentID)
			return err
		case !erased:
			_, err := tx.Exec(ctx, waitOn, asked.ID, paymentID, wait, moved)
			return err
		}
		blanked, err := s.blank(receiver, paymentID)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(forgetPayer, paymentID, blanked)
		for _, id := range payouts {
			batch.Queue(forgetReceiver, id, blanked)
		}
		batch.Queue(waited, asked.ID, paymentID)
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return s.audit(ctx, tx, asked.Operator, "payment.erased", map[string]any{"erasure": asked.ID, "paymentId": paymentID})
	})
	return erased && err == nil, err
}

// blank keeps the bank of a receiver and replaces the account by a placeholder.
func (s *Store) blank(receiver []byte, paymentID string) ([]byte, error) {
	var r payment.Receiver
	if err := opened(s.keys, receiver, receiverPlace(paymentID), &r); err != nil || !r.Known() {
		return nil, err
	}
	left := payment.Receiver{BankCode: r.BankCode, BankName: r.BankName, AccountNumber: payment.ForgottenAccount}
	return sealed(s.keys, left, receiverPlace(paymentID))
}

// audit records what an operator did.
func (s *Store) audit(ctx context.Context, db postgres.Querier, operator, action string, detail any) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("encode the audit entry of %s: %w", action, err)
	}
	_, err = db.Exec(ctx, noteAudit, operator, action, string(text))
	return wrap(err, "record "+action+" in the audit")
}
