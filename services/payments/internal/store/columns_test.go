package store

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// encoded is a row in PostgreSQL's text format.
type encoded struct {
	types  *pgtype.Map
	oids   []uint32
	values [][]byte
}

// oids are PostgreSQL's types by the names that columns use.
var oids = map[string]uint32{
	"text": pgtype.TextOID, "bigint": pgtype.Int8OID, "integer": pgtype.Int4OID, "numeric": pgtype.NumericOID, "boolean": pgtype.BoolOID,
	"bytea": pgtype.ByteaOID, "timestamptz": pgtype.TimestamptzOID, "json": pgtype.JSONOID,
}

func (e *encoded) write(typ string, value any) error {
	b, err := e.types.Encode(oids[typ], pgtype.TextFormatCode, value, nil)
	e.oids, e.values = append(e.oids, oids[typ]), append(e.values, b)
	return err
}

// Scan implements pgx.Row.
func (e *encoded) Scan(into ...any) error {
	if len(into) != len(e.values) {
		return fmt.Errorf("%d targets for %d columns", len(into), len(e.values))
	}
	for i, oid := range e.oids {
		if err := e.types.Scan(oid, pgtype.TextFormatCode, e.values[i], into[i]); err != nil {
			return err
		}
	}
	return nil
}

// leaves calls f with the path and the value of each field, and of each field of its structs.
func leaves(path string, v reflect.Value, f func(path string, v reflect.Value)) {
	switch v.Interface().(type) {
	case decimal.Decimal, time.Time, []byte, []quote.Source, []quote.Tier:
		f(path, v)
		return
	}
	if v.Kind() != reflect.Struct {
		f(path, v)
		return
	}
	for i := range v.NumField() {
		leaves(strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i), f)
	}
}

// full returns a payment with a different value in every field.
func full(t *testing.T) payment.Payment {
	t.Helper()
	return filled(t, 0, "")
}

// filled returns a payment with a different value in every field: numbers after n, and texts with an end.
func filled(t *testing.T, n int, end string) (p payment.Payment) {
	t.Helper()
	at := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	leaves("", reflect.ValueOf(&p).Elem(), func(path string, v reflect.Value) {
		n++
		switch x := v.Addr().Interface().(type) {
		case *decimal.Decimal:
			*x = decimal.New(int64(n), -2)
		case *time.Time:
			*x = at.Add(time.Duration(n) * time.Second)
		case *[]byte:
			*x = []byte(path + end)
		case *[]quote.Source:
			*x = []quote.Source{{Name: path, Value: decimal.New(int64(n), 0), At: at}}
		case *[]quote.Tier:
			*x = []quote.Tier{{UpTo: decimal.New(int64(n), 0), Flat: decimal.New(int64(n), -2)}, {BPS: decimal.New(75, -1)}}
		case *bool:
			*x = true
		case *int:
			*x = n
		case *int64:
			*x = int64(n)
		default:
			if v.Kind() != reflect.String {
				t.Fatalf("%s: the test has no value of type %s", path, v.Type())
			}
			v.SetString(path + end)
		}
	})
	p.Quote.Network = "tron"
	p.Quote.Currency, p.Quote.ChargeFrom, p.Quote.FiatAmount = p.Currency, p.ChargeFrom, p.FiatAmount
	return p
}

func testVault(t *testing.T) vault {
	t.Helper()
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return vault{ring}
}

// Every field of a payment is written to a column and read from it again.
func TestColumns(t *testing.T) {
	s, want := testVault(t), full(t)
	r, err := s.recordOf(payment.Payment{}, want)
	if err != nil {
		t.Fatal(err)
	}
	row := encoded{types: pgtype.NewMap()}
	for _, c := range columns {
		v := value(c.at(r))
		if reflect.ValueOf(v).Kind() == reflect.Pointer {
			t.Errorf("value of column %s is a %T", c.name, v)
		}
		if whole(c) {
			if err := row.write(c.typ, v); err != nil {
				t.Errorf("encode %s: %v", c.name, err)
			}
		}
	}
	got, err := s.reader(whole).scan(&row)
	if err != nil {
		t.Fatal(err)
	}
	read := map[string]string{}
	leaves("", reflect.ValueOf(&got).Elem(), func(path string, v reflect.Value) { read[path] = fmt.Sprint(v.Interface()) })
	leaves("", reflect.ValueOf(&want).Elem(), func(path string, v reflect.Value) {
		if written := fmt.Sprint(v.Interface()); read[path] != written {
			t.Errorf("%s: wrote %s, read %s", path, written, read[path])
		}
	})
}

