package policy

import (
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// A form of one asset hides no form of another asset under the same nonce, whatever their amounts are.
func TestCheck_limitsOfTwoAssets(t *testing.T) {
	p := parse(t)
	coin := sweep(func(r *intent.Request) { r.Asset, r.Amount, r.EVM.Contract = "ETH", "1000", "" })
	other := sweep(func(r *intent.Request) { r.Index, r.Amount = 8, "1" })
	var before []Spend
	for i, c := range []struct {
		r    intent.Request
		want string
	}{{coin, ""}, {sweep(nil), ""}, {other, intent.Value}} {
		plan, refusal, err := p.Check(c.r, places{}, before, now)
		if err != nil || (refusal == nil) != (c.want == "") || (refusal != nil && refusal.Code != c.want) {
			t.Fatalf("check request %d, of %s %s: got %v, %v, want %q", i, c.r.Amount, c.r.Asset, refusal, err, c.want)
		}
		before = append(before, plan.Spend)
	}
}

// For any choice of one transaction of each nonce, an hour's sum of every kind and asset is within its limit, and so is
// the number of nonces. Check refuses nothing else.
func TestCheck_limitsHold(t *testing.T) {
	p := parse(t)
	most := map[string]int64{"sweep ETH": 1000, "sweep USDT": 500, "fund ETH": 80}
	rapid.Check(t, func(rt *rapid.T) {
		type key struct{ slot, sum string }
		var before []Spend
		largest, slots := map[key]int64{}, map[string]bool{}
		for range rapid.IntRange(1, 20).Draw(rt, "requests") {
			sum := rapid.SampledFrom([]string{"sweep ETH", "sweep USDT", "fund ETH"}).Draw(rt, "sum")
			amount := rapid.Int64Range(1, min(most[sum], 600)).Draw(rt, "amount")
			change := func(r *intent.Request) {
				r.Index, r.EVM.Nonce = rapid.Uint32Range(7, 8).Draw(rt, "index"), rapid.Uint64Range(0, 1).Draw(rt, "nonce")
				r.Amount = fmt.Sprint(amount)
			}
			r := sweep(change)
			switch sum {
			case "sweep ETH":
				r.Asset, r.EVM.Contract = "ETH", ""
			case "fund ETH":
				amount = min(amount, 50)
				r = fund(change)
				r.Amount, r.To = fmt.Sprint(amount), place(0, r.Index)
			}
			plan, refusal, err := p.Check(r, places{}, before, now)
			if err != nil {
				rt.Fatal(err)
			}
			from := place(0, r.Index)
			if r.Kind == intent.Fund {
				from = place(1, 0)
			}
			k := key{fmt.Sprintf("%s/%d", from, r.EVM.Nonce), sum}
			number, total := len(slots), max(amount, largest[k])
			if !slots[k.slot] {
				number++
			}
			for other, n := range largest {
				if other.sum == sum && other != k {
					total += n
				}
			}
			if fits := number <= 3 && total <= most[sum]; fits != (refusal == nil) {
				rt.Fatalf("check %s of %d with %d nonces and a sum of %d: got %v", sum, amount, number, total, refusal)
			}
			if refusal == nil {
				before, largest[k], slots[k.slot] = append(before, plan.Spend), max(amount, largest[k]), true
			}
		}
	})
}

// The signer cannot tell a durable nonce from a recent block hash, under which every form may land. So each counts.
func TestCheck_solanaCountsEveryForm(t *testing.T) {
	p, err := Parse([]byte(solText))
	if err != nil {
		t.Fatal(err)
	}
	for amount, want := range map[string]struct {
		signed int
		code   string
	}{"250": {2, intent.Value}, "1": {3, intent.Count}} {
		var before []Spend
		for i := range 50 {
			r := solanaSweep(func(r *intent.Request) {
				r.ID, r.Amount, r.Solana.UnitPrice = fmt.Sprint(i), amount, uint64(i)
				r.Solana.Nonce = soltx.Account{byte(i % 2), 7}.String()
				r.Solana.Moves = []intent.SolanaMove{{Index: 7, Owner: solanaPlace(7), Amount: amount}}
			})
			plan, refusal, err := p.Check(r, places{}, before, now)
			if err != nil {
				t.Fatal(err)
			}
			if refusal == nil {
				before = append(before, plan.Spend)
			} else if refusal.Code != want.code {
				t.Fatalf("check form %d of %s: got %v, want %s", i, amount, refusal, want.code)
			}
		}
		if len(before) != want.signed {
			t.Errorf("check 50 forms of %s: %d were allowed, want %d", amount, len(before), want.signed)
		}
	}
}

// A large sum of SOL hides no sum of a token, and the other way round.
func TestCheck_solanaLimitsOfTwoAssets(t *testing.T) {
	p, err := Parse([]byte(solText))
	if err != nil {
		t.Fatal(err)
	}
	coin := solanaSweep(func(r *intent.Request) {
		r.ID, r.Asset, r.Amount, r.Solana.Mint, r.Solana.Decimals = "coin", "SOL", "1000", "", 0
		r.Solana.Moves = []intent.SolanaMove{{Index: 7, Owner: solanaPlace(7), Amount: "1000"}}
	})
	before := []Spend{Spent(coin, nonceAt, big.NewInt(1000), now)}
	plan, refusal, err := p.Check(solanaSweep(nil), places{}, before, now)
	if err != nil || refusal != nil {
		t.Fatalf("check 500 USDC beside 1000 SOL: %v, %v", refusal, err)
	}
	one := solanaSweep(func(r *intent.Request) {
		r.ID, r.Amount = "one", "1"
		r.Solana.Moves = []intent.SolanaMove{{Index: 7, Owner: solanaPlace(7), Amount: "1"}}
	})
	if _, refusal, err = p.Check(one, places{}, append(before, plan.Spend), now); err != nil || refusal == nil || refusal.Code != intent.Value {
		t.Errorf("check one USDC more: got %v, %v, want %s", refusal, err, intent.Value)
	}
}
