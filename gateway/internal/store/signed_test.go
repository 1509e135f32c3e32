//go:build integration

package store_test

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/gateway/internal/identity"
	"causeway.internal/libs/fault"
)

func signature(at time.Time) *identity.Signature {
	s := &identity.Signature{At: at}
	_, _ = rand.Read(s.Sum[:])
	return s
}

// A signature is accepted once, whatever its time, unless it comes again with its first Idempotency-Key.
func TestOnce(t *testing.T) {
	w := start(t)
	replayed := func(err error) bool { return err != nil && fault.As(err).Code == "signature_replayed" }
	for _, at := range []time.Time{time.Now(), time.Now().Add(-5 * time.Minute), time.Now().Add(5 * time.Minute)} {
		plain, keyed := signature(at), signature(at)
		for _, s := range []struct {
			sig  *identity.Signature
			once string
			good bool
		}{
			{plain, "", true}, {plain, "", false}, {plain, "k", false}, // a key that is added later gains nothing
			{keyed, "k", true}, {keyed, "k", true}, {keyed, "other", false}, {keyed, "", false}, {keyed, "k", true},
		} {
			if err := w.store.Once(t.Context(), s.sig, s.once); replayed(err) == s.good || (s.good && err != nil) {
				t.Errorf("at %s with %q: %v", at, s.once, err)
			}
		}
	}
	if err := w.store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, `SELECT count(*) FROM signed_requests`); n != 6 {
		t.Errorf("%d signatures after the upkeep, want all 6 that still count", n)
	}
	// slots half an hour away are emptied, so the table holds at most half an hour of signatures
	if _, err := w.pool.Exec(t.Context(), `INSERT INTO signed_requests (slot, id)
SELECT (floor(extract(epoch FROM now()) / 900)::bigint + 2) % 4, decode(repeat('ab', 32), 'hex')`); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Maintain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.count(t, `SELECT count(*) FROM signed_requests`); n != 6 {
		t.Errorf("%d signatures, want those of half an hour ago gone", n)
	}
}

func TestOnce_parallel(t *testing.T) {
	w := start(t)
	s := signature(time.Now())
	var passed atomic.Int32
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if w.store.Once(t.Context(), s, "") == nil {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	if passed.Load() != 1 {
		t.Errorf("%d of 16 passed", passed.Load())
	}
}
