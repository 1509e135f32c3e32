package evm

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"time"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
)

// hash is 32 bytes: of a block, a transaction or a topic.
type hash [32]byte

func (h hash) String() string { return "0x" + hex.EncodeToString(h[:]) }

// account is the 20 bytes of an address.
type account [20]byte

func (a account) String() string { return "0x" + hex.EncodeToString(a[:]) }

// bloom is a block's log filter.
type bloom [256]byte

// block holds the needed fields of a block.
type block struct {
	number   int64
	hash     hash
	parent   hash
	time     int64
	bloom    bloom
	payments []payment // transactions that carry native coin to a receiver
	txs      []hash
}

func (b *block) header() chain.Header {
	return chain.Header{Height: b.number, Hash: b.hash.String(), Parent: b.parent.String(), Time: time.Unix(b.time, 0).UTC()}
}

// payment is a transaction with value. Its status is unknown until its receipt is read.
type payment struct {
	tx       hash
	from, to account
	value    *big.Int
}

// event is one token's Transfer log.
type event struct {
	token    account
	from, to account
	amount   *big.Int
	tx       hash
	block    hash
	index    int64 // in the block
}

// receipt is the result of a transaction.
type receipt struct {
	tx     hash
	block  hash
	status int64
	logs   []int64 // block-wide indices, in the order of the transaction
	events []event
}

// transferTopic is keccak256("Transfer(address,address,uint256)").
var transferTopic = mustHash("0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef")

func mustHash(s string) (h hash) {
	if err := fixed([]byte(s), h[:]); err != nil {
		panic(err)
	}
	return h
}

// fixed decodes 0x and exactly as many hexadecimal digits as out holds.
func fixed(text, out []byte) error {
	if len(text) != 2+2*len(out) || text[0] != '0' || text[1] != 'x' {
		return fmt.Errorf("%.80q is not %d bytes in hex", text, len(out))
	}
	if _, err := hex.Decode(out, text[2:]); err != nil {
		return fmt.Errorf("%.80q is not %d bytes in hex", text, len(out))
	}
	return nil
}

// reader reads JSON and Ethereum's hexadecimal values in it.
type reader struct{ *rpc.Reader }

func newReader(b []byte) reader { return reader{rpc.NewReader(b)} }

func (r reader) fixed(out []byte) error {
	text, err := r.Text()
	if err != nil {
		return err
	}
	return fixed(text, out)
}

// number reads a quantity that fits into 63 bits.
func (r reader) number() (int64, error) {
	text, err := r.Text()
	if err != nil {
		return 0, err
	}
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 16 {
		return 0, fmt.Errorf("%.80q is not a quantity", text)
	}
	n, err := strconv.ParseUint(string(digits), 16, 63)
	if err != nil {
		return 0, fmt.Errorf("%.80q is not a quantity of 63 bits", text)
	}
	return int64(n), nil
}

// amount reads a quantity of up to 256 bits; nil means zero.
func (r reader) amount() (*big.Int, error) {
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	digits, ok := bytes.CutPrefix(text, []byte("0x"))
	if !ok || len(digits) == 0 || len(digits) > 64 {
		return nil, fmt.Errorf("%.80q is not a quantity of 256 bits", text)
	}
	if len(digits) == 1 && digits[0] == '0' {
		return nil, nil
	}
	var word [32]byte
	padded := append(bytes.Repeat([]byte{'0'}, 64-len(digits)), digits...)
	if _, err := hex.Decode(word[:], padded); err != nil {
		return nil, fmt.Errorf("%.80q is not a quantity of 256 bits", text)
	}
	if word == ([32]byte{}) {
		return nil, nil
	}
	return new(big.Int).SetBytes(word[:]), nil
}

// need collects the members of an object that were seen, so that a missing one is an error and not a zero.
type need uint

func (n *need) saw(bit int) { *n |= 1 << bit }

func (n need) all(count int) bool { return n == 1<<count-1 }

// decodeBlock reads the answer of eth_getBlockByNumber; nil means that the node has no such block.
func decodeBlock(result []byte, full bool) (*block, error) {
	r := newReader(result)
	if r.Null() {
		return nil, r.End()
	}
	b := &block{}
	var seen need
	err := r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "number":
			seen.saw(0)
			b.number, err = r.number()
		case "hash":
			seen.saw(1)
			err = r.fixed(b.hash[:])
		case "parentHash":
			seen.saw(2)
			err = r.fixed(b.parent[:])
		case "timestamp":
			seen.saw(3)
			b.time, err = r.number()
		case "logsBloom":
			seen.saw(4)
			err = r.fixed(b.bloom[:])
		case "transactions":
			seen.saw(5)
			err = b.readTransactions(r, full)
		default:
			return r.Skip()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err == nil && !seen.all(6) {
		err = rpc.ErrMissing
	}
	if err == nil && b.time > maxTime {
		err = fmt.Errorf("timestamp %d is beyond the year 9999", b.time)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a block: %w", err)
	}
	return b, r.End()
}

// maxTime is the end of the year 9999: later times cannot be written as JSON.
const maxTime = 253_402_300_799

func (b *block) readTransactions(r reader, full bool) error {
	return r.Array(func() error {
		if !full {
			return r.Skip()
		}
		p, err := readPayment(r)
		if err != nil {
			return fmt.Errorf("transaction %d: %w", len(b.txs), err)
		}
		b.txs = append(b.txs, p.tx)
		if p.value != nil {
			b.payments = append(b.payments, p)
		}
		return nil
	})
}

