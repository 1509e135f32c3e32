package receivers

import (
	"testing"
	"time"
)

// A payment has ten look-ups at once and one more each minute, apart from other payments.
func TestLookups(t *testing.T) {
	now := time.Unix(1e9, 0)
	l := newLookups(func() time.Time { return now })
	burst := func(id string) (n int, wait time.Duration) {
		for ; wait == 0; n++ {
			wait = l.take(id)
		}
		return n - 1, wait
	}
	if n, wait := burst("a"); n != 10 || wait != time.Minute {
		t.Errorf("%d at once, then %v", n, wait)
	}
	if n, _ := burst("b"); n != 10 {
		t.Errorf("another payment: %d", n)
	}
	now = now.Add(time.Minute)
	if n, _ := burst("a"); n != 1 {
		t.Errorf("a minute later: %d", n)
	}
	now = now.Add(24 * time.Hour)
	if n, _ := burst("a"); n != 10 {
		t.Errorf("a day later: %d", n)
	}
}
