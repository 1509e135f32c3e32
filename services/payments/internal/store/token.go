package store

import (
	"time"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// tokens issues settlement tokens. Without a ring it issues none, and the caller requests one.
type tokens struct {
	ring *keyring.Ring
	life time.Duration
}

// IssueTokens makes the store put a one-time token into each event that carries one, sealed for the dispatcher under
// the ring that both share. Call it before the store is used.
func (s *Store) IssueTokens(ring *keyring.Ring, life time.Duration) { s.tokens = tokens{ring, life} }

// SealEvents makes the store seal the bodies of events for the dispatcher. Call it before the store is used.
func (s *Store) SealEvents(keys keyring.Optional) { s.events = keys }

// issue puts the hash of a new token into the payment when one of the facts is an event that carries the token.
func (t tokens) issue(p payment.Payment, facts []payment.Fact, now time.Time) (payment.Payment, string) {
	if t.ring == nil {
		return p, ""
	}
	for _, f := range facts {
		if e, ok := f.(payment.Event); ok && e.WithToken {
			token, hash := change.NewToken()
			p.Token = payment.Token{Hash: hash, ExpiresAt: now.Add(t.life)}
			return p, token
		}
	}
	return p, ""
}

// sealed is the token in the message, nil without one.
func (t tokens) sealed(brings bool, token, eventID string) []byte {
	if !brings {
		return nil
	}
	return t.ring.Seal([]byte(token), wire.TokenPlace(eventID))
}
