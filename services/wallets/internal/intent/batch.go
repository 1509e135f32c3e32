package intent

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/derivation"
)

// Batch is a run of addresses that the signer made in advance, for families whose addresses cannot be derived from a
// public key (solana: SLIP-0010 on ed25519 has hardened children only).
type Batch struct {
	Version   int          `json:"version"` // 1
	Mode      string       `json:"mode"`
	Family    money.Family `json:"family"`
	From      uint32       `json:"from"` // index of the first address
	Addresses []string     `json:"addresses"`
	PublicKey string       `json:"publicKey"` // base64, of the signer's batch key
	Signature string       `json:"signature"` // base64, of Message
}

// BatchMost is how many addresses a batch may hold.
const BatchMost = 100_000

const batchVersion = 1

// Keys are the addresses as the chain knows them. It fails unless each is written canonically and occurs once.
func (b Batch) Keys() ([][]byte, error) {
	seen := make(map[string]bool, len(b.Addresses))
	keys := make([][]byte, len(b.Addresses))
	for i, text := range b.Addresses {
		key, err := address.Parse(b.Family, address.Mainnet, text)
		if err != nil {
			return nil, fmt.Errorf("address %d %w", uint64(b.From)+uint64(i), err)
		}
		if canonical, err := address.Encode(b.Family, address.Mainnet, key); err != nil || canonical != text || seen[text] {
			return nil, fmt.Errorf("address %d is not canonical, or is repeated", uint64(b.From)+uint64(i))
		}
		seen[text], keys[i] = true, key
	}
	return keys, nil
}

// Message is the signed content: every meaningful field, each with its length before it.
func (b Batch) Message() ([]byte, error) {
	keys, err := b.Keys()
	if err != nil {
		return nil, err
	}
	var m bytes.Buffer
	field := func(f []byte) {
		m.Write(binary.BigEndian.AppendUint32(nil, uint32(len(f)))) //nolint:gosec // a field of a bounded message
		m.Write(f)
	}
	field([]byte("causeway address batch"))
	field([]byte{batchVersion})
	field([]byte(b.Mode))
	field([]byte(b.Family))
	field(binary.BigEndian.AppendUint32(nil, b.From))
	field(binary.BigEndian.AppendUint32(nil, uint32(len(keys)))) //nolint:gosec // a batch is bounded
	for _, k := range keys {
		field(k)
	}
	return m.Bytes(), nil
}

// Verify checks the whole batch: form, uniqueness inside it, and the pinned key's signature of exactly this content.
func (b Batch) Verify(pinned ed25519.PublicKey) error {
	if b.Version != batchVersion || b.Family != money.Solana || (b.Mode != "live" && b.Mode != "test") {
		return errors.New("the batch needs version 1, family solana and a mode")
	}
	if len(b.Addresses) == 0 || len(b.Addresses) > BatchMost || uint64(b.From)+uint64(len(b.Addresses)) > derivation.MaxIndex {
		return fmt.Errorf("a batch holds 1 to %d addresses below index 2^31", BatchMost)
	}
	key, err := base64.StdEncoding.DecodeString(b.PublicKey)
	if err != nil || !bytes.Equal(key, pinned) {
		return errors.New("the batch names another key than the pinned one")
	}
	signature, err := base64.StdEncoding.DecodeString(b.Signature)
	if err != nil || len(signature) != ed25519.SignatureSize {
		return errors.New("the batch has no signature")
	}
	message, err := b.Message()
	if err != nil {
		return err
	}
	if !ed25519.Verify(pinned, message, signature) {
		return errors.New("the signature does not verify: the batch was changed after it was signed, or another key signed it")
	}
	return nil
}

// ParseBatchKey reads the base64 of an ed25519 public key.
func ParseBatchKey(text string) (ed25519.PublicKey, error) {
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) != ed25519.PublicKeySize {
		return nil, errors.New("is not the base64 of an ed25519 public key of 32 bytes")
	}
	return key, nil
}
