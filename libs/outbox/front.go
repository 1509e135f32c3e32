package outbox

import (
	"slices"
	"time"
)

// Bounds of what a leader leaves out of its reads.
const (
	wholeEvery = 250 * time.Millisecond // between two reads of everything that waits
	gapsMost   = 200
)

// front is how far a leader has read: up to an id, but for ids that were missing when it passed them, because their
// writers had not committed yet or have given up. A read beyond the front finds what is new, and passes over nothing
// that was sent and is not stored yet. A read of everything now and then finds what the gaps do not know.
type front struct {
	high    int64
	gaps    []int64
	wholeAt time.Time
}

// known reports whether the next read may begin at the front.
func (f *front) known() bool { return f.high > 0 && time.Since(f.wholeAt) < wholeEvery }

// doubt makes the next read one of everything: what was read before was not sent.
func (f *front) doubt() { f.wholeAt = time.Time{} }

// pass notes rows that were sent. Those that other reads found may lie beyond the front.
func (f *front) pass(ids []int64) {
	for _, id := range ids {
		f.high = max(f.high, id)
		f.found(id)
	}
}

func (f *front) found(id int64) {
	f.gaps = slices.DeleteFunc(f.gaps, func(gap int64) bool { return gap == id })
}

// whole notes a read of everything. It has found what the gaps waited for, or the next one will.
func (f *front) whole(ids []int64) {
	f.wholeAt, f.gaps = time.Now(), nil
	f.read(ids)
}

// read moves the front past ids, which are in their order.
func (f *front) read(ids []int64) {
	for _, id := range ids {
		if f.high == 0 {
			f.high = id - 1
		}
		if id <= f.high {
			f.found(id)
			continue
		}
		for gap := f.high + 1; gap < id && len(f.gaps) < gapsMost; gap++ {
			f.gaps = append(f.gaps, gap)
		}
		f.high = id
	}
}
