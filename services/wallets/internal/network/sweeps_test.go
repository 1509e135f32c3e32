package network

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
)

// sendable is a driver that takes transactions.
type sendable struct{ chain.Driver }

func (sendable) Send(context.Context, []byte) error { return nil }

// Every family is swept only with a treasury of its own form, a signer, endpoints and matching settings.
func TestSweeps(t *testing.T) {
	for _, c := range []struct {
		network, prefix, treasury, want string
		resend                          time.Duration
	}{
		{"ethereum", "EVM_ETHEREUM_", "0xdac17f958d2ee523a2206206994597c13d831ec7", "0xdAC17F958D2ee523a2206206994597C13D831ec7", 30 * time.Second},
		{"tron", "TRON_", "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC", "TMVQGm1qAQYVdetCeGRRkTWYYrLXuHK2HC", 15 * time.Second},
		{"solana", "SOLANA_", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB", 20 * time.Second},
		{"bitcoin", "BITCOIN_", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", 30 * time.Second},
	} {
		at := scanner.Chain{Mode: tenant.Live, Network: c.network}
		scanned := map[scanner.Chain]scanner.Reader{at: {Driver: sendable{}}}
		for name, when := range map[string]struct {
			settings map[string]string
			change   func(c *Chains)
			signer   bool
			want     string // in the error; "" for none
			swept    int
		}{
			"whole":          {nil, nil, true, "", 1},
			"no treasury":    {map[string]string{"SWEEP_TREASURY": ""}, nil, false, "", 0},
			"closed":         {nil, func(c *Chains) { c.Closed = Closed{at: errors.New("other keys")} }, true, "", 0},
			"no signer":      {nil, nil, false, "SIGNER_SOCKET", 0},
			"no endpoints":   {nil, func(c *Chains) { c.readers = nil }, true, "RPC URLs", 0},
			"foreign form":   {map[string]string{"SWEEP_TREASURY": "treasury"}, nil, true, "treasury of " + c.network, 0},
			"unlisted asset": {map[string]string{"SWEEP_LEAST": "DOGE:1"}, nil, true, "DOGE", 0},
		} {
			t.Run(c.network+", "+name, func(t *testing.T) {
				environ := map[string]string{c.prefix + "SWEEP_TREASURY": c.treasury}
				for key, value := range when.settings {
					environ[c.prefix+key] = value
				}
				set, err := config.Read[Settings](environ)
				if err != nil {
					t.Fatalf("read the settings: %v", err)
				}
				chains := &Chains{Options: Options{Networks: set, Bitcoin: address.Mainnet}, readers: scanned}
				if when.change != nil {
					when.change(chains)
				}
				all, err := chains.Sweeps(when.signer)
				if (err == nil) != (when.want == "") || err != nil && !strings.Contains(err.Error(), when.want) || len(all) != when.swept {
					t.Fatalf("open the sweeps: got %+v, %v, want %d and an error with %q", all, err, when.swept, when.want)
				}
				if when.swept == 1 && (all[0].Network != c.network || all[0].Treasury != c.want || all[0].Coin == "" || all[0].Resend != c.resend) {
					t.Errorf("open the sweep: got %+v, want the treasury %s and %s until it is sent again", all[0], c.want, c.resend)
				}
			})
		}
	}
}
