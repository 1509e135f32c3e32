package postgres

import (
	"context"
	"time"
)

const ProofSeldom = proofSeldom

// WorkPause is how long AwaitWork pauses after a short sleep.
const WorkPause = workPause

// AwaitWorkFor is AwaitWork with another bound of a sleep.
func (s *Session) AwaitWorkFor(ctx context.Context, most time.Duration, tables ...Work) error {
	return s.awaitWork(ctx, most, tables)
}

// NewSession makes a session without a connection.
func NewSession() *Session { return &Session{turn: make(chan struct{}, 1)} }

// OpeningAtOnce is how many connections of a pool are made at a time.
const OpeningAtOnce = openingAtOnce
