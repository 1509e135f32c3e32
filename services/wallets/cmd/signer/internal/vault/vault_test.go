package vault

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"filippo.io/age"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/trontx"
)

// about is the public seed of BIP-39's test vectors.
const about = "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about"

func open(t *testing.T, words string) *Vault {
	t.Helper()
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := Seal(words, identity.Recipient())
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed, []byte("abandon")) {
		t.Fatal("the sealed seed is readable")
	}
	v, err := Open(bytes.NewReader(sealed), identity)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The published addresses of the published seed (BIP-84, BIP-44 on EVM, SLIP-0010 on solana).
func TestVault_vectors(t *testing.T) {
	v := open(t, about)
	if a, err := v.Account(0, 0); err != nil || a.String() != "0x9858EfFD232B4033E47d90003D41EC34EcaEda94" {
		t.Errorf("derive the first account: got %s, %v, want 0x9858EfFD232B4033E47d90003D41EC34EcaEda94", a, err)
	}
	if a, err := v.TronAccount(0, 0); err != nil || a.String() != "TUEZSdKsoDHQMeZwihtdoBiN46zxhGWYdH" {
		t.Errorf("the first tron address is %s, %v", a, err)
	}
	if s, err := v.Solana(0); err != nil || s.String() != "HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk" {
		t.Errorf("derive the first Solana key: got %s, %v, want HAgk14JpMQLgt6rVgv7cBQFJWFto5Dqxi472uT3DKpqk", s, err)
	}
	for family, want := range map[money.Family]string{
		money.Bitcoin: "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V",
		money.EVM:     "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt",
		money.Tron:    "xpub6D1AabNHCupeiLM65ZR9UStMhJ1vCpyV4XbZdyhMZBiJXALQtmn9p42VTQckoHVn8WNqS7dqnJokZHAHcHGoaQgmv8D45oNUKx6DZMNZBCd",
	} {
		if got, err := v.Extended(family, 0); err != nil || got != want {
			t.Errorf("derive the extended key of %s: got %s, %v, want %s", family, got, err, want)
		}
	}
	if _, err := v.Extended(money.Solana, 0); err == nil {
		t.Error("solana has an extended key")
	}
}

// The signer derives from the seed the addresses that wallets derives from the extended public key.
func TestVault_agreesWithWallets(t *testing.T) {
	v := open(t, about)
	text, err := v.Extended(money.EVM, 7)
	if err != nil {
		t.Fatal(err)
	}
	key, err := derivation.ParseExtended(text)
	if err != nil {
		t.Fatal(err)
	}
	account, err := derivation.NewAccount(money.EVM, address.Mainnet, key)
	if err != nil || account.Account() != 7 {
		t.Fatal(account, err)
	}
	for _, from := range []uint32{0, 1, 999_999, 1<<31 - 3} {
		made, err := account.Derive(from, 2)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range made {
			if a, err := v.Account(7, d.Index); err != nil || a.String() != d.Address {
				t.Errorf("index %d: %s, %v, wallets derives %s", d.Index, a, err, d.Address)
			}
		}
	}
}

func TestVault_signs(t *testing.T) {
	v := open(t, about)
	from, err := v.Account(0, 5)
	if err != nil {
		t.Fatal(err)
	}
	tx := evmtx.Transaction{ChainID: 1, Nonce: 9, Tip: big.NewInt(1), MaxFee: big.NewInt(2), Gas: 21_000, Value: big.NewInt(3)}
	raw, err := v.SignEVM(0, 5, tx)
	if err != nil {
		t.Fatal(err)
	}
	got, sender, err := evmtx.Parse(raw)
	if err != nil || sender != from || !got.Equal(tx) {
		t.Errorf("%+v by %s, %v", got, sender, err)
	}
	if again, err := v.SignEVM(0, 5, tx); err != nil || !bytes.Equal(again, raw) {
		t.Errorf("signed twice, the bytes differ: %v", err)
	}
}

// The signature of a tron transaction is its owner's and always the same.
func TestVault_signsTron(t *testing.T) {
	v := open(t, about)
	owner, err := v.TronAccount(0, 7)
	if err != nil {
		t.Fatal(err)
	}
	tx := trontx.Transaction{Expiration: 1, Type: trontx.Transfer, Owner: owner, Amount: 3}
	raw, err := v.SignTron(0, 7, tx)
	if err != nil {
		t.Fatal(err)
	}
	again, err := v.SignTron(0, 7, tx)
	if err != nil || !bytes.Equal(raw, again) {
		t.Errorf("the second signature is %x, %v, want %x", again, err, raw)
	}
	if got, err := trontx.Parse(raw); err != nil || !got.Equal(tx) {
		t.Errorf("signed %+v, %v, want %+v", got, err, tx)
	}
}

func TestNewSeed(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	words, sealed, err := NewSeed(identity.Recipient())
	if err != nil || len(strings.Fields(words)) != 24 {
		t.Fatalf("%d words, %v", len(strings.Fields(words)), err)
	}
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(bytes.NewReader(sealed), other); err == nil {
		t.Error("another identity opened the seed")
	}
	v, err := Open(bytes.NewReader(sealed), identity)
	if err != nil {
		t.Fatal(err)
	}
	twin := open(t, words)
	a, _ := v.Account(0, 0)
	if b, _ := twin.Account(0, 0); a != b || !bytes.Equal(v.BatchKey(), twin.BatchKey()) {
		t.Error("the words restore another seed")
	}
	if _, err := Seal("abandon abandon", identity.Recipient()); err == nil {
		t.Error("wrong words were sealed")
	}
}
