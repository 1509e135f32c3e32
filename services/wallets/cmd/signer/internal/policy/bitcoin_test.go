package policy

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
)

const (
	coldBTC    = "bc1qrp33g0q5c5txsp9arysrx4k6zdkfs4nce4xj0gdcccefvpysxf3qccfmv3"
	bitcoinTxt = `{"mode":"live","account":0,"gasAccount":1,"indexBelow":1000,"networks":{"bitcoin":{"treasury":"` + coldBTC + `",
"countPerHour":2,"assets":{"BTC":{"perHour":"300000"}},"bitcoin":{"maxFeeRate":20,"maxFee":5000}}}}`
)

// collect is a request that spends an output of 100000 satoshi of each address, at a fee of 2000.
func collect(t *testing.T, indices []uint32, change func(r *intent.Request)) intent.Request {
	t.Helper()
	r := intent.Request{ID: "a", Kind: intent.Sweep, Network: "bitcoin", Asset: "BTC", To: coldBTC, Bitcoin: &intent.Bitcoin{}}
	previous := map[chainhash.Hash]*wire.MsgTx{}
	for _, index := range indices {
		hash, err := places{}.Witness(0, index)
		if err != nil {
			t.Fatal(err)
		}
		tx := wire.NewMsgTx(2)
		tx.AddTxIn(wire.NewTxIn(&wire.OutPoint{Index: index}, nil, nil))
		tx.AddTxOut(wire.NewTxOut(100_000, btctx.Script(hash)))
		previous[tx.TxHash()] = tx
		r.Bitcoin.Inputs = append(r.Bitcoin.Inputs, intent.Output{TxID: tx.TxHash().String(), Value: 100_000, Index: index})
	}
	r.Amount = fmt.Sprint(100_000*len(indices) - 2_000)
	if change != nil {
		change(&r)
	}
	if tx, err := r.Collection(); err == nil && r.Bitcoin.PSBT == "" {
		if r.Bitcoin.PSBT, err = tx.PSBT(previous); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func bitcoinPolicy(t *testing.T) Policy {
	t.Helper()
	p, err := Parse([]byte(bitcoinTxt))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCheck_bitcoin(t *testing.T) {
	p, two := bitcoinPolicy(t), []uint32{7, 8}
	thief := "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"
	for name, c := range map[string]struct {
		r    intent.Request
		want string // code of the refusal
	}{
		"two deposits":             {collect(t, two, nil), ""},
		"a wrong destination":      {collect(t, two, func(r *intent.Request) { r.To = thief }), intent.Destination},
		"a mistyped destination":   {collect(t, two, func(r *intent.Request) { r.To = coldBTC[:len(coldBTC)-1] + "4" }), intent.Malformed},
		"another key's output":     {collect(t, two, func(r *intent.Request) { r.Bitcoin.Inputs[1].Index = 9 }), intent.Address},
		"an index beyond":          {collect(t, []uint32{1000}, nil), intent.Address},
		"another account":          {collect(t, two, func(r *intent.Request) { r.Account = 1 }), intent.Address},
		"a value below the output": {collect(t, two, func(r *intent.Request) { r.Bitcoin.Inputs[0].Value, r.Amount = 90_000, "189900" }), intent.Malformed},
		"a value above the output": {collect(t, two, func(r *intent.Request) { r.Bitcoin.Inputs[0].Value, r.Amount = 190_000, "286500" }), intent.Malformed},
		"an input twice": {collect(t, two, func(r *intent.Request) {
			r.Bitcoin.Inputs[1] = r.Bitcoin.Inputs[0]
		}), intent.Malformed},
		"no proof":                {collect(t, two, func(r *intent.Request) { r.Bitcoin.PSBT = "cHNidP8=" }), intent.Malformed},
		"a fee above the rate":    {collect(t, two, func(r *intent.Request) { r.Amount = "195500" }), intent.Fee},
		"a fee above the most":    {collect(t, []uint32{1, 2, 3, 4, 5}, func(r *intent.Request) { r.Amount = "494999" }), intent.Fee},
		"a fee below nothing":     {collect(t, two, func(r *intent.Request) { r.Amount = "200001" }), intent.Malformed},
		"too much":                {collect(t, []uint32{1, 2, 3, 4}, nil), intent.Value},
		"another asset":           {collect(t, two, func(r *intent.Request) { r.Asset = "ETH" }), intent.Asset},
		"a funding":               {collect(t, two, func(r *intent.Request) { r.Kind = intent.Fund }), intent.Malformed},
		"no inputs":               {collect(t, two, func(r *intent.Request) { r.Bitcoin.Inputs = nil }), intent.Malformed},
		"no terms":                {collect(t, two, func(r *intent.Request) { r.Bitcoin = nil }), intent.Malformed},
		"terms of EVM":            {collect(t, two, func(r *intent.Request) { r.EVM = &intent.EVM{} }), intent.Malformed},
		"an index of its own":     {collect(t, two, func(r *intent.Request) { r.Index = 3 }), intent.Malformed},
		"an output in capitals":   {collect(t, two, func(r *intent.Request) { r.Bitcoin.Inputs[0].TxID = strings.ToUpper(r.Bitcoin.Inputs[0].TxID) }), intent.Malformed},
		"an amount of 65 bits":    {collect(t, two, func(r *intent.Request) { r.Amount = "36893488147419103232" }), intent.Malformed},
		"an amount below nothing": {collect(t, two, func(r *intent.Request) { r.Amount = "-1" }), intent.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(c.r, places{}, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if refusal != nil || plan.Bitcoin == nil || fmt.Sprint(plan.Bitcoin.Indices) != fmt.Sprint(two) {
					t.Errorf("check an allowed request: %v, %+v", refusal, plan.Bitcoin)
				}
				return
			}
			if refusal == nil || refusal.Code != c.want {
				t.Errorf("check the request: got %v, want the refusal %s", refusal, c.want)
			}
		})
	}
	if _, refusal, err := parse(t).Check(sweep(func(r *intent.Request) { r.Bitcoin = &intent.Bitcoin{} }), places{}, nil, now); err != nil || refusal == nil {
		t.Errorf("bitcoin terms on an EVM network: got %v, %v, want a refusal", refusal, err)
	}
}

// Several forms of one set of inputs count once, as their largest. A set that differs in one input counts again.
func TestCheck_bitcoinLimits(t *testing.T) {
	p, two := bitcoinPolicy(t), []uint32{7, 8}
	spent := func(r intent.Request) Spend {
		tx, err := r.Collection()
		if err != nil {
			t.Fatal(err)
		}
		return Spent(r, tx.Slot(), big.NewInt(tx.Value), now.Add(-time.Minute))
	}
	raised := collect(t, two, func(r *intent.Request) { r.Amount = "196500" })
	for name, c := range map[string]struct {
		before []Spend
		r      intent.Request
		want   string
	}{
		"a raised fee":       {[]Spend{spent(collect(t, two, nil))}, raised, ""},
		"up to the limit":    {[]Spend{spent(collect(t, two, nil))}, collect(t, []uint32{9}, nil), ""},
		"an overlapping set": {[]Spend{spent(collect(t, two, nil))}, collect(t, []uint32{7, 9}, nil), intent.Value},
		"too many": {[]Spend{
			{Network: "bitcoin", Slot: "x", Amount: big.NewInt(1), At: now}, {Network: "bitcoin", Slot: "y", Amount: big.NewInt(1), At: now},
		}, raised, intent.Count},
	} {
		_, refusal, err := p.Check(c.r, places{}, c.before, now)
		if err != nil || (refusal == nil) != (c.want == "") || (refusal != nil && refusal.Code != c.want) {
			t.Errorf("%s: got %v, %v, want %q", name, refusal, err, c.want)
		}
	}
}

func TestParse_refusesBitcoin(t *testing.T) {
	for name, change := range map[string][2]string{
		"no treasury":              {coldBTC, ""},
		"a mistyped treasury":      {"bc1qrp33", "bc1qrp34"},
		"no fee":                   {`"maxFee":5000`, `"maxFee":0`},
		"no rate":                  {`"maxFeeRate":20`, `"maxFeeRate":0`},
		"no count":                 {`"countPerHour":2`, `"countPerHour":0`},
		"no limit":                 {`"perHour":"300000"`, `"perHour":"0"`},
		"another asset":            {`"BTC"`, `"ETH"`},
		"terms of another network": {`"countPerHour"`, `"chainId":1,"countPerHour"`},
	} {
		if _, err := Parse([]byte(strings.Replace(bitcoinTxt, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
