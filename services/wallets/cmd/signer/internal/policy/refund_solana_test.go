package policy

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

var (
	solanaPayer   = ownerOf(order.Automatic)
	refundNonceAt = soltx.Account{10}.String()
)

// ownerOf is an address on the curve.
func ownerOf(a order.Approval) string {
	return soltx.Account(keysOf[a].Public().(ed25519.PublicKey)).String()
}

// solanaRefundText is the policy of solana with refunds, whose rent is that of two token accounts an hour.
func solanaRefundText() string {
	orders := fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"},"networks"`, publicOf(order.Automatic), publicOf(order.Operator))
	return strings.NewReplacer(`"networks"`, orders, `"maxFee"`, fmt.Sprintf(`"refundNonces":["%s"],"rentPerHour":"%d","maxFee"`, refundNonceAt, 2*soltx.TokenRent),
		`"countPerHour":3`, `"countPerHour":30`, `"perHour":"1000"`, `"perHour":"1000","refundPerHour":"1000","automaticPerHour":"400"`,
		`"perHour":"500"`, `"perHour":"500","refundPerHour":"300","automaticPerHour":"100"`).Replace(solText)
}

// solanaOrder is an order of solana with its signature.
func solanaOrder(change func(o *order.Order)) *intent.Ordered {
	return approved(func(o *order.Order) {
		o.Mode, o.Network, o.Asset, o.Contract, o.To, o.Amount = tenant.Live, "solana", "USDC", usdcMint, solanaPayer, "100"
		if change != nil {
			change(o)
		}
	})
}

// solanaRefund is a request for an order, after a change that wallets made.
func solanaRefund(o *intent.Ordered, change func(r *intent.Request)) intent.Request {
	station, _ := places{}.SolanaStation(2)
	r := intent.Request{
		ID: "r", Kind: intent.Refund, Network: "solana", Asset: "USDC", Amount: "100", To: solanaPayer, Order: o,
		Solana: &intent.Solana{
			Station: station.String(), NonceAt: refundNonceAt, Nonce: soltx.Account{7}.String(), UnitLimit: 10_000, UnitPrice: 500_000, Mint: usdcMint, Decimals: 6,
		},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestCheck_solanaRefunds(t *testing.T) {
	p, err := Parse([]byte(solanaRefundText()))
	if err != nil {
		t.Fatal(err)
	}
	thief, gas := ownerOf(order.Operator), solanaSweep(nil).Solana.Station
	for name, c := range map[string]struct {
		order  func(o *order.Order) // that its approver changed
		change func(r *intent.Request)
		want   string
	}{
		"as ordered": {},
		"the coin": {order: func(o *order.Order) { o.Asset, o.Contract = "SOL", "" }, change: func(r *intent.Request) {
			r.Asset, r.Solana.Mint, r.Solana.Decimals = "SOL", "", 0
		}},
		"another destination":   {change: func(r *intent.Request) { r.To = thief }, want: intent.Destination},
		"a changed order":       {change: func(r *intent.Request) { r.To, r.Order.To = thief, thief }, want: intent.Order},
		"another amount":        {change: func(r *intent.Request) { r.Amount = "101" }, want: intent.Order},
		"another mint":          {change: func(r *intent.Request) { r.Solana.Mint = thief }, want: intent.Asset},
		"without a mint":        {change: func(r *intent.Request) { r.Solana.Mint, r.Solana.Decimals = "", 0 }, want: intent.Asset},
		"other decimals":        {change: func(r *intent.Request) { r.Solana.Decimals = 9 }, want: intent.Asset},
		"another station":       {change: func(r *intent.Request) { r.Solana.Station = thief }, want: intent.Address},
		"the gas station":       {change: func(r *intent.Request) { r.Solana.Station = gas }, want: intent.Address},
		"a nonce of sweeps":     {change: func(r *intent.Request) { r.Solana.NonceAt = nonceAt }, want: intent.Address},
		"another nonce account": {change: func(r *intent.Request) { r.Solana.NonceAt = thief }, want: intent.Address},
		"no nonce":              {change: func(r *intent.Request) { r.Solana.Nonce = soltx.Account{}.String() }, want: intent.Malformed},
		"too dear":              {change: func(r *intent.Request) { r.Solana.UnitPrice = 1_600_000 }, want: intent.Fee},
		"moves of addresses": {change: func(r *intent.Request) {
			r.Solana.Moves = []intent.SolanaMove{{Index: 7, Owner: solanaPlace(7), Amount: "100"}}
		}, want: intent.Malformed},
		"terms of another family too": {change: func(r *intent.Request) { r.EVM = &intent.EVM{} }, want: intent.Malformed},
		"approved for another token":  {order: func(o *order.Order) { o.Contract = thief }, want: intent.Asset},
		"approved for another chain":  {order: func(o *order.Order) { o.Network = "ethereum" }, want: intent.Order},
		"above the automatic cap": {
			order:  func(o *order.Order) { o.Amount = "101" },
			change: func(r *intent.Request) { r.Amount = "101" }, want: intent.Value,
		},
		"by an operator above the automatic cap": {
			order:  func(o *order.Order) { o.Amount, o.Approval = "101", order.Operator },
			change: func(r *intent.Request) { r.Amount = "101" },
		},
		"to a program": {
			order:  func(o *order.Order) { o.To = soltx.Account{66}.String() },
			change: func(r *intent.Request) { r.To = soltx.Account{66}.String() }, want: intent.Destination,
		},
		"to the station": {
			order:  func(o *order.Order) { o.To = solanaRefund(nil, nil).Solana.Station },
			change: func(r *intent.Request) { r.To = r.Solana.Station }, want: intent.Destination,
		},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(solanaRefund(solanaOrder(c.order), c.change), places{}, nil, now)
			if err != nil || codeOf(refusal) != c.want {
				t.Fatalf("check a refund: got %v, %v, want the refusal %q", refusal, err, c.want)
			}
			if c.want == "" && (plan.SolanaRefund == nil || plan.From.String() != refundNonceAt) {
				t.Errorf("check a refund: got the plan %+v, want the terms of the refund", plan)
			}
		})
	}
}

