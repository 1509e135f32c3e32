package btctx

import (
	"strings"
	"testing"

	"github.com/decred/dcrd/dcrec/secp256k1/v4"
	"pgregory.net/rapid"

	"causeway.internal/libs/address"
)

// The change of a refund pays for a higher fee: the PSBT of the higher form is proved by the same previous
// transactions, both forms are signed, and they have one slot.
func TestReprice(t *testing.T) {
	key := secp256k1.PrivKeyFromBytes([]byte("a key"))
	rapid.Check(t, func(r *rapid.T) {
		tx, previous := deposits(t, key, rapid.SliceOfN(rapid.Int64Range(10_000, 1e8), 1, 5).Draw(r, "values")...)
		tx.Back = Script(address.Hash160(key.PubKey().SerializeCompressed()))
		tx.Value, tx.Change = tx.Value-8_000, 7_000
		text, err := tx.PSBT(previous)
		if err != nil {
			t.Fatal(err)
		}
		higher := tx
		higher.Change -= rapid.Int64Range(1, 6_000).Draw(r, "more")
		if text, err = higher.Reprice(text); err != nil {
			t.Fatal(err)
		}
		scripts, err := higher.Scripts(text)
		if err != nil {
			t.Fatalf("read the scripts of the higher form: %v", err)
		}
		raw, err := higher.Signed(scripts, with(key))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := higher.Verify(raw, scripts); err != nil || higher.Slot() != tx.Slot() {
			t.Errorf("verify the higher form: got %v and another slot %v, want one slot", err, higher.Slot() != tx.Slot())
		}
		if _, err := tx.Verify(raw, scripts); err == nil {
			t.Error("verify the higher form as the one before: got no error, want one")
		}
		signed, err := Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		weight := signed.SerializeSizeStripped()*(scale-1) + signed.SerializeSize()
		if int64(weight) > tx.Size()*scale {
			t.Errorf("sign a refund: got %d units of weight, want at most %d", weight, tx.Size()*scale)
		}
	})
}

func TestPayee(t *testing.T) {
	for _, to := range []string{"1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "3J98t1WpEZ73CNmQviecrnyiWrnqRhWNLy", treasury, strings.ToUpper(treasury)} {
		if script, err := Payee(address.Mainnet, to); err != nil || len(script) == 0 {
			t.Errorf("read the payee %s: got %x, %v, want its script", to, script, err)
		}
		if _, err := Payee(address.Regtest, to); err == nil {
			t.Errorf("read the payee %s on regtest: got no error, want one", to)
		}
	}
	// A later witness version, which anybody could spend, and version 1 with another length.
	for _, to := range []string{"bc1zw508d6qejxtdg4y5r3zarvaryvaxxpcs", "bc1pfeessrawgf", ""} {
		if _, err := Payee(address.Mainnet, to); err == nil {
			t.Errorf("read the payee %q: got no error, want one", to)
		}
	}
}
