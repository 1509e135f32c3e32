package sandbox_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/testkit/page"
	"causeway.internal/services/payments/internal/magic"
	"causeway.internal/services/payments/internal/rail/sim"
	"causeway.internal/services/payments/internal/sandbox"
)

// The page of the sandbox and the API's document name every magic value of the code, and no other.
func TestDocs_nameEveryMagicValue(t *testing.T) {
	doc, err := os.ReadFile("../../../../gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, described, _ := strings.Cut(string(doc), "  - name: sandbox\n")
	described, _, _ = strings.Cut(described, "  - name: ")
	var scenarios []string
	for _, s := range sandbox.Scenarios() {
		scenarios = append(scenarios, string(s))
	}
	for section, want := range map[string][]string{
		"Outcomes of a deposit": sandbox.DepositOutcomes(),
		"Scenarios of a payer":  scenarios,
		"Outages":               sandbox.Outages(),
		"Account numbers":       sim.Accounts(),
		"Outcomes of a payout":  sandbox.Outcomes(),
	} {
		got := page.Values(t, "../../../../docs/sandbox.md", section)
		if slices.Sort(got); !slices.Equal(got, slices.Sorted(slices.Values(want))) {
			t.Errorf("docs/sandbox.md, %s: %v, want %v", section, got, want)
		}
		for _, value := range want {
			if !strings.Contains(described, "`"+value+"`") {
				t.Errorf("gateway/openapi.yaml: the tag sandbox does not name %s of %s", value, section)
			}
		}
	}
	if line := "enum: [" + strings.Join(sandbox.DepositOutcomes(), ", ") + ", null]"; !strings.Contains(string(doc), line) {
		t.Errorf("gateway/openapi.yaml has no %s", line)
	}
	senders := "| Sender for | On | Address |\n|---|---|---|\n"
	for _, s := range []magic.Sender{magic.Listed, magic.Above} {
		for _, family := range money.Families() {
			senders += "| " + string(s) + " | " + string(family) + " | `" + s.Address(family) + "` |\n"
		}
	}
	page.Section(t, "../../../../docs/sandbox.md", "senders", senders)
}
