package store

import (
	"time"

	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// issueToken puts the hash of a new settlement token into the payment when one of the facts is an event that carries
// the token. Without keys it issues none, and the merchant requests one.
func (s *Store) issueToken(p payment.Payment, facts []payment.Fact, now time.Time) (payment.Payment, string) {
	if s.TokenKeys == nil {
		return p, ""
	}
	for _, f := range facts {
		if e, ok := f.(payment.Event); ok && e.WithToken {
			token, hash := change.NewToken()
			p.Token = payment.Token{Hash: hash, ExpiresAt: now.Add(s.TokenLife)}
			return p, token
		}
	}
	return p, ""
}

// sealedToken is the token in the message, nil without one.
func (s *Store) sealedToken(brings bool, token, eventID string) []byte {
	if !brings {
		return nil
	}
	return s.TokenKeys.Seal([]byte(token), wire.TokenPlace(eventID))
}
