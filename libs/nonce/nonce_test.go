package nonce_test

import (
	"testing"
	"time"

	"causeway.internal/libs/nonce"
)

// A nonce is taken once for as long as a statement with it may live: from one life ahead of its issue to one after it.
func TestMemory(t *testing.T) {
	const life = 10 * time.Second
	m, begun := nonce.NewMemory(life), time.UnixMilli(1775000000000)
	if !m.First("a", begun) || m.First("a", begun) {
		t.Error("a nonce is not taken exactly once")
	}
	for _, later := range []time.Duration{1, life, 2*life - 1, 2 * life} {
		if m.First("a", begun.Add(later)) {
			t.Errorf("a nonce is taken again %s later", later)
		}
	}
	if !m.First("b", begun.Add(2*life)) || !m.First("a", begun.Add(6*life)) {
		t.Error("a nonce is remembered without end")
	}
}
