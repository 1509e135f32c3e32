package soltx

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// refundOf is a refund to an owner.
func refundOf(native bool) Refund {
	r := Refund{
		Station: placeOf("station"), NonceAt: placeOf("nonce"), Nonce: sha256.Sum256([]byte("causeway soltx value")),
		UnitLimit: 70_000, UnitPrice: 12_345, To: placeOf("payer"), Amount: 5_000_001,
	}
	if !native {
		r.Mint, r.Decimals = usdc, 6
	}
	return r
}

func signedRefund(t testing.TB, r Refund) []byte {
	t.Helper()
	message, err := r.Message()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := r.Signed(ed25519.Sign(keyOf("station"), message))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// Any refund is read back as it was written.
func TestParseRefund_roundTrip(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		tx := refundOf(rapid.Bool().Draw(r, "native"))
		tx.UnitLimit, tx.UnitPrice = rapid.Uint32Range(1, 1_400_000).Draw(r, "limit"), rapid.Uint64().Draw(r, "price")
		tx.Amount = rapid.Uint64Min(1).Draw(r, "amount")
		got, err := ParseRefund(signedRefund(t, tx))
		if err != nil || fmt.Sprint(got) != fmt.Sprint(tx) {
			r.Fatalf("parse a refund: got %+v, %v, want %+v", got, err, tx)
		}
	})
}

// One changed bit is another transaction, or nothing at all.
func TestParseRefund_changedBit(t *testing.T) {
	for _, native := range []bool{true, false} {
		raw := signedRefund(t, refundOf(native))
		for i := 0; i < len(raw)*8; i += sampled {
			other := bytes.Clone(raw)
			other[i/8] ^= 1 << (i % 8)
			if got, err := ParseRefund(other); err == nil {
				t.Errorf("parse a refund with bit %d changed: got %+v, want an error", i, got)
			}
		}
		for n := range raw {
			if _, err := ParseRefund(raw[:n]); err == nil {
				t.Errorf("parse %d bytes of %d: got no error, want one", n, len(raw))
			}
		}
		if _, err := ParseRefund(append(bytes.Clone(raw), 0)); err == nil {
			t.Error("parse a refund with a trailing byte: got no error, want one")
		}
		if _, err := Parse(raw); err == nil {
			t.Error("parse a refund as a sweep: got no error, want one")
		}
	}
}

func TestRefund_refuses(t *testing.T) {
	for name, change := range map[string]func(r *Refund){
		"no amount":                    func(r *Refund) { r.Amount = 0 },
		"no limit":                     func(r *Refund) { r.UnitLimit = 0 },
		"no nonce":                     func(r *Refund) { r.Nonce = Account{} },
		"SOL with decimals":            func(r *Refund) { r.Mint = Account{} },
		"the station as payer":         func(r *Refund) { r.To = r.Station },
		"the nonce account as payer":   func(r *Refund) { r.To = r.NonceAt },
		"a program as payer":           func(r *Refund) { r.To = tokenProgram },
		"the mint as payer":            func(r *Refund) { r.To = r.Mint },
		"the station's token account":  func(r *Refund) { r.To, _ = TokenAccount(r.Station, r.Mint) },
		"the station as nonce account": func(r *Refund) { r.NonceAt = r.Station },
	} {
		tx := refundOf(false)
		change(&tx)
		if _, err := tx.Message(); err == nil {
			t.Errorf("write a refund with %s: got no error, want one", name)
		}
	}
	if got := refundOf(false).Cost().String(); got != "2045145" { // 5000, 865 for the units, and the rent
		t.Errorf("count the cost of a token's refund: got %s, want 2045145", got)
	}
}
