package proxy

import "time"

// pace is how a reader keeps up with an answer that goes out as it comes. Each byte earns the time that it takes at the
// least pace that is borne with, and waiting for the connection spends it; at most a window is saved up. So a reader is
// cut who takes less than the pace over a window, and the time in which the service has nothing to send counts for
// nobody. The connection takes bytes on behalf of its reader: what lies in its buffers (some megabytes at most) counts as
// taken.
type pace struct {
	least  int           // bytes a second
	window time.Duration // what a reader may fall behind
	left   time.Duration // of it
}

func newPace(least int, window time.Duration) *pace {
	return &pace{least: least, window: window, left: window}
}

// earn adds what bytes that are about to be written may take, and returns all that is left.
func (p *pace) earn(bytes int) time.Duration {
	p.left += time.Duration(bytes) * time.Second / time.Duration(p.least)
	return p.left
}

// spend takes off what they took.
func (p *pace) spend(took time.Duration) { p.left = min(p.left-took, p.window) }
