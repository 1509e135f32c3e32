package app

import (
	"context"
	"time"
)

// The bounds of a group commit: 200 rows, or one pack of events more, or 3 ms. While much is recorded a batch of
// results waits longer: nobody waits for it, and ten rows cost a third of what two hundred do.
const (
	batchMax  = 200
	batchWait = 3 * time.Millisecond
	busyBatch = 8
	busyWait  = 20 * time.Millisecond
)

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
