package outbox

import (
	"slices"
	"time"
)

// Bounds of what a leader leaves out of its reads.
const (
	writerMost = time.Minute     // no handler takes longer to commit; before that an id that was missing may still come
	wholeEvery = 5 * time.Second // between two reads of everything, for a writer that took longer all the same
	gapsMost   = 1000
)

// front is how far a leader has read: every row up to high, but for the gaps. Their ids were missing when a read passed
// them, because their writers had not committed yet or have given up. A read of what lies beyond the front and in its
// gaps returns every row that has been committed and was not read before. So of two messages of one object, whose
// writers wait for each other, the earlier one leaves first.
type front struct {
	high    int64 // 0: nothing is known
	gaps    []gap // in the order of time
	since   time.Time
	wholeAt time.Time
}

type gap struct {
	id int64
	at time.Time
}

// known reports whether the next read may begin at the front. Ids below the first one that was read are no gaps: until
// their writers have ended, everything is read.
func (f *front) known() bool {
	now := time.Now()
	return f.high > 0 && now.Sub(f.since) >= writerMost && now.Sub(f.wholeAt) < wholeEvery && len(f.gaps) <= gapsMost
}

// forget makes the next reads read everything, because rows were left out or were read and not sent.
func (f *front) forget() { *f = front{} }

// whole notes a read of everything, or of the first rows of it.
func (f *front) whole(ids []int64) {
	f.wholeAt = time.Now()
	f.read(ids)
}

// read moves the front past ids, which are in their order.
func (f *front) read(ids []int64) {
	now := time.Now()
	for _, id := range ids {
		switch {
		case f.high == 0:
			f.high, f.since = id, now
		case id <= f.high:
			f.gaps = slices.DeleteFunc(f.gaps, func(g gap) bool { return g.id == id })
		default:
			for missing := f.high + 1; missing < id && len(f.gaps) <= gapsMost; missing++ {
				f.gaps = append(f.gaps, gap{missing, now})
			}
			f.high = id
		}
	}
	if len(f.gaps) > gapsMost { // some were not noted
		f.forget()
		return
	}
	ended := 0
	for ended < len(f.gaps) && now.Sub(f.gaps[ended].at) > writerMost {
		ended++
	}
	f.gaps = slices.Delete(f.gaps, 0, ended)
}

// missing are the ids of the gaps.
func (f *front) missing() []int64 {
	ids := make([]int64, len(f.gaps))
	for n, g := range f.gaps {
		ids[n] = g.id
	}
	return ids
}
