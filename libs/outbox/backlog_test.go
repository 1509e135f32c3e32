package outbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/postgres"
)

// slow is a database that answers nothing before its caller gives up.
type slow struct {
	postgres.Querier
	asked int
}

type noResults struct{ pgx.BatchResults }

func (noResults) Close() error { return errors.New("given up") }

func (s *slow) SendBatch(ctx context.Context, _ *pgx.Batch) pgx.BatchResults {
	s.asked++
	<-ctx.Done()
	return noResults{}
}

// While one caller counts a full outbox, which takes long because it is full, no other caller gets in.
func TestBacklog_fullWhileItIsCounted(t *testing.T) {
	for _, full := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			q := &slow{}
			b := NewBacklog(q, 1)
			b.full.Store(full)
			counting, giveUp := context.WithCancel(t.Context())
			go func() { _ = b.Full(counting) }()
			synctest.Wait()
			for range 3 {
				if err := b.Full(t.Context()); (err != nil) != full {
					t.Errorf("full = %t, and a caller beside the count got %v", full, err)
				}
			}
			giveUp()
			synctest.Wait()
			if err := b.Full(t.Context()); (err != nil) != full {
				t.Errorf("full = %t, and a caller after a count that failed got %v", full, err)
			}
			if q.asked != 1 {
				t.Errorf("the database was asked %d times in a moment, want once", q.asked)
			}
			time.Sleep(checkEvery)
			again, end := context.WithCancel(t.Context())
			go func() { _ = b.Full(again) }()
			synctest.Wait()
			end()
			synctest.Wait()
			if q.asked != 2 {
				t.Errorf("the database was asked %d times, a second later, want twice", q.asked)
			}
		})
	}
}
