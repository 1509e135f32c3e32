package id_test

import (
	"testing"
	"time"

	"causeway.internal/libs/id"
)

func TestFirst_boundsByTime(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 30, 0, 5e6, time.UTC)
	first := id.First(id.Payment, at)
	for range 100 {
		if made := id.New(id.Payment, at); made < first || made >= id.First(id.Payment, at.Add(time.Millisecond)) {
			t.Fatalf("%s is not between the bounds of its millisecond", made)
		}
	}
	if made := id.New(id.Payment, at.Add(-time.Millisecond)); made >= first {
		t.Errorf("%s was made before %s", made, first)
	}
	if id.First(id.Payment, time.Time{}) != id.First(id.Payment, time.Unix(0, 0)) {
		t.Error("a time before 1970 has another bound than 1970")
	}
}