// Payers can close the token accounts that refunds opened, and keep their rent: the hour bounds it.
func TestCheck_solanaRent(t *testing.T) {
	p, err := Parse([]byte(solanaRefundText()))
	if err != nil {
		t.Fatal(err)
	}
	var before []Spend
	for n, want := range []string{"", "", intent.Value} {
		o := solanaOrder(func(o *order.Order) { o.ID, o.Amount = fmt.Sprint("rfd_", n), "1" })
		r := solanaRefund(o, func(r *intent.Request) { r.Amount, r.Solana.Nonce = "1", soltx.Account{7, byte(n)}.String() })
		plan, refusal, err := p.Check(r, places{}, before, now)
		if err != nil || codeOf(refusal) != want {
			t.Fatalf("check refund %d of an hour: got %v, %v, want the refusal %q", n, refusal, err, want)
		}
		before = append(before, plan.Spend)
		if _, refusal, err := p.Check(r, places{}, before, now.Add(Window)); err != nil || refusal != nil {
			t.Errorf("check refund %d an hour later: got %v, %v, want no refusal", n, refusal, err)
		}
	}
}

func TestParse_solanaRefunds(t *testing.T) {
	for name, change := range map[string][2]string{
		"no nonce account of refunds":       {`"refundNonces":["` + refundNonceAt + `"],`, ""},
		"one nonce account of two stations": {`"refundNonces":["` + refundNonceAt, `"refundNonces":["` + nonceAt},
		"the treasury as nonce account":     {`"refundNonces":["` + refundNonceAt, `"refundNonces":["` + cold},
	} {
		if _, err := Parse([]byte(strings.Replace(solanaRefundText(), change[0], change[1], 1))); err == nil {
			t.Errorf("parse a policy with %s: got no error, want one", name)
		}
	}
}
