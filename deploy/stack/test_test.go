package main

import (
	"slices"
	"strings"
	"testing"
)

// The long extent runs every package of the usual one, with the tag long beside integration and more time for each.
func TestTiers_longIsTheUsualAndMore(t *testing.T) {
	t.Parallel()
	served := []string{"causeway.internal/libs/bus"}
	short, broad := tiers(usual, served), tiers(long, served)
	if len(short) != len(broad) {
		t.Fatalf("%d tiers and %d", len(short), len(broad))
	}
	for i, s := range short {
		b := broad[i]
		want := slices.Clone(s.Args)
		want[slices.Index(want, "integration")] = "integration,long"
		want[slices.Index(want, usual.timeout)] = long.timeout
		if s.Name != b.Name || !slices.Equal(b.Args, want) {
			t.Errorf("%s: %s, want %s", b.Name, strings.Join(b.Args, " "), strings.Join(want, " "))
		}
	}
	if usual.pure != "" || long.pure != "long" {
		t.Errorf("pure tests have the tags %q and %q", usual.pure, long.pure)
	}
}
