package tron

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"time"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// hash is 32 bytes: of a transaction, or a block's id.
type hash [32]byte

func (h hash) String() string { return hex.EncodeToString(h[:]) }

// height is the number with which a block's id begins.
func (h hash) height() int64 { return int64(binary.BigEndian.Uint64(h[:8])) } //nolint:gosec // compared with a height

// account is the 20 bytes of an address, without the 0x41 before them.
type account [20]byte

// block holds the needed fields of a block.
type block struct {
	number   int64
	id       hash
	parent   hash
	time     int64 // milliseconds
	txs      []hash
	payments []payment
}

func (b *block) header() chain.Header {
	return chain.Header{Height: b.number, Hash: b.id.String(), Parent: b.parent.String(), Time: time.UnixMilli(b.time).UTC()}
}

// payment is TRX that a transaction itself moves and that arrived.
type payment struct {
	tx       hash
	from, to account
	amount   int64
	raw      []byte // the signed bytes in hex, of which the transaction's id is the hash
}

// info is the result of a transaction.
type info struct {
	tx       hash
	block    int64
	logs     []event    // all of them, so that their positions count
	internal []internal // those that moved TRX, so that their positions are their ranks
}

// event is a log; amount is nil when it is no TRC-20 transfer.
type event struct {
	token    account
	from, to account
	amount   *big.Int
}

// internal is TRX that a contract sends on.
type internal struct {
	from, to account
	amount   int64
}

// reader reads JSON and TRON's hexadecimal values in it, which have no 0x.
type reader struct{ *rpc.Reader }

func newReader(b []byte) reader { return reader{rpc.NewReader(b)} }

func (r reader) fixed(out []byte) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	if len(text) != hex.EncodedLen(len(out)) {
		return fmt.Errorf("%.80q is not %d bytes in hex", text, len(out))
	}
	if _, err := hex.Decode(out, text); err != nil {
		return fmt.Errorf("%.80q is not %d bytes in hex", text, len(out))
	}
	return nil
}

// maybe reads an address where the field may hold another value or nothing.
func (r reader) maybe(a *account) (ok bool, err error) {
	raw, err := r.Raw()
	if err != nil {
		return false, err
	}
	return newReader(raw).address(a) == nil, nil
}

// address reads 21 bytes that begin with 0x41; logs omit that byte.
func (r reader) address(a *account) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	if len(text) == 42 && string(text[:2]) == "41" {
		text = text[2:]
	}
	if len(text) != 40 {
		return fmt.Errorf("%.80q is no address", text)
	}
	if _, err := hex.Decode(a[:], text); err != nil {
		return fmt.Errorf("%.80q is no address", text)
	}
	return nil
}

// mostTime is the end of the year 9999 in milliseconds: later times cannot be written as JSON.
const mostTime = 253_402_300_799_000

// errEmpty is {}: a node's answer for an unknown block, whether none exists or only this node lacks it.
var errEmpty = errors.New("the node answers {}")

// decodeBlock reads the answer of getblock or getnowblock.
func decodeBlock(answer []byte) (*block, error) {
	r := newReader(answer)
	b := &block{}
	members, header, id := 0, false, false
	err := r.Object(func(name []byte) (err error) {
		members++
		switch string(name) {
		case "blockID":
			id = true
			err = r.fixed(b.id[:])
		case "block_header":
			header = true
			err = b.readHeader(r)
		case "transactions":
			err = r.Array(func() error { return b.readTransaction(r) })
		default:
			return r.Skip()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err == nil {
		err = r.End()
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a block: %w", err)
	case members == 0:
		return nil, errEmpty
	case !header || !id:
		return nil, fmt.Errorf("reading a block: %w", rpc.ErrMissing)
	}
	return b, b.check()
}

// check compares the numbers: an id begins with its block's number, and so does the parent's.
func (b *block) check() error {
	switch {
	case b.id.height() != b.number:
		return fmt.Errorf("block %d has the id of block %d", b.number, b.id.height())
	case b.number > 0 && b.parent.height() != b.number-1:
		return fmt.Errorf("the parent of block %d is block %d", b.number, b.parent.height())
	case b.number > 0 && (b.time <= 0 || b.time > mostTime):
		return fmt.Errorf("block %d has the time %d", b.number, b.time)
	}
	return nil
}

func (b *block) readHeader(r reader) error {
	parent := false
	err := r.Object(func(name []byte) error {
		if string(name) != "raw_data" {
			return r.Skip()
		}
		return r.Object(func(name []byte) (err error) {
			switch string(name) {
			case "number": // omitted when it is 0
				b.number, err = r.Int()
			case "timestamp":
				b.time, err = r.Int()
			case "parentHash":
				parent = true
				err = r.fixed(b.parent[:])
			default:
				err = r.Skip()
			}
			return err
		})
	})
	if err == nil && !parent {
		err = rpc.ErrMissing
	}
	return err
}

// readTransaction reads one transaction, and its payment if it is a plain transfer of TRX that took effect.
func (b *block) readTransaction(r reader) error {
	p := payment{}
	id, success, plain := false, false, false
	err := r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "txID":
			id = true
			return r.fixed(p.tx[:])
		case "ret":
			success, err = readResult(r)
			return err
		case "raw_data":
			plain, err = p.readRaw(r)
			return err
		case "raw_data_hex":
			p.raw, err = r.Text()
			return err
		default:
			return r.Skip()
		}
	})
	if err == nil && !id {
		err = rpc.ErrMissing
	}
	if err != nil {
		return fmt.Errorf("transaction %d: %w", len(b.txs), err)
	}
	b.txs = append(b.txs, p.tx)
	if plain && success && p.amount > 0 {
		b.payments = append(b.payments, p)
	}
	return nil
}

