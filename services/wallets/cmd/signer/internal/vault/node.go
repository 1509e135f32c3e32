package vault

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"errors"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"causeway.internal/libs/address"
)

const hardened = 1 << 31

// node is a private node of BIP-32.
type node struct {
	key    secp256k1.ModNScalar
	chain  [32]byte
	depth  byte
	parent [4]byte
	number uint32
}

var errNoKey = errors.New("this path has no key (BIP-32, probability 2^-127)")

func master(seed []byte) (node, error) {
	mac := hmac.New(sha512.New, []byte("Bitcoin seed"))
	_, _ = mac.Write(seed)
	sum := mac.Sum(nil)
	defer clear(sum)
	var n node
	if overflow := n.key.SetByteSlice(sum[:32]); overflow || n.key.IsZero() {
		return node{}, errNoKey
	}
	copy(n.chain[:], sum[32:])
	return n, nil
}

func (n node) public() []byte {
	key := secp256k1.NewPrivateKey(&n.key)
	defer key.Zero()
	return key.PubKey().SerializeCompressed()
}

// child derives CKDpriv of BIP-32.
func (n node) child(number uint32) (node, error) {
	var data [37]byte
	defer clear(data[:])
	public := n.public()
	if number >= hardened {
		n.key.PutBytesUnchecked(data[1:33])
	} else {
		copy(data[:33], public)
	}
	binary.BigEndian.PutUint32(data[33:], number)
	mac := hmac.New(sha512.New, n.chain[:])
	_, _ = mac.Write(data[:])
	sum := mac.Sum(nil)
	defer clear(sum)
	c := node{depth: n.depth + 1, number: number}
	if overflow := c.key.SetByteSlice(sum[:32]); overflow {
		return node{}, errNoKey
	}
	if c.key.Add(&n.key); c.key.IsZero() {
		return node{}, errNoKey
	}
	copy(c.chain[:], sum[32:])
	id := address.Hash160(public)
	copy(c.parent[:], id[:])
	return c, nil
}

// xpub writes the node's public half (BIP-32, serialisation format).
func (n node) xpub() string {
	b := binary.BigEndian.AppendUint32(nil, 0x0488b21e)
	b = append(append(b, n.depth), n.parent[:]...)
	b = binary.BigEndian.AppendUint32(b, n.number)
	b = append(append(b, n.chain[:]...), n.public()...)
	return address.EncodeCheck(b)
}

// edNode is a private node of SLIP-0010 on ed25519, where every step is hardened.
type edNode struct{ key, chain [32]byte }

func edSplit(sum []byte) (n edNode) {
	copy(n.key[:], sum[:32])
	copy(n.chain[:], sum[32:])
	clear(sum)
	return n
}

func edMaster(seed []byte) edNode {
	mac := hmac.New(sha512.New, []byte("ed25519 seed"))
	_, _ = mac.Write(seed)
	return edSplit(mac.Sum(nil))
}

func (n edNode) child(number uint32) edNode {
	mac := hmac.New(sha512.New, n.chain[:])
	_, _ = mac.Write([]byte{0})
	_, _ = mac.Write(n.key[:])
	_, _ = mac.Write(binary.BigEndian.AppendUint32(nil, number|hardened))
	return edSplit(mac.Sum(nil))
}

func (n edNode) private() ed25519.PrivateKey { return ed25519.NewKeyFromSeed(n.key[:]) }
