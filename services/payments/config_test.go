package main

import (
	"testing"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/config"
	"causeway.internal/libs/testkit/page"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payment"
)

func TestConfigPage(t *testing.T) {
	type all struct {
		Every   settings
		Serve   serveSettings
		Work    workSettings
		Migrate migrateSettings
	}
	page.Section(t, "../../docs/config.md", wire.Payments, config.Describe[all](wire.Payments))
}

func TestWorlds(t *testing.T) {
	for name, tc := range map[string]struct {
		environ map[string]string
		live    bool
		refused bool
	}{
		"live is closed":           {nil, false, false},
		"simulated live":           {map[string]string{"RATES_LIVE": "fixed", "RAIL_LIVE": "sim"}, false, true},
		"simulated live, meant":    {map[string]string{"RATES_LIVE": "fixed", "RAIL_LIVE": "sim", "ALLOW_SIMULATED_LIVE": "true"}, true, false},
		"live without a rail":      {map[string]string{"RATES_LIVE": "fixed", "ALLOW_SIMULATED_LIVE": "true"}, false, true},
		"a rail that nobody knows": {map[string]string{"RAIL_TEST": "swift"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			environ := map[string]string{"DATABASE_URL": "postgres://x", "MASTER_KEYS": "k1:key"}
			for k, v := range tc.environ {
				environ[k] = v
			}
			cfg, err := config.Read[settings](environ)
			if err != nil {
				t.Fatal(err)
			}
			worlds, err := cfg.worlds(nil)
			if (err != nil) != tc.refused {
				t.Fatalf("error %v", err)
			}
			if _, open := worlds[payment.Live]; open != tc.live {
				t.Errorf("live open: %v", open)
			}
		})
	}
}

// The required depths of CONFIRMATIONS reach the policy.
func TestPolicy_depths(t *testing.T) {
	for text, want := range map[string]int64{"": 12, "ethereum=3": 3, "ethereum=three": 0} {
		policy, err := settings{Confirmations: text}.policy()
		if (err != nil) != (want == 0) {
			t.Fatalf("%q: %v", text, err)
		}
		if got := policy.Depths.Required("ethereum", "ETH", decimal.NewFromInt(5)).Confirmations; want > 0 && got != want {
			t.Errorf("%q asks for %d confirmations", text, got)
		}
	}
}
