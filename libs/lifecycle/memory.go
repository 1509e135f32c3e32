package lifecycle

import (
	"os"
	"runtime/debug"
)

// What the garbage collector is told unless GOGC or GOMEMLIMIT say otherwise. A request makes garbage and keeps nothing:
// between collections a small heap may grow to a few times its size, which took a tenth of a create's time at Go's own
// setting and takes a fiftieth at this one. The limit is soft: towards it the heap is collected as often as it has to be.
const (
	gcPercent   = 800
	memoryLimit = 1 << 30 // bytes
)

// Memory sets how the process collects its garbage. Call it first in main.
func Memory() {
	Garbage(gcPercent)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}

// Garbage sets by how much of what is kept, in percent, the heap may grow between collections, unless GOGC says otherwise. It
// is for a process that keeps much: to such a one new pages, which the system has to clear first, cost more than collections.
func Garbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
