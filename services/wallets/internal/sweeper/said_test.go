package sweeper

import (
	"fmt"
	"testing"
)

// A lasting state is logged once, until it has ended, and the memory of it stays small however many refunds come.
func TestSaid(t *testing.T) {
	log := said{}
	for i, want := range []bool{true, false, false} {
		if got := log.first("rfd_1"); got != want {
			t.Errorf("log that a refund waits, time %d: got %t, want %t", i+1, got, want)
		}
	}
	log.forget("rfd_1")
	if !log.first("rfd_1") {
		t.Error("log that a refund waits after it did not: got false, want true")
	}
	for i := range 10 * saidMost {
		log.first(fmt.Sprint("rfd_", i))
	}
	if len(log) > saidMost {
		t.Errorf("count what is remembered of cancelled refunds: got %d, want at most %d", len(log), saidMost)
	}
}
