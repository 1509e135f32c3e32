package lifecycle

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// What the garbage collector is told unless GOGC or GOMEMLIMIT say otherwise. A request makes garbage and keeps nothing:
// between collections a small heap may grow to a few times its size, which took a tenth of a create's time at Go's own
// setting and takes a fiftieth at this one. The limit is soft: towards it the heap is collected as often as it has to be. It is
// a part of what the container may use, since a heap that grows past that is killed; the rest is for what is no heap. Where
// nothing limits the process it is memoryLimit.
const (
	gcPercent   = 800
	memoryLimit = 1 << 30 // bytes
	memoryShare = 0.8
)

// Memory sets how the process collects its garbage. Call it first in main.
func Memory() {
	Garbage(gcPercent)
	limitMemory(memlimit.FromCgroup)
}

// limitMemory sets the limit by what the container may use, unless GOMEMLIMIT is set.
func limitMemory(container memlimit.Provider) {
	limit := memlimit.ApplyFallback(memlimit.ApplyRatio(container, memoryShare), memlimit.Limit(memoryLimit))
	_, _ = memlimit.Set(memlimit.WithProvider(limit), memlimit.WithRatio(1)) // the fallback knows no error
}

// Garbage sets by how much of what is kept, in percent, the heap may grow between collections, unless GOGC says otherwise. It
// is for a process that keeps much: to such a one new pages, which the system has to clear first, cost more than collections.
func Garbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
