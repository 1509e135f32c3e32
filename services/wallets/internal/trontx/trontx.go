// Package trontx writes and reads the tron transactions that the product sends: a transfer of TRX, a call of a TRC-20
// token's transfer, and the lending and taking back of energy. The signer builds the bytes with it, and wallets parses
// them again before it stores and broadcasts them. It is pure and knows no private key.
package trontx

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"
	"google.golang.org/protobuf/encoding/protowire"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/evmtx"
)

// Account is an address without the byte 0x41 that begins it on the chain.
type Account [20]byte

// prefix is the first byte of every address.
const prefix = 0x41

// String writes the address in base58 with its checksum.
func (a Account) String() string {
	text, err := address.Encode(money.Tron, address.Mainnet, a[:])
	if err != nil {
		panic("trontx: twenty bytes are no address: " + err.Error())
	}
	return text
}

// Hex writes the address as the nodes' HTTP API takes it.
func (a Account) Hex() string { return hex.EncodeToString(a.bytes()) }

func (a Account) bytes() []byte { return append([]byte{prefix}, a[:]...) }

// ParseAccount reads an address in base58.
func ParseAccount(text string) (a Account, err error) {
	key, err := address.Parse(money.Tron, address.Mainnet, text)
	if err != nil {
		return a, fmt.Errorf("the address %w", err)
	}
	copy(a[:], key)
	return a, nil
}

// AccountOf is the address of a public key.
func AccountOf(key *secp256k1.PublicKey) (a Account) {
	sum := address.Keccak256(key.SerializeUncompressed()[1:])
	copy(a[:], sum[12:])
	return a
}

// Type is the number of a contract type (Tron.proto, Transaction.Contract.ContractType).
type Type uint64

// The contract types that the product sends.
const (
	Transfer   Type = 1  // TRX
	Trigger    Type = 31 // a token's transfer
	Delegate   Type = 57 // lends energy of the owner's stake
	Undelegate Type = 58 // takes it back
)

// urls name the type of a contract's parameter.
var urls = map[Type]string{
	Transfer:   "type.googleapis.com/protocol.TransferContract",
	Trigger:    "type.googleapis.com/protocol.TriggerSmartContract",
	Delegate:   "type.googleapis.com/protocol.DelegateResourceContract",
	Undelegate: "type.googleapis.com/protocol.UnDelegateResourceContract",
}

// Ref names the block that a transaction builds on: it is valid only on a chain that has this block.
type Ref struct {
	Number [2]byte // the last bytes of the block's number
	Hash   [8]byte // the first bytes of its hash behind the number
}

// RefOf is the reference to a block by its id.
func RefOf(block [32]byte) (r Ref) {
	copy(r.Number[:], block[6:8])
	copy(r.Hash[:], block[8:16])
	return r
}

// Transaction is a transaction before it is signed. Sums are sun, times are milliseconds since 1970.
type Transaction struct {
	Ref        Ref
	Expiration int64 // no block whose parent has this time or a later one holds the transaction
	Timestamp  int64
	FeeLimit   int64 // the most that a call may cost in energy
	Type       Type
	Owner      Account
	To         Account // receiver of coin or energy, or the token's contract
	Amount     int64   // TRX moved, or the staked TRX whose energy is lent
	Data       []byte  // of a call
}

// RawMost bounds the signed bytes of a transaction that is read at all.
const RawMost = 4_096

// energy is the resource that is lent (Common.proto, ResourceCode).
const energy = 1

// Field numbers of the messages in Tron.proto and its contracts.
const (
	rawRefBytes, rawRefHash, rawExpiration, rawContract, rawTimestamp, rawFeeLimit = 1, 4, 8, 11, 14, 18

	contractType, contractParameter = 1, 2
	anyURL, anyValue                = 1, 2
	valueOwner                      = 1
	valueTo                         = 2 // of transfers and calls
	valueAmount                     = 3
	valueData                       = 4
	valueResource                   = 2 // of lent energy
	valueReceiver                   = 4
	signedRaw, signedSignature      = 1, 2
)

