// Package tick lets the periodic work of a process run at the same moments. A process that wakes up pays for that,
// however little it does then: ten loops that each run every second, at moments of their own, wake it ten times a
// second.
package tick

import "time"

// origin is when the process began. So the processes of a cluster do not wake up together.
var origin = time.Now()

// Until is the time until the next whole interval since the process began, and so at most one interval. Loops that wait
// for it run together, and those of two seconds with every second run of those of one.
func Until(interval time.Duration) time.Duration {
	since := time.Since(origin) % interval
	if since < 0 { // in the bubble of a test, whose clock is years behind
		since += interval
	}
	return interval - since
}

// Last is when the present whole interval began.
func Last(interval time.Duration) time.Time {
	return time.Now().Add(Until(interval) - interval)
}

// patience is how long work waits for its turn. So work that takes long, or hangs, delays other work for a moment only.
const patience = 100 * time.Millisecond

// Turns lets work that begins at the same moment run a few at a time. Each look at a database needs a connection
// meanwhile: without turns a process has as many as loops, PostgreSQL plans each statement for each of them, and finds
// the memory of none of them in the processor's caches.
type Turns chan struct{}

// NewTurns lets so many run at a time.
func NewTurns(most int) Turns { return make(Turns, most) }

// Take waits for a turn. The caller calls the result at the end of its work.
func (t Turns) Take() (end func()) {
	select {
	case t <- struct{}{}:
		return t.end
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case t <- struct{}{}:
		return t.end
	case <-timer.C:
		return func() {}
	}
}

func (t Turns) end() { <-t }
