package main

import (
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/page"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

func TestConfigPage(t *testing.T) {
	type all struct {
		Every   settings
		Serve   serveSettings
		Work    workSettings
		Migrate command.MigrateSettings
	}
	page.Section(t, "../../docs/config.md", wire.Payments, config.Describe[all](wire.Payments))
}

func TestProviders(t *testing.T) {
	real := map[string]string{"RATES_LIVE": "market", "RAIL_LIVE": "paystack,flutterwave", "PAYSTACK_KEY_NGN": "sk_live_x", "FLUTTERWAVE_KEY": "FLWSECK-x", "FLUTTERWAVE_HASH": "h"}
	with := func(changes ...string) map[string]string {
		out := maps.Clone(real)
		for i := 0; i < len(changes); i += 2 {
			out[changes[i]] = changes[i+1]
		}
		return out
	}
	for name, tc := range map[string]struct {
		environ map[string]string
		live    bool
		refused string // part of the refusal
	}{
		"live is closed":               {nil, false, ""},
		"simulated live":               {map[string]string{"RATES_LIVE": "fixed", "RAIL_LIVE": "sim"}, false, "ALLOW_SIMULATED_LIVE"},
		"simulated live, meant":        {map[string]string{"RATES_LIVE": "fixed", "RAIL_LIVE": "sim", "ALLOW_SIMULATED_LIVE": "true"}, true, ""},
		"live without a rail":          {map[string]string{"RATES_LIVE": "market"}, false, "RAIL_LIVE: is needed too"},
		"live without prices":          {with("RATES_LIVE", ""), false, "RATES_LIVE: is needed too"},
		"a rail that nobody knows":     {map[string]string{"RAIL_TEST": "swift"}, false, "no rail"},
		"prices that nobody knows":     {with("RATES_LIVE", "tea leaves"), false, "no source of prices"},
		"real live":                    {real, true, ""},
		"real prices, simulated rail":  {with("RAIL_LIVE", "sim"), false, "simulated rail"},
		"real rail, fixed prices":      {with("RATES_LIVE", "fixed"), false, "fixed prices"},
		"one rail of two is simulated": {with("RAIL_LIVE", "paystack,sim"), false, "simulated rail"},
		"paystack without a key":       {with("PAYSTACK_KEY_NGN", ""), false, "no currency has a secret key"},
		"paystack with a test key":     {with("PAYSTACK_KEY_GHS", "sk_test_x"), false, "test key"},
		"paystack without TLS":         {with("PAYSTACK_URL", "http://localhost:1"), false, "TLS"},
		"a fake paystack, meant":       {with("PAYSTACK_URL", "http://localhost:1", "ALLOW_SIMULATED_LIVE", "true"), true, ""},
		"flutterwave without a hash":   {with("FLUTTERWAVE_HASH", ""), false, "webhook hash is missing"},
		"flutterwave with a test key":  {with("FLUTTERWAVE_KEY", "FLWSECK_TEST-x"), false, "test key"},
		"a rail twice":                 {with("RAIL_LIVE", "paystack,paystack"), false, "twice"},
		"self":                         {with("RAIL_LIVE", "self"), true, ""},
		"a test network of bitcoin":    {with("BITCOIN_NETWORK_LIVE", "regtest"), false, "BITCOIN_NETWORK_LIVE is a test network"},
		"such a network, meant":        {with("BITCOIN_NETWORK_LIVE", "regtest", "ALLOW_SIMULATED_LIVE", "true"), true, ""},
		"no quorum of sources":         {with("RATE_SOURCES", "binance,quidax,paycrest,luno,open.er-api,coinbase-fx"), false, "coins needs two"},
		"an unknown source":            {with("RATE_SOURCES", "binance,kraken,quidax,paycrest,luno,open.er-api,coinbase-fx,oracle"), false, "no source"},
		"an address that is none":      {with("RATE_KRAKEN_URL", "kraken"), false, "kraken is not an http"},
		"spreads that are none":        {with("RATE_SPREADS", "coin=lots"), false, "RATE_SPREADS"},
		"limits that are none":         {with("RAIL_LIMITS", "paystack/NGN=5"), false, "RAIL_LIMITS"},
		"limits the wrong way round":   {with("RAIL_LIMITS", "paystack/NGN=5..4"), false, "RAIL_LIMITS"},
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
			providers, err := cfg.providers(outside{log: slog.New(slog.DiscardHandler)})
			if (err != nil) != (tc.refused != "") || (err != nil && !strings.Contains(err.Error(), tc.refused)) {
				t.Fatalf("error %v, want %q", err, tc.refused)
			}
			if err != nil && (strings.Contains(err.Error(), "sk_live_x") || strings.Contains(err.Error(), "FLWSECK-x")) {
				t.Errorf("the error shows a key: %v", err)
			}
			if _, open := providers[tenant.Live]; open != tc.live {
				t.Errorf("live open: %v", open)
			}
			if err == nil && !providers[tenant.Test].Rates.Simulated() {
				t.Error("test mode's prices are a market's")
			}
		})
	}
}

