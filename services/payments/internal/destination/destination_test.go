package destination

import (
	"testing"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// Live mode sends bitcoin to addresses of its own net alone, which is the main one unless the policy names another.
// Test mode moves no money, so it takes those of every net.
func TestFits_nets(t *testing.T) {
	const (
		mainnet = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"
		testnet = "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx"
		regtest = "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"
	)
	for name, test := range map[string]struct {
		edit    func(*payment.Policy)
		mode    tenant.Mode
		refused map[string]string // by address
	}{
		"live":            {func(*payment.Policy) {}, tenant.Live, map[string]string{testnet: "belongs to a test network", regtest: "belongs to a test network"}},
		"live on regtest": {func(p *payment.Policy) { p.Bitcoin = address.Regtest }, tenant.Live, map[string]string{mainnet: "belongs to another network", testnet: "belongs to another network"}},
		"live on no net":  {func(p *payment.Policy) { p.Bitcoin = "" }, tenant.Live, map[string]string{mainnet: "belongs to another network", testnet: "belongs to another network", regtest: "belongs to another network"}},
		"test":            {func(*payment.Policy) {}, tenant.Test, nil},
	} {
		c := Checker{Policy: payment.Defaults()}
		test.edit(&c.Policy)
		for _, to := range []string{mainnet, testnet, regtest} {
			got := ""
			if err := c.Fits(payment.Payment{Mode: test.mode, Quote: quote.Quote{Network: "bitcoin"}}, Judged{Address: to}); err != nil {
				got = fault.As(err).Fields[0].Message
			}
			if got != test.refused[to] {
				t.Errorf("set the refund address %s in %s: got the refusal %q, want %q", to, name, got, test.refused[to])
			}
		}
	}
}
