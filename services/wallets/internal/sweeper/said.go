package sweeper

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