// RAIL_LIMITS and the rails' own rules reach their caps.
func TestRailLimits(t *testing.T) {
	cfg, err := config.Read[settings](map[string]string{
		"DATABASE_URL": "postgres://x", "MASTER_KEYS": "k1:key", "RATES_LIVE": "market", "RAIL_LIVE": "paystack", "PAYSTACK_KEY_KES": "sk_live_x",
	})
	if err != nil {
		t.Fatal(err)
	}
	providers, err := cfg.providers(outside{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	caps := providers[tenant.Live].Rail.Caps().Currencies[money.KES]
	if !caps.Whole || caps.Resolves || caps.Min.String() != "100" || caps.Max.String() != "150000" {
		t.Errorf("providers() gives KES the caps %+v, want whole amounts of 100 to 150000 without names", caps)
	}
	if !whole(providers)[payment.RailCurrency{Rail: "paystack", Currency: money.KES}] || len(whole(providers)) != 1 || len(markets(providers)) != 1 {
		t.Errorf("whole units %v, %d markets", whole(providers), len(markets(providers)))
	}
}

// A real rail has the schedule of real rails, whatever is beside it.
func TestRailTiming(t *testing.T) {
	for rails, want := range map[string]payout.Timing{
		"sim": payout.TestTiming(), "self,sim": payout.TestTiming(), "paystack,sim": payout.LiveTiming(), "self": payout.LiveTiming(), "paystack": payout.LiveTiming(),
	} {
		cfg, err := config.Read[settings](map[string]string{
			"DATABASE_URL": "postgres://x", "MASTER_KEYS": "k1:key", "RATES_LIVE": "market", "RAIL_LIVE": rails, "PAYSTACK_KEY_NGN": "sk_live_x",
			"ALLOW_SIMULATED_LIVE": "true",
		})
		if err != nil {
			t.Fatal(err)
		}
		providers, err := cfg.providers(outside{log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatalf("open %s: %v, want no error", rails, err)
		}
		if got := providers[tenant.Live].Timing; !reflect.DeepEqual(got, want) {
			t.Errorf("rails %s have the schedule %+v, want %+v", rails, got, want)
		}
	}
}

// MEMPOOL_HOLD reaches the policy, and may not be below zero.
func TestPolicy_mempoolHold(t *testing.T) {
	for _, hold := range []time.Duration{0, 3 * time.Hour, -time.Second} {
		policy, err := settings{WitnessUSD: "0", MempoolHold: hold}.policy()
		if (err != nil) != (hold < 0) || policy.MempoolHold != hold {
			t.Errorf("policy() with MEMPOOL_HOLD=%s = a hold of %s, %v; want the same hold, or an error below zero", hold, policy.MempoolHold, err)
		}
	}
	cfg, err := config.Read[settings](map[string]string{"DATABASE_URL": "postgres://x", "MASTER_KEYS": "k1:key"})
	if err != nil || cfg.MempoolHold != payment.Defaults().MempoolHold {
		t.Errorf("by default %s, %v", cfg.MempoolHold, err)
	}
}

// The required depths of CONFIRMATIONS reach the policy.
func TestPolicy_depths(t *testing.T) {
	for text, want := range map[string]int64{"": 12, "ethereum=3": 3, "ethereum=three": 0} {
		policy, err := settings{Confirmations: text, WitnessUSD: "1000"}.policy()
		if (err != nil) != (want == 0) {
			t.Fatalf("policy() with CONFIRMATIONS=%q = %v, want an error only of text that is no depth", text, err)
		}
		if got := policy.Depths.Required("ethereum", "ETH", decimal.NewFromInt(5)).Confirmations; want > 0 && got != want {
			t.Errorf("%q asks for %d confirmations", text, got)
		}
	}
}

// A second operator is the default in every currency; only a system that moves no real money may switch it off.
func TestSecondAbove(t *testing.T) {
	field, _ := reflect.TypeFor[settings]().FieldByName("SecondOperator")
	if field.Tag.Get("envDefault") != secondDefault {
		t.Error("the default of the setting is not that of a currency which is not named")
	}
	for text, want := range map[string]string{secondDefault: "1000000", "": "1000000", "GHS=5": "1000000", "NGN=7": "7"} {
		above, err := settings{SecondOperator: text}.secondAbove(true)
		if err != nil || len(above) != 4 || above[money.NGN].String() != want {
			t.Errorf("secondAbove() of %q = %v, %v; want 4 currencies and NGN above %s", text, above, err, want)
		}
	}
	if above, err := (settings{SecondOperator: "off"}).secondAbove(false); err != nil || above != nil {
		t.Errorf("off: %v, %v", above, err)
	}
	for text, real := range map[string]bool{"off": true, "NGN": false, "EUR=1": false, "NGN=-1": false} {
		if _, err := (settings{SecondOperator: text}).secondAbove(real); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

// Unmarked gifts have references without a code, which lead to the first shard.
func TestSettings_placed(t *testing.T) {
	for in, plain := range map[shard.Code]bool{"": true, shard.First: true, "K2": false} {
		if err := (serveSettings{MarkGifts: false}).placed(in); (err == nil) != plain {
			t.Errorf("MARK_GIFTS=false in shard %q: got %v, want it taken: %t", in, err, plain)
		}
		if err := (serveSettings{MarkGifts: true}).placed(in); err != nil {
			t.Errorf("MARK_GIFTS=true in shard %q: got %v, want no error", in, err)
		}
	}
}

// Money becomes unclaimed after a month at the earliest and ten years at the latest.
func TestSettings_unclaimedAfter(t *testing.T) {
	for after, want := range map[time.Duration]bool{719 * time.Hour: false, 720 * time.Hour: true, 8760 * time.Hour: true, 87_600 * time.Hour: true, 87_601 * time.Hour: false} {
		if err := (settings{UnclaimedAfter: after}).bounded(); (err == nil) != want {
			t.Errorf("UNCLAIMED_AFTER=%s: %v, want it taken: %t", after, err, want)
		}
	}
}

// Refunds of live mode open only on networks on which wallets can send them.
func TestRefundSettings_networks(t *testing.T) {
	got, err := refundSettings{Networks: []string{"ERC20", "polygon", "tron", "solana", "bitcoin"}}.networks()
	if err != nil || !slices.Equal(got, []string{"ethereum", "polygon", "tron", "solana", "bitcoin"}) {
		t.Errorf("networks() of erc20, polygon, tron, solana and bitcoin = %v, %v; want ethereum, polygon, tron, solana and bitcoin", got, err)
	}
	for _, name := range []string{"nowhere", ""} {
		if _, err := (refundSettings{Networks: []string{name}}).networks(); err == nil {
			t.Errorf("networks() of %q = no error, want it refused", name)
		}
	}
}
