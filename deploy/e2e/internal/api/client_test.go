package api

import "testing"

func TestRounding(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in             string
		digits         int
		up, down, half string
	}{
		{"15.62500", 4, "15.625", "15.625", "15.625"},
		{"15.93751", 4, "15.9376", "15.9375", "15.9375"},
		{"15.93755", 4, "15.9376", "15.9375", "15.9376"},
		{"0.001", 2, "0.01", "0", "0"},
		{"0.005", 2, "0.01", "0", "0.01"},
		{"7", 0, "7", "7", "7"},
	} {
		x := Rat(test.in)
		if Ceil(x, test.digits).Cmp(Rat(test.up)) != 0 || Floor(x, test.digits).Cmp(Rat(test.down)) != 0 || HalfUp(x, test.digits).Cmp(Rat(test.half)) != 0 {
			t.Errorf("round %s: got %s up, %s down and %s to the nearest; want %s, %s and %s", test.in, Ceil(x, test.digits), Floor(x, test.digits), HalfUp(x, test.digits), test.up, test.down, test.half)
		}
	}
}

func TestPaths(t *testing.T) {
	t.Parallel()
	a := Parse(t, []byte(`{"payment":{"charge":{"fiat":500.00},"settledAt":null,"transfers":[{"txHash":"a"},{"txHash":"b"}]},"error":{"fields":[{"field":"x"}]}}`))
	if a.Number(t, "payment.charge.fiat").Cmp(Rat("500")) != 0 || !a.Null("payment.settledAt") || a.Null("payment.absent") {
		t.Error("numbers or nulls are read wrong")
	}
	if a.Text(t, "payment.transfers.1.txHash") != "b" || a.Len(t, "payment.transfers") != 2 {
		t.Error("lists are read wrong")
	}
	if f := a.FieldErrors(); len(f) != 1 || f[0] != "x" {
		t.Errorf("fields %v", f)
	}
}
