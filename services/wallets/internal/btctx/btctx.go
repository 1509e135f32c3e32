// Package btctx makes and checks the two kinds of bitcoin transactions that the product sends. A sweep spends outputs
// of deposit addresses (P2WPKH) and pays everything but the fee to one treasury. A refund spends outputs of the refund
// station (P2WPKH), pays an exact amount to a payer, and returns the change to the station. Wallets and the signer
// build them from the same terms with btcsuite's libraries. A PSBT (BIP-174) carries the previous transactions to the
// signer. The package is pure and holds no key.
package btctx

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/psbt/v2"
	"github.com/btcsuite/btcd/txscript/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

const (
	// InputsMost bounds the inputs of a transaction: seven thousand virtual bytes, and a line of the signer's log.
	InputsMost = 100
	// PreviousMost bounds the previous transactions of a PSBT in bytes. Fifty of the largest that nodes pass on fit.
	PreviousMost = 8 << 20
	// mostValue is all the satoshi that there can be.
	mostValue = 21_000_000 * 100_000_000
	// replaceable lets a form with a higher fee take the place of this one (BIP-125).
	replaceable = wire.MaxTxInSequenceNum - 2
)

// Input is an output of a deposit.
type Input struct {
	Point wire.OutPoint
	Value int64 // satoshi
}

// Transaction is what is signed, without its witnesses.
type Transaction struct {
	Inputs []Input
	To     []byte // script of the treasury, or of the payer
	Value  int64  // that it receives
	Back   []byte // script of the refund station, which receives the change; nil without change
	Change int64
}

// Point reads the name of an output.
func Point(txID string, output uint32) (wire.OutPoint, error) {
	hash, err := chainhash.NewHashFromStr(txID)
	if err != nil || len(txID) != 2*chainhash.HashSize || txID != strings.ToLower(txID) {
		return wire.OutPoint{}, fmt.Errorf("%.80q is not the id of a transaction", txID)
	}
	return wire.OutPoint{Hash: *hash, Index: output}, nil
}

// Check reports whether the transaction can be one: between one and InputsMost inputs, each once, and a fee that is not
// negative.
func (t Transaction) Check() error {
	if len(t.Inputs) == 0 || len(t.Inputs) > InputsMost {
		return fmt.Errorf("%d inputs: want 1 to %d", len(t.Inputs), InputsMost)
	}
	seen := make(map[wire.OutPoint]bool, len(t.Inputs))
	for _, in := range t.Inputs {
		if in.Value <= 0 || in.Value > mostValue || seen[in.Point] {
			return fmt.Errorf("input %s has no possible value, or occurs twice", in.Point)
		}
		seen[in.Point] = true
	}
	if t.Value <= 0 || t.Value > mostValue || t.Change < 0 || t.Change > mostValue || t.Fee() < 0 || len(t.To) == 0 {
		return errors.New("the inputs do not pay the amount")
	}
	if (t.Change > 0) != (len(t.Back) > 0) {
		return errors.New("change has an address, and nothing else has one")
	}
	return nil
}

// Sum is the value of the inputs.
func (t Transaction) Sum() (sum int64) {
	for _, in := range t.Inputs {
		sum += in.Value
	}
	return sum
}

// Fee is what the miner gets.
func (t Transaction) Fee() int64 { return t.Sum() - t.Value - t.Change }

// Size is the most virtual bytes that it takes once it is signed.
func (t Transaction) Size() int64 {
	if t.Change == 0 {
		return Size(len(t.Inputs), t.To)
	}
	return Size(len(t.Inputs), t.To, t.Back)
}

// The parts of a transaction in bytes. A P2WPKH witness holds a signature of at most 72 bytes with its type, and a key.
const (
	head       = 8 + 1 // version and lock time, count of outputs
	inputBytes = 36 + 1 + 4
	marks      = 2
	witness    = 1 + 1 + 72 + 1 + 33
	scale      = 4 // bytes outside of witnesses count four times (BIP-141)
)

// Size is the most virtual bytes of a transaction with so many inputs that pays these scripts.
func Size(inputs int, scripts ...[]byte) int64 {
	base := head + counted(inputs) + inputs*inputBytes
	for _, to := range scripts {
		base += 8 + counted(len(to)) + len(to)
	}
	weight := base*scale + marks + inputs*witness
	return int64((weight + scale - 1) / scale)
}