// readPayment reads one transaction of any type: every type has these four fields. The value is nil when nothing moves
// or a contract is created.
func readPayment(r reader) (p payment, err error) {
	var seen need
	nobody := false
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "hash":
			seen.saw(0)
			return r.fixed(p.tx[:])
		case "from":
			seen.saw(1)
			return r.fixed(p.from[:])
		case "to":
			seen.saw(2)
			if nobody = r.Null(); nobody {
				return nil
			}
			return r.fixed(p.to[:])
		case "value":
			seen.saw(3)
			p.value, err = r.amount()
			return err
		default:
			return r.Skip()
		}
	})
	if seen |= 1 << 2; err == nil && !seen.all(4) { // a contract creation may omit "to"
		err = rpc.ErrMissing
	}
	if nobody || p.to == (account{}) {
		p.value = nil
	}
	return p, err
}

// decodeLogs reads the answer of eth_getLogs: the Transfer logs of listed tokens. It omits logs of another shape, which
// are not ERC-20 transfers.
func decodeLogs(result []byte) ([]event, error) {
	r := newReader(result)
	var out []event
	err := r.Array(func() error {
		e, ok, err := readLog(r)
		if ok {
			out = append(out, e)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading logs: %w", err)
	}
	return out, r.End()
}

// readLog reads one log; ok is false when it is no ERC-20 transfer.
func readLog(r reader) (e event, ok bool, err error) {
	var seen need
	var topics [3]hash
	var data []byte
	count, removed := 0, false
	err = r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "address":
			seen.saw(0)
			return r.fixed(e.token[:])
		case "topics":
			seen.saw(1)
			return r.Array(func() error {
				if count++; count > len(topics) {
					return r.Skip()
				}
				return r.fixed(topics[count-1][:])
			})
		case "data":
			seen.saw(2)
			data, err = r.Text()
			return err
		case "transactionHash":
			seen.saw(3)
			return r.fixed(e.tx[:])
		case "blockHash":
			seen.saw(4)
			return r.fixed(e.block[:])
		case "logIndex":
			seen.saw(5)
			e.index, err = r.number()
			return err
		case "removed":
			removed = r.Peek() == 't'
			return r.Skip()
		default:
			return r.Skip()
		}
	})
	switch {
	case err != nil:
		return e, false, err
	case !seen.all(6):
		return e, false, rpc.ErrMissing
	case removed:
		return e, false, errors.New("a log was removed by a reorganisation")
	}
	var amount [32]byte
	if count != 3 || topics[0] != transferTopic || fixed(data, amount[:]) != nil || !isAccount(topics[1]) || !isAccount(topics[2]) {
		return e, false, nil
	}
	copy(e.from[:], topics[1][12:])
	copy(e.to[:], topics[2][12:])
	e.amount = new(big.Int).SetBytes(amount[:])
	return e, e.amount.Sign() > 0, nil
}

// isAccount reports whether a topic is an address: twelve zero bytes and twenty more.
func isAccount(t hash) bool {
	var zero [12]byte
	return [12]byte(t[:12]) == zero
}

// decodeReceipt reads the answer of eth_getTransactionReceipt; nil means that the node does not know it.
func decodeReceipt(result []byte) (*receipt, error) {
	r := newReader(result)
	if r.Null() {
		return nil, r.End()
	}
	out, err := readReceipt(r)
	if err != nil {
		return nil, fmt.Errorf("reading a receipt: %w", err)
	}
	return out, r.End()
}

// decodeReceipts reads the answer of eth_getBlockReceipts.
func decodeReceipts(result []byte) ([]*receipt, error) {
	r := newReader(result)
	var out []*receipt
	err := r.Array(func() error {
		one, err := readReceipt(r)
		out = append(out, one)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading receipts: %w", err)
	}
	return out, r.End()
}

func readReceipt(r reader) (*receipt, error) {
	var seen need
	out := &receipt{}
	err := r.Object(func(name []byte) (err error) {
		switch string(name) {
		case "transactionHash":
			seen.saw(0)
			return r.fixed(out.tx[:])
		case "blockHash":
			seen.saw(1)
			return r.fixed(out.block[:])
		case "status":
			seen.saw(2)
			out.status, err = r.number()
			return err
		case "logs":
			seen.saw(3)
			return r.Array(func() error {
				e, ok, err := readLog(r)
				out.logs = append(out.logs, e.index)
				if ok {
					out.events = append(out.events, e)
				}
				return err
			})
		default:
			return r.Skip()
		}
	})
	if err == nil && !seen.all(4) {
		err = rpc.ErrMissing
	}
	return out, err
}

// decodeNumber reads an answer that is one quantity.
func decodeNumber(result []byte) (int64, error) {
	r := newReader(result)
	n, err := r.number()
	if err != nil {
		return 0, err
	}
	return n, r.End()
}

// decodeWord reads an answer of eth_call that is one small number in 32 bytes.
func decodeWord(result []byte) (int64, error) {
	r := newReader(result)
	var word hash
	if err := r.fixed(word[:]); err != nil {
		return 0, err
	}
	n := new(big.Int).SetBytes(word[:])
	if !n.IsInt64() {
		return 0, fmt.Errorf("%s is too large", word)
	}
	return n.Int64(), r.End()
}
