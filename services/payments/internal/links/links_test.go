//go:build integration

package links_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/link"
	"causeway.internal/services/payments/internal/links"
	"causeway.internal/services/payments/internal/payment"
)

// made is a link of the type merchant for NGN 50 000.
func made(t *testing.T, w *fixture.Payments, usageLimit int) string {
	t.Helper()
	l := link.Link{Type: payment.MerchantPayment, Title: "Ticket", Currency: money.NGN, Amount: *fixture.Number("50000"), UsageLimit: usageLimit}
	answer, err := w.Links.Create(t.Context(), fixture.Owner, l, &fault.Problems{}, idempotency.Key{})
	var body struct{ PaymentLink struct{ ID string } }
	if err = errors.Join(err, json.Unmarshal(answer.Body, &body)); err != nil {
		t.Fatalf("make a link: %v, %s", err, answer.Body)
	}
	return body.PaymentLink.ID
}

func pay(ctx context.Context, w *fixture.Payments, linkID string) error {
	_, err := w.Links.Pay(ctx, linkID, links.Order{Crypto: "USDT", Network: "tron"}, &fault.Problems{}, idempotency.Key{})
	return err
}

// Payers who ask at once for a place that has become free do not share it, however their transactions interleave.
func TestPay_freedPlace(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(100)
	for round := range 5 {
		linkID := made(t, w, 1)
		if err := pay(t.Context(), w, linkID); err != nil {
			t.Fatal(err)
		}
		w.SQL(`UPDATE payments SET status = 'expired' WHERE id IN (SELECT payment_id FROM payment_link_uses WHERE link_id = $1)`, linkID)

		// Another transaction holds the row of the link, so that all payers wait for it with what they have read.
		tx, err := w.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tx.Exec(t.Context(), `SELECT FROM payment_links WHERE id = $1 FOR UPDATE`, linkID); err != nil {
			t.Fatal(err)
		}
		results := make(chan error, 4)
		var payers sync.WaitGroup
		for range cap(results) {
			payers.Go(func() { results <- pay(t.Context(), w, linkID) })
		}
		waits(t, w, cap(results))
		if err := tx.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
		payers.Wait()
		close(results)
		took := 0
		for err := range results {
			switch {
			case err == nil:
				took++
			case !errors.Is(err, link.ErrClosed):
				t.Errorf("round %d: pay: got %v, want payment_link_closed", round, err)
			}
		}
		if took != 1 {
			t.Errorf("round %d: %d payers took one place, want one", round, took)
		}
	}
}

// waits waits until so many connections of the database wait for a lock.
func waits(t *testing.T, w *fixture.Payments, n int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		if fixture.Ask[int](w, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) >= n {
			return
		}
	}
	t.Fatalf("no %d payers wait for the link", n)
}

// Anybody who has a link makes payments, so a link makes a bounded number that nobody pays: one who only asks uses up
// neither the stock of addresses nor the limits of the merchant.
func TestPay_unpaid(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(link.WaitingMost + 20)
	linkID, other := made(t, w, 0), made(t, w, 0)
	for n := range link.WaitingMost {
		if err := pay(t.Context(), w, linkID); err != nil {
			t.Fatalf("payment %d of a link: %v", n+1, err)
		}
	}
	if err := pay(t.Context(), w, linkID); !errors.Is(err, link.ErrBusy) {
		t.Errorf("payment %d that waits: got %v, want payment_link_busy", link.WaitingMost+1, err)
	}
	if err := pay(t.Context(), w, other); err != nil {
		t.Errorf("a payment of another link: %v", err)
	}
	for name, change := range map[string]string{
		"one is paid":     `UPDATE payments SET status = 'confirmed' WHERE id = (SELECT max(payment_id) FROM payment_link_uses WHERE link_id = $1)`,
		"one has expired": `UPDATE payments SET status = 'expired' WHERE id = (SELECT max(payment_id) FROM payment_link_uses WHERE link_id = $1)`,
		"time has passed": `UPDATE payments SET created_at = created_at - interval '31 minutes' WHERE id IN (SELECT payment_id FROM payment_link_uses WHERE link_id = $1)`,
	} {
		w.SQL(change, linkID)
		if err := pay(t.Context(), w, linkID); err != nil {
			t.Errorf("pay after %s: %v", name, err)
		}
	}
}

// The payments of a link with a large limit are counted again every few seconds at most.
func TestPay_countsSeldom(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(20)
	linkID := made(t, w, 2000)
	if err := pay(t.Context(), w, linkID); err != nil {
		t.Fatal(err)
	}
	w.SQL(`UPDATE payment_links SET uses = usage_limit, recounted_at = clock_timestamp() WHERE id = $1`, linkID)
	if err := pay(t.Context(), w, linkID); !errors.Is(err, link.ErrClosed) {
		t.Errorf("pay right after a count: got %v, want payment_link_closed", err)
	}
	w.SQL(`UPDATE payment_links SET recounted_at = clock_timestamp() - interval '6 seconds' WHERE id = $1`, linkID)
	if err := pay(t.Context(), w, linkID); err != nil {
		t.Errorf("pay later: %v", err)
	}
}
