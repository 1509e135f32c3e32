package app

import (
	"context"
	"time"
)

// The bounds of a group commit: at most 200 rows or 3 ms. While much is recorded a batch of results waits longer: nobody
// waits for it, and ten rows cost a third of what two hundred do.
const (
	batchMax  = 200
	batchWait = 3 * time.Millisecond
	busyBatch = 8
	busyWait  = 20 * time.Millisecond
)

// collect reads the next batch: it blocks for the first item, then takes what arrives within the wait, up to batchMax.
// It returns nil when ctx has ended or in is closed and empty.
func collect[T any](ctx context.Context, in <-chan T, wait time.Duration) []T {
	var batch []T
	select {
	case item, ok := <-in:
		if !ok {
			return nil
		}
		batch = append(make([]T, 0, 64), item)
	case <-ctx.Done():
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for len(batch) < batchMax {
		select {
		case item, ok := <-in:
			if !ok {
				return batch
			}
			batch = append(batch, item)
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
