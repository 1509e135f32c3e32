package policy

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
)

const payer = "0x00000000000000000000000000000000000000bb"

// keysOf are the keys that sign orders in tests.
var keysOf = map[order.Approval]ed25519.PrivateKey{
	order.Automatic: ed25519.NewKeyFromSeed(bytes.Repeat([]byte("a"), ed25519.SeedSize)),
	order.Operator:  ed25519.NewKeyFromSeed(bytes.Repeat([]byte("o"), ed25519.SeedSize)),
}

func publicOf(a order.Approval) string {
	return base64.StdEncoding.EncodeToString(keysOf[a].Public().(ed25519.PublicKey))
}

// refundText is the policy with refunds.
func refundText() string {
	orders := fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"},"networks"`, publicOf(order.Automatic), publicOf(order.Operator))
	return strings.NewReplacer(`"networks"`, orders, `"perHour":"1000"`, `"perHour":"1000","refundPerHour":"100","automaticPerHour":"40"`,
		`"perHour":"500"`, `"perHour":"500","refundPerHour":"300","automaticPerHour":"100"`).Replace(text)
}

func refundPolicy(t *testing.T) Policy {
	t.Helper()
	p, err := Parse([]byte(refundText()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// approved is an order with its signature, after a change that its approver made.
func approved(change func(o *order.Order)) *intent.Ordered {
	o := order.Order{
		Kind: order.Refund, ID: "rfd_1", Mode: tenant.Live, Network: "ethereum", Asset: "USDT", Contract: usdt, Amount: "100", To: payer,
		Approval: order.Automatic,
	}
	if change != nil {
		change(&o)
	}
	return new(o.Approve(keysOf[o.Approval], now))
}

// refund is a request for an order, after a change that wallets made.
func refund(o *intent.Ordered, change func(r *intent.Request)) intent.Request {
	r := intent.Request{
		ID: "r", Kind: intent.Refund, Network: "ethereum", Asset: "USDT", Amount: "100", To: payer, Order: o,
		EVM: &intent.EVM{ChainID: 1, Contract: usdt, Gas: 100_000, MaxFee: "100", Tip: "1"},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// forged is an order with one field changed after it was approved.
func forged(change func(o *intent.Ordered)) *intent.Ordered {
	o := approved(nil)
	change(o)
	return o
}

func coin(o *order.Order) { o.Asset, o.Contract, o.Amount = "ETH", "", "40" }

func TestCheck_refunds(t *testing.T) {
	p := refundPolicy(t)
	thief := strings.Replace(payer, "bb", "dd", 1)
	operator := func(o *order.Order) { o.Approval = order.Operator }
	for name, c := range map[string]struct {
		r    intent.Request
		want string // code of the refusal
	}{
		"as ordered": {refund(approved(nil), nil), ""},
		"the coin": {refund(approved(coin), func(r *intent.Request) {
			r.Asset, r.Amount, r.EVM.Contract = "ETH", "40", ""
		}), ""},
		"by an operator above the automatic cap": {refund(approved(func(o *order.Order) { operator(o); o.Amount = "300" }),
			func(r *intent.Request) { r.Amount = "300" }), ""},

		// A hostile planner changes the transfer.
		"another amount":      {refund(approved(nil), func(r *intent.Request) { r.Amount = "101" }), intent.Order},
		"another destination": {refund(approved(nil), func(r *intent.Request) { r.To = thief }), intent.Destination},
		"another asset": {refund(approved(nil), func(r *intent.Request) {
			r.Asset, r.EVM.Contract = "ETH", ""
		}), intent.Order},
		"another contract":   {refund(approved(nil), func(r *intent.Request) { r.EVM.Contract = place(5, 5) }), intent.Asset},
		"without a contract": {refund(approved(nil), func(r *intent.Request) { r.EVM.Contract = "" }), intent.Asset},
		"an authorization": {refund(approved(nil), func(r *intent.Request) {
			r.EVM.Authorization = &intent.Authorization{
				Owner: place(0, 7), Name: "USD Coin", Version: "2", Nonce: strings.Repeat("ab", 32), Before: now.Add(time.Hour).Unix(),
			}
		}), intent.Malformed},
		"another chain":     {refund(approved(nil), func(r *intent.Request) { r.EVM.ChainID = 2 }), intent.ChainID},
		"too dear":          {refund(approved(nil), func(r *intent.Request) { r.EVM.MaxFee = "101" }), intent.Fee},
		"a deposit address": {refund(approved(nil), func(r *intent.Request) { r.Index = 7 }), intent.Malformed},
		"another network":   {refund(approved(nil), func(r *intent.Request) { r.Network = "bsc" }), intent.Network},

		// It changes the order as well.
		"an order of another amount": {refund(forged(func(o *intent.Ordered) { o.Amount = "101" }),
			func(r *intent.Request) { r.Amount = "101" }), intent.Order},
		"an order to another destination": {refund(forged(func(o *intent.Ordered) { o.To = thief }),
			func(r *intent.Request) { r.To = thief }), intent.Order},
		"an order with another id":       {refund(forged(func(o *intent.Ordered) { o.ID = "rfd_2" }), nil), intent.Order},
		"an order of another kind":       {refund(forged(func(o *intent.Ordered) { o.Kind = "withdrawal" }), nil), intent.Order},
		"an order of another mode":       {refund(forged(func(o *intent.Ordered) { o.Mode = tenant.Test }), nil), intent.Order},
		"an order of another network":    {refund(forged(func(o *intent.Ordered) { o.Network = "bsc" }), nil), intent.Order},
		"an order of another contract":   {refund(forged(func(o *intent.Ordered) { o.Contract = place(5, 5) }), nil), intent.Order},
		"an automatic order as operator": {refund(forged(func(o *intent.Ordered) { o.Approval = order.Operator }), nil), intent.Order},
		"an order without signature":     {refund(forged(func(o *intent.Ordered) { o.Signature, o.TimedSignature = "", "" }), nil), intent.Order},
		"an order at another time":       {refund(forged(func(o *intent.Ordered) { o.ApprovedAt = now.Add(1) }), nil), intent.Order},
		"an order at no time":            {refund(forged(func(o *intent.Ordered) { o.ApprovedAt = time.Time{} }), nil), intent.Order},
		"an order signed without a time": {refund(forged(func(o *intent.Ordered) { o.TimedSignature = "" }), nil), ""},
		"an old signature for a time":    {refund(forged(func(o *intent.Ordered) { o.TimedSignature = o.Signature }), nil), intent.Order},
		"a timed signature for no time":  {refund(forged(func(o *intent.Ordered) { o.Signature, o.TimedSignature = o.TimedSignature, "" }), nil), intent.Order},
		"no order":                       {refund(nil, nil), intent.Malformed},
		"an order without an approval":   {refund(forged(func(o *intent.Ordered) { o.Approval = "" }), nil), intent.Order},
		"a sweep with an order":          {sweep(func(r *intent.Request) { r.Order = approved(nil) }), intent.Malformed},

		// It uses an order that is approved for something else.
		"approved for test mode":       {refund(approved(func(o *order.Order) { o.Mode = tenant.Test }), nil), intent.Order},
		"approved for another network": {refund(approved(func(o *order.Order) { o.Network = "bsc" }), nil), intent.Order},
		"approved for another token":   {refund(approved(func(o *order.Order) { o.Contract = place(5, 5) }), nil), intent.Asset},
		"approved by a key of the operator's name": {refund(forged(func(o *intent.Ordered) {
			o.Approval = order.Operator
			*o = o.Approve(keysOf[order.Automatic], now)
		}), nil), intent.Order},

		"above the automatic cap": {refund(approved(func(o *order.Order) { o.Amount = "101" }),
			func(r *intent.Request) { r.Amount = "101" }), intent.Value},
		"above the cap of refunds": {refund(approved(func(o *order.Order) { operator(o); o.Amount = "301" }),
			func(r *intent.Request) { r.Amount = "301" }), intent.Value},
		"to the address of zeros": {refund(approved(func(o *order.Order) { o.To = "0x" + strings.Repeat("0", 40) }),
			func(r *intent.Request) { r.To = "0x" + strings.Repeat("0", 40) }), intent.Destination},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(c.r, places{}, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := codeOf(refusal); got != c.want {
				t.Fatalf("check a refund: got the refusal %q (%v), want %q", got, refusal, c.want)
			}
			if c.want == "" && (plan.From.String() != place(2, 0) || plan.Account != 2 || plan.Index != 0) {
				t.Errorf("check a refund: got the sender %s, account %d, want the refund station", plan.From, plan.Account)
			}
		})
	}
	if _, refusal, _ := parse(t).Check(refund(approved(nil), nil), places{}, nil, now); codeOf(refusal) != intent.Order {
		t.Errorf("check a refund without keys of orders: got %v, want a refusal", refusal)
	}
}

func codeOf(r *intent.Refusal) string {
	if r == nil {
		return ""
	}
	return r.Code
}

// The automatic cap counts automatic refunds alone, the cap of refunds counts all, and neither counts sweeps. A
// replacement under the same number counts once.
func TestCheck_refundsOfAnHour(t *testing.T) {
	p := refundPolicy(t)
	spend := func(number uint64, amount string, by order.Approval, at time.Time) Spend {
		o := approved(func(o *order.Order) { o.ID, o.Amount, o.Approval = fmt.Sprint(number), amount, by })
		n, _ := intent.Units(amount)
		return Spent(refund(o, func(r *intent.Request) { r.EVM.Nonce, r.Amount = number, amount }), place(2, 0), n, at)
	}
	next := func(number uint64, amount string, by order.Approval) intent.Request {
		o := approved(func(o *order.Order) { o.ID, o.Amount, o.Approval = fmt.Sprint(number), amount, by })
		return refund(o, func(r *intent.Request) { r.EVM.Nonce, r.Amount = number, amount })
	}
	before := []Spend{spend(1, "60", order.Automatic, now), spend(2, "150", order.Operator, now)}
	for name, c := range map[string]struct {
		r      intent.Request
		before []Spend
		at     time.Time
		want   string
	}{
		"within the automatic cap":      {next(3, "40", order.Automatic), before, now, ""},
		"above the automatic cap":       {next(3, "41", order.Automatic), before, now, intent.Value},
		"by an operator":                {next(3, "90", order.Operator), before, now, ""},
		"above the cap of refunds":      {next(3, "91", order.Operator), before, now, intent.Value},
		"a replacement":                 {next(1, "60", order.Automatic), before, now, ""},
		"after an hour":                 {next(3, "100", order.Automatic), before, now.Add(Window), ""},
		"more transactions than agreed": {next(4, "1", order.Operator), append(before, spend(3, "1", order.Operator, now)), now, intent.Count},
	} {
		if _, refusal, err := p.Check(c.r, places{}, c.before, c.at); err != nil || codeOf(refusal) != c.want {
			t.Errorf("check a refund %s: got %v, %v, want the refusal %q", name, refusal, err, c.want)
		}
	}
}

func TestParse_refunds(t *testing.T) {
	for name, change := range map[string][2]string{
		"one key for both approvals":       {publicOf(order.Operator), publicOf(order.Automatic)},
		"a key that is none":               {publicOf(order.Operator), "AAAA"},
		"no key of operators":              {`,"operator":"` + publicOf(order.Operator) + `"`, ""},
		"the account of deposit addresses": {`"refundAccount":2`, `"refundAccount":0`},
		"the account of the gas station":   {`"refundAccount":2`, `"refundAccount":1`},
		"no account":                       {`"refundAccount":2,`, ""},
		"an automatic cap above the other": {`"automaticPerHour":"40"`, `"automaticPerHour":"101"`},
	} {
		changed := strings.Replace(refundText(), change[0], change[1], 1)
		if changed == refundText() {
			t.Fatalf("change the policy for %s: got no change", name)
		}
		if _, err := Parse([]byte(changed)); err == nil {
			t.Errorf("parse a policy with %s: got no error, want one", name)
		}
	}
	for name, more := range map[string]string{"refundAccount": `"refundAccount":2,"networks"`} {
		if _, err := Parse([]byte(strings.Replace(text, `"networks"`, more, 1))); err == nil {
			t.Errorf("parse a policy with %s and without keys: got no error, want one", name)
		}
	}
	limit := strings.Replace(text, `"perHour":"500"`, `"perHour":"500","refundPerHour":"1"`, 1)
	if _, err := Parse([]byte(limit)); err == nil {
		t.Error("parse a policy with refunds and without keys: got no error, want one")
	}
}
