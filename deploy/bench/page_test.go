package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestPage(t *testing.T) {
	dir := t.TempDir()
	figures, page := filepath.Join(dir, "bench.json"), filepath.Join(dir, "performance.md")
	sides := func(perSec float64) []side {
		return []side{{PerSec: perSec, P50: 12, CPU: map[string]float64{"postgres": 0.6}, RSS: map[string]float64{"gateway": 40, bareName: 9}}}
	}
	rep := report{At: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), Machine: "two of them"}
	if err := rep.write(figures, map[string]result{
		"create/accept/16": {Name: "create/accept/16", About: "creates", Seconds: 4, Ours: sides(40), Yardstick: sides(100), Ratio: 0.4, Least: 0.3, Most: 0.5, Target: 0.35, Met: true},
		"create/whole/64": {
			Name: "create/whole/64", Seconds: 4, Ours: sides(30), Yardstick: sides(100), Ratio: 0.3, Target: 0.2,
			About: "with everything on", Costs: []cost{{Process: "postgres", Ms: 0.6, Most: 0.55}},
		},
		"settle":        {Name: "settle", Failure: "no payment came out"},
		"start/gateway": {Name: "start/gateway", Seconds: 4, Ours: sides(8), Yardstick: sides(20), Ratio: 0.4, Met: true},
	}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte("# Speed\n\n"+pageBegins+"old\n"+pageEnds+"\nWhy.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it finds its own
		if err := writePage(figures, page); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	for _, want := range []string{
		"# Speed\n\n" + pageBegins, pageEnds + "\nWhy.\n", "two of them; one round of 4 s a side",
		"| create/accept/16 | 40 | 100 | 0.400 | 0.300-0.500 | 0.35 met | 12.0 |", "postgres 0.60, [postgres in all 0.60 of 0.55 MISSED]",
		"| 0.20 met, CPU MISSED |", "| settle |  |  |  |  | not measured |  |  | no payment came out |", "* `create/accept/16`: creates\n", "| gateway | 12 | 40 | 40 |", "| bare handler | 12 | 9 |  |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "old") {
		t.Error("the old figures are still there")
	}
	if err := os.WriteFile(page, []byte("# Speed\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := writePage(figures, page); err == nil {
		t.Error("a page without marks was written")
	}
}
