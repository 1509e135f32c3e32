package store

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
	WHERE p.status = s.status AND p.type = t.type AND p.mode = $2 AND p.merchant_id = $1 AND p.payer_index = ANY($3) OFFSET 0) AS found`
	// A payment is over when no money of it can move any more without a person, and late money could not revive it either.
	lockEnded = `SELECT p.receiver, p.status IN ('settled', 'refunded', 'cancelled') OR (p.status = 'expired' AND p.expires_at < now() - $2 * interval '1 second'),
	coalesce((SELECT array_agg(o.id ORDER BY o.id) FROM payouts o WHERE o.payment_id = p.id), '{}'),
	EXISTS (SELECT FROM payouts o WHERE o.payment_id = p.id AND (o.next_at IS NOT NULL OR o.state IN ('created', 'sending', 'pending', 'unknown')))
FROM payments p WHERE p.id = $1 FOR UPDATE OF p`
	forgetPayer    = `UPDATE payments SET payer = NULL, payer_index = NULL, receiver = $2 WHERE id = $1`
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
	return payments + payouts, wrap(err, "seal payouts again")
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

// forgotten stands for the account number of an erased receiver: the payment still says that there was one.
const forgotten = "****"

// Erased is what became of an erasure.
type Erased struct {
	Payments int // of which payer and receiver are forgotten
	Open     int // left as they are, because money of theirs may still move
}

// Erase forgets a merchant's payer: who it is and which account was paid, in every payment of it that is over. Amounts,
// history and ledger stay, and the bank's code. grace is how long after its window late money may revive a payment. Each
// payment is its own transaction; the note in the audit names the payer by its index only.
func (s *Store) Erase(ctx context.Context, operator string, mode payment.Mode, merchantID, chatID string, grace time.Duration) (done Erased, err error) {
	indexes := s.keys.Blinds(chatID, blindPlace(mode, merchantID))
	rows, err := s.pool.Query(ctx, payersPayments, merchantID, string(mode), indexes, statusNames(nil), typeNames(""))
	if err != nil {
		return done, fmt.Errorf("find a payer's payments: %w", err)
	}
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return done, fmt.Errorf("find a payer's payments: %w", err)
	}
	for _, id := range ids {
		over, err := s.erase(ctx, id, grace)
		if err != nil {
			return done, fmt.Errorf("erase the payer of %s: %w", id, err)
		}
		if over {
			done.Payments++
		} else {
			done.Open++
		}
	}
	return done, s.audit(ctx, s.pool, operator, "payer.erased", map[string]any{
		"mode": mode, "merchantId": merchantID, "payerIndex": hex.EncodeToString(indexes[0]), "payments": done.Payments, "open": done.Open,
	})
}

func (s *Store) erase(ctx context.Context, paymentID string, grace time.Duration) (over bool, err error) {
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		var receiver []byte
		var payouts []string
		var moving bool
		if err := tx.QueryRow(ctx, lockEnded, paymentID, grace.Seconds()).Scan(&receiver, &over, &payouts, &moving); err != nil {
			return err
		}
		if over = over && !moving; !over {
			return nil
		}
		blank := func(raw []byte) ([]byte, error) {
			var r payment.Receiver
			if err := opened(s.keys, raw, receiverPlace(paymentID), &r); err != nil || !r.Known() {
				return nil, err
			}
			return sealed(s.keys, payment.Receiver{BankCode: r.BankCode, BankName: r.BankName, AccountNumber: forgotten}, receiverPlace(paymentID))
		}
		kept, err := blank(receiver)
		if err != nil {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(forgetPayer, paymentID, kept)
		for _, id := range payouts {
			batch.Queue(forgetReceiver, id, kept)
		}
		return tx.SendBatch(ctx, batch).Close()
	})
	return over, err
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
