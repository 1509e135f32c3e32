package sweep

import (
	"math/big"
	"testing"

	"causeway.internal/services/wallets/internal/intent"
)

// The gas station presents an authorization where that costs less than a funding and the coins that it gives away.
func TestCheaper(t *testing.T) {
	m := Market{Base: wei(90), Tip: wei(10)} // 100 a unit, so that a funding costs 2 100 000 by itself
	for given, want := range map[int64]bool{10_400_000: true, 10_300_000: false, 10_300_001: true, 0: false} {
		if got := m.Cheaper(124_000, wei(given)); got != want {
			t.Errorf("compare 124000 units with a funding of %d: got %v, want %v", given, got, want)
		}
	}
}

// A sweep that the gas station sends moves money from the owner of its authorization, and its fee is the station's.
func TestAuthorized(t *testing.T) {
	o := token()
	o.Sender = "station"
	o.Attempts[0].Request.EVM.Authorization = &intent.Authorization{Owner: "S"}
	if !o.Authorized() || token().Authorized() {
		t.Errorf("tell an authorized sweep: got %v and %v, want it to be the first alone", o.Authorized(), token().Authorized())
	}
	for from, want := range map[string]bool{"S": true, "station": false} {
		if _, ok := o.Arrived(Receipt{TxHash: "h", OK: true, Moved: []Move{{"C", from, "T", wei(25)}}}); ok != want {
			t.Errorf("read a receipt with money of %s: got %v, want %v", from, ok, want)
		}
	}
	_, entries := Book(o.Kind, o.Parts(Outcome{OK: true, Amount: wei(25), Fee: wei(3)})[0], "ETH", Custody)
	paid := new(big.Int)
	for _, e := range entries {
		if e.Account == GasStation {
			paid.Add(paid, e.Credit)
		}
		if e.Account == GasFloat {
			t.Errorf("book an authorized sweep: got %+v, want no coins of the deposit address", e)
		}
	}
	if paid.Int64() != 3 {
		t.Errorf("book an authorized sweep: the gas station paid %s, want 3", paid)
	}
	if o.Tries() != sharedTries {
		t.Errorf("count the tries: got %d, want %d", o.Tries(), sharedTries)
	}
}
