// Package order is the language of approved transfers out of the product: a refund to a payer, or a withdrawal of a
// merchant from its standalone wallets. Payments signs an order when it is approved, wallets carries it out, and the
// signer of transactions verifies it with a pinned key. So wallets, which plans the transaction, cannot choose an
// amount or a destination. It is pure.
package order

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Kind says what an order is for.
type Kind string

// The kinds.
const (
	Refund     Kind = "refund"     // gives money back to a payer
	Withdrawal Kind = "withdrawal" // pays a merchant what its standalone wallets hold
)

// Approval says who has approved an order. Each has a key of its own.
type Approval string

// The approvals.
const (
	Automatic Approval = "automatic" // payments itself, up to a bound; the signer has an hourly cap for these
	Operator  Approval = "operator"  // two operators
)

// Order is one transfer of one asset on one network to one address.
type Order struct {
	Kind     Kind        `json:"kind"`
	ID       string      `json:"id"` // of the refund or withdrawal; it is carried out once
	Mode     tenant.Mode `json:"mode"`
	Network  string      `json:"network"`
	Asset    string      `json:"asset"`              // symbol
	Contract string      `json:"contract,omitempty"` // of the token; "" for the network's own coin
	Amount   string      `json:"amount"`             // base units, decimal digits
	To       string      `json:"to"`
	Approval Approval    `json:"approval"`
}

// Bounds of the texts of an order, in bytes.
const (
	idMost      = 80
	addressMost = 128
	digitsMost  = 78 // of the largest number of 256 bits
)

// domain is the first field of every signed message, so that no signature of another purpose is one of an order.
const domain = "causeway order v1\n"

// Check reports the first field that no order may have. It does not know what an address of the network looks like.
func (o Order) Check() error {
	network, listed := money.NetworkOf(o.Network)
	asset, known := network.Asset(o.Asset)
	switch {
	case o.Kind != Refund && o.Kind != Withdrawal:
		return fmt.Errorf("the kind %.20q is unknown", o.Kind)
	case !text(o.ID, idMost):
		return fmt.Errorf("the id must have 1 to %d visible characters", idMost)
	case !o.Mode.Valid():
		return fmt.Errorf("the mode %.20q is unknown", o.Mode)
	case !listed || network.Name != o.Network:
		return fmt.Errorf("the network %.20q is not listed", o.Network)
	case !known || asset.Symbol != o.Asset:
		return fmt.Errorf("the asset %.20q is not listed on %s", o.Asset, o.Network)
	case asset.Native != (o.Contract == "") || len(o.Contract) > addressMost:
		return fmt.Errorf("the contract of %s is missing or superfluous", o.Asset)
	case !text(o.To, addressMost):
		return errors.New("the destination is missing or too long")
	case o.Approval != Automatic && o.Approval != Operator:
		return fmt.Errorf("the approval %.20q is unknown", o.Approval)
	case len(o.Amount) > digitsMost || o.Amount == "" || o.Amount[0] == '0' || strings.Trim(o.Amount, "0123456789") != "":
		return fmt.Errorf("the amount %.80q is no positive whole number in its shortest form", o.Amount)
	}
	return nil
}

// text reports whether a text is not empty, within a bound, and of visible ASCII characters alone.
func text(s string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0
}

// Message is the signed content: the domain and every field, each with its length before it. Two different orders never
// have the same message.
func (o Order) Message() []byte { return message(append([]string{domain}, o.fields()...)) }

// fields are the texts of an order.
func (o Order) fields() []string {
	return []string{string(o.Kind), o.ID, string(o.Mode), o.Network, o.Asset, o.Contract, o.Amount, o.To, string(o.Approval)}
}

// message writes each field with its length before it.
func message(fields []string) (m []byte) {
	for _, field := range fields {
		m = binary.BigEndian.AppendUint32(m, uint32(len(field))) //nolint:gosec // Check bounds the fields
		m = append(m, field...)
	}
	return m
}

// Sign is the base64 of the approval's signature.
func (o Order) Sign(key ed25519.PrivateKey) string { return sign(key, o.Message()) }

func sign(key ed25519.PrivateKey, message []byte) string {
	return base64.StdEncoding.EncodeToString(ed25519.Sign(key, message))
}

// ErrSignature says that a signature was not made for this order with the expected key.
var ErrSignature = errors.New("the signature is not that of this order by its approval's key")

// Verify checks the form of the order, and its signature by the key of its approval.
func (o Order) Verify(key ed25519.PublicKey, signature string) error {
	if err := o.Check(); err != nil {
		return err
	}
	return verify(key, o.Message(), signature)
}

func verify(key ed25519.PublicKey, message []byte, signature string) error {
	raw, err := base64.StdEncoding.Strict().DecodeString(signature)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, message, raw) {
		return ErrSignature
	}
	return nil
}

// ParseKey reads the base64 of the 32 bytes of a key's seed. Its error does not show the text, which is a secret.
func ParseKey(seed string) (ed25519.PrivateKey, error) {
	raw, err := base64.StdEncoding.Strict().DecodeString(seed)
	if err != nil || len(raw) != ed25519.SeedSize {
		return nil, errors.New("is not the base64 of an ed25519 seed of 32 bytes")
	}
	return ed25519.NewKeyFromSeed(raw), nil
}
