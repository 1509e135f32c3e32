package store

import (
	"encoding/json"
	"testing"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"
	"pgregory.net/rapid"

	"causeway.internal/services/payments/internal/payment"
)

// A number has the value that pgx reads, and the decimal places of the column, whether it fits a machine word or not.
func TestNumericCodec(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	m.RegisterType(numerics)
	rapid.Check(t, func(t *rapid.T) {
		coefficient := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-1000, 1000), rapid.Just(int64(0))).Draw(t, "coefficient")
		want := decimal.New(coefficient, rapid.Int32Range(-24, 8).Draw(t, "exponent"))
		if rapid.Bool().Draw(t, "large") {
			want = want.Mul(decimal.New(rapid.Int64().Draw(t, "factor"), 0))
		}
		raw, err := m.Encode(pgtype.NumericOID, pgtype.BinaryFormatCode, pgtype.Numeric{Int: want.Coefficient(), Exp: want.Exponent(), Valid: true}, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got, slow number
		if err := m.Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, raw, &got); err != nil {
			t.Fatal(err)
		}
		if err := pgtype.NewMap().Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, raw, &slow); err != nil {
			t.Fatal(err)
		}
		if d := decimal.Decimal(got); !d.Equal(want) || !d.Equal(decimal.Decimal(slow)) {
			t.Errorf("%s was read as %s, and by pgx as %s", want, d, decimal.Decimal(slow))
		}
	})
}

// Bytes that are no finite numeric are refused, as pgx refuses them.
func TestNumericCodec_refuses(t *testing.T) {
	t.Parallel()
	m := pgtype.NewMap()
	m.RegisterType(numerics)
	for name, raw := range map[string][]byte{
		"null": nil, "NaN": {0, 0, 0, 0, 0xC0, 0, 0, 0}, "infinity": {0, 0, 0, 0, 0xD0, 0, 0, 0}, "short": {0, 1, 0, 0, 0, 0, 0, 0}, "empty": {},
	} {
		var n number
		if err := m.Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, raw, &n); err == nil {
			t.Errorf("%s was read as %s, want an error", name, decimal.Decimal(n))
		}
	}
}

func FuzzWord(f *testing.F) {
	f.Add([]byte{0, 2, 0, 0, 0, 0, 0, 2, 0, 12, 0x13, 0x88})
	f.Add([]byte{0, 1, 0, 1, 0x40, 0, 0, 0, 0, 5})
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, ok := word(raw)
		if !ok {
			return
		}
		var slow number
		if err := pgtype.NewMap().Scan(pgtype.NumericOID, pgtype.BinaryFormatCode, raw, &slow); err != nil || !d.Equal(decimal.Decimal(slow)) {
			t.Errorf("%x was read as %s, and by pgx as %s, %v", raw, d, decimal.Decimal(slow), err)
		}
	})
}

// A receiver is read as encoding/json reads it, or left to it.
func FuzzReadReceiver(f *testing.F) {
	for _, r := range []payment.Receiver{
		{}, {BankCode: "058", BankName: "GTBank", AccountNumber: "0123456789", AccountName: "ADA OBI", NameVerified: true}, {BankName: `"A" & Söhne`},
	} {
		raw, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var quick, want payment.Receiver
		if !readReceiver(raw, &quick) {
			return
		}
		if err := json.Unmarshal(raw, &want); err != nil || quick != want {
			t.Errorf("%q was read as %+v, want %+v, %v", raw, quick, want, err)
		}
	})
}

// The receiver of an ordinary payment needs no help.
func TestReadReceiver(t *testing.T) {
	t.Parallel()
	want := payment.Receiver{BankCode: "058", BankName: "Zenith Bänk", AccountNumber: "0123456789", AccountName: "ADA OBI", NameVerified: true}
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got payment.Receiver
	if !readReceiver(raw, &got) || got != want {
		t.Errorf("%s was read as %+v", raw, got)
	}
}
