package lifecycle_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/tick"
)

// A loop asks soon for a second after it began, was woken, found work or was to stay, then at every fifth second of the
// process, and at once when it is woken.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const soon = 100 * time.Millisecond
		pace := lifecycle.NewPace(soon)
		wait := func(found bool, want time.Duration, after string) {
			t.Helper()
			began := time.Now()
			if !pace.Wait(t.Context(), found) {
				t.Errorf("after %s the loop ended, want it to go on", after)
			}
			if took := time.Since(began); took != want {
				t.Errorf("after %s the loop waited %s, want %s", after, took, want)
			}
		}
		for range 10 {
			wait(false, soon, "the start")
		}
		wait(false, tick.Until(5*time.Second), "a second without work")
		wait(false, 5*time.Second, "another look")
		wait(true, soon, "work")
		<-time.After(time.Second) // by the clock of the bubble
		time.AfterFunc(2*time.Second, pace.Wake)
		wait(false, 2*time.Second, "two seconds a wake-up")
		wait(false, soon, "a wake-up")
		<-time.After(time.Second)
		pace.Stay()
		wait(false, soon, "work that is about to come")
		ctx, end := context.WithCancel(t.Context())
		end()
		if pace.Wait(ctx, true) {
			t.Error("after its end the loop goes on, want it to end")
		}
	})
}
