//go:build integration

package refunds_test

import (
	"encoding/json"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/views"
)

// One operator cancels an approved refund. It ends by the answer of wallets: failed, so that its money is owed again,
// or not cancelled, which operators see until it ends.
func TestCancel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer  wire.RefundState
		reason  string
		state   string
		shown   string // progress of the cancellation
		listed  int
		failure string
	}{
		"in time":       {wire.RefundFailed, wire.RefundCancelled, "failed", "requested", 0, "cancelled"},
		"too late":      {wire.RefundSigning, wire.RefundNotCancelled, "signing", "too_late", 1, ""},
		"when sent":     {wire.RefundSent, wire.RefundNotCancelled, "sent", "too_late", 1, ""},
		"while sending": {wire.RefundSent, "", "sent", "too_late", 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := fixture.New(t)
			p := owing(w)
			r, err := ask(w, p, "", idempotency.Key{})
			if err != nil {
				t.Fatal(err)
			}
			decide := refunds.Decision{Operator: "ada", Reason: "the payer asked for it"}
			if _, err := w.Refunds.Cancel(t.Context(), r.ID, refunds.Decision{Operator: "ada"}, &fault.Problems{}, idempotency.Key{}); fault.As(err).Kind != fault.Invalid {
				t.Errorf("cancel a refund without a reason: got %v, want an invalid request", err)
			}
			for range 2 {
				a, err := w.Refunds.Cancel(t.Context(), r.ID, decide, &fault.Problems{}, idempotency.Key{})
				if err != nil {
					t.Fatalf("cancel refund %s: got %v, want no error", r.ID, err)
				}
				var answer views.OperatedRefund
				if err := json.Unmarshal(a.Body, &answer); err != nil || answer.Refund.Cancelled != "requested" || answer.Refund.Status != "approved" {
					t.Fatalf("cancel refund %s: got %s, %v, want it approved with its cancellation requested", r.ID, a.Body, err)
				}
			}
			if err := reports(w)(r.ID, 2, c.answer, func(m *wire.RefundChanged) { m.Reason, m.TxHash, m.Fee = c.reason, "", "0" }); err != nil {
				t.Fatal(err)
			}
			const read = `SELECT state || ' ' || cancelled || ' ' || failure FROM refunds WHERE id = $1`
			if got, want := fixture.Ask[string](w, read, r.ID), c.state+" "+c.shown+" "+c.failure; got != want {
				t.Errorf("read the refund after the answer of wallets: got %q, want %q", got, want)
			}
			page, err := w.Refunds.Waiting(t.Context(), "", 9)
			if err != nil {
				t.Fatal(err)
			}
			var list views.WaitingAnswer
			if err := json.Unmarshal(page, &list); err != nil || len(list.Refunds) != c.listed {
				t.Errorf("list the refunds that wait: got %s, %v, want %d", page, err, c.listed)
			}
			if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.RefundWithdrawnV1)); n != 2 {
				t.Errorf("count the messages to wallets: got %d, want one for each cancellation", n)
			}
			const audited = `SELECT count(*) FROM decisions WHERE action = 'cancel_refund' AND operator = 'ada'`
			if n := fixture.Ask[int](w, audited); n != 2 {
				t.Errorf("count the decisions in the audit: got %d, want 2", n)
			}
			_, err = w.Refunds.Cancel(t.Context(), r.ID, decide, &fault.Problems{}, idempotency.Key{})
			if again := c.state == "signing"; again != (err == nil) || !again && fault.As(err).Code != "refund_not_cancellable" {
				t.Errorf("cancel a refund that is %s: got %v, want refund_not_cancellable %t", c.state, err, !again)
			}
			if c.state == "failed" {
				if got := account(w, "test:clearing:refund:tron:USDT"); got != "0.00" {
					t.Errorf("read what refunds hold after the cancellation: got %s, want 0.00", got)
				}
				if _, err := ask(w, p, "", idempotency.Key{}); err != nil {
					t.Errorf("refund the money again after the cancellation: got %v, want no error", err)
				}
			}
			if got := account(w, "test:clearing:refund:tron:USDT"); got != "31.25" {
				t.Errorf("read what refunds hold: got %s, want 31.25", got)
			}
			w.Balanced()
		})
	}
}
