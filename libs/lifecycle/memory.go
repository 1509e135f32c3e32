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
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
