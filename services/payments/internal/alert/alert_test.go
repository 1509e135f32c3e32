package alert

import (
	"bytes"
	"os"
	"slices"
	"testing"
)

// Each alert has a name of its own, which the runbook explains.
func TestCodes(t *testing.T) {
	runbook, err := os.ReadFile("../../../../docs/runbooks/alerts.md")
	if err != nil {
		t.Fatalf("read the runbook: %v", err)
	}
	var named []string
	for _, c := range Codes() {
		if c.String() == "" || slices.Contains(named, c.String()) {
			t.Errorf("alert %d is called %q, want a name of its own", c, c)
		}
		if !bytes.Contains(runbook, []byte("`"+c.String()+"`")) {
			t.Errorf("docs/runbooks/alerts.md does not name the alert %s", c)
		}
		named = append(named, c.String())
	}
	if Code(0).String() != "" || len(named) != int(WithdrawalContradicted) {
		t.Errorf("%d alerts and %q for none, want %d and no name", len(named), Code(0), WithdrawalContradicted)
	}
}
