package wallet

import (
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

var (
	at          = time.Date(2026, 4, 1, 13, 30, 0, 0, time.UTC)
	ethereum, _ = money.NetworkOf("ethereum")
)

func sighting(height int64, block string) Sighting {
	return Sighting{ID: ID{TxHash: "0xabc", Ordinal: 2}, Asset: "USDT", Amount: big.NewInt(5), BlockHeight: height, BlockHash: block, BlockTime: at}
}

func TestDeposit_life(t *testing.T) {
	depths := []int64{2, 5}
	d := See(tenant.Test, ethereum, sighting(10, "b10"), Tip{Height: 10}, depths, at)
	if d.State != Seen || d.Version != 1 || d.Depth != 1 || d.DueHeight != 11 || d.Key() != "ethereum:0xabc:2" {
		t.Fatalf("first sight: %+v", d)
	}
	if _, changed := d.SeeAgain(sighting(10, "b10"), Tip{Height: 12}, depths); changed {
		t.Error("the same block twice is a change")
	}
	if _, changed := d.Deepen(Tip{Height: 10}, depths); changed {
		t.Error("nothing was due")
	}
	d, changed := d.Deepen(Tip{Height: 11}, depths)
	if !changed || d.State != Confirmed || d.Version != 2 || d.Depth != 2 || d.DueHeight != 14 {
		t.Fatalf("at the first depth: %+v", d)
	}
	if d, changed = d.Deepen(Tip{Height: 20}, depths); !changed || d.Depth != 11 || d.DueHeight != 0 || d.Version != 3 {
		t.Fatalf("past the last depth: %+v", d)
	}
	if _, changed := d.Deepen(Tip{Height: 21}, depths); changed {
		t.Error("past the last depth nothing is due")
	}
	gone, changed := d.Revert(9)
	if !changed || gone.State != Reverted || gone.Depth != 0 || gone.Head != 9 || gone.Version != 4 || gone.DueHeight != 0 {
		t.Fatalf("reverted: %+v", gone)
	}
	if _, changed := gone.Revert(9); changed {
		t.Error("reverted twice")
	}
	if _, changed := gone.Deepen(Tip{Height: 99, Finalized: 99}, depths); changed {
		t.Error("a reverted deposit deepens")
	}
	back, changed := gone.SeeAgain(sighting(10, "b10"), Tip{Height: 10}, depths)
	if !changed || back.State != Seen || back.Version != 5 || back.FirstSeenAt != d.FirstSeenAt {
		t.Fatalf("back in the very block that was reverted: %+v", back)
	}
	final, changed := back.Deepen(Tip{Height: 11, Finalized: 10}, []int64{90})
	if !changed || final.State != Confirmed || !final.Finalized || final.DueHeight != 0 {
		t.Fatalf("final before deep: %+v", final)
	}
	if _, changed := final.Deepen(Tip{Height: 200, Finalized: 150}, depths); changed {
		t.Error("a final deposit deepens")
	}
}

// For any growth of a chain, the deposit is published at every depth of the table, versions count 1, 2, 3, and the due
// height never passes without a message.
func TestDeposit_everyDepthIsTold(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		depths := []int64{rapid.Int64Range(1, 5).Draw(r, "first")}
		for range rapid.IntRange(0, 3).Draw(r, "more") {
			depths = append(depths, depths[len(depths)-1]+rapid.Int64Range(1, 6).Draw(r, "gap"))
		}
		tip := Tip{Height: 100}
		d := See(tenant.Live, ethereum, sighting(100, "b"), tip, depths, at)
		told := map[int64]bool{d.Depth: true}
		for range rapid.IntRange(0, 30).Draw(r, "blocks") {
			tip.Height++
			before := d.Version
			next, changed := d.Deepen(tip, depths)
			if changed != (next.Version == before+1) {
				r.Fatalf("changed %v, version %d after %d", changed, next.Version, before)
			}
			if d = next; changed {
				told[d.Depth] = true
			}
			if d.DueHeight > 0 && d.DueHeight <= tip.Height {
				r.Fatalf("due at %d, the chain is at %d", d.DueHeight, tip.Height)
			}
		}
		for _, depth := range depths {
			if depth <= tip.Height-99 && !told[depth] {
				r.Fatalf("depth %d was not announced, of %v at %d", depth, depths, tip.Height)
			}
		}
	})
}

func TestParseDepths(t *testing.T) {
	d, err := ParseDepths(" ethereum = 12, 32,12 ; eth/usdt=6;BSC=90,180 ")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		network, asset string
		want           []int64
	}{
		{"ethereum", "ETH", []int64{12, 32}}, {"ethereum", "USDT", []int64{6}}, {"bsc", "BNB", []int64{90, 180}}, {"bitcoin", "BTC", []int64{2}},
	} {
		got := d.Of(c.network, c.asset)
		if len(got) != len(c.want) || got[0] != c.want[0] || got[len(got)-1] != c.want[len(c.want)-1] {
			t.Errorf("%s %s: %v, want %v", c.network, c.asset, got, c.want)
		}
	}
	if d.Deepest("ethereum", "ETH") != 32 || d.Deepest("nowhere", "X") != 1 {
		t.Error("deepest")
	}
	for _, bad := range []string{"ethereum", "ethereum=", "ethereum=0", "ethereum=x", "dogecoin=6", "ethereum/DOGE=1", "ethereum=99999999", "tron=-1"} {
		if _, err := ParseDepths(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// Every listed network has depths, a final depth within its window, and every listed token a contract that is checked.
func TestTables_areComplete(t *testing.T) {
	d := DefaultDepths()
	for _, n := range money.Networks() {
		if n.FinalDepth < 1 {
			t.Errorf("%s has no final depth", n.Name)
		}
		if SimulatedLag(n.Name) < 1 {
			t.Errorf("%s has no simulated lag", n.Name)
		}
		if Window(n) < n.FinalDepth || Window(n) < windowLeast {
			t.Errorf("%s keeps %d headers", n.Name, Window(n))
		}
		if err := d.Within(n, n.FinalDepth); err != nil {
			t.Error(err)
		}
		if err := d.Within(n, d.Deepest(n.Name, n.Assets[0].Symbol)-1); err == nil {
			t.Errorf("%s may be final before it is deep", n.Name)
		}
		for _, a := range n.Assets {
			if len(d.Of(n.Name, a.Symbol)) == 0 {
				t.Errorf("%s on %s has no depths", a.Symbol, n.Name)
			}
			if contract := n.Contracts()[a.Symbol]; (contract == "") != a.Native {
				t.Errorf("%s on %s has the contract %q", a.Symbol, n.Name, contract)
			}
		}
		if len(n.Contracts()) != len(n.Assets)-1 {
			t.Errorf("%s: %d contracts for %d assets", n.Name, len(n.Contracts()), len(n.Assets))
		}
	}
}
