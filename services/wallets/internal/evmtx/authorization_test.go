package evmtx

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"github.com/decred/dcrd/dcrec/secp256k1/v4/ecdsa"

	"causeway.internal/libs/address"
)

// The hashes of USDC on ethereum, as its verified contract has them.
func TestDomain_usdc(t *testing.T) {
	usdc := Domain{"USD Coin", "2", 1, account("a0b86991c6218b36c1d19d4a2e9eb0ce3606eb48")}
	got := usdc.Separator()
	if want := "06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335"; hex.EncodeToString(got[:]) != want {
		t.Errorf("hash the domain of USDC: got %x, want %s", got, want)
	}
	kind := hashOf("TransferWithAuthorization(" + authorizedFields + ")")
	if want := "7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267"; hex.EncodeToString(kind[:]) != want {
		t.Errorf("hash the type: got %x, want %s", kind, want)
	}
	if got, want := authorizedSelector[:4], []byte{0xe3, 0xee, 0x16, 0x0e}; !bytes.Equal(got, want) {
		t.Errorf("select the function: got %x, want %x", got, want)
	}
}

// Call data presents one authorization alone: one changed byte of the data, or another member, is refused.
func TestAuthorization_presents(t *testing.T) {
	key := secp256k1.PrivKeyFromBytes([]byte("a key of thirty-two bytes, for it"))
	a := Authorization{
		Domain: Domain{"USD Coin", "2", 1, usdt}, To: safe, Value: big.NewInt(25_000_000), Before: 1_800_000_000, Nonce: address.Keccak256([]byte("swp_1")),
	}
	sum := address.Keccak256(key.PubKey().SerializeUncompressed()[1:])
	copy(a.From[:], sum[12:])
	digest := a.Digest()
	compact := ecdsa.SignCompact(key, digest[:], false)
	data := a.Call(compact[0]-27, new(big.Int).SetBytes(compact[1:33]), new(big.Int).SetBytes(compact[33:]))
	if err := a.Presents(data); err != nil {
		t.Fatalf("present an authorization: %v", err)
	}
	for i := range data {
		other := bytes.Clone(data)
		other[i] ^= 1 << (i % 8)
		if a.Presents(other) == nil {
			t.Errorf("byte %d of the call data was changed, and it still presents the authorization", i)
		}
	}
	for name, change := range map[string]func(a *Authorization){
		"the name":     func(a *Authorization) { a.Domain.Name = "Tether" },
		"the version":  func(a *Authorization) { a.Domain.Version = "1" },
		"the chain":    func(a *Authorization) { a.Domain.ChainID = 10 },
		"the contract": func(a *Authorization) { a.Domain.Contract = safe },
		"the owner":    func(a *Authorization) { a.From = safe },
		"the receiver": func(a *Authorization) { a.To = usdt },
		"the value":    func(a *Authorization) { a.Value = big.NewInt(25_000_001) },
		"the end":      func(a *Authorization) { a.Before++ },
		"the nonce":    func(a *Authorization) { a.Nonce[0]++ },
	} {
		other := a
		if change(&other); other.Presents(data) == nil {
			t.Errorf("%s was changed, and the same data presents it", name)
		}
	}
}
