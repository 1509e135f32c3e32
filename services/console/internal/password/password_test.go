package password

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// Hashes that wait are bounded: a further one is refused at once, and one whose request has ended waits no longer.
func TestVerify_bounded(t *testing.T) {
	hash, err := Hash(t.Context(), "correct horse battery staple")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		defer func(s, p chan struct{}) { slots, places = s, p }(slots, places)
		slots, places = make(chan struct{}, hashMax), make(chan struct{}, hashMax+waitMax)
		for range hashMax { // both slots hash
			slots <- struct{}{}
			places <- struct{}{}
		}
		ctx, end := context.WithCancel(t.Context())
		var all sync.WaitGroup
		var mu sync.Mutex
		var got []error
		for range waitMax {
			all.Go(func() {
				_, err := Verify(ctx, hash, "correct horse battery staple")
				mu.Lock()
				defer mu.Unlock()
				got = append(got, err)
			})
		}
		synctest.Wait()
		if _, err := Verify(t.Context(), hash, "correct horse battery staple"); !errors.Is(err, ErrBusy) {
			t.Errorf("one more than may wait: got %v, want ErrBusy", err)
		}
		end()
		all.Wait()
		for _, err := range got {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("a hash whose request has ended: got %v, want its end", err)
			}
		}
	})
	ok, err := Verify(t.Context(), hash, "correct horse battery staple")
	if err != nil || !ok {
		t.Errorf("once there is room: got %t, %v, want the password verified", ok, err)
	}
	if ok, err := Verify(t.Context(), "", "correct horse battery staple"); err != nil || ok {
		t.Errorf("an account without a password: got %t, %v, want a refusal", ok, err)
	}
}
