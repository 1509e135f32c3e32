package store

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"causeway.internal/gateway/internal/identity"
	"causeway.internal/libs/fault"
)

const (
	insertSignedSQL = `INSERT INTO signed_requests (slot, id, once) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	findSignedSQL   = `SELECT COALESCE(once = $3, false) FROM signed_requests WHERE slot = $1 AND id = $2`
	rotateSignedSQL = `SELECT signed_requests_rotate()`
)

var errForgetful = fault.New(fault.Unavailable, "signatures_unavailable",
	"Signed requests cannot be checked right now. Try again shortly.").After(2 * time.Second)

var errReplayed = fault.New(fault.Unauthenticated, "signature_replayed", "This signed request was sent before.")

// slotLength and slots are those of migration 00004.
const (
	slotLength = 15 * time.Minute
	slots      = 4
)

// Once admits a signed request one time, by one insert. A repeated one is refused unless both carry the same
// Idempotency-Key, for which the service has the stored answer. Another Idempotency-Key on the same signature is
// refused too: the header is not signed.
func (s *Store) Once(ctx context.Context, sig *identity.Signature, once string) error {
	slot := sig.At.UnixMilli() / slotLength.Milliseconds() % slots
	var hash []byte
	if once != "" {
		sum := sha256.Sum256([]byte(once))
		hash = sum[:]
	}
	tag, err := s.pool.Exec(ctx, insertSignedSQL, slot, sig.Sum[:], hash)
	if err != nil {
		return errForgetful.Because(fmt.Errorf("remember a signed request: %w", err))
	}
	if tag.RowsAffected() == 1 {
		return nil
	}
	var same bool
	if err := s.pool.QueryRow(ctx, findSignedSQL, slot, sig.Sum[:], hash).Scan(&same); err != nil {
		return errForgetful.Because(fmt.Errorf("look up a signed request: %w", err))
	}
	if !same {
		return errReplayed
	}
	return nil
}
