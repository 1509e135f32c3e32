package main

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestTable_everyRoleAtEveryStep(t *testing.T) {
	t.Parallel()
	seen := map[cell]bool{}
	for _, c := range table() {
		if seen[c] {
			t.Errorf("twice: %+v", c)
		}
		seen[c] = true
	}
	for i, step := range steps {
		for _, role := range roles {
			if !seen[cell{i, role, false}] || seen[cell{i, role, true}] != (step.Name != inFlight) {
				t.Errorf("%s at %s is not in the table", role, step.Name)
			}
		}
	}
	if first := table()[0]; steps[first.step].Name != "created" || first.role != "payments-serve" {
		t.Errorf("first %+v", first)
	}
	for name := range responsible {
		known := false
		for _, step := range steps {
			known = known || step.Name == name
		}
		if !known {
			t.Errorf("%s is no step", name)
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	all, err := choose("all")
	if err != nil || len(all) != len(scenarios)-5 {
		t.Errorf("all: %d, %v", len(all), err)
	}
	if two, err := choose("steps,mix"); err != nil || len(two) != 2 || two[0].name != "steps" || two[1].name != "mix" {
		t.Errorf("steps,mix: %v, %v", two, err)
	}
	if _, err := choose("peace"); err == nil {
		t.Error("an unknown scenario is played")
	}
}

func TestForever_endsWithItsTimeAndOnErrors(t *testing.T) {
	t.Parallel()
	f := newField(nil, nil, 1, t.Logf)
	failure := errors.New("failed")
	if err := forever(func(context.Context, *field) error { return failure })(t.Context(), f); !errors.Is(err, failure) {
		t.Errorf("an act failed, the scenario says %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := forever(func(ctx context.Context, _ *field) error {
		calls++
		cancel()
		return ctx.Err()
	})(ctx, f)
	if err != nil || calls != 1 {
		t.Errorf("after its time: %v, %d acts", err, calls)
	}
}

func TestTell_lateAndMissingTakeoversAreFaults(t *testing.T) {
	t.Parallel()
	f := newField(nil, nil, 1, t.Logf)
	f.tell("kill", "payments-work", map[string]time.Duration{"relay": time.Second, "timers": takeoverLimit + time.Second}, []string{"scanner"})
	if len(f.faults) != 2 || len(f.takeovers) != 2 {
		t.Errorf("faults %v, takeovers %v", f.faults, f.takeovers)
	}
}

func TestDatabases(t *testing.T) {
	t.Parallel()
	if all, err := databases(""); err != nil || len(all) != 0 {
		t.Errorf("none named: %v, %v", all, err)
	}
	if two, err := databases("payments,gateway"); err != nil || !two["payments"] || !two["gateway"] || two["wallets"] {
		t.Errorf("two named: %v, %v", two, err)
	}
	if _, err := databases("payments,post"); err == nil {
		t.Error("an unknown service is accepted")
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	before, behind, found := cut([]string{"a", "--", "b", "--", "c"})
	if len(before) != 1 || len(behind) != 3 || !found {
		t.Errorf("cut at the first --: got %v, %v, %t, want [a], [b -- c], true", before, behind, found)
	}
	if before, _, found := cut([]string{"a"}); len(before) != 1 || found {
		t.Errorf("cut words without a --: got %v, %t, want [a], false", before, found)
	}
}

// The first sign after a kill may be of what was on its way, so an outage is the longest time without one.
func TestLongest(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	for name, c := range map[string]struct {
		seen []time.Time
		want time.Duration
	}{
		"nothing seen":           {nil, 10 * time.Second},
		"one before, on the way": {[]time.Time{at(99), at(101), at(107), at(109)}, 6 * time.Second},
		"none at the end":        {[]time.Time{at(101), at(103), at(112)}, 7 * time.Second},
	} {
		if got := longest(c.seen, at(100), at(110)); got != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
	}
}
