package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/payments/internal/payment"
)

const (
	personalPayments = `SELECT id, merchant_id, mode, payer, receiver FROM payments WHERE id > $1 ORDER BY id LIMIT $2`
	personalPayouts  = `SELECT id, payment_id, receiver FROM payouts WHERE id > $1 ORDER BY id LIMIT $2`
	// What has changed meanwhile was sealed anew by whoever changed it.
	resealPayment = `UPDATE payments SET payer = $4, payer_index = $5, receiver = $6
WHERE id = $1 AND payer IS NOT DISTINCT FROM $2 AND receiver IS NOT DISTINCT FROM $3`
	resealPayout = `UPDATE payouts SET receiver = $3 WHERE id = $1 AND receiver = $2`

	// The lanes of a merchant, as in listOwned.
	payersPayments = `SELECT found.id FROM unnest($4::text[]) AS s(status) CROSS JOIN unnest($5::text[]) AS t(type) CROSS JOIN LATERAL (
	SELECT p.id FROM payments p
	WHERE p.status = s.status AND p.type = t.type AND p.mode = $2 AND p.merchant_id = $1 AND p.payer_index = ANY($3)
		AND p.created_at <= $6 OFFSET 0) AS found`
	// A payment is over when no money of it can move any more without a person, and late money could not revive it either. The
	// payer of a cancelled one may have sent the money before the cancellation, and an operator may accept it.
	lockEnded = `SELECT p.receiver, p.status IN ('settled', 'refunded') OR (p.status = 'expired' AND p.expires_at < now() - $2 * interval '1 second')
		OR (p.status = 'cancelled' AND last.at < now() - $2 * interval '1 second'),
	coalesce((SELECT array_agg(o.id ORDER BY o.id) FROM payouts o WHERE o.payment_id = p.id), '{}'),
	EXISTS (SELECT FROM payouts o WHERE o.payment_id = p.id AND (o.next_at IS NOT NULL OR o.state IN ('created', 'sending', 'pending', 'unknown'))),
	p.mode = 'live' AND EXISTS (SELECT FROM deposits d WHERE d.payment_id = p.id)
		AND last.at > now() - $3 * interval '1 second'
FROM payments p
CROSS JOIN LATERAL (SELECT coalesce(max(h.at), p.created_at) AS at FROM history h WHERE h.payment_id = p.id) AS last
WHERE p.id = $1 FOR UPDATE OF p`
	forgetPayer    = `UPDATE payments SET payer = NULL, payer_index = NULL, receiver = $2, metadata = '{}' WHERE id = $1`
	forgetReceiver = `UPDATE payouts SET receiver = $2 WHERE id = $1`
	noteAudit      = `INSERT INTO audit (operator, action, detail) VALUES ($1, $2, $3)`
)

// resealBatch is how many rows one look of Reseal reads.
const resealBatch = 500

// Reseal seals everything personal under the first master key that is under another, or under none, and gives the number
// of rows that it changed. It may run while the service does, and again after it was stopped.
func (s *Store) Reseal(ctx context.Context) (changed int64, err error) {
	payments, err := s.walk(ctx, personalPayments, s.resealPayment)
	if err != nil {
		return payments, fmt.Errorf("seal payments again: %w", err)
	}
	payouts, err := s.walk(ctx, personalPayouts, s.resealPayout)
	if err != nil {
		return payments + payouts, fmt.Errorf("seal payouts again: %w", err)
	}
	erasures, err := erasure.Reseal(ctx, s.pool, s.keys)
	return payments + payouts + erasures, err
}

// walk shows every row of a table to reseal, which gives the row's id and, when it is to be changed, the statement for it.
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
	into.Queue(resealPayment, p.ID, payer, receiver, newPayer, s.payerIndex(p), newReceiver)
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

// stale reports a value that is there and not sealed under the first key.
func (s vault) stale(raw []byte) bool { return raw != nil && s.keys.Stale(raw) }

