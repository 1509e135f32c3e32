// Package holdup makes calls that share statements come together.
package holdup

import (
	"context"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/gather"
)

// Next makes the next statement of calls wait until release is called. held is closed once it does, and waiting returns
// how many calls wait behind it.
func Next[In, Out any](calls *gather.Calls[In, Out]) (held <-chan struct{}, waiting func() int, release func()) {
	var once sync.Once
	begun, end := make(chan struct{}), make(chan struct{})
	all := calls.All
	calls.All = func(ctx context.Context, in []In) ([]Out, error) {
		once.Do(func() {
			close(begun)
			<-end
		})
		return all(ctx, in)
	}
	return begun, calls.Waiting, func() { close(end) }
}

// Until waits until a condition holds, which nothing signals.
func Until(t testing.TB, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the test ended before the condition held")
		}
	}
}
