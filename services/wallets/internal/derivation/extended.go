package derivation

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"causeway.internal/libs/address"
)

// Extended is a BIP-32 extended public key: it derives the plain children of its node and nothing else.
type Extended struct {
	point  secp256k1.JacobianPoint // affine, z = 1
	serial [33]byte                // compressed point
	chain  [32]byte
	depth  byte
	parent [4]byte // fingerprint
	child  uint32
}

const (
	hardened       = 1 << 31
	extendedLength = 78
)

// publicVersions are the version bytes of BIP-32 and SLIP-0132 for public keys; privateVersions their private twins,
// which are named only to be refused in plain words.
var (
	publicVersions = map[uint32]string{
		0x0488b21e: "xpub", 0x043587cf: "tpub", 0x049d7cb2: "ypub", 0x044a5262: "upub", 0x04b24746: "zpub", 0x045f1cf6: "vpub",
	}
	privateVersions = map[uint32]bool{
		0x0488ade4: true, 0x04358394: true, 0x049d7878: true, 0x044a4e28: true, 0x04b2430c: true, 0x045f18bc: true,
	}
)

// ErrPrivate means that a setting holds a private key where only public ones may be.
var ErrPrivate = errors.New("is an extended private key; this service must never hold one: give the extended public key")

// ParseExtended reads an extended public key (xpub, tpub, ypub, upub, zpub or vpub) and checks it in full.
func ParseExtended(text string) (Extended, error) {
	b, err := address.DecodeCheck(text)
	if err != nil {
		return Extended{}, err
	}
	if len(b) != extendedLength {
		return Extended{}, errors.New("is not an extended key: wrong length")
	}
	version := binary.BigEndian.Uint32(b)
	if privateVersions[version] {
		return Extended{}, ErrPrivate
	}
	if publicVersions[version] == "" {
		return Extended{}, errors.New("is not an extended public key: unknown version")
	}
	var k Extended
	k.depth, k.child = b[4], binary.BigEndian.Uint32(b[9:])
	copy(k.parent[:], b[5:])
	copy(k.chain[:], b[13:])
	if k.depth == 0 && (k.child != 0 || k.parent != [4]byte{}) {
		return Extended{}, errors.New("is not an extended public key: a master key has no parent")
	}
	point, err := secp256k1.ParsePubKey(b[45:])
	if err != nil {
		return Extended{}, fmt.Errorf("is not an extended public key: %w", err)
	}
	point.AsJacobian(&k.point)
	copy(k.serial[:], point.SerializeCompressed())
	return k, nil
}

// Depth is how many derivations lie between the master key and this one; 3 for an account (BIP-44).
func (k Extended) Depth() int { return int(k.depth) }

// Same reports whether two keys derive the same addresses, in any notation.
func (k Extended) Same(o Extended) bool { return k.serial == o.serial && k.chain == o.chain }

// String writes the key as an xpub.
func (k Extended) String() string {
	b := make([]byte, 0, extendedLength)
	b = binary.BigEndian.AppendUint32(b, 0x0488b21e)
	b = append(b, k.depth)
	b = append(b, k.parent[:]...)
	b = binary.BigEndian.AppendUint32(b, k.child)
	b = append(b, k.chain[:]...)
	b = append(b, k.serial[:]...)
	return address.EncodeCheck(b)
}

// Child derives one plain child (CKDpub of BIP-32).
func (k Extended) Child(index uint32) (Extended, error) {
	points, chains, err := newDeriver(k).children(index, 1)
	if err != nil {
		return Extended{}, err
	}
	c := Extended{point: points[0], chain: chains[0], depth: k.depth + 1, child: index}
	compress(&c.point, &c.serial)
	id := address.Hash160(k.serial[:])
	copy(c.parent[:], id[:])
	return c, nil
}

// deriver derives many children of one key. It keeps the parent point and the keyed HMAC state, and turns a whole batch
// of points to affine form with one field inversion (Montgomery's trick), which is half of the time otherwise.
type deriver struct {
	parent Extended
	mac    hash.Hash
}

func newDeriver(k Extended) *deriver {
	return &deriver{parent: k, mac: hmac.New(sha512.New, k.chain[:])}
}

func (d *deriver) children(from uint32, count int) ([]secp256k1.JacobianPoint, [][32]byte, error) {
	if count < 0 || uint64(from)+uint64(count) > MaxIndex {
		return nil, nil, errors.New("index is beyond the plain children of the key")
	}
	points := make([]secp256k1.JacobianPoint, count)
	chains := make([][32]byte, count)
	var data [37]byte
	var sum [64]byte
	copy(data[:], d.parent.serial[:])
	for i := range points {
		index := from + uint32(i)
		binary.BigEndian.PutUint32(data[33:], index)
		d.mac.Reset()
		_, _ = d.mac.Write(data[:])
		d.mac.Sum(sum[:0])
		var tweak secp256k1.ModNScalar
		if overflow := tweak.SetByteSlice(sum[:32]); overflow {
			return nil, nil, fmt.Errorf("index %d has no key: try the next (BIP-32, probability 2^-127)", index)
		}
		var offset secp256k1.JacobianPoint
		secp256k1.ScalarBaseMultNonConst(&tweak, &offset)
		secp256k1.AddNonConst(&offset, &d.parent.point, &points[i])
		if points[i].Z.IsZero() {
			return nil, nil, fmt.Errorf("index %d has no key: try the next (BIP-32, probability 2^-127)", index)
		}
		copy(chains[i][:], sum[32:])
	}
	affine(points)
	return points, chains, nil
}

// affine scales every point to z = 1.
func affine(points []secp256k1.JacobianPoint) {
	if len(points) == 0 {
		return
	}
	prefix := make([]secp256k1.FieldVal, len(points))
	prefix[0] = points[0].Z
	for i := 1; i < len(points); i++ {
		prefix[i].Mul2(&prefix[i-1], &points[i].Z)
	}
	inverse := prefix[len(points)-1]
	inverse.Inverse()
	for i := len(points) - 1; i >= 0; i-- {
		p := &points[i]
		z := inverse
		if i > 0 {
			z.Mul2(&inverse, &prefix[i-1])
			inverse.Mul(&p.Z)
		}
		var z2, z3 secp256k1.FieldVal
		z2.SquareVal(&z)
		z3.Mul2(&z2, &z)
		p.X.Mul(&z2).Normalize()
		p.Y.Mul(&z3).Normalize()
		p.Z.SetInt(1)
	}
}

// compress writes the SEC 1 compressed form of an affine point.
func compress(p *secp256k1.JacobianPoint, out *[33]byte) {
	out[0] = 2
	if p.Y.IsOdd() {
		out[0] = 3
	}
	p.X.PutBytesUnchecked(out[1:])
}