// counted is the size of a count before that many elements.
func counted(n int) int { return wire.VarIntSerializeSize(uint64(n)) } //nolint:gosec // a length is not negative

// InputSize is the virtual bytes that one more input costs, rounded up.
const InputSize = (inputBytes*scale + witness + scale - 1) / scale

// unsigned is the transaction in the form that is hashed.
func (t Transaction) unsigned() *wire.MsgTx {
	tx := wire.NewMsgTx(2)
	for _, in := range t.Inputs {
		from := wire.NewTxIn(&in.Point, nil, nil)
		from.Sequence = replaceable
		tx.AddTxIn(from)
	}
	tx.AddTxOut(wire.NewTxOut(t.Value, t.To))
	if t.Change > 0 {
		tx.AddTxOut(wire.NewTxOut(t.Change, t.Back))
	}
	return tx
}

// PSBT writes the transaction with its previous transactions, for the signer. The previous transactions lose their
// witnesses, which their ids do not cover.
func (t Transaction) PSBT(previous map[chainhash.Hash]*wire.MsgTx) (string, error) {
	packet, err := psbt.NewFromUnsignedTx(t.unsigned())
	if err != nil {
		return "", fmt.Errorf("making a PSBT: %w", err)
	}
	size := 0
	for i, in := range t.Inputs {
		tx := previous[in.Point.Hash]
		if tx == nil || int(in.Point.Index) >= len(tx.TxOut) {
			return "", fmt.Errorf("making a PSBT: no previous transaction of %s", in.Point)
		}
		bare := tx.Copy()
		for _, from := range bare.TxIn {
			from.Witness = nil
		}
		size += bare.SerializeSize()
		packet.Inputs[i].NonWitnessUtxo, packet.Inputs[i].WitnessUtxo = bare, tx.TxOut[in.Point.Index]
	}
	if size > PreviousMost {
		return "", fmt.Errorf("making a PSBT: %d bytes of previous transactions, want at most %d", size, PreviousMost)
	}
	return packet.B64Encode()
}

// Reprice is a PSBT of this transaction with the proofs of another one, which has the same inputs in the same order.
func (t Transaction) Reprice(text string) (string, error) {
	before, err := psbt.NewFromRawBytes(strings.NewReader(text), true)
	if err != nil {
		return "", fmt.Errorf("reading the PSBT: %w", err)
	}
	if len(before.Inputs) != len(t.Inputs) {
		return "", errors.New("the PSBT is of other inputs")
	}
	packet, err := psbt.NewFromUnsignedTx(t.unsigned())
	if err != nil {
		return "", fmt.Errorf("making a PSBT: %w", err)
	}
	packet.Inputs = before.Inputs
	return packet.B64Encode()
}

// Scripts reads the locking scripts of the inputs out of a PSBT. It fails unless the PSBT is of this transaction and
// holds the whole previous transaction of every input, with the input's value: a signature of segwit version 0 commits
// to the value of its own input alone, so a wrong value of another one would hide a fee (BIP-143).
func (t Transaction) Scripts(text string) ([][]byte, error) {
	packet, err := psbt.NewFromRawBytes(strings.NewReader(text), true)
	if err != nil {
		return nil, fmt.Errorf("reading the PSBT: %w", err)
	}
	same, err := equal(packet.UnsignedTx, t.unsigned())
	if err != nil || !same {
		return nil, errors.Join(errors.New("the PSBT is of another transaction"), err)
	}
	scripts := make([][]byte, len(t.Inputs))
	for i, in := range t.Inputs {
		previous := packet.Inputs[i].NonWitnessUtxo
		switch {
		case previous == nil:
			return nil, fmt.Errorf("the PSBT lacks the previous transaction of %s", in.Point)
		case previous.TxHash() != in.Point.Hash || int64(in.Point.Index) >= int64(len(previous.TxOut)):
			return nil, fmt.Errorf("the PSBT has another previous transaction for %s", in.Point)
		case previous.TxOut[in.Point.Index].Value != in.Value:
			return nil, fmt.Errorf("output %s holds %d, not %d", in.Point, previous.TxOut[in.Point.Index].Value, in.Value)
		}
		scripts[i] = previous.TxOut[in.Point.Index].PkScript
	}
	return scripts, nil
}

func equal(a, b *wire.MsgTx) (bool, error) {
	var one, other bytes.Buffer
	err := errors.Join(a.Serialize(&one), b.Serialize(&other))
	return err == nil && bytes.Equal(one.Bytes(), other.Bytes()), err
}

