package bitcoin

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"math/big"
	"slices"
	"strconv"
	"time"

	"causeway.internal/services/wallets/internal/chain"
)

// digest is a double SHA-256 in computed order; its text has the reverse order.
type digest [32]byte

func (d digest) String() string {
	slices.Reverse(d[:])
	return hex.EncodeToString(d[:])
}

// header is the 80 hashed bytes of a block.
type header struct {
	hash, parent, merkle digest
	time                 uint32
	bits                 uint32
}

func (h header) at(height int64) chain.Header {
	return chain.Header{Height: height, Hash: h.hash.String(), Parent: h.parent.String(), Time: time.Unix(int64(h.time), 0).UTC()}
}

// outpoint names an output of an earlier transaction.
type outpoint struct {
	tx   digest
	vout uint32
}

func (o outpoint) String() string {
	return o.tx.String() + ":" + strconv.FormatUint(uint64(o.vout), 10)
}

// output is an amount and its locking script, which is a part of the parsed bytes.
type output struct {
	value  int64
	script []byte
}

// key is the key of a P2WPKH output, the one kind of address that wallets issues; nil for every other kind.
func (o output) key() []byte {
	if len(o.script) == 22 && o.script[0] == 0 && o.script[1] == 20 {
		return o.script[2:]
	}
	return nil
}

// transaction holds the needed fields of a transaction. The first one of a block is the miner's.
type transaction struct {
	id      digest
	inputs  []outpoint
	outputs []output
}

// block holds the needed fields of a block.
type block struct {
	header
	txs []transaction
}

const (
	headerLength = 80
	// leastTx is the size of the smallest transaction: it bounds the number of transactions that a block may claim.
	leastTx   = 60
	mostValue = 21_000_000 * 100_000_000
)

var errCut = errors.New("the data is cut")

// cursor reads serialized data and remembers that the data ended too early.
type cursor struct {
	b   []byte
	at  int
	err error
}

func (c *cursor) take(n uint64) []byte {
	if c.err != nil || n > uint64(len(c.b)-c.at) { //nolint:gosec // the remaining length is not negative
		c.err = errCut
		return nil
	}
	c.at += int(n)                 //nolint:gosec // bounded by the line above
	return c.b[c.at-int(n) : c.at] //nolint:gosec // bounded above
}

// size reads a variable length integer in its shortest form.
func (c *cursor) size() uint64 {
	first := c.take(1)
	if c.err != nil {
		return 0
	}
	width, least := uint64(0), uint64(0)
	switch first[0] {
	default:
		return uint64(first[0])
	case 0xfd:
		width, least = 2, 0xfd
	case 0xfe:
		width, least = 4, 1<<16
	case 0xff:
		width, least = 8, 1<<32
	}
	var wide [8]byte
	copy(wide[:], c.take(width))
	n := binary.LittleEndian.Uint64(wide[:])
	if c.err == nil && n < least {
		c.err = errors.New("a length is not written in its shortest form")
	}
	return n
}

// count reads the number of the following elements, each of which takes at least so many bytes.
func (c *cursor) count(least uint64) int {
	n := c.size()
	if c.err == nil && n > uint64(len(c.b)-c.at)/least { //nolint:gosec // the remaining length is not negative
		c.err = errCut
	}
	if c.err != nil {
		return 0
	}
	return int(n) //nolint:gosec // bounded above
}

func (c *cursor) skip() { c.take(c.size()) }

func twice(b []byte) digest {
	first := sha256.Sum256(b)
	return sha256.Sum256(first[:])
}

// parseHeader reads a header and checks its proof of work.
func parseHeader(b []byte, limit *big.Int) (header, error) {
	if len(b) != headerLength {
		return header{}, fmt.Errorf("a header has %d bytes, want %d", len(b), headerLength)
	}
	h := header{hash: twice(b), time: binary.LittleEndian.Uint32(b[68:]), bits: binary.LittleEndian.Uint32(b[72:])}
	copy(h.parent[:], b[4:])
	copy(h.merkle[:], b[36:])
	target := h.target()
	if target.Sign() <= 0 || target.Cmp(limit) > 0 {
		return header{}, errors.New("a header has less work than the network demands")
	}
	value := h.hash
	slices.Reverse(value[:])
	if new(big.Int).SetBytes(value[:]).Cmp(target) > 0 {
		return header{}, errors.New("a header lacks its proof of work")
	}
	return h, nil
}