func field(b []byte, number protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

func varint(b []byte, number protowire.Number, value int64) []byte {
	if value == 0 {
		return b
	}
	//nolint:gosec // read and write refuse negative numbers
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(value))
}

// Raw is the message that is signed, in the one form that nodes write: fields ascending, zero values left out.
func (t Transaction) Raw() []byte {
	value := field(nil, valueOwner, t.Owner.bytes())
	switch t.Type {
	case Delegate, Undelegate:
		value = varint(value, valueResource, energy)
		value = varint(value, valueAmount, t.Amount)
		value = field(value, valueReceiver, t.To.bytes())
	default:
		value = field(value, valueTo, t.To.bytes())
		value = varint(value, valueAmount, t.Amount)
		value = field(value, valueData, t.Data)
	}
	parameter := field(field(nil, anyURL, []byte(urls[t.Type])), anyValue, value)
	contract := field(varint(nil, contractType, int64(t.Type)), contractParameter, parameter) //nolint:gosec // a small number
	b := field(field(nil, rawRefBytes, t.Ref.Number[:]), rawRefHash, t.Ref.Hash[:])
	b = varint(b, rawExpiration, t.Expiration)
	b = field(b, rawContract, contract)
	return varint(varint(b, rawTimestamp, t.Timestamp), rawFeeLimit, t.FeeLimit)
}

// ID names the transaction on the chain, and is what its owner signs.
func (t Transaction) ID() [32]byte { return sha256.Sum256(t.Raw()) }

// signatureBytes is the length of R, S and the recovery id.
const signatureBytes = 65

// Signed joins the transaction and its signature, as nodes take it.
func (t Transaction) Signed(signature [signatureBytes]byte) []byte {
	return field(field(nil, signedRaw, t.Raw()), signedSignature, signature[:])
}

// resultMost is what a node adds to the size of a transaction when it counts bandwidth.
const resultMost = 64

// Bandwidth is the number of bytes that a node counts for the signed transaction.
func (t Transaction) Bandwidth() int64 {
	return int64(len(t.Signed([signatureBytes]byte{64: 27}))) + resultMost
}

// Equal reports whether two transactions are the same in every field.
func (t Transaction) Equal(o Transaction) bool { return bytes.Equal(t.Raw(), o.Raw()) }

// Parse decodes signed bytes and checks that their owner signed them. Anything but a canonical transaction of these
// types, with one signature in its lower half, is an error.
func Parse(signed []byte) (t Transaction, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("not a transaction of this product: %w", err)
		}
	}()
	if len(signed) > RawMost {
		return t, errors.New("too long")
	}
	outer, err := read(signed)
	if err != nil {
		return t, err
	}
	raw, signature := outer.bytes[signedRaw], outer.bytes[signedSignature]
	if len(signature) != signatureBytes {
		return t, errors.New("not one signature of 65 bytes")
	}
	if t, err = parseRaw(raw); err != nil {
		return t, err
	}
	if !bytes.Equal(t.Signed([signatureBytes]byte(signature)), signed) {
		return t, errForm
	}
	return t, t.signedBy(signature)
}

// signedBy checks that the owner's key made a signature.
func (t Transaction) signedBy(signature []byte) error {
	id := t.ID()
	compact := append([]byte{signature[64]}, signature[:64]...)
	if v := signature[64]; v != 27 && v != 28 {
		return errors.New("the recovery id is neither 27 nor 28")
	}
	key, _, err := ecdsa.RecoverCompact(compact, id[:])
	if err != nil {
		return fmt.Errorf("recovering the signer: %w", err)
	}
	if half := new(big.Int).Rsh(secp256k1.Params().N, 1); new(big.Int).SetBytes(signature[32:64]).Cmp(half) > 0 {
		return errors.New("the signature is in its upper half")
	}
	if who := AccountOf(key); who != t.Owner {
		return fmt.Errorf("signed by %s, owned by %s", who, t.Owner)
	}
	return nil
}

