package order

import (
	"crypto/ed25519"
	"errors"
	"time"
)

// Approved is an order with the signatures of its approval. Two approvals of one order may differ in time and
// signatures; the order is the same.
type Approved struct {
	Order
	// Signature is that of the order alone, in base64. Wallets and signers of the release before read no other.
	Signature string `json:"signature"`
	// ApprovedAt is what TimedSignature proves, in base64: without it the time is no more than a claim.
	ApprovedAt     time.Time `json:"approvedAt,omitzero"`
	TimedSignature string    `json:"timedSignature,omitempty"`
}

// timedDomain is the domain of an order that is signed together with its time.
const timedDomain = "causeway order v2\n"

// Approve signs an order and the time of its approval. Without a key, as in test mode, there are no signatures. A
// database keeps microseconds: an order that is read from there and sent again has the same signatures.
func (o Order) Approve(key ed25519.PrivateKey, at time.Time) Approved {
	a := Approved{Order: o, ApprovedAt: at.UTC().Truncate(time.Microsecond)}
	if key != nil {
		a.Signature, a.TimedSignature = o.Sign(key), sign(key, a.timed())
	}
	return a
}

// timed is the signed content of an order with its time.
func (a Approved) timed() []byte {
	return message(append(append([]string{timedDomain}, a.fields()...), a.ApprovedAt.UTC().Format(time.RFC3339Nano)))
}

// Timed reports whether the approval proves its time, once it is verified.
func (a Approved) Timed() bool { return a.TimedSignature != "" }

// Verify checks the form of the order, and the signature of its approval: the one with the time where there is one.
func (a Approved) Verify(key ed25519.PublicKey) error {
	if !a.Timed() {
		return a.Order.Verify(key, a.Signature)
	}
	if err := a.Check(); err != nil {
		return err
	}
	if a.ApprovedAt.IsZero() {
		return errors.New("the time of the approval is missing")
	}
	return verify(key, a.timed(), a.TimedSignature)
}
