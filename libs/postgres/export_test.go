package postgres

import (
	"context"
	"time"
)

const ProofSeldom = proofSeldom

// WorkPause is the shortest time between two looks among writers.
const WorkPause = workPause

// AwaitWorkFor is AwaitWork with another bound of a sleep.
func (s *Session) AwaitWorkFor(ctx context.Context, most time.Duration, tables ...Work) error {
	return s.awaitWork(ctx, most, tables)
}
