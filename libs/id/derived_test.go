package id_test

import (
	"regexp"
	"testing"
	"time"

	"causeway.internal/libs/id"
)

func TestDerived_isTheSameAgainAndSorts(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 30, 0, 5e6, time.UTC)
	one := id.Derived(id.Event, "pay_a", at, 1, "payment.pending")
	if !regexp.MustCompile(`^evt_[0-9a-z]{26}$`).MatchString(one) {
		t.Errorf("%q has another shape", one)
	}
	if again := id.Derived(id.Event, "pay_a", at.In(time.FixedZone("", 3600)), 1, "payment.pending"); again != one {
		t.Errorf("%s and %s are one event", one, again)
	}
	for what, other := range map[string]string{
		"object": id.Derived(id.Event, "pay_b", at, 1, "payment.pending"),
		"name":   id.Derived(id.Event, "pay_a", at, 1, "payment.expired"),
		"n":      id.Derived(id.Event, "pay_a", at, 2, "payment.pending"),
	} {
		if other == one {
			t.Errorf("another %s has the same id", what)
		}
	}
	if id.Derived(id.Event, "pay_a", at, 255, "z") >= id.Derived(id.Event, "pay_a", at, 256, "a") ||
		id.Derived(id.Event, "pay_b", at.Add(time.Millisecond), 1, "a") <= id.Derived(id.Event, "pay_a", at, 900, "a") {
		t.Error("they do not sort")
	}
}