// target decodes the compact form of the number that the hash may not exceed.
func (h header) target() *big.Int {
	mantissa := big.NewInt(int64(h.bits & 0x007fffff))
	if h.bits&0x00800000 != 0 {
		return new(big.Int) // negative
	}
	if exponent := uint(h.bits >> 24); exponent > 3 {
		return mantissa.Lsh(mantissa, 8*(exponent-3))
	} else {
		return mantissa.Rsh(mantissa, 8*(3-exponent))
	}
}

// parseBlock reads a serialized block. The merkle root binds every transaction to the header, and the header's work
// binds the header to the chain: wrong, missing or invented transactions are refused.
func parseBlock(b []byte, limit *big.Int) (*block, error) {
	c := &cursor{b: b}
	head := c.take(headerLength)
	if c.err != nil {
		return nil, c.err
	}
	h, err := parseHeader(head, limit)
	if err != nil {
		return nil, err
	}
	out := &block{header: h, txs: make([]transaction, c.count(leastTx))}
	if len(out.txs) == 0 && c.err == nil {
		return nil, errors.New("a block without transactions")
	}
	ids := make([]digest, len(out.txs))
	hasher := sha256.New()
	for i := range out.txs {
		out.txs[i] = c.transaction(hasher)
		ids[i] = out.txs[i].id
	}
	if c.err != nil {
		return nil, c.err
	}
	if c.at != len(b) {
		return nil, errors.New("trailing data after a block")
	}
	root, err := merkle(ids)
	if err != nil {
		return nil, err
	}
	if root != h.merkle {
		return nil, errors.New("the transactions are not those of the header")
	}
	return out, nil
}

// parseTx reads a single transaction. It fails unless the transaction has the id.
func parseTx(b []byte, id digest) (transaction, error) {
	c := &cursor{b: b}
	tx := c.transaction(sha256.New())
	switch {
	case c.err != nil:
		return tx, c.err
	case c.at != len(b):
		return tx, errors.New("trailing data after a transaction")
	case tx.id != id:
		return tx, fmt.Errorf("is transaction %s", tx.id)
	}
	return tx, nil
}

// transaction reads one transaction and works out its id.
func (c *cursor) transaction(hasher hash.Hash) (tx transaction) {
	version := c.take(4)
	witness := c.err == nil && c.at+2 <= len(c.b) && c.b[c.at] == 0 && c.b[c.at+1] == 1
	if witness {
		c.take(2)
	}
	start := c.at
	tx.inputs = make([]outpoint, c.count(41))
	for i := range tx.inputs {
		from := c.take(36)
		if c.err != nil {
			return transaction{}
		}
		tx.inputs[i] = outpoint{digest(from), binary.LittleEndian.Uint32(from[32:])}
		c.skip()
		c.take(4)
	}
	tx.outputs = make([]output, c.count(9))
	for i := range tx.outputs {
		value := c.take(8)
		script := c.take(c.size())
		if c.err != nil {
			return transaction{}
		}
		sats := binary.LittleEndian.Uint64(value)
		if sats > mostValue {
			c.err = fmt.Errorf("an output of %d satoshi is more than there are", sats)
			return transaction{}
		}
		tx.outputs[i] = output{int64(sats), script}
	}
	body := c.b[start:c.at]
	if witness {
		for range tx.inputs {
			for range c.count(1) {
				c.skip()
			}
		}
	}
	lock := c.take(4)
	hasher.Reset()
	for _, part := range [][]byte{version, body, lock} {
		_, _ = hasher.Write(part)
	}
	hasher.Sum(tx.id[:0])
	tx.id = sha256.Sum256(tx.id[:])
	return tx
}

// merkle is the root over transaction ids. It refuses two equal neighbours: with them a block with repeated
// transactions has the root of the one without (CVE-2012-2459).
func merkle(ids []digest) (digest, error) {
	level := slices.Clone(ids)
	for len(level) > 1 {
		for i := 0; i+1 < len(level); i += 2 {
			if level[i] == level[i+1] {
				return digest{}, errors.New("a block repeats its transactions")
			}
		}
		if len(level)%2 == 1 {
			level = append(level, level[len(level)-1])
		}
		for i := range len(level) / 2 {
			pair := append(append(make([]byte, 0, 64), level[2*i][:]...), level[2*i+1][:]...)
			level[i] = twice(pair)
		}
		level = level[:len(level)/2]
	}
	return level[0], nil
}