// readResult reads whether every contract of a transaction succeeded.
func readResult(r reader) (success bool, err error) {
	success = true
	err = r.Array(func() error {
		return r.Object(func(name []byte) error {
			if string(name) != "contractRet" {
				return r.Skip()
			}
			text, err := r.Text()
			success = success && string(text) == "SUCCESS"
			return err
		})
	})
	return success, err
}

// readRaw reads the contracts of a transaction; plain is true for exactly one TransferContract.
func (p *payment) readRaw(r reader) (plain bool, err error) {
	contracts := 0
	err = r.Object(func(name []byte) error {
		if string(name) != "contract" {
			return r.Skip()
		}
		return r.Array(func() error {
			contracts++
			is, err := p.readContract(r)
			plain = is
			return err
		})
	})
	return plain && contracts == 1, err
}

func (p *payment) readContract(r reader) (plain bool, err error) {
	var parameter []byte
	kind := ""
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "type":
			var text []byte
			text, err = r.Text()
			kind = string(text)
		case "parameter":
			parameter, err = r.Raw()
		default:
			err = r.Skip()
		}
		return err
	})
	if err != nil || kind != "TransferContract" {
		return false, err
	}
	r = newReader(parameter)
	seen := 0
	err = r.Object(func(name []byte) error {
		if string(name) != "value" {
			return r.Skip()
		}
		return r.Object(func(name []byte) (err error) {
			switch string(name) {
			case "owner_address":
				seen++
				err = r.address(&p.from)
			case "to_address":
				seen++
				err = r.address(&p.to)
			case "amount":
				p.amount, err = r.Int()
			default:
				err = r.Skip()
			}
			return err
		})
	})
	if err == nil && seen != 2 {
		err = rpc.ErrMissing
	}
	return true, err
}

// signed reports whether a payment's id is the hash of its signed bytes, and those name receiver and sender.
func (p *payment) signed() bool {
	raw := make([]byte, hex.DecodedLen(len(p.raw)))
	if _, err := hex.Decode(raw, p.raw); err != nil || sha256.Sum256(raw) != p.tx {
		return false
	}
	return bytes.Contains(raw, append([]byte{0x41}, p.to[:]...)) && bytes.Contains(raw, append([]byte{0x41}, p.from[:]...))
}

// transferTopic is keccak256("Transfer(address,address,uint256)").
var transferTopic = func() (h hash) {
	if _, err := hex.Decode(h[:], []byte("ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")); err != nil {
		panic(err)
	}
	return h
}()

// decodeInfos reads the answer of gettransactioninfobyblocknum.
func decodeInfos(answer []byte) ([]info, error) {
	r := newReader(answer)
	var out []info
	err := r.Array(func() error {
		one, err := readInfo(r)
		out = append(out, one)
		return err
	})
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, fmt.Errorf("reading what became of transactions: %w", err)
	}
	return out, nil
}

