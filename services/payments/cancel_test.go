//go:build integration

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"causeway.internal/libs/command"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/views"
)

// An operator cancels a refund with a command as with the request of the API: wallets is asked, the decision is in the
// audit under the operator's name, and the same refunds are refused.
func TestOperate_cancelsRefund(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(1)
	p := w.Make(fixture.Command())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatalf("cancel payment %s: got %v, want no error", p.ID, err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	const payers = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
	if _, err := w.Merchants.RefundAddress(t.Context(), fixture.Owner, p.Reference, payers, &fault.Problems{}, idempotency.Key{}); err != nil {
		t.Fatalf("set the refund address of payment %s: got %v, want no error", p.ID, err)
	}
	a, err := w.Refunds.Request(t.Context(), fixture.Owner, p.Reference, refunds.Order{Reason: "wrong size", Sender: "key 7"}, &fault.Problems{}, idempotency.Key{})
	if err != nil {
		t.Fatalf("request a refund of payment %s: got %v, want no error", p.ID, err)
	}
	var made views.RefundAnswer
	if err := json.Unmarshal(a.Body, &made); err != nil {
		t.Fatal(err)
	}
	before := fixture.Ask[int](w, `SELECT count(*) FROM outbox`)
	environ := map[string]string{"DATABASE_URL": w.Config.URL.Reveal(), "MASTER_KEYS": "k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32))}
	types := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := program.Run(t.Context(), command.Input{Args: append([]string{"--as", "ada.obi", "refunds", "cancel"}, args...), Environ: environ, Out: &out})
		return out.String(), err
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no reason":         {[]string{"--refund", made.Refund.ID}, "usage"},
		"no refund":         {[]string{"--reason", "ticket 17"}, "usage"},
		"an unknown refund": {[]string{"--refund", "rfd_0", "--reason", "ticket 17"}, "refund_not_found"},
		"a withdrawal":      {[]string{"--refund", "wwd_0", "--reason", "ticket 17"}, "refund_not_found"},
	} {
		if _, err := types(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("cancel with %s: got %v, want an error with %q", name, err, c.want)
		}
	}
	said, err := types("--refund", made.Refund.ID, "--reason", "ticket 17")
	var answer views.OperatedRefund
	if wrong := json.Unmarshal([]byte(said), &answer); err != nil || wrong != nil || answer.Refund.Cancelled != "requested" || answer.Refund.Status != "approved" {
		t.Fatalf("cancel refund %s: got %s, %v, want it approved with its cancellation requested", made.Refund.ID, said, err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.RefundWithdrawnV1)); n != 1 {
		t.Errorf("count the messages to wallets: got %d, want 1", n)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox`); n != before+1 {
		t.Errorf("count all messages after a cancellation: got %d, want %d: no event says it", n, before+1)
	}
	const audited = `SELECT count(*) FROM decisions WHERE action = 'cancel_refund' AND operator = 'cli:ada.obi' AND reason LIKE 'ticket 17 (%'`
	if n := fixture.Ask[int](w, audited); n != 1 {
		t.Errorf("count the decisions in the audit: got %d, want 1", n)
	}
	w.SQL(`UPDATE refunds SET state = 'sent' WHERE id = $1`, made.Refund.ID)
	if _, err := types("--refund", made.Refund.ID, "--reason", "ticket 17"); err == nil || !strings.Contains(err.Error(), "refund_not_cancellable") {
		t.Errorf("cancel a refund that is sent: got %v, want refund_not_cancellable", err)
	}
	w.Balanced()
}
