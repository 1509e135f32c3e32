package tron

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/crypto"
	"google.golang.org/protobuf/encoding/protowire"
)

// The contracts that this chain carries out (Tron.proto, Contract.ContractType).
const (
	transferContract   = 1
	triggerContract    = 31
	delegateContract   = 57
	undelegateContract = 58
)

var typeURLs = map[uint64]string{
	transferContract: "type.googleapis.com/protocol.TransferContract",
	triggerContract:  "type.googleapis.com/protocol.TriggerSmartContract",

	delegateContract:   "type.googleapis.com/protocol.DelegateResourceContract",
	undelegateContract: "type.googleapis.com/protocol.UnDelegateResourceContract",
}

var typeNames = map[uint64]string{
	transferContract: "TransferContract", triggerContract: "TriggerSmartContract",
	delegateContract: "DelegateResourceContract", undelegateContract: "UnDelegateResourceContract",
}

// lends reports whether the contract lends energy or takes it back.
func (r rawData) lends() bool { return r.Type == delegateContract || r.Type == undelegateContract }

// rawData is Transaction.raw of Tron.proto, as far as a wallet uses it.
type rawData struct {
	RefBytes, RefHash               []byte
	Expiration, Timestamp, FeeLimit uint64
	Type                            uint64
	Owner, To                       []byte // 21 bytes; To is the contract's address of a trigger
	Amount                          uint64 // sun: the amount, the call value, or the stake whose energy is lent
	Resource                        uint64 // that is lent: 1 is energy
	Data                            []byte
}

func field(b []byte, number protowire.Number, value []byte) []byte {
	if len(value) == 0 {
		return b
	}
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), value)
}

func varint(b []byte, number protowire.Number, value uint64) []byte {
	if value == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), value)
}

// encode writes it in the one form that java-tron writes: ascending fields, no zero values.
func (r rawData) encode() []byte {
	var value []byte
	if r.lends() {
		value = field(varint(varint(field(nil, 1, r.Owner), 2, r.Resource), 3, r.Amount), 4, r.To)
	} else {
		value = varint(field(field(nil, 1, r.Owner), 2, r.To), 3, r.Amount)
	}
	if r.Type == triggerContract {
		value = field(value, 4, r.Data)
	}
	parameter := field(field(nil, 1, []byte(typeURLs[r.Type])), 2, value)
	contract := field(varint(nil, 1, r.Type), 2, parameter)
	b := field(field(nil, 1, r.RefBytes), 4, r.RefHash)
	b = varint(b, 8, r.Expiration)
	b = field(b, 11, contract)
	return varint(varint(b, 14, r.Timestamp), 18, r.FeeLimit)
}

// message walks the fields of a message; f returns false for one that it does not know.
func message(b []byte, f func(number protowire.Number, bytes []byte, value uint64) bool) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var raw []byte
		var value uint64
		switch kind {
		case protowire.BytesType:
			raw, n = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		default:
			return fmt.Errorf("field %d has wire type %d", number, kind)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		if !f(number, raw, value) {
			return fmt.Errorf("field %d does not belong here", number)
		}
	}
	return nil
}

// decode reads raw data and refuses whatever a node, or a careful wallet, would not write: unknown fields, another
// number of contracts than one, a type that contradicts its parameter, addresses that are none, another order or zero
// values.
func decode(b []byte) (rawData, error) {
	var r rawData
	var contracts [][]byte
	err := message(b, func(number protowire.Number, raw []byte, value uint64) bool {
		switch number {
		case 1:
			r.RefBytes = raw
		case 4:
			r.RefHash = raw
		case 8:
			r.Expiration = value
		case 11:
			contracts = append(contracts, raw)
		case 14:
			r.Timestamp = value
		case 18:
			r.FeeLimit = value
		default:
			return false
		}
		return true
	})
	if err != nil {
		return r, fmt.Errorf("raw_data: %w", err)
	}
	if len(contracts) != 1 {
		return r, fmt.Errorf("raw_data has %d contracts, want 1", len(contracts))
	}
	if err := r.contract(contracts[0]); err != nil {
		return r, fmt.Errorf("raw_data.contract: %w", err)
	}
	if !bytes.Equal(r.encode(), b) {
		return r, errors.New("raw_data is not in its canonical form")
	}
	return r, nil
}

func (r *rawData) contract(b []byte) error {
	var parameter, url, value []byte
	err := message(b, func(number protowire.Number, raw []byte, value uint64) bool {
		switch number {
		case 1:
			r.Type = value
		case 2:
			parameter = raw
		default:
			return false
		}
		return true
	})
	if err == nil {
		err = message(parameter, func(number protowire.Number, raw []byte, _ uint64) bool {
			switch number {
			case 1:
				url = raw
			case 2:
				value = raw
			default:
				return false
			}
			return true
		})
	}
	if err != nil {
		return err
	}
	if typeURLs[r.Type] == "" || typeURLs[r.Type] != string(url) {
		return fmt.Errorf("type %d with parameter %q", r.Type, url)
	}
	err = message(value, func(number protowire.Number, raw []byte, value uint64) bool {
		switch {
		case number == 1:
			r.Owner = raw
		case number == 2 && r.lends():
			r.Resource = value
		case number == 4 && r.lends():
			r.To = raw
		case number == 2:
			r.To = raw
		case number == 3:
			r.Amount = value
		case number == 4 && r.Type == triggerContract:
			r.Data = raw
		default:
			return false
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, a := range [][]byte{r.Owner, r.To} {
		if len(a) != 21 || a[0] != 0x41 {
			return fmt.Errorf("%x is no address", a)
		}
	}
	if r.Type != triggerContract && r.Amount == 0 {
		return errors.New("amount must be greater than 0")
	}
	if r.lends() && r.Resource != 1 {
		return fmt.Errorf("resource %d is not lent here", r.Resource)
	}
	return nil
}

// signer is the address whose key signed the bytes.
func signer(raw, signature []byte) ([]byte, error) {
	if len(signature) != 65 {
		return nil, errors.New("a signature has 65 bytes")
	}
	sig := bytes.Clone(signature)
	if sig[64] >= 27 {
		sig[64] -= 27
	}
	sum := sha256.Sum256(raw)
	public, err := crypto.SigToPub(sum[:], sig)
	if err != nil {
		return nil, fmt.Errorf("recovering the signer: %w", err)
	}
	return append([]byte{0x41}, crypto.PubkeyToAddress(*public).Bytes()...), nil
}

// unpack reads a signed transaction (Tron.proto, Transaction) with one signature.
func unpack(b []byte) (raw, signature []byte, err error) {
	signatures := 0
	err = message(b, func(number protowire.Number, value []byte, _ uint64) bool {
		switch number {
		case 1:
			raw = value
		case 2:
			signature = value
			signatures++
		default:
			return false
		}
		return true
	})
	if err == nil && signatures != 1 {
		err = fmt.Errorf("%d signatures", signatures)
	}
	return raw, signature, err
}
