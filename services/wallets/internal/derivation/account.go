package derivation

import (
	"errors"
	"fmt"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
)

// Account derives the deposit addresses of one hardened account: branch 0, index 0, 1, 2 … (BIP-44, BIP-84). There is
// no change branch here: nothing that is online ever spends.
type Account struct {
	family money.Family
	net    address.Net
	number uint32
	branch Extended
}

var _ Source = (*Account)(nil)

// NewAccount opens an account-level extended public key, that is m/84'/0'/a' for bitcoin, m/44'/60'/a' for the EVM
// family and m/44'/195'/a' for tron. A key of another depth is refused: it would derive addresses that no wallet
// software finds again.
func NewAccount(family money.Family, net address.Net, key Extended) (*Account, error) {
	switch family {
	case money.Bitcoin, money.EVM, money.Tron:
	default:
		return nil, fmt.Errorf("%s addresses cannot be derived from a public key", family)
	}
	if key.depth != 3 || key.child < hardened {
		return nil, errors.New("is not an account-level key: it must be three levels deep and hardened, as m/44'/60'/0'")
	}
	branch, err := key.Child(0)
	if err != nil {
		return nil, fmt.Errorf("deriving branch 0: %w", err)
	}
	return &Account{family: family, net: net, number: key.child - hardened, branch: branch}, nil
}

// Account is the account's number a in m/44'/60'/a'.
func (a *Account) Account() uint32 { return a.number }

// batch bounds the memory of one derivation step and is where the shared inversion stops paying more.
const batch = 1024

// Derive implements Source. It is safe for concurrent use.
func (a *Account) Derive(from uint32, count int) ([]Derived, error) {
	if count < 0 || uint64(from)+uint64(count) > MaxIndex {
		return nil, errors.New("index is beyond the plain children of the key")
	}
	out := make([]Derived, 0, count)
	d := newDeriver(a.branch)
	for len(out) < count {
		step := min(batch, count-len(out))
		start := from + uint32(len(out)) //nolint:gosec // the caller bounds the count
		points, _, err := d.children(start, step)
		if err != nil {
			return nil, err
		}
		for i := range points {
			key := a.key(&points[i])
			text, err := address.Encode(a.family, a.net, key)
			if err != nil {
				return nil, err
			}
			out = append(out, Derived{Index: start + uint32(i), Key: key, Address: text})
		}
	}
	return out, nil
}

// key is the chain's own form of the point: hash160 of the compressed key on bitcoin, the last 20 bytes of keccak256 of
// the uncompressed one elsewhere.
func (a *Account) key(p *secp256k1.JacobianPoint) []byte {
	if a.family == money.Bitcoin {
		var serial [33]byte
		compress(p, &serial)
		id := address.Hash160(serial[:])
		return id[:]
	}
	var raw [64]byte
	p.X.PutBytesUnchecked(raw[:32])
	p.Y.PutBytesUnchecked(raw[32:])
	sum := address.Keccak256(raw[:])
	return sum[12:]
}
