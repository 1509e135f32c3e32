package main

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/route"
)

// docs/operators.md says for every route of an operator's change whether it takes one operator or two.
func TestOperatorsPage(t *testing.T) {
	raw, err := os.ReadFile("../docs/operators.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for i, code := range strings.Split(cells[1], "`") {
				said[code] = said[code] || i%2 == 1
			}
		}
	}
	for _, r := range route.Table() {
		if r.Access == route.Operated && r.Method != http.MethodGet && !said[r.Name()] {
			t.Errorf("docs/operators.md does not say who may call %s", r.Name())
		}
	}
}
