package derivation

// SLIP-0010 for ed25519: every step is hardened, so a public key alone derives nothing. It is used for one thing only:
// the sandbox pool of solana addresses, whose seed is printed in BIP-39's own test vectors and therefore guards
// nothing. Live solana addresses are made by the signer and imported; nothing here may ever be given a seed that guards
// money.

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/binary"
	"encoding/hex"
	"errors"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// edNode is a private key with its chain code.
type edNode struct{ key, chain [32]byte }

func edSplit(sum []byte) edNode {
	var n edNode
	copy(n.key[:], sum[:32])
	copy(n.chain[:], sum[32:])
	return n
}

func edMaster(seed []byte) edNode {
	mac := hmac.New(sha512.New, []byte("ed25519 seed"))
	_, _ = mac.Write(seed)
	return edSplit(mac.Sum(nil))
}

// child derives the hardened child index'.
func (n edNode) child(index uint32) edNode {
	mac := hmac.New(sha512.New, n.chain[:])
	_, _ = mac.Write([]byte{0})
	_, _ = mac.Write(n.key[:])
	_, _ = mac.Write(binary.BigEndian.AppendUint32(nil, index|1<<31))
	return edSplit(mac.Sum(nil))
}

func (n edNode) public() []byte {
	return ed25519.NewKeyFromSeed(n.key[:]).Public().(ed25519.PublicKey)
}

// sandboxSeed is the BIP-39 seed of "abandon … about" (published; anybody can sign for it).
const sandboxSeed = "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc1" +
	"9a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4"

// Sandbox is the pool of solana addresses for test mode: m/44'/501'/index'/0' of the published seed, the path that
// solana wallets use. Test mode never touches a real chain, so the product never sends a payer to these addresses by
// mistake.
type Sandbox struct{ coin edNode }

var _ Source = Sandbox{}

// NewSandbox opens the pool.
func NewSandbox() Sandbox {
	seed, err := hex.DecodeString(sandboxSeed)
	if err != nil {
		panic("slip10: the constant seed is not hex: " + err.Error())
	}
	return Sandbox{coin: edMaster(seed).child(44).child(501)}
}

// Account is always 0: the index takes the account's place in the path.
func (Sandbox) Account() uint32 { return 0 }

// Derive implements Source.
func (s Sandbox) Derive(from uint32, count int) ([]Derived, error) {
	if count < 0 || uint64(from)+uint64(count) > MaxIndex {
		return nil, errors.New("index is beyond the hardened children of the seed")
	}
	out := make([]Derived, count)
	for i := range out {
		index := from + uint32(i)
		key := s.coin.child(index).child(0).public()
		text, err := address.Encode(money.Solana, address.Mainnet, key)
		if err != nil {
			return nil, err
		}
		out[i] = Derived{Index: index, Key: key, Address: text}
	}
	return out, nil
}
