package main

import (
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/chaos/internal/livenet"
)

// An export that balances has no faults; a missing entry, a wrong amount and a wrong closing balance have.
func TestExport(t *testing.T) {
	const head = "kind,journal,bookedAt,event,paymentId,line,account,accountName,asset,debit,credit\n"
	sound := []string{
		"opening,,,,,,fx:NGN,x,NGN,,10", "opening,,,,,,fiat:float:sim:NGN,x,NGN,10,",
		"entry,7,t,converted,pay_1,1,fx:NGN,x,NGN,4,", "entry,7,t,converted,pay_1,2,payable:NGN,x,NGN,,4",
		"closing,,,,,,fiat:float:sim:NGN,x,NGN,10,", "closing,,,,,,fx:NGN,x,NGN,,6", "closing,,,,,,payable:NGN,x,NGN,,4",
	}
	read := func(rows []string) export {
		path := filepath.Join(t.TempDir(), "export.csv")
		if err := os.WriteFile(path, []byte(head+strings.Join(rows, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := readExport(path)
		if err != nil {
			t.Fatalf("readExport(): %v", err)
		}
		return e
	}
	if e := read(sound); len(e.faults()) != 0 || e.last != 7 {
		t.Errorf("a sound export has the faults %q and the last journal %d, want none and 7", e.faults(), e.last)
	}
	for i, row := range sound {
		without := append(append([]string{}, sound[:i]...), sound[i+1:]...)
		if faults := read(without).faults(); len(faults) == 0 {
			t.Errorf("without the row %q there are no faults", row)
		}
	}
}

// The report of the treasury is whole when each asset differs from the ledger by what operators put there, and nothing
// is on the way.
func TestBooks_differences(t *testing.T) {
	const head = "part,place,item,asset,ledger,observed,onTheWay,difference,usd,asOf\nreport,live,,,7,,,,,2026-11-23T23:00:00.000Z\n"
	b := books{networks: &livenet.Networks{
		Chains: []livenet.Chain{{Network: "tron", Assets: []livenet.Asset{{Symbol: "TRX", Digits: 6}, {Symbol: "USDT", Digits: 6}}}},
		Given:  map[string]map[string]*big.Int{"tron": {"TRX": big.NewInt(2_500_000)}},
	}}
	rest := time.Date(2026, 11, 23, 22, 59, 0, 0, time.UTC)
	const usdt = "crypto,tron,all,USDT,5,5,0,0,,2026-11-23T22:59:30.000Z\n"
	for name, c := range map[string]struct {
		rows   string
		faults int
	}{
		"whole":            {"crypto,tron,all,TRX,1,3.5,0,2.5,,2026-11-23T22:59:30.000Z\n" + usdt, 0},
		"a line too few":   {usdt, 1},
		"money missing":    {"crypto,tron,all,TRX,1,3.4,0,2.4,,2026-11-23T22:59:30.000Z\n" + usdt, 1},
		"money on the way": {"crypto,tron,all,TRX,1,3.4,-0.1,2.5,,2026-11-23T22:59:30.000Z\n" + usdt, 1},
		"not compared":     {"crypto,tron,all,TRX,1,,,,,2026-11-23T22:59:30.000Z\n" + usdt, 1},
		"read too early":   {"crypto,tron,all,TRX,1,3.5,0,2.5,,2026-11-23T22:58:30.000Z\n" + usdt, 1},
	} {
		path := filepath.Join(t.TempDir(), "report.csv")
		if err := os.WriteFile(path, []byte(head+c.rows), 0o600); err != nil {
			t.Fatal(err)
		}
		if faults, err := b.differences("live", path, rest); err != nil || len(faults) != c.faults {
			t.Errorf("differences() of a report that is %s: got %q, %v, want %d faults", name, faults, err, c.faults)
		}
		if faults, err := b.differences("test", path, rest); err != nil || faults != nil {
			t.Errorf("differences() of test mode: got %q, %v, want none", faults, err)
		}
	}
}