// Payer names a merchant's payer whom an operator asked to forget.
type Payer struct {
	MerchantID string       `json:"merchantId"`
	Mode       payment.Mode `json:"mode"`
	ChatID     string       `json:"chatId"`
}

// Retention is how long payments are kept from erasure.
type Retention struct {
	Grace      time.Duration // after the window, because late money may revive a payment
	Laundering time.Duration // after the last move of a live payment that took money, because the law demands its records
}

// AskErasure notes that a payer is to be forgotten, and forgets what may be forgotten at once. What is left is erased by
// EraseDue. The note in the audit names the payer by its index only.
func (s *Store) AskErasure(ctx context.Context, operator string, payer Payer, r Retention) (erasure.Done, error) {
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
		"payments":   done.Erased, "open": done.Open, "kept": done.Kept,
	})
}

// EraseDue forgets what operators asked to be forgotten and what may be by now. Call it now and then.
func (s *Store) EraseDue(ctx context.Context, r Retention) error {
	return erasure.Due(ctx, s.pool, s.keys, s.eraser(r))
}

// eraser forgets a payer: who it is, which account was paid, and what the merchant noted, in every payment that was there when
// it was asked for and that is over. Amounts, history and ledger stay, and the bank's code. Each payment is a transaction of
// its own.
func (s *Store) eraser(r Retention) func(context.Context, erasure.Asked[Payer]) (erasure.Done, error) {
	return func(ctx context.Context, asked erasure.Asked[Payer]) (done erasure.Done, err error) {
		who := asked.Person
		indexes := s.keys.Blinds(who.ChatID, blindPlace(who.Mode, who.MerchantID))
		rows, err := s.pool.Query(ctx, payersPayments, who.MerchantID, string(who.Mode), indexes, statusNames(nil), typeNames(""), asked.At)
		if err != nil {
			return done, fmt.Errorf("find a payer's payments: %w", err)
		}
		ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return done, fmt.Errorf("find a payer's payments: %w", err)
		}
		for _, id := range ids {
			over, kept, err := s.erase(ctx, asked, id, r)
			switch {
			case err != nil:
				return done, fmt.Errorf("erase the payer of %s: %w", id, err)
			case !over:
				done.Open++
			case kept:
				done.Kept++
			default:
				done.Erased++
			}
		}
		return done, nil
	}
}

func (s *Store) erase(ctx context.Context, asked erasure.Asked[Payer], paymentID string, r Retention) (over, kept bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var receiver []byte
		var payouts []string
		var moving bool
		row := tx.QueryRow(ctx, lockEnded, paymentID, r.Grace.Seconds(), r.Laundering.Seconds())
		if err := row.Scan(&receiver, &over, &payouts, &moving, &kept); err != nil {
			return err
		}
		if over = over && !moving; !over || kept {
			return nil
		}
		blank := func(raw []byte) ([]byte, error) {
			var r payment.Receiver
			if err := opened(s.keys, raw, receiverPlace(paymentID), &r); err != nil || !r.Known() {
				return nil, err
			}
			return sealed(s.keys, payment.Receiver{BankCode: r.BankCode, BankName: r.BankName, AccountNumber: payment.ForgottenAccount}, receiverPlace(paymentID))
		}
		blanked, err := blank(receiver)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(forgetPayer, paymentID, blanked)
		for _, id := range payouts {
			batch.Queue(forgetReceiver, id, blanked)
		}
		if err := tx.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		return s.audit(ctx, tx, asked.Operator, "payment.erased", map[string]any{"erasure": asked.ID, "paymentId": paymentID})
	})
	return over, kept, err
}

// executor is a pool or a transaction.
type executor interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// audit notes what an operator did.
func (s *Store) audit(ctx context.Context, on executor, operator, action string, detail any) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("encode the note of %s: %w", action, err)
	}
	batch := &pgx.Batch{}
	batch.Queue(noteAudit, operator, action, string(text))
	if err := on.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("note %s: %w", action, err)
	}
	return nil
}
