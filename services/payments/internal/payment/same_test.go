package payment

import (
	"reflect"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/quote"
)

// A change of any one field, nested or not, makes payments differ, so no change is dropped.
func TestSame(t *testing.T) {
	at := time.Date(2026, 4, 1, 13, 0, 0, 0, time.UTC)
	base := func() Payment {
		var p Payment
		p.Quote.Fees.Tiers = make([]quote.Tier, 1)
		p.Quote.Rate.Sources = make([]quote.Source, 1)
		p.Quote.Rate.Excluded = make([]quote.Source, 1)
		return p
	}
	fields := 0
	var walk func(name string, path func(*Payment) reflect.Value, of reflect.Type)
	walk = func(name string, path func(*Payment) reflect.Value, of reflect.Type) {
		var changed any
		switch of {
		case reflect.TypeFor[decimal.Decimal]():
			changed = decimal.New(1, -8)
		case reflect.TypeFor[time.Time]():
			changed = at
		case reflect.TypeFor[[]byte]():
			changed = []byte("x")
		}
		switch {
		case changed != nil:
		case of.Kind() == reflect.Struct:
			for i := range of.NumField() {
				walk(name+"."+of.Field(i).Name, func(p *Payment) reflect.Value { return path(p).Field(i) }, of.Field(i).Type)
			}
			return
		case of.Kind() == reflect.Slice:
			walk(name+"[0]", func(p *Payment) reflect.Value { return path(p).Index(0) }, of.Elem())
			changed = reflect.MakeSlice(of, 2, 2).Interface()
		case of.Kind() == reflect.String:
			changed = "x"
		case of.Kind() == reflect.Bool:
			changed = true
		case of.Kind() == reflect.Int, of.Kind() == reflect.Int64:
			changed = int64(1)
		default:
			t.Fatalf("%s: the test has no value of type %s", name, of)
		}
		p := base()
		path(&p).Set(reflect.ValueOf(changed).Convert(of))
		if fields++; same(base(), p) || same(p, base()) {
			t.Errorf("a payment with another %s is the same, want different", name)
		}
	}
	walk("Payment", func(p *Payment) reflect.Value { return reflect.ValueOf(p).Elem() }, reflect.TypeFor[Payment]())
	if fields < 80 {
		t.Errorf("changed %d fields, want 80 or more", fields)
	}
	if !same(base(), base()) {
		t.Error("a payment differs from itself")
	}
	for _, c := range []struct{ a, b Payment }{
		{Payment{Received: decimal.RequireFromString("1.50")}, Payment{Received: decimal.RequireFromString("1.5")}},
		{Payment{ExpiresAt: at}, Payment{ExpiresAt: at.In(time.FixedZone("Lagos", 3600))}},
		{Payment{Metadata: nil}, Payment{Metadata: []byte{}}},
	} {
		if !same(c.a, c.b) {
			t.Errorf("%+v and %+v differ, want the same", c.a, c.b)
		}
	}
}

func BenchmarkSame(b *testing.B) {
	p := Payment{ID: "pay_1", Received: decimal.New(3125, -2), ExpiresAt: time.Now(), Metadata: make([]byte, 4096)}
	b.ReportAllocs()
	for b.Loop() {
		same(p, p)
	}
}
