// Package slip10 derives ed25519 keys as SLIP-0010 defines: every step is hardened, so a public key alone derives
// nothing. It is pure.
//
// The service uses it for one thing only: the sandbox pool of solana addresses, whose seed is printed in BIP-39's own
// test vectors and therefore worth nothing. Live solana addresses are made by the signer and imported; nothing here may
// ever be given a seed that guards money.
package slip10

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"github.com/mr-tron/base58"

	"causeway.internal/services/wallets/internal/address"
)

// node is a private key with its chain code.
type node struct{ key, chain [32]byte }

func split(sum []byte) node {
	var n node
	copy(n.key[:], sum[:32])
	copy(n.chain[:], sum[32:])
	return n
}

func master(seed []byte) node {
	mac := hmac.New(sha512.New, []byte("ed25519 seed"))
	_, _ = mac.Write(seed)
	return split(mac.Sum(nil))
}

// child derives the hardened child index'.
func (n node) child(index uint32) node {
	mac := hmac.New(sha512.New, n.chain[:])
	_, _ = mac.Write([]byte{0})
	_, _ = mac.Write(n.key[:])
	_, _ = mac.Write(binary.BigEndian.AppendUint32(nil, index|1<<31))
	return split(mac.Sum(nil))
}

func (n node) public() []byte {
	return ed25519.NewKeyFromSeed(n.key[:]).Public().(ed25519.PublicKey)
}

// sandboxSeed is the BIP-39 seed of "abandon … about" (published; the whole world can sign for it).
const sandboxSeed = "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1" +
	"9a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4"

// Sandbox is the pool of solana addresses for test mode: m/44'/501'/index'/0' of the published seed, the path that
// solana wallets use. Test mode never touches a real chain, so nobody can pay to these by mistake through us.
type Sandbox struct{ coin node }

var _ address.Source = Sandbox{}

// NewSandbox opens the pool.
func NewSandbox() Sandbox {
	seed, err := hex.DecodeString(sandboxSeed)
	if err != nil {
		panic("slip10: the constant seed is not hex: " + err.Error())
	}
	return Sandbox{coin: master(seed).child(44).child(501)}
}

// Account is always 0: the index takes the account's place in the path.
func (Sandbox) Account() uint32 { return 0 }

// Derive implements address.Source.
func (s Sandbox) Derive(from uint32, count int) ([]address.Derived, error) {
	if count < 0 || uint64(from)+uint64(count) > address.MaxIndex {
		return nil, errors.New("index is beyond the hardened children of the seed")
	}
	out := make([]address.Derived, count)
	for i := range out {
		index := from + uint32(i)
		key := s.coin.child(index).child(0).public()
		out[i] = address.Derived{Index: index, Key: key, Address: base58.Encode(key)}
	}
	return out, nil
}
