package sweeper

import "time"

// said holds the refunds and outputs whose lasting state is in the log, so that not every round logs it again. A full
// one begins anew, because a refund that is cancelled elsewhere must not stay for ever.
type said map[string]bool

const saidMost = 1_000

// first reports whether something was not logged yet, and notes it.
func (s said) first(what string) bool {
	if s[what] {
		return false
	}
	if len(s) >= saidMost {
		clear(s)
	}
	s[what] = true
	return true
}

// forget lets something be logged again, because its state has ended.
func (s said) forget(what string) { delete(s, what) }

// since holds since when something has been the case without a break. A full one begins anew: then it lasts longer.
type since map[string]time.Time

// lasts reports whether something has been the case for so long, and notes its beginning.
func (s since) lasts(what string, long time.Duration) bool {
	began, known := s[what]
	if !known {
		if len(s) >= saidMost {
			clear(s)
		}
		began = time.Now()
		s[what] = began
	}
	return time.Since(began) >= long
}

// ends notes that something is not the case any more.
func (s since) ends(what string) { delete(s, what) }
