package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
