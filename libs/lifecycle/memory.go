package lifecycle

import (
	"os"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// The settings of the garbage collector unless GOGC or GOMEMLIMIT are set. A request makes garbage and keeps nothing:
// between collections a small heap may grow to a few times its size, which took a tenth of a create's time at Go's own
// setting and takes a fiftieth at this one. The limit is soft: near it the heap is collected as often as necessary. It
// is a part of the container's memory, since a process that exceeds that is killed; the rest is for memory outside the
// heap. Where nothing limits the process it is memoryLimit.
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

// limitMemory sets the limit from the container's memory, unless GOMEMLIMIT is set.
func limitMemory(container memlimit.Provider) {
	limit := memlimit.ApplyFallback(memlimit.ApplyRatio(container, memoryShare), memlimit.Limit(memoryLimit))
	_, _ = memlimit.Set(memlimit.WithProvider(limit), memlimit.WithRatio(1)) // the fallback never fails
}

// Garbage sets by how much of the live heap, in percent, the heap may grow between collections, unless GOGC is set. It
// is for a process that keeps much: for such a process new pages, which the system must clear first, cost more than
// collections.
func Garbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}