// Signer signs the digest of the input with a number, and returns the signature in DER and its public key.
type Signer func(input int, digest []byte) (signature, key []byte, err error)

// Signed builds the signed transaction: every input by P2WPKH, every signature of everything (SIGHASH_ALL).
func (t Transaction) Signed(scripts [][]byte, sign Signer) ([]byte, error) {
	tx := t.unsigned()
	hashes := txscript.NewTxSigHashes(tx, t.fetcher(scripts))
	for i, in := range t.Inputs {
		digest, err := txscript.CalcWitnessSigHash(scripts[i], hashes, txscript.SigHashAll, tx, i, in.Value)
		if err != nil {
			return nil, fmt.Errorf("hashing input %s: %w", in.Point, err)
		}
		signature, key, err := sign(i, digest)
		if err != nil {
			return nil, err
		}
		tx.TxIn[i].Witness = wire.TxWitness{append(signature, byte(txscript.SigHashAll)), key}
	}
	var raw bytes.Buffer
	if err := tx.Serialize(&raw); err != nil {
		return nil, err
	}
	return raw.Bytes(), nil
}

func (t Transaction) fetcher(scripts [][]byte) *txscript.MultiPrevOutFetcher {
	outputs := make(map[wire.OutPoint]*wire.TxOut, len(t.Inputs))
	for i, in := range t.Inputs {
		outputs[in.Point] = wire.NewTxOut(in.Value, scripts[i])
	}
	return txscript.NewMultiPrevOutFetcher(outputs)
}

// Verify reports the id of signed bytes. It fails unless they are this transaction and the script engine accepts every
// signature.
func (t Transaction) Verify(raw []byte, scripts [][]byte) (id string, err error) {
	tx, err := Parse(raw)
	if err != nil {
		return "", err
	}
	bare := tx.Copy()
	for _, in := range bare.TxIn {
		in.Witness = nil
	}
	if same, err := equal(bare, t.unsigned()); err != nil || !same {
		return "", errors.Join(errors.New("the bytes are another transaction"), err)
	}
	fetcher := t.fetcher(scripts)
	hashes := txscript.NewTxSigHashes(tx, fetcher)
	for i, in := range t.Inputs {
		engine, err := txscript.NewEngine(scripts[i], tx, i, txscript.StandardVerifyFlags, nil, hashes, in.Value, fetcher)
		if err == nil {
			err = engine.Execute()
		}
		if err != nil {
			return "", fmt.Errorf("the signature of input %s: %w", in.Point, err)
		}
	}
	return tx.TxHash().String(), nil
}

// Parse reads a transaction and refuses trailing bytes.
func Parse(raw []byte) (*wire.MsgTx, error) {
	r := bytes.NewReader(raw)
	tx := &wire.MsgTx{}
	if err := tx.Deserialize(r); err != nil {
		return nil, fmt.Errorf("reading a transaction: %w", err)
	}
	if r.Len() > 0 {
		return nil, errors.New("reading a transaction: trailing bytes")
	}
	return tx, nil
}

// Treasury is the script of an address in any of bitcoin's forms, as a cold key may have.
func Treasury(text string) ([]byte, error) {
	script, err := address.Script(text)
	if err != nil || address.Canonical(money.Bitcoin, text) != text {
		return nil, fmt.Errorf("%.100q is not a bitcoin address in its usual form", text)
	}
	return script, nil
}

// Payee is the script of an address that a refund may pay, on one net.
func Payee(net address.Net, text string) ([]byte, error) {
	if err := address.CheckOwner(money.Bitcoin, net, text); err != nil {
		return nil, fmt.Errorf("the address %w", err)
	}
	return address.Script(text)
}

const keyHash = 20

// Script locks an output to the hash of a public key (P2WPKH), as every deposit address does.
func Script(hash [keyHash]byte) []byte { return append([]byte{0, byte(len(hash))}, hash[:]...) }

// Slot names the set of inputs. Of the transactions of one slot at most one can be mined.
func (t Transaction) Slot() string {
	points := make([]string, len(t.Inputs))
	for i, in := range t.Inputs {
		points[i] = in.Point.String()
	}
	slices.Sort(points)
	sum := chainhash.HashB([]byte(strings.Join(points, " ")))
	return hex.EncodeToString(sum)
}
