package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
)

// bitcoinRefund asks for an order of 30000 satoshi out of an output of 100000 of the refund station, at a fee of 1000.
func bitcoinRefund(t *testing.T, o order.Order, change func(r *intent.Request)) intent.Request {
	t.Helper()
	r := intent.Request{
		ID: "r", Kind: intent.Refund, Network: "bitcoin", Asset: "BTC", Amount: o.Amount, To: address.Canonical(money.Bitcoin, o.To),
		Order:   new(o.Approve(keysOf[o.Approval], now)),
		Bitcoin: &intent.Bitcoin{Station: stationBTC(t, 2), Change: 69_000},
	}
	previous := map[chainhash.Hash]*wire.MsgTx{}
	for account := range uint32(3) {
		tx := wire.NewMsgTx(2)
		tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: account}, nil, nil))
		hash, err := places{}.Witness(account, 0)
		if err != nil {
			t.Fatal(err)
		}
		tx.AddTxOut(wire.NewTxOut(100_000, btctx.Script(hash)))
		previous[tx.TxHash()] = tx
		r.Bitcoin.Inputs = []intent.Output{{TxID: tx.TxHash().String(), Value: 100_000}}
	}
	if change != nil {
		change(&r)
	}
	if tx, err := r.Collection(); err == nil {
		for _, in := range tx.Inputs {
			if previous[in.Point.Hash] == nil {
				return r
			}
		}
		if r.Bitcoin.PSBT, err = tx.PSBT(previous); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// stationBTC is the address of an account's first key.
func stationBTC(t *testing.T, account uint32) string {
	t.Helper()
	hash, err := places{}.Witness(account, 0)
	if err != nil {
		t.Fatal(err)
	}
	text, err := address.Encode(money.Bitcoin, address.Mainnet, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestCheck_bitcoinRefunds(t *testing.T) {
	orders := fmt.Sprintf(`"refundAccount":2,"orders":{"automatic":"%s","operator":"%s"},"networks"`, publicOf(order.Automatic), publicOf(order.Operator))
	p, err := Parse([]byte(strings.NewReplacer(`"networks"`, orders,
		`"perHour":"300000"`, `"perHour":"300000","refundPerHour":"60000","automaticPerHour":"40000"`).Replace(bitcoinTxt)))
	if err != nil {
		t.Fatal(err)
	}
	const to, thief = "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
	o := func(change func(o *order.Order)) order.Order {
		o := order.Order{
			Kind: order.Refund, ID: "rfd_1", Mode: tenant.Live, Network: "bitcoin", Asset: "BTC", Amount: "30000", To: to, Approval: order.Automatic,
		}
		if change != nil {
			change(&o)
		}
		return o
	}
	at := func(to string) order.Order { return o(func(o *order.Order) { o.To = to }) }
	for name, c := range map[string]struct {
		of     order.Order
		change func(r *intent.Request)
		want   string
	}{
		"to P2PKH":              {o(nil), nil, ""},
		"to P2SH":               {at("3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy"), nil, ""},
		"to P2WPKH in capitals": {at(strings.ToUpper(thief)), nil, ""},
		"to P2WSH":              {at(coldBTC), nil, ""},
		"to P2TR":               {at("bc1p0xlxvlhemja6c4dqv22uapctqupfhlxm9h8z3k2e72q4k9hcz7vqzk5jj0"), nil, ""},
		"to a later version":    {at("bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs"), nil, intent.Destination},
		"to a test network":     {at("tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"), nil, intent.Destination},

		"to a thief":                {o(nil), func(r *intent.Request) { r.To = thief }, intent.Destination},
		"to a thief's order":        {o(nil), func(r *intent.Request) { r.To, r.Order.To = thief, thief }, intent.Order},
		"of another amount":         {o(nil), func(r *intent.Request) { r.Amount = "30001" }, intent.Order},
		"with change elsewhere":     {o(nil), func(r *intent.Request) { r.Bitcoin.Station = thief }, intent.Destination},
		"with change unnamed":       {o(nil), func(r *intent.Request) { r.Bitcoin.Station = "" }, intent.Malformed},
		"without its change":        {o(nil), func(r *intent.Request) { r.Bitcoin.Change, r.Bitcoin.Station = 0, "" }, intent.Fee},
		"with change below nothing": {o(nil), func(r *intent.Request) { r.Bitcoin.Change = -1 }, intent.Malformed},
		"with too much change":      {o(nil), func(r *intent.Request) { r.Bitcoin.Change = 70_001 }, intent.Malformed},
		"with a foreign input":      {o(nil), func(r *intent.Request) { r.Bitcoin.Inputs[0].TxID = depositOf(t) }, intent.Address},
		"with an index":             {o(nil), func(r *intent.Request) { r.Bitcoin.Inputs[0].Index = 1 }, intent.Address},
		"of dust":                   {o(func(o *order.Order) { o.Amount = "545" }), func(r *intent.Request) { r.Bitcoin.Change = 98_455 }, intent.Dust},
		"above the automatic cap":   {o(func(o *order.Order) { o.Amount = "40001" }), func(r *intent.Request) { r.Bitcoin.Change = 58_999 }, intent.Value},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(bitcoinRefund(t, c.of, c.change), places{}, nil, now)
			if err != nil || codeOf(refusal) != c.want {
				t.Fatalf("check a refund %s: got %v, %v, want the refusal %q", name, refusal, err, c.want)
			}
			if c.want == "" && (plan.Account != 2 || plan.Bitcoin.Value != 30_000 || plan.Bitcoin.Change != 69_000) {
				t.Errorf("check a refund %s: got account %d and %+v, want the refund station's", name, plan.Account, plan.Bitcoin)
			}
		})
	}
	sweep := collect(t, []uint32{7}, func(r *intent.Request) { r.Bitcoin.Station, r.Bitcoin.Change, r.Amount = thief, 50_000, "48000" })
	if _, refusal, err := p.Check(sweep, places{}, nil, now); err != nil || codeOf(refusal) != intent.Malformed {
		t.Errorf("check a sweep with change: got %v, %v, want a refusal", refusal, err)
	}
}

// depositOf is a transaction that pays the first deposit address.
func depositOf(t *testing.T) string {
	t.Helper()
	hash, err := places{}.Witness(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	tx := wire.NewMsgTx(2)
	tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{}, nil, nil))
	tx.AddTxOut(wire.NewTxOut(100_000, btctx.Script(hash)))
	return tx.TxHash().String()
}
