package policy

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

const usdcMint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"

var (
	cold    = soltx.Account{9}.String()
	nonceAt = soltx.Account{8}.String()
	solText = `{"mode":"live","account":3,"gasAccount":1,"indexBelow":1000,"networks":{"solana":{"treasury":"` + cold + `","solana":{"nonces":["` + nonceAt + `"],
"maxFee":"20000"},"countPerHour":3,"assets":{"SOL":{"perHour":"1000"},"USDC":{"contract":"` + usdcMint + `","perHour":"500"}}}}}`
)

func solanaPlace(index uint32) string {
	a, _ := places{}.Solana(index)
	return a.String()
}

func solanaSweep(change func(r *intent.Request)) intent.Request {
	station, _ := places{}.SolanaStation(1)
	r := intent.Request{
		ID: "a", Kind: intent.Sweep, Network: "solana", Asset: "USDC", Amount: "500", To: cold,
		Solana: &intent.Solana{
			Station: station.String(), NonceAt: nonceAt, Nonce: soltx.Account{7}.String(), UnitLimit: 10_000, UnitPrice: 500_000, Mint: usdcMint, Decimals: 6,
			Moves: []intent.SolanaMove{{Index: 7, Owner: solanaPlace(7), Amount: "400", Close: true}, {Index: 999, Owner: solanaPlace(999), Amount: "100"}},
		},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestCheck_solana(t *testing.T) {
	p, err := Parse([]byte(solText))
	if err != nil {
		t.Fatal(err)
	}
	thief := soltx.Account{66}.String()
	coin := func(r *intent.Request) {
		r.Asset, r.Solana.Mint, r.Solana.Decimals, r.Solana.Moves[0].Close = "SOL", "", 0, false
	}
	for name, c := range map[string]struct {
		change func(r *intent.Request)
		want   string // code of the refusal
	}{
		"a sweep of a token":           {nil, ""},
		"a sweep of the coin":          {coin, ""},
		"a wrong destination":          {func(r *intent.Request) { r.To = thief }, intent.Destination},
		"another station":              {func(r *intent.Request) { r.Solana.Station = thief }, intent.Address},
		"another nonce account":        {func(r *intent.Request) { r.Solana.NonceAt = thief }, intent.Address},
		"another mint":                 {func(r *intent.Request) { r.Solana.Mint = "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB" }, intent.Asset},
		"another asset with this mint": {func(r *intent.Request) { r.Asset = "USDT" }, intent.Asset},
		"the coin with a mint":         {func(r *intent.Request) { r.Asset = "SOL" }, intent.Asset},
		"other decimals":               {func(r *intent.Request) { r.Solana.Decimals = 9 }, intent.Asset},
		"somebody else's address":      {func(r *intent.Request) { r.Solana.Moves[1].Owner = thief }, intent.Address},
		"another index of an address":  {func(r *intent.Request) { r.Solana.Moves[1].Index = 8 }, intent.Address},
		"an index beyond": {func(r *intent.Request) {
			r.Solana.Moves[1].Index, r.Solana.Moves[1].Owner = 1000, solanaPlace(1000)
		}, intent.Address},
		"an index beside the moves":      {func(r *intent.Request) { r.Index = 7 }, intent.Malformed},
		"an address that pays itself":    {func(r *intent.Request) { r.Solana.Moves[1] = r.Solana.Moves[0] }, intent.Malformed},
		"the station as deposit address": {func(r *intent.Request) { r.Solana.Moves[1].Owner = r.Solana.Station }, intent.Malformed},
		"too dear":                       {func(r *intent.Request) { r.Solana.UnitPrice = 600_000 }, intent.Fee},
		"too much": {func(r *intent.Request) {
			r.Amount, r.Solana.Moves[0].Amount = "501", "401"
		}, intent.Value},
		"a sum of something else":        {func(r *intent.Request) { r.Amount = "1" }, intent.Malformed},
		"a move of nothing":              {func(r *intent.Request) { r.Amount, r.Solana.Moves[1].Amount = "400", "0" }, intent.Malformed},
		"no move":                        {func(r *intent.Request) { r.Amount, r.Solana.Moves = "0", nil }, intent.Malformed},
		"closing an address of SOL":      {func(r *intent.Request) { coin(r); r.Solana.Moves[0].Close = true }, intent.Malformed},
		"no nonce":                       {func(r *intent.Request) { r.Solana.Nonce = soltx.Account{}.String() }, intent.Malformed},
		"terms of another family too":    {func(r *intent.Request) { r.EVM = &intent.EVM{} }, intent.Malformed},
		"a funding":                      {func(r *intent.Request) { r.Kind = intent.Fund }, intent.Malformed},
		"a network of another family":    {func(r *intent.Request) { r.Network = "ethereum" }, intent.Network},
		"an amount of more than 64 bits": {func(r *intent.Request) { r.Solana.Moves[0].Amount = "18446744073709551616" }, intent.Malformed},
		"more moves than one transaction carries": {func(r *intent.Request) {
			r.Amount, r.Solana.Moves = "6", nil
			for i := range uint32(6) {
				r.Solana.Moves = append(r.Solana.Moves, intent.SolanaMove{Index: i, Owner: solanaPlace(i), Amount: "1"})
			}
		}, intent.Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			plan, refusal, err := p.Check(solanaSweep(c.change), places{}, nil, now)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if refusal != nil {
				got = refusal.Code
			}
			if got != c.want {
				t.Errorf("Check gives %v, want the code %q", refusal, c.want)
			}
			if c.want == "" && (plan.Solana == nil || len(plan.Solana.Indices) != 2 || plan.Solana.Indices[1] != 999) {
				t.Errorf("the plan is %+v, want the keys 7 and 999", plan.Solana)
			}
		})
	}
}

// Every form adds to the hour, also one that names the same nonce.
func TestCheck_solanaLimits(t *testing.T) {
	p, err := Parse([]byte(solText))
	if err != nil {
		t.Fatal(err)
	}
	r := solanaSweep(nil)
	spent := func(slot string) []Spend {
		return []Spend{{Network: "solana", Slot: slot, Kind: intent.Sweep, Asset: "USDC", Amount: big.NewInt(1), At: now.Add(-time.Minute)}}
	}
	if _, refusal, err := p.Check(r, places{}, spent("another"), now); err != nil || refusal == nil || refusal.Code != intent.Value {
		t.Errorf("beside another form: %v, %v, want %s", refusal, err, intent.Value)
	}
	if _, refusal, err := p.Check(r, places{}, spent("another"), now.Add(Window)); err != nil || refusal != nil {
		t.Errorf("an hour later: %v, %v", refusal, err)
	}
}

func TestParse_solana(t *testing.T) {
	for name, change := range map[string][2]string{
		"no treasury":            {cold, ""},
		"a program as treasury":  {cold, soltx.Account{}.String()},
		"a treasury off curve":   {cold, soltx.Account{66}.String()},
		"a program as mint":      {usdcMint, soltx.Account{}.String()},
		"no nonce account":       {`["` + nonceAt + `"]`, "[]"},
		"the treasury as nonce":  {nonceAt, cold},
		"no cap":                 {`"maxFee":"20000"`, `"maxFee":"0"`},
		"terms of the EVM":       {`"countPerHour"`, `"chainId":1,"countPerHour"`},
		"a mint of another kind": {usdcMint, "0xdAC17F958D2ee523a2206206994597C13D831ec7"},
		"an asset without limit": {`"perHour":"500"`, `"perHour":"0"`},
	} {
		if _, err := Parse([]byte(strings.Replace(solText, change[0], change[1], 1))); err == nil {
			t.Errorf("%s: the policy was accepted", name)
		}
	}
}
