package proxy

import "time"

// pace measures how a reader keeps up with a streamed answer. Each byte earns the time that it takes at the least pace,
// and waiting for the connection spends it; at most a window is saved. So a reader that is slower than the least pace
// over a window is cut, and the time in which the service sends nothing does not count. Bytes in the connection's
// buffers (some megabytes at most) count as taken.
type pace struct {
	least  int           // bytes a second
	window time.Duration // how far a reader may fall behind
	left   time.Duration // the part of window that is left
}

func newPace(least int, window time.Duration) *pace {
	return &pace{least: least, window: window, left: window}
}

// earn adds the time for bytes that are about to be written, and returns the total.
func (p *pace) earn(bytes int) time.Duration {
	p.left += time.Duration(bytes) * time.Second / time.Duration(p.least)
	return p.left
}

// spend subtracts the time that they took.
func (p *pace) spend(took time.Duration) { p.left = min(p.left-took, p.window) }
