// Package evmtx writes and reads the one kind of EVM transaction that the product sends: EIP-1559 (type 2) without an
// access list, which moves the native coin or calls transfer or transferWithAuthorization of an ERC-20 token. The
// signer builds the bytes with it, and wallets parses them again before it stores and broadcasts them. It is pure and
// knows no private key.
package evmtx

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// Account is an address as the chain knows it.
type Account [20]byte

// String writes the address with its EIP-55 checksum.
func (a Account) String() string {
	text, err := address.Encode(money.EVM, address.Mainnet, a[:])
	if err != nil {
		panic("evmtx: twenty bytes are no address: " + err.Error())
	}
	return text
}

// Transaction is a transaction before it is signed. Amounts and prices are wei.
type Transaction struct {
	ChainID uint64
	Nonce   uint64
	Tip     *big.Int // most per gas for the block's maker
	MaxFee  *big.Int // most per gas in all
	Gas     uint64
	To      Account
	Value   *big.Int
	Data    []byte
}

const (
	kind = 2 // EIP-2718 type of EIP-1559
	// RawMost bounds the signed bytes of a transaction that is read at all.
	RawMost = 4_096
)

// payload appends the nine fields that are signed.
func (t Transaction) payload() []byte {
	var b []byte
	b = rlpUint(b, t.ChainID)
	b = rlpUint(b, t.Nonce)
	b = rlpInt(b, t.Tip)
	b = rlpInt(b, t.MaxFee)
	b = rlpUint(b, t.Gas)
	b = rlpBytes(b, t.To[:])
	b = rlpInt(b, t.Value)
	b = rlpBytes(b, t.Data)
	return rlpList(b, nil) // no access list
}

// Digest is the hash that the sender signs.
func (t Transaction) Digest() [32]byte {
	return address.Keccak256(rlpList([]byte{kind}, t.payload()))
}

// Signed joins the transaction and its signature: the parity of R's y coordinate, R and S.
func (t Transaction) Signed(parity byte, r, s *big.Int) []byte {
	b := t.payload()
	b = rlpUint(b, uint64(parity))
	b = rlpInt(b, r)
	b = rlpInt(b, s)
	return rlpList([]byte{kind}, b)
}

// Hash names signed bytes on the chain.
func Hash(raw []byte) [32]byte { return address.Keccak256(raw) }

// Cost is the most that the transaction can take from its sender.
func (t Transaction) Cost() *big.Int {
	fee := new(big.Int).Mul(new(big.Int).SetUint64(t.Gas), t.MaxFee)
	return fee.Add(fee, t.Value)
}

// Equal reports whether two transactions are the same in every field.
func (t Transaction) Equal(o Transaction) bool { return bytes.Equal(t.payload(), o.payload()) }

// Parse decodes signed bytes and recovers their signer. Anything but a canonical transaction of this kind, with a
// signature in its lower half (EIP-2), is an error.
func Parse(raw []byte) (t Transaction, from Account, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("not a transaction of this product: %w", err)
		}
	}()
	if len(raw) > RawMost || len(raw) < 2 || raw[0] != kind {
		return t, from, errors.New("not of type 2, or too long")
	}
	outer := &rlpReader{raw[1:]}
	fields, list, err := outer.item()
	if err != nil || !list || len(outer.b) != 0 {
		return t, from, errRLP
	}
	r := &rlpReader{fields}
	parity, sigR, sigS, err := t.read(r)
	if err != nil || len(r.b) != 0 || parity > 1 || len(sigR.Bytes()) > 32 || len(sigS.Bytes()) > 32 {
		return t, from, errRLP
	}
	if !bytes.Equal(t.Signed(byte(parity), sigR, sigS), raw) {
		return t, from, errRLP
	}
	if from, err = signerOf(t.Digest(), byte(parity), sigR, sigS); err != nil {
		return t, from, err
	}
	return t, from, nil
}

// read fills the transaction from its encoded fields and returns the signature.
func (t *Transaction) read(r *rlpReader) (parity uint64, sigR, sigS *big.Int, err error) {
	var problems []error
	uint64Field := func() uint64 { n, err := r.uint64(); problems = append(problems, err); return n }
	numberField := func() *big.Int { n, err := r.number(); problems = append(problems, err); return n }
	t.ChainID, t.Nonce, t.Tip, t.MaxFee, t.Gas = uint64Field(), uint64Field(), numberField(), numberField(), uint64Field()
	to, err := r.text()
	if err == nil && len(to) != len(t.To) {
		err = errRLP
	}
	problems = append(problems, err)
	copy(t.To[:], to)
	t.Value = numberField()
	data, err := r.text()
	problems = append(problems, err)
	t.Data = bytes.Clone(data)
	access, list, err := r.item()
	if err == nil && (!list || len(access) != 0) {
		err = errRLP
	}
	problems = append(problems, err)
	parity, sigR, sigS = uint64Field(), numberField(), numberField()
	return parity, sigR, sigS, errors.Join(problems...)
}

// ParseAccount reads an EVM address; a mixed-case one must satisfy EIP-55.
func ParseAccount(text string) (a Account, err error) {
	key, err := address.Parse(money.EVM, address.Mainnet, text)
	if err != nil {
		return a, fmt.Errorf("the address %w", err)
	}
	copy(a[:], key)
	return a, nil
}