// The row of a usual write has the values that a write of all columns has, and no other column has changed.
func TestUsualRow(t *testing.T) {
	for name, before := range map[string]payment.Payment{"full": full(t), "pending": pending(t)} {
		changed := map[string]bool{}
		for n := range count(&before) {
			next := before
			path := changeLeaf(t, &next, n)
			row, ok := usualRow(before, next)
			if !ok {
				continue
			}
			changed[path] = true
			for _, c := range columns {
				if got, want := written(t, row, before, next, c); mutable(c) && !reflect.DeepEqual(got, want) {
					t.Errorf("%s: %s changes, and a usual write leaves %s = %v, want %v", name, path, c.name, got, want)
				}
			}
		}
		for _, path := range []string{ // what changes from pending to settled
			"Version", "Sequence", "Funding", "Timing", "Payout", "Closed", "Screening", "Received", "Transfers", "Credit.N", "Credit.Crypto",
			"Credit.Payout", "Credit.Fee", "Credit.FeeCrypto", "Credit.FeeUSD", "Credit.Frozen", "Attempt", "Holds", "DeadlineAt", "WaitsUntil",
			"ConfirmedAt", "SettledAt",
		} {
			if !changed[path] {
				t.Errorf("%s: a change of %s alone is written with all columns", name, path)
			}
		}
	}
}

// written returns what a usual write leaves in a column, and what a write of all columns would leave. Nobody can
// compare sealed values: null says that one stays.
func written(t *testing.T, row *record, before, next payment.Payment, c column) (got, want any) {
	t.Helper()
	of := func(before, p payment.Payment) any {
		r, err := testVault(t).recordOf(before, p)
		if err != nil {
			t.Fatal(err)
		}
		return value(c.at(r))
	}
	switch {
	case usual(c):
		return value(c.at(row)), of(before, next)
	case c.kind&isSealed != 0:
		return []byte(nil), of(before, next)
	}
	return of(payment.Payment{}, before), of(payment.Payment{}, next)
}

// pending returns a payment that has just been created.
func pending(t *testing.T) payment.Payment {
	t.Helper()
	draft := full(t)
	draft.Type, draft.Currency = payment.Transfer, money.NGN
	p, _, err := payment.Policy{Window: time.Hour, RequestWindow: time.Hour}.Apply(payment.Payment{}, payment.Create{Draft: draft}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func count(p *payment.Payment) (n int) {
	leaves("", reflect.ValueOf(p).Elem(), func(string, reflect.Value) { n++ })
	return n
}

// changeLeaf changes the nth field of a payment and returns its path.
func changeLeaf(t *testing.T, p *payment.Payment, n int) (changed string) {
	t.Helper()
	other := filled(t, 1000, " changed")
	other.Quote.Network = "bsc"
	var values []reflect.Value
	leaves("", reflect.ValueOf(&other).Elem(), func(_ string, v reflect.Value) { values = append(values, v) })
	at := 0
	leaves("", reflect.ValueOf(p).Elem(), func(path string, v reflect.Value) {
		if at == n {
			changed = path
			before := fmt.Sprint(v.Interface())
			if v.Kind() == reflect.Bool {
				v.SetBool(!v.Bool())
			} else {
				v.Set(values[n])
			}
			if fmt.Sprint(v.Interface()) == before {
				t.Fatalf("the test does not change %s", path)
			}
		}
		at++
	})
	return changed
}

// A create sets no field whose column the insert leaves at its default.
func TestNewborn(t *testing.T) {
	for _, of := range payment.Types() {
		draft := full(t)
		draft.Type, draft.Currency = of, money.NGN
		if of == payment.Request {
			draft.Quote, draft.Address = quote.Quote{}, ""
		}
		p, _, err := payment.Policy{Window: time.Hour, RequestWindow: time.Hour}.Apply(payment.Payment{}, payment.Create{Draft: draft}, time.Now())
		if err != nil {
			t.Fatalf("create a %s: %v", of, err)
		}
		r, err := testVault(t).recordOf(payment.Payment{}, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range columns {
			if got, want := value(c.at(r)), value(c.at(&record{})); !newborn(c) && !reflect.DeepEqual(got, want) {
				t.Errorf("a new %s has %s = %v, which the insert does not write", of, c.name, got)
			}
		}
	}
}
