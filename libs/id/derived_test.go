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

// An event has the code of its object's shard. One of an object without a code keeps the id that earlier releases made.
func TestDerived_ofItsObjectsShard(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 30, 0, 5e6, time.UTC)
	const object = "pay_0123456789abcdefghjkmnpqrs"
	if got, want := id.Derived(id.Event, object, at, 1, "payment.pending"), "evt_06emjf4krm003gw0v9e1604psc"; got != want {
		t.Errorf("make an event of %s: got %s, want %s as before codes", object, got, want)
	}
	for code, end := range map[string]string{"aa": "aa", "k2": "k2", "ga": "", "0a": ""} {
		got := id.Derived(id.Event, object+code, at, 1, "payment.pending")
		if len(got) != len("evt_")+26+len(end) || got[len("evt_")+26:] != end || !id.IsObject(got) {
			t.Errorf("make an event of %s: got %s, want one that ends with %q", object+code, got, end)
		}
	}
}