func readInfo(r reader) (out info, err error) {
	id, success := false, true
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "id":
			id = true
			return r.fixed(out.tx[:])
		case "blockNumber":
			out.block, err = r.Int()
			return err
		case "result":
			text, err := r.Text()
			success = success && string(text) == "SUCCESS"
			return err
		case "receipt":
			ok, err := readReceipt(r)
			success = success && ok
			return err
		case "log":
			return r.Array(func() error {
				e, err := readLog(r)
				out.logs = append(out.logs, e)
				return err
			})
		case "internal_transactions":
			return r.Array(func() error {
				i, err := readInternal(r)
				if i.amount > 0 {
					out.internal = append(out.internal, i)
				}
				return err
			})
		default:
			return r.Skip()
		}
	})
	if err == nil && !id {
		err = rpc.ErrMissing
	}
	if !success { // it had no effect
		out.logs, out.internal = nil, nil
	}
	return out, err
}

// readReceipt reads whether a contract ran to its end; a transaction without a contract has no result.
func readReceipt(r reader) (success bool, err error) {
	success = true
	err = r.Object(func(name []byte) error {
		if string(name) != "result" {
			return r.Skip()
		}
		text, err := r.Text()
		success = string(text) == "SUCCESS"
		return err
	})
	return success, err
}

func readLog(r reader) (e event, err error) {
	var topics [3]hash
	var data []byte
	count, token := 0, false
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "address":
			token = true
			return r.address(&e.token)
		case "topics":
			return r.Array(func() error {
				if count++; count > len(topics) {
					return r.Skip()
				}
				return r.fixed(topics[count-1][:])
			})
		case "data":
			data, err = r.Text()
			return err
		default:
			return r.Skip()
		}
	})
	if err == nil && !token {
		err = rpc.ErrMissing
	}
	var amount hash
	if err != nil || count != 3 || topics[0] != transferTopic || len(data) != 64 {
		return e, err
	}
	if _, err := hex.Decode(amount[:], data); err != nil {
		return e, errors.New("the data of a log is not in hex")
	}
	copy(e.from[:], topics[1][12:])
	copy(e.to[:], topics[2][12:])
	if n := new(big.Int).SetBytes(amount[:]); n.Sign() > 0 {
		e.amount = n
	}
	return e, nil
}

// The notes of what moves TRX: "call" and "suicide" in hex. A node with saveFeaturedInternalTx also lists stakes and
// loans of resources, with the staked amount as their value: they move nothing to the address that they name. A note
// "create" pays a contract that is made, which no deposit address is.
const (
	noteCall    = "63616c6c"
	noteSuicide = "73756963696465"
)

// readInternal reads a payment of a contract; the amount is 0 for what moved no TRX: a rejected one, one of another
// asset, and what is no payment.
func readInternal(r reader) (out internal, err error) {
	rejected, receiver, moves := false, false, false
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "caller_address":
			_, err = r.maybe(&out.from)
			return err
		case "transferTo_address":
			receiver, err = r.maybe(&out.to)
			return err
		case "note":
			text, err := r.Text()
			moves = string(text) == noteCall || string(text) == noteSuicide
			return err
		case "rejected":
			rejected, err = r.True()
			return err
		case "callValueInfo":
			return r.Array(func() error {
				value, err := readValue(r)
				out.amount += value
				return err
			})
		default:
			return r.Skip()
		}
	})
	if rejected || !receiver || !moves || out.amount < 0 || out.from == out.to {
		out.amount = 0
	}
	return out, err
}

// readValue reads one value of TRX; one with a token id is TRC-10, which is not listed.
func readValue(r reader) (value int64, err error) {
	other := false
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "callValue":
			value, err = r.Int()
			return err
		case "tokenId":
			text, err := r.Text()
			other = len(text) > 0
			return err
		default:
			return r.Skip()
		}
	})
	if other {
		value = 0
	}
	return value, err
}

// decodeConstant reads the answer of triggerconstantcontract as one small number.
func decodeConstant(answer []byte) (int64, error) {
	r := newReader(answer)
	var word hash
	seen := 0
	err := r.Object(func(name []byte) error {
		if string(name) != "constant_result" {
			return r.Skip()
		}
		return r.Array(func() error {
			seen++
			return r.fixed(word[:])
		})
	})
	if err == nil {
		err = r.End()
	}
	if err == nil && seen != 1 {
		err = rpc.ErrMissing
	}
	n := new(big.Int).SetBytes(word[:])
	if err == nil && !n.IsInt64() {
		err = fmt.Errorf("%s is too large", word)
	}
	return n.Int64(), err
}
