package policy

import (
	"fmt"
	"strings"
	"testing"

	"causeway.internal/libs/order"
	"causeway.internal/services/wallets/internal/intent"
)

// withdrawalText is the policy with refunds and withdrawals.
func withdrawalText() string {
	return strings.Replace(refundText(), `"refundPerHour":"100"`, `"withdrawPerHour":"60","automaticWithdrawPerHour":"50","refundPerHour":"100"`, 1)
}

// coined is a request for an order of the coin, of a kind and amount.
func coined(kind order.Kind, number uint64, amount string, by order.Approval) intent.Request {
	o := approved(func(o *order.Order) {
		coin(o)
		o.Kind, o.ID, o.Amount, o.Approval = kind, fmt.Sprint(kind, number), amount, by
	})
	return refund(o, func(r *intent.Request) { r.Asset, r.Amount, r.EVM.Contract, r.EVM.Nonce = "ETH", amount, "", number })
}

// Withdrawals have limits of their own, beside those of refunds, and none without them.
func TestCheck_withdrawals(t *testing.T) {
	p, err := Parse([]byte(withdrawalText()))
	if err != nil {
		t.Fatalf("parse a policy with withdrawals: got %v, want no error", err)
	}
	spend := func(kind order.Kind, number uint64, amount string) Spend {
		n, _ := intent.Units(amount)
		return Spent(coined(kind, number, amount, order.Automatic), place(2, 0), n, now)
	}
	usdt := approved(func(o *order.Order) { o.Kind = order.Withdrawal })
	for name, c := range map[string]struct {
		p      Policy
		r      intent.Request
		before []Spend
		want   string
	}{
		"within the limits":               {p, coined(order.Withdrawal, 1, "50", order.Automatic), nil, ""},
		"above the automatic limit":       {p, coined(order.Withdrawal, 1, "51", order.Automatic), nil, intent.Value},
		"by an operator":                  {p, coined(order.Withdrawal, 1, "60", order.Operator), nil, ""},
		"above the limit":                 {p, coined(order.Withdrawal, 1, "61", order.Operator), nil, intent.Value},
		"beside refunds":                  {p, coined(order.Withdrawal, 1, "50", order.Automatic), []Spend{spend(order.Refund, 2, "40")}, ""},
		"after withdrawals":               {p, coined(order.Withdrawal, 1, "50", order.Automatic), []Spend{spend(order.Withdrawal, 2, "40")}, intent.Value},
		"a refund beside withdrawals":     {p, coined(order.Refund, 1, "40", order.Automatic), []Spend{spend(order.Withdrawal, 2, "40")}, ""},
		"of an asset without a limit":     {p, refund(usdt, nil), nil, intent.Asset},
		"without a policy of withdrawals": {refundPolicy(t), coined(order.Withdrawal, 1, "1", order.Operator), nil, intent.Asset},
		"a refund as a withdrawal": {p, func() intent.Request {
			r := coined(order.Refund, 1, "50", order.Automatic)
			r.Order.Kind = order.Withdrawal
			return r
		}(), nil, intent.Order},
		"of another kind": {p, coined("gift", 1, "1", order.Operator), nil, intent.Order},
	} {
		if _, refusal, err := c.p.Check(c.r, places{}, c.before, now); err != nil || codeOf(refusal) != c.want {
			t.Errorf("check a withdrawal %s: got %v, %v, want the refusal %q", name, refusal, err, c.want)
		}
	}
	for name, change := range map[string][2]string{
		"an automatic limit above the other": {`"automaticWithdrawPerHour":"50"`, `"automaticWithdrawPerHour":"61"`},
		"an automatic limit alone":           {`"withdrawPerHour":"60",`, ""},
	} {
		if _, err := Parse([]byte(strings.Replace(withdrawalText(), change[0], change[1], 1))); err == nil {
			t.Errorf("parse a policy with %s: got no error, want one", name)
		}
	}
	limit := strings.Replace(text, `"perHour":"500"`, `"perHour":"500","withdrawPerHour":"1"`, 1)
	if _, err := Parse([]byte(limit)); err == nil {
		t.Error("parse a policy with withdrawals and without keys: got no error, want one")
	}
}