var errForm = errors.New("not in its canonical form")

// fields are the fields of a message, each of which occurs once at most.
type fields struct {
	bytes   map[protowire.Number][]byte
	numbers map[protowire.Number]int64
}

func read(b []byte) (fields, error) {
	f := fields{map[protowire.Number][]byte{}, map[protowire.Number]int64{}}
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		b = b[n:]
		switch kind {
		case protowire.BytesType:
			f.bytes[number], n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			var value uint64
			value, n = protowire.ConsumeVarint(b)
			if f.numbers[number] = int64(value); f.numbers[number] < 0 { //nolint:gosec // checked here
				return f, errors.New("a number is negative")
			}
		default:
			return f, fmt.Errorf("field %d has wire type %d", number, kind)
		}
		if n < 0 {
			return f, protowire.ParseError(n)
		}
		b = b[n:]
	}
	return f, nil
}

// parseRaw reads the signed message. The caller compares its canonical form, which leaves out unknown, repeated and
// misplaced fields.
func parseRaw(raw []byte) (t Transaction, err error) {
	top, err := read(raw)
	if err != nil {
		return t, err
	}
	contract, contractErr := read(top.bytes[rawContract])
	parameter, parameterErr := read(contract.bytes[contractParameter])
	value, valueErr := read(parameter.bytes[anyValue])
	if err := errors.Join(contractErr, parameterErr, valueErr); err != nil {
		return t, err
	}
	if n := copy(t.Ref.Number[:], top.bytes[rawRefBytes]) + copy(t.Ref.Hash[:], top.bytes[rawRefHash]); n != 10 {
		return t, errors.New("the reference block is missing")
	}
	t.Expiration, t.Timestamp, t.FeeLimit = top.numbers[rawExpiration], top.numbers[rawTimestamp], top.numbers[rawFeeLimit]
	t.Type, t.Amount = Type(contract.numbers[contractType]), value.numbers[valueAmount] //nolint:gosec // not negative
	if urls[t.Type] == "" {
		return t, fmt.Errorf("contract type %d", t.Type)
	}
	to := value.bytes[valueTo]
	if t.Type == Delegate || t.Type == Undelegate {
		to = value.bytes[valueReceiver]
	} else {
		t.Data = bytes.Clone(value.bytes[valueData])
	}
	if err := t.accounts(value.bytes[valueOwner], to); err != nil {
		return t, err
	}
	if !bytes.Equal(t.Raw(), raw) {
		return t, errForm
	}
	return t, t.check()
}

func (t *Transaction) accounts(owner, to []byte) error {
	for _, a := range [][]byte{owner, to} {
		if len(a) != 1+len(t.Owner) || a[0] != prefix {
			return fmt.Errorf("%x is no address", a)
		}
	}
	copy(t.Owner[:], owner[1:])
	copy(t.To[:], to[1:])
	return nil
}

// check refuses what no transaction of the product has: a call of anything but transfer, a call that pays TRX, a limit
// where nothing is called, or nothing to move.
func (t Transaction) check() error {
	_, amount, transfer := evmtx.ParseTransfer(t.Data)
	switch {
	case t.Expiration <= 0 || t.Timestamp < 0:
		return errors.New("it never expires")
	case t.Type == Trigger && (!transfer || amount.Sign() == 0 || t.Amount != 0 || t.FeeLimit <= 0):
		return errors.New("the call is no transfer of a token with a fee limit")
	case t.Type != Trigger && (len(t.Data) != 0 || t.FeeLimit != 0 || t.Amount <= 0):
		return errors.New("it moves nothing, or names a fee limit without a call")
	}
	return nil
}

// TokenTransfer is the call data of TRC-20's transfer, which is ERC-20's.
func TokenTransfer(to Account, amount *big.Int) []byte {
	return evmtx.TransferCall(evmtx.Account(to), amount)
}
