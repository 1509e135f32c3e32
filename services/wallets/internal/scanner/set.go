package scanner

import (
	"encoding/binary"
	"hash/maphash"
)

// set holds salted fingerprints of address keys in 4 096 open tables, five bytes a slot and no pointers. The first
// twelve bits of a fingerprint choose the table and the other forty are its slot's content, so a hundred million
// addresses take 0.65 GB and the garbage collector no time. Each table grows by itself: growth never needs more than a
// few hundred kilobytes besides. The set never misses a member. A foreign key passes with odds of some 2^-25 at a
// hundred million members, and the database check that follows refuses it.
type set struct {
	seed   maphash.Seed
	tables [1 << tableBits]openTable
	count  int
}

// fingerprint of a key, in the lowest 52 bits.
type fingerprint uint64

const (
	tableBits = 12
	slotBits  = 40
	slotBytes = slotBits / 8
	slotMask  = 1<<slotBits - 1
	firstSlot = 4
	spare     = 64 // members of a table beyond the mean and a thirty-second: four deviations among a million members
)

func newSet() *set { return &set{seed: maphash.MakeSeed()} }

// endBytes is how much of the end of a key the set knows. Keys end in at least as much of a hash or of a public key.
const endBytes = 8

// fingerprint of a key, or of its last bytes. The salt keeps others from choosing keys that crowd one table.
func (s *set) fingerprint(key []byte) fingerprint {
	h := maphash.Bytes(s.seed, key[max(0, len(key)-endBytes):]) >> (64 - tableBits - slotBits)
	if h&slotMask == 0 { // means a free slot
		h |= 1
	}
	return fingerprint(h)
}

// reserve makes room for so many members in an empty set, so that its tables do not grow while it is filled.
func (s *set) reserve(members int64) {
	mean := uint64(max(0, members)) / uint64(len(s.tables)) //nolint:gosec // not negative
	if s.count > 0 || mean < spare {
		return
	}
	for i := range s.tables {
		s.tables[i] = newTable((mean + mean/32 + spare) * 8 / 7)
	}
}

func (s *set) has(f fingerprint) bool {
	t := &s.tables[f>>slotBits]
	if t.count == 0 {
		return false
	}
	_, there := t.place(uint64(f & slotMask))
	return there
}

func (s *set) add(f fingerprint) {
	if s.tables[f>>slotBits].add(uint64(f & slotMask)) {
		s.count++
	}
}

// addAll adds many, one table after the other: at random, each would wait for memory. It orders them in a buffer of the
// same length.
func (s *set) addAll(many, ordered []fingerprint) {
	var next [len(s.tables) + 1]int // where the next one of each table goes
	for _, f := range many {
		next[f>>slotBits+1]++
	}
	for i := range s.tables {
		next[i+1] += next[i]
	}
	for _, f := range many {
		ordered[next[f>>slotBits]] = f
		next[f>>slotBits]++
	}
	for _, f := range ordered {
		s.add(f)
	}
}

// openTable is an open table of contents of forty bits; 0 is a free slot.
type openTable struct {
	bytes []byte // the slots, and what a read of eight bytes at the last one reaches beyond it
	slots uint64
	count uint64
}

func newTable(slots uint64) openTable {
	return openTable{bytes: make([]byte, slots*slotBytes+8-slotBytes), slots: slots}
}

func (t *openTable) at(i uint64) uint64 {
	return binary.LittleEndian.Uint64(t.bytes[i*slotBytes:]) & slotMask
}

// put writes a free slot, whose neighbours stay.
func (t *openTable) put(i, content uint64) {
	b := t.bytes[i*slotBytes : i*slotBytes+8]
	binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)|content)
}

// place returns the slot that holds a content, or the free one for it.
func (t *openTable) place(content uint64) (slot uint64, there bool) {
	for i := (content >> 8) * t.slots >> (slotBits - 8); ; i++ {
		if i == t.slots {
			i = 0
		}
		switch t.at(i) {
		case content:
			return i, true
		case 0:
			return i, false
		}
	}
}

// add reports whether the content is new.
func (t *openTable) add(content uint64) bool {
	if (t.count+1)*8 > t.slots*7 {
		t.grow()
	}
	i, there := t.place(content)
	if !there {
		t.put(i, content)
		t.count++
	}
	return !there
}

// grow makes the table a quarter larger.
func (t *openTable) grow() {
	wider := newTable(max(firstSlot, t.slots+t.slots/4+1))
	for i := range t.slots {
		if content := t.at(i); content != 0 {
			at, _ := wider.place(content)
			wider.put(at, content)
		}
	}
	wider.count = t.count
	*t = wider
}
