package outbox

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Messages of one object leave in the order of their ids, and every message leaves once, soon after its commit. Writers
// of an object wait for each other, take several ids, commit late or give up; reads are of a few rows, and some fail.
func TestFront(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		synctest.Test(t, func(t *testing.T) {
			m := &outboxModel{committed: map[int64]modelRow{}, writing: map[int][]int64{}}
			m.random = rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a test
			for began := time.Now(); time.Since(began) < 4*writerMost; {
				m.write()
				time.Sleep(time.Duration(m.random.IntN(200)) * time.Millisecond) // synthetic
				m.read(t)
			}
			if !m.knew {
				t.Errorf("seed %d: every read was one of everything", seed)
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		})
	}
}

// outboxModel is an outbox with its writers and its relay.
type outboxModel struct {
	random    *rand.Rand
	next      int64
	writing   map[int][]int64    // ids by object
	committed map[int64]modelRow // and not sent
	last      [3]int64           // by object
	front     front
	knew      bool
}

type modelRow struct {
	object int
	at     time.Time
}

// write lets each object begin to write, write more, commit or give up.
func (m *outboxModel) write() {
	for object := range m.last {
		switch m.random.IntN(6) {
		case 0, 1, 2:
			m.next++
			m.writing[object] = append(m.writing[object], m.next)
		case 3, 4:
			for _, id := range m.writing[object] {
				m.committed[id] = modelRow{object, time.Now()}
			}
			delete(m.writing, object)
		case 5:
			delete(m.writing, object)
		}
	}
}

// read is a turn of the relay.
func (m *outboxModel) read(t *testing.T) {
	const most = 5
	known, gaps := m.front.known(), m.front.missing()
	m.knew = m.knew || known
	var ids, beyond []int64
	for _, id := range slices.Sorted(maps.Keys(m.committed)) {
		switch {
		case known && slices.Contains(gaps, id):
			ids = append(ids, id)
		case !known || id > m.front.high:
			beyond = append(beyond, id)
		}
	}
	beyond = beyond[:min(len(beyond), most)]
	if ids = append(ids, beyond...); known {
		m.front.read(ids)
	} else {
		m.front.whole(ids)
	}
	if m.random.IntN(3000) == 0 { // nothing of it is published
		m.front.forget()
		return
	}
	slices.Sort(ids)
	for _, id := range ids {
		row := m.committed[id]
		if id < m.last[row.object] {
			t.Errorf("message %d of object %d left after message %d", id, row.object, m.last[row.object])
		}
		if waited := time.Since(row.at); waited > 10*time.Second {
			t.Errorf("message %d waited %s", id, waited)
		}
		m.last[row.object] = id
		delete(m.committed, id)
	}
}

// Ids that writers have given up cost a bounded list: beyond it, everything is read.
func TestFront_bounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f front
		f.whole([]int64{1})
		time.Sleep(writerMost) // synthetic
		f.whole(nil)
		if !f.known() {
			t.Fatal("a minute after its first read the front is not known")
		}
		if f.read([]int64{1_000_000}); len(f.gaps) > gapsMost || f.known() {
			t.Errorf("after a million ids were passed the front has %d gaps and is known: %t", len(f.gaps), f.known())
		}
	})
}
