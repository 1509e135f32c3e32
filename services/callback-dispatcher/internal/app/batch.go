package app

import (
	"context"
	"time"
)

// The bounds of a group commit: 200 rows, or one pack of events more, or 3 ms. While much is recorded a batch of results waits longer: nobody
// waits for it, and ten rows cost a third of what two hundred do.
const (
	batchMax  = 200
	batchWait = 3 * time.Millisecond
	busyBatch = 8
	busyWait  = 20 * time.Millisecond
)

// collect reads the next batch: it blocks for the first item, then takes what arrives within the wait, until it has
// batchMax rows. It returns nil when ctx has ended or in is closed and empty.
func collect[T any](ctx context.Context, in <-chan T, wait time.Duration, rows func(T) int) []T {
	var batch []T
	size := 0
	select {
	case item, ok := <-in:
		if !ok {
			return nil
		}
		batch, size = append(make([]T, 0, 64), item), rows(item)
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for size < batchMax {
		select {
		case item, ok := <-in:
			if !ok {
				return batch
			}
			batch, size = append(batch, item), size+rows(item)
		case <-timer.C:
			return batch
		}
	}
	return batch
}

// pause waits for d and reports whether ctx still runs.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
