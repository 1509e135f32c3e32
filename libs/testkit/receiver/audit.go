package receiver

import (
	"fmt"
	"sort"
)

// Audit is the verdict on all deliveries. At-least-once delivery allows Repeated; the other lists must be empty,
// Reordered where the sender had no reason to give up the order.
type Audit struct {
	Arrivals  int      // requests, failed ones included
	Accepted  int      // different (path, event) that were verified and answered with a 2xx
	Lost      []string // expected events never accepted, and gaps in an object's accepted sequence
	Repeated  []string // the same event accepted more than once on a path
	Doubled   []string // one (path, object, sequence) under two event ids
	Reordered []string // first arrivals of an object's events on a path out of sequence
	Invalid   []string // bad signature, bad body, id mismatch
}

// Clean reports whether nothing was lost, doubled or invalid.
func (a Audit) Clean() bool { return len(a.Lost)+len(a.Doubled)+len(a.Invalid) == 0 }

// String sums the audit up in one line.
func (a Audit) String() string {
	return fmt.Sprintf("%d arrivals, %d accepted, %d lost, %d repeated, %d doubled, %d reordered, %d invalid",
		a.Arrivals, a.Accepted, len(a.Lost), len(a.Repeated), len(a.Doubled), len(a.Reordered), len(a.Invalid))
}

// Audit judges all deliveries. expected lists event ids by path that must have been accepted; it may be nil.
func (r *Receiver) Audit(expected map[string][]string) Audit { return Judge(r.Deliveries(), expected) }

// Judge is Audit over deliveries gathered elsewhere, in order of arrival.
func Judge(deliveries []Delivery, expected map[string][]string) Audit {
	j := judge{accepted: map[string]int{}, ids: map[slot]string{}, first: map[stream]int64{}, seen: map[stream]map[int64]bool{}}
	a := Audit{Arrivals: len(deliveries)}
	for _, d := range deliveries {
		j.take(&a, d)
	}
	for key, n := range j.accepted {
		a.Accepted++
		if n > 1 {
			a.Repeated = append(a.Repeated, fmt.Sprintf("%s: %d times", key, n))
		}
	}
	for path, ids := range expected {
		for _, id := range ids {
			if j.accepted[path+" "+id] == 0 {
				a.Lost = append(a.Lost, path+" "+id)
			}
		}
	}
	j.gaps(&a)
	for _, list := range [][]string{a.Lost, a.Repeated, a.Doubled, a.Reordered, a.Invalid} {
		sort.Strings(list)
	}
	return a
}

type stream struct{ path, object string }

type slot struct {
	stream
	sequence int64
}

type judge struct {
	accepted map[string]int            // path and id -> times accepted
	ids      map[slot]string           // the id that carries a sequence
	first    map[stream]int64          // largest sequence that has arrived so far
	seen     map[stream]map[int64]bool // accepted sequences
}

func (j *judge) take(a *Audit, d Delivery) {
	key := d.Path + " " + d.ID
	if d.Problem != nil {
		a.Invalid = append(a.Invalid, fmt.Sprintf("%s: %v", key, d.Problem))
		return
	}
	if d.OK() {
		j.accepted[key]++
	}
	if d.Sequence == 0 {
		return
	}
	s := stream{d.Path, d.Object}
	at := slot{s, d.Sequence}
	switch other, known := j.ids[at]; {
	case known && other != d.ID:
		a.Doubled = append(a.Doubled, fmt.Sprintf("%s %s sequence %d: %s and %s", d.Path, d.Object, d.Sequence, other, d.ID))
	case !known:
		j.ids[at] = d.ID
		if d.Sequence < j.first[s] {
			a.Reordered = append(a.Reordered, fmt.Sprintf("%s %s: %d arrived after %d", d.Path, d.Object, d.Sequence, j.first[s]))
		}
		j.first[s] = max(j.first[s], d.Sequence)
	}
	if d.OK() {
		if j.seen[s] == nil {
			j.seen[s] = map[int64]bool{}
		}
		j.seen[s][d.Sequence] = true
	}
}

// gaps finds holes below the largest accepted sequence of each object. An endpoint that filters by type rightly has
// holes; audit such a path by its expected ids.
func (j *judge) gaps(a *Audit) {
	for s, have := range j.seen {
		var top int64
		for n := range have {
			top = max(top, n)
		}
		for n := int64(1); n < top; n++ {
			if !have[n] {
				a.Lost = append(a.Lost, fmt.Sprintf("%s %s sequence %d", s.path, s.object, n))
			}
		}
	}
}
