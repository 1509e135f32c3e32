package evmtx

import (
	"errors"
	"math/big"
)

// The recursive length prefix of Ethereum (Yellow Paper, appendix B), as far as a transaction needs it.

// rlpBytes appends a byte string.
func rlpBytes(out, b []byte) []byte {
	if len(b) == 1 && b[0] < 0x80 {
		return append(out, b[0])
	}
	return append(rlpHead(out, 0x80, len(b)), b...)
}

// rlpInt appends a number that is not negative: big endian without leading zeros.
func rlpInt(out []byte, n *big.Int) []byte { return rlpBytes(out, n.Bytes()) }

func rlpUint(out []byte, n uint64) []byte { return rlpInt(out, new(big.Int).SetUint64(n)) }

// rlpList appends a list whose items are encoded already.
func rlpList(out, items []byte) []byte { return append(rlpHead(out, 0xc0, len(items)), items...) }

func rlpHead(out []byte, base byte, n int) []byte {
	if n < 56 {
		return append(out, base+byte(n)) //nolint:gosec // n is at most 55
	}
	size := new(big.Int).SetInt64(int64(n)).Bytes()
	return append(append(out, base+55+byte(len(size))), size...) //nolint:gosec // a length has at most 8 bytes
}

var errRLP = errors.New("is not canonical RLP")

// rlpReader takes canonical RLP apart; whatever has a second way of being written is refused.
type rlpReader struct{ b []byte }

// item returns the payload of the next item and whether it is a list.
func (r *rlpReader) item() (payload []byte, list bool, err error) {
	if len(r.b) == 0 {
		return nil, false, errRLP
	}
	first := r.b[0]
	if first < 0x80 {
		payload, r.b = r.b[:1], r.b[1:]
		return payload, false, nil
	}
	base := byte(0x80)
	if list = first >= 0xc0; list {
		base = 0xc0
	}
	start, n := 1, int(first-base)
	if n > 55 {
		digits := n - 55
		if digits > 3 || len(r.b) < 1+digits || r.b[1] == 0 {
			return nil, false, errRLP
		}
		n = 0
		for _, d := range r.b[1 : 1+digits] {
			n = n<<8 | int(d)
		}
		if start += digits; n < 56 {
			return nil, false, errRLP
		}
	}
	if len(r.b)-start < n {
		return nil, false, errRLP
	}
	payload = r.b[start : start+n]
	if !list && n == 1 && payload[0] < 0x80 {
		return nil, false, errRLP
	}
	r.b = r.b[start+n:]
	return payload, list, nil
}

// text reads a byte string.
func (r *rlpReader) text() ([]byte, error) {
	b, list, err := r.item()
	if err == nil && list {
		err = errRLP
	}
	return b, err
}

// number reads a number of at most 32 bytes without leading zeros.
func (r *rlpReader) number() (*big.Int, error) {
	b, err := r.text()
	if err == nil && (len(b) > 32 || (len(b) > 0 && b[0] == 0)) {
		err = errRLP
	}
	return new(big.Int).SetBytes(b), err
}

func (r *rlpReader) uint64() (uint64, error) {
	n, err := r.number()
	if err == nil && !n.IsUint64() {
		err = errRLP
	}
	return n.Uint64(), err
}
