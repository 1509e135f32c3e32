package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/services/wallets/internal/intent"
)

// tronRefundText is tron's policy with refunds.
func tronRefundText() string {
	orders := fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"},"networks"`,
		publicOf(order.Automatic), publicOf(order.Operator))
	return strings.NewReplacer(`"networks"`, orders, `"expiryMargin":60`, `"expiryMargin":60,"formsPerOrder":3`,
		`"perHour":"1000"`, `"perHour":"1000","refundPerHour":"100","automaticPerHour":"40"`,
		`"perHour":"500"`, `"perHour":"500","refundPerHour":"300","automaticPerHour":"100"`).Replace(tronText)
}

func tronRefundPolicy(t *testing.T) Policy {
	t.Helper()
	p, err := Parse([]byte(tronRefundText()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// tronRefund is a request for an order of tokens on tron, after a change of the order by its approver, and one of the
// request by wallets.
func tronRefund(change func(o *order.Order), alter func(r *intent.Request)) intent.Request {
	o := approved(func(o *order.Order) {
		o.Network, o.Contract, o.To = "tron", tronUSDT, tronPlace(5, 5)
		if change != nil {
			change(o)
		}
	})
	return tronSweep(func(r *intent.Request) {
		r.Kind, r.Index, r.Amount, r.To, r.Order = intent.Refund, 0, o.Amount, o.To, o
		if alter != nil {
			alter(r)
		}
	})
}

func tronCoin(o *order.Order) { o.Asset, o.Contract, o.Amount = "TRX", "", "40" }

func TestCheck_tronRefunds(t *testing.T) {
	p := tronRefundPolicy(t)
	const nobody = "T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb" // 20 bytes of zeros
	for name, c := range map[string]struct {
		r    intent.Request
		want string // code of the refusal
	}{
		"as ordered": {tronRefund(nil, nil), ""},
		"TRX": {tronRefund(tronCoin, func(r *intent.Request) {
			r.Asset, r.Tron.Contract, r.Tron.FeeLimit = "TRX", "", 0
		}), ""},
		"another amount":         {tronRefund(nil, func(r *intent.Request) { r.Amount = "99" }), intent.Order},
		"another destination":    {tronRefund(nil, func(r *intent.Request) { r.To = tronPlace(6, 6) }), intent.Destination},
		"the address of zeros":   {tronRefund(func(o *order.Order) { o.To = nobody }, nil), intent.Destination},
		"a mistyped destination": {tronRefund(nil, func(r *intent.Request) { r.To = tronTreasury[:33] + "D" }), intent.Malformed},
		"another contract":       {tronRefund(nil, func(r *intent.Request) { r.Tron.Contract = tronTreasury }), intent.Asset},
		"TRX in place of a token": {tronRefund(nil, func(r *intent.Request) {
			r.Tron.Contract, r.Tron.FeeLimit = "", 0
		}), intent.Asset},
		"an order that was changed": {tronRefund(nil, func(r *intent.Request) {
			r.Order.To, r.To = tronPlace(6, 6), tronPlace(6, 6)
		}), intent.Order},
		"an order for another network": {tronRefund(func(o *order.Order) { o.Network = "ethereum" }, nil), intent.Order},
		"an order for another token":   {tronRefund(func(o *order.Order) { o.Contract = tronTreasury }, nil), intent.Asset},
		"a fee limit too high":         {tronRefund(nil, func(r *intent.Request) { r.Tron.FeeLimit = 101 }), intent.Fee},
		"no fee limit":                 {tronRefund(nil, func(r *intent.Request) { r.Tron.FeeLimit = 0 }), intent.Malformed},
		"a late expiration": {tronRefund(nil, func(r *intent.Request) {
			r.Tron.Expiration = now.Add(time.Hour).UnixMilli()
		}), intent.Expiry},
		"above the automatic cap":   {tronRefund(func(o *order.Order) { o.Amount = "101" }, nil), intent.Value},
		"above the hourly limit":    {tronRefund(func(o *order.Order) { o.Amount, o.Approval = "301", order.Operator }, nil), intent.Value},
		"a deposit address":         {tronRefund(nil, func(r *intent.Request) { r.Index = 7 }), intent.Malformed},
		"no order":                  {tronRefund(nil, func(r *intent.Request) { r.Order = nil }), intent.Malformed},
		"energy with an order":      {tronRefund(nil, func(r *intent.Request) { r.Kind = intent.Delegate }), intent.Malformed},
		"a sweep in a form's place": {tronSweep(func(r *intent.Request) { r.Tron.Follows = "aa" }), intent.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(c.r, places{}, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := codeOf(refusal); got != c.want {
				t.Fatalf("check a refund on tron: got the refusal %q (%v), want %q", got, refusal, c.want)
			}
			if c.want == "" && (plan.From.String() != tronPlace(2, 0) || plan.Account != 2 || plan.Tron.Owner.String() != tronPlace(2, 0)) {
				t.Errorf("check a refund on tron: got the sender %s, want the refund station", plan.From)
			}
		})
	}
}

// Two forms of one order can never land in the same block: the next one is signed once the first has expired, by the
// signer's clock with its margin. Each counts in the hour.
func TestCheck_tronRefundsOneAtATime(t *testing.T) {
	p := tronRefundPolicy(t)
	first := tronRefund(nil, func(r *intent.Request) { r.Tron.Expiration = now.Add(5 * time.Minute).UnixMilli() })
	plan, refusal, err := p.Check(first, places{}, nil, now)
	if err != nil || refusal != nil {
		t.Fatalf("check the first form: got %v, %v, want no refusal", refusal, err)
	}
	before := []Spend{plan.Spend}
	next := func(id string, after time.Duration) string {
		t.Helper()
		r := tronRefund(func(o *order.Order) { o.ID, o.Approval = id, order.Operator }, func(r *intent.Request) {
			r.ID, r.Tron.Expiration = "b", now.Add(after+5*time.Minute).UnixMilli()
		})
		_, refusal, err := p.Check(r, places{}, before, now.Add(after))
		if err != nil {
			t.Fatal(err)
		}
		return codeOf(refusal)
	}
	if got := next("rfd_1", 6*time.Minute); got != intent.Expiry {
		t.Errorf("check a second form within the margin: got %q, want %q", got, intent.Expiry)
	}
	if got := next("rfd_1", 6*time.Minute+time.Second); got != "" {
		t.Errorf("check a second form after the margin: got %q, want no refusal", got)
	}
	if got := next("rfd_2", time.Second); got != "" {
		t.Errorf("check another order meanwhile: got %q, want no refusal", got)
	}
	before = append(before, plan.Spend, plan.Spend)
	for i := range before {
		before[i].Slot = fmt.Sprint(i)
	}
	if got := next("rfd_2", time.Minute); got == "" {
		t.Error("check a refund after three forms of 100: got no refusal, want one by the hour's limit")
	}
}

func TestParse_tronRefunds(t *testing.T) {
	for name, text := range map[string]string{
		"none": strings.Replace(tronRefundText(), `,"formsPerOrder":3`, "", 1),
		"many": strings.Replace(tronRefundText(), `"formsPerOrder":3`, `"formsPerOrder":11`, 1),
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), "formsPerOrder") {
			t.Errorf("parse a policy with %s of tron's forms: got %v, want an error", name, err)
		}
	}
}
