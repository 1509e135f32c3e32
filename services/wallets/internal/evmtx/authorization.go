package evmtx

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"causeway.internal/libs/address"
)

// Domain is a token's contract as its signatures name it (EIP-712).
type Domain struct {
	Name, Version string
	ChainID       uint64
	Contract      Account
}

// Separator is the hash of the domain, which the contract returns as DOMAIN_SEPARATOR.
func (d Domain) Separator() [32]byte {
	kind := hashOf("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
	name, version := hashOf(d.Name), hashOf(d.Version)
	return address.Keccak256(join(kind, name, version, wordOf(new(big.Int).SetUint64(d.ChainID)), d.Contract.word()))
}

// Authorization allows one transfer of a token to any sender that presents it to the contract (EIP-3009). The contract
// takes one authorization of a nonce at most.
type Authorization struct {
	Domain   Domain
	From, To Account
	Value    *big.Int
	Before   uint64 // the second since 1970 from which no block may hold the transfer
	Nonce    [32]byte
}

// The contract's function. The fields up to the nonce are signed; validAfter is always 0.
const (
	authorizedFields = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
	signedWords      = 6
	callWords        = signedWords + 3
)

var (
	authorizedSelector = hashOf("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)")
	separatorSelector  = hashOf("DOMAIN_SEPARATOR()")
	stateSelector      = hashOf("authorizationState(address,bytes32)")
)

func (a Authorization) words() []byte {
	return join(a.From.word(), a.To.word(), wordOf(a.Value), [32]byte{}, wordOf(new(big.Int).SetUint64(a.Before)), a.Nonce)
}

// Digest is the hash that the address signs.
func (a Authorization) Digest() [32]byte {
	kind, separator := hashOf("TransferWithAuthorization("+authorizedFields+")"), a.Domain.Separator()
	content := address.Keccak256(append(kind[:], a.words()...))
	return address.Keccak256(append([]byte{0x19, 0x01}, join(separator, content)...))
}

// Call is the call data that presents the authorization with its signature.
func (a Authorization) Call(parity byte, r, s *big.Int) []byte {
	out := append(bytes.Clone(authorizedSelector[:4]), a.words()...)
	return append(out, join(wordOf(big.NewInt(27+int64(parity))), wordOf(r), wordOf(s))...)
}

var errNoAuthorization = errors.New("is not the call of this authorization")

// Presents checks that call data presents this authorization, signed by the address that it moves money from.
func (a Authorization) Presents(data []byte) error {
	if len(data) != 4+32*callWords || !bytes.Equal(data[:4], authorizedSelector[:4]) || !bytes.Equal(data[4:4+32*signedWords], a.words()) {
		return errNoAuthorization
	}
	word := func(n int) *big.Int { return new(big.Int).SetBytes(data[4+32*n : 4+32*(n+1)]) }
	v := word(signedWords)
	if !v.IsUint64() || v.Uint64() < 27 || v.Uint64() > 28 {
		return errNoAuthorization
	}
	from, err := signerOf(a.Digest(), byte(v.Uint64()-27), word(signedWords+1), word(signedWords+2)) //nolint:gosec // 0 or 1
	if err != nil {
		return err
	}
	if from != a.From {
		return fmt.Errorf("the authorization is signed by %s instead of %s", from, a.From)
	}
	return nil
}

// SeparatorCall is the call data that asks a contract for its domain.
func SeparatorCall() []byte { return bytes.Clone(separatorSelector[:4]) }

// StateCall is the call data that asks whether a contract has taken an authorization of a nonce.
func StateCall(from Account, nonce [32]byte) []byte {
	return append(bytes.Clone(stateSelector[:4]), join(from.word(), nonce)...)
}

// signerOf recovers the address that signed a digest. A signature in its upper half (EIP-2) is an error.
func signerOf(digest [32]byte, parity byte, r, s *big.Int) (from Account, err error) {
	var compact [65]byte
	compact[0] = 27 + parity
	r.FillBytes(compact[1:33])
	s.FillBytes(compact[33:])
	key, _, err := ecdsa.RecoverCompact(compact[:], digest[:])
	if err != nil {
		return from, fmt.Errorf("recovering the sender: %w", err)
	}
	if half := new(big.Int).Rsh(secp256k1.Params().N, 1); s.Cmp(half) > 0 {
		return from, errors.New("the signature is in its upper half")
	}
	sum := address.Keccak256(key.SerializeUncompressed()[1:])
	copy(from[:], sum[12:])
	return from, nil
}

func hashOf(text string) [32]byte { return address.Keccak256([]byte(text)) }

func wordOf(n *big.Int) (word [32]byte) {
	n.FillBytes(word[:])
	return word
}

func (a Account) word() (word [32]byte) {
	copy(word[12:], a[:])
	return word
}

func join(words ...[32]byte) []byte {
	out := make([]byte, 0, 32*len(words))
	for _, w := range words {
		out = append(out, w[:]...)
	}
	return out
}
