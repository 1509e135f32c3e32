package app

import (
	"os"
	"slices"
	"strings"
	"testing"

	pages "causeway.internal/libs/testkit/page"
)

// The page of the sandbox and the API's document name every magic value of the simulated chains.
func TestDocs_nameEveryMagicValue(t *testing.T) {
	got := pages.Values(t, "../../../../docs/sandbox.md", "Transactions that are named")
	if want := []string{endMissing, endNotFinal, endLess}; !slices.Equal(got, want) {
		t.Errorf("docs/sandbox.md: hashes end in %v, want %v", got, want)
	}
	doc, err := os.ReadFile("../../../../gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"enum: [" + strings.Join(Outcomes(), ", ") + ", null]", "`" + endMissing + "`", "`" + endNotFinal + "`", "`" + endLess + "`"} {
		if !strings.Contains(string(doc), text) {
			t.Errorf("gateway/openapi.yaml does not say %s", text)
		}
	}
	for _, outcome := range Outcomes() {
		if !slices.Contains(pages.Values(t, "../../../../docs/sandbox.md", "Outcomes of a deposit"), outcome) {
			t.Errorf("docs/sandbox.md does not name the outcome %s", outcome)
		}
	}
}
