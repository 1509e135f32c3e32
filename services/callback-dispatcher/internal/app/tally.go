package app

import "time"

// tally counts the attempts at each target over the last minute, to tell a target that fails half the time from one
// that fails in a row. It lives in memory alone: a process that begins anew has forgotten a minute, no more. Each
// process judges by its own attempts.
type tally struct {
	sample  int // fewer attempts tell nothing
	now     func() time.Time
	targets map[string]*recent
	swept   int64 // the last span in which idle targets were forgotten
}

// recent holds the attempts of the last spans, each in the place of its number.
type recent struct {
	last          int64 // number of the newest span
	tries, misses [spans]int
}

const (
	spans = 6
	span  = 10 * time.Second
)

// count notes an attempt. It reports whether half of the attempts at the target within the last minute, of a sample
// that says something, have failed; then it begins anew, because the target is judged by its probes from now on.
func (t *tally) count(target string, failed bool) bool {
	at := t.now().UnixNano() / int64(span)
	t.forget(at)
	r := t.targets[target]
	if r == nil {
		r = &recent{last: at}
		t.targets[target] = r
	}
	for r.last = max(r.last, at-spans); r.last < at; {
		r.last++
		r.tries[r.last%spans], r.misses[r.last%spans] = 0, 0
	}
	r.tries[r.last%spans]++
	if !failed {
		return false
	}
	r.misses[r.last%spans]++
	tries, misses := 0, 0
	for i := range spans {
		tries, misses = tries+r.tries[i], misses+r.misses[i]
	}
	if tries < t.sample || 2*misses < tries {
		return false
	}
	delete(t.targets, target)
	return true
}

// forget keeps memory to the targets of the last two minutes.
func (t *tally) forget(at int64) {
	if at-t.swept < spans {
		return
	}
	t.swept = at
	for target, r := range t.targets {
		if at-r.last >= spans {
			delete(t.targets, target)
		}
	}
}
