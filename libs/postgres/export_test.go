package postgres

import (
	"context"
	"time"
)

const ProofSeldom = proofSeldom

// VigilFor is Vigil with another bound of a sleep.
func (s *Session) VigilFor(ctx context.Context, most time.Duration, watches ...Watch) error {
	return s.vigil(ctx, most, watches)
}
