package provider

import (
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/rail/self"
)

// After names the next rail that pays the bank; there is none after the last rail or an unknown one.
func TestSet_after(t *testing.T) {
	w := Set{Rail: payer{name: "a"}, Others: []rail.Provider{payer{name: "b", not: "058"}, payer{name: "c"}}}
	for _, c := range [][3]string{{"a", "058", "c"}, {"a", "044", "b"}, {"b", "058", "c"}, {"c", "058", ""}, {"d", "058", ""}} {
		if got := w.After(c[0], money.NGN, c[1]); got != c[2] {
			t.Errorf("after %s for %s comes %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

// payer pays every bank but one.
type payer struct {
	self.Rail
	name, not string
}

func (p payer) Name() string { return p.name }

func (p payer) Pays(_ money.Currency, bankCode string) bool { return bankCode != p.not }
