package operator

import (
	"slices"
	"testing"
)

// A hit leads to the decisions on its payment while that needs review, and to none of another or without a payment.
func TestScreenings_acts(t *testing.T) {
	l := listsByName()["screenings"]
	for name, c := range map[string]struct {
		of   row
		want []string
	}{
		"held": {row{"id": "pay_1", "status": "needs_review"}, []string{
			"/payments/pay_1/accept", "/payments/pay_1/retry-payout", "/payments/pay_1/mark-refunded", "/payments/pay_1/refund",
		}},
		"settled":           {row{"id": "pay_1", "status": "settled"}, nil},
		"without a payment": {row{"id": nil, "status": nil}, nil},
	} {
		var got []string
		for _, b := range lineOf(c.of, l.Columns, l.acts(c.of), actsByName()).Acts {
			got = append(got, b.Link)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: got the acts %v, want %v", name, got, c.want)
		}
	}
}

// Every decision on money, and every one that puts something back, takes a reason.
func TestActs_reason(t *testing.T) {
	free := []string{"merchant_create", "merchant_approve", "merchant_terms", "key_create", "key_revoke", "passkey_revoke", "token_revoke"}
	for _, a := range acts() {
		needed := slices.ContainsFunc(a.Fields, func(f field) bool { return f.Name == "reason" && f.Needed })
		if needed == slices.Contains(free, a.Name) {
			t.Errorf("%s demands a reason: got %t", a.Name, needed)
		}
	}
}

// A dead queue at the broker is named as the broker names it, with the command of the service whose user reads it.
func TestDeadQueues(t *testing.T) {
	for name, c := range map[string]struct {
		of             row
		queue, command string
	}{
		"payments":   {row{"service": "payments", "queue": "payments.a.v1"}, "payments.a.v1.dead", "payments dead list"},
		"dispatcher": {row{"service": "callback-dispatcher", "queue": "c.v1"}, "c.v1.dead", "callback-dispatcher dead list --broker"},
		"unrouted":   {row{"service": "reports", "queue": "unrouted"}, "unrouted", ""},
	} {
		if queue, command := deadQueue(c.of), deadCommand(c.of); queue != c.queue || command != c.command {
			t.Errorf("%s: got %s and %q, want %s and %q", name, queue, command, c.queue, c.command)
		}
	}
}
