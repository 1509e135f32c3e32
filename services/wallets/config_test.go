package main

import (
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/page"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/network"
)

// Published keys: BIP-84's account, and those of the local stack.
const (
	zpub84  = "zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs"
	xpub84  = "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"
	xpubEVM = "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
	private = "xprv9uHRZZhk6KAJC1avXpDAp4MDc3sQKNxDiPvvkX8Br5ngLNv1TxvUxt4cV1rGL5hj6KCesnDYUhd7oWgT11eZG7XnxHrnYeSvkzY7d2bhkJ7"
)

func TestConfigPage(t *testing.T) {
	type all struct {
		Common  common
		Serve   serveSettings
		Work    workSettings
		Migrate command.MigrateSettings
	}
	page.Section(t, "../../docs/config.md", "wallets", config.Describe[all]("wallets"))
}

// Start-up refuses a key that two slots share, in any notation, and a key of a kind that does not belong there.
func TestSources(t *testing.T) {
	nets := map[tenant.Mode]address.Net{tenant.Test: address.Testnet, tenant.Live: address.Mainnet}
	for name, c := range map[string]struct {
		set  chainSettings
		want string // in the error; "" for none
	}{
		"none":                     {chainSettings{}, ""},
		"different":                {chainSettings{XpubTestBitcoin: zpub84, XpubLiveEVM: xpubEVM}, ""},
		"test equals live":         {chainSettings{XpubTestEVM: xpubEVM, XpubLiveEVM: xpubEVM}, "one key"},
		"equal in another writing": {chainSettings{XpubTestBitcoin: zpub84, XpubLiveBitcoin: xpub84}, "one key"},
		"one key for two families": {chainSettings{XpubLiveTron: xpubEVM, XpubLiveEVM: xpubEVM}, "one key"},
		"a private key":            {chainSettings{XpubLiveEVM: private}, "extended private key"},
		"a typo":                   {chainSettings{XpubLiveTron: config.Secret(xpubEVM[:50] + "z" + xpubEVM[51:])}, "XPUB_LIVE_TRON"},
	} {
		t.Run(name, func(t *testing.T) {
			var sources keys.Sources
			given, err := c.set.keys()
			if err == nil {
				sources, err = keys.Keeper{Nets: nets}.Sources(given)
			}
			if (c.want == "") != (err == nil) || (err != nil && !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("open the sources: got %v, want %q", err, c.want)
			}
			if err != nil && (strings.Contains(err.Error(), "xpub") || strings.Contains(err.Error(), "xprv")) {
				t.Errorf("the error shows a key: %v", err)
			}
			if err == nil && sources[tenant.Test][money.Solana] == nil {
				t.Error("test mode has no solana pool")
			}
			if sources[tenant.Live][money.Solana] != nil {
				t.Error("live mode has the sandbox pool of solana")
			}
		})
	}
}

func TestSettings_bitcoin(t *testing.T) {
	for text, want := range map[string]address.Net{"": address.Mainnet, "mainnet": address.Mainnet, "testnet": address.Testnet, "regtest": address.Regtest, "signet": "", "any": ""} {
		environ := map[string]string{}
		if text != "" {
			environ["BITCOIN_NETWORK_LIVE"] = text
		}
		cfg, err := config.Read[chainSettings](environ)
		if got := cfg.nets()[tenant.Live]; got != want || (err == nil) != (want != "") {
			t.Errorf("read BITCOIN_NETWORK_LIVE=%s: got %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestWorkSettings_check(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		s    workSettings
		says string
	}{
		"usual":                    {workSettings{SimulatedEvery: 5 * time.Second, AnnounceLive: 5 * time.Second}, ""},
		"the longest":              {workSettings{SimulatedEvery: network.SimulatedBelow - 1, AnnounceLive: announceMost}, ""},
		"no blocks":                {workSettings{AnnounceLive: time.Second}, "SIMULATED_BLOCK_EVERY is 0s"},
		"rare blocks":              {workSettings{SimulatedEvery: network.SimulatedBelow, AnnounceLive: time.Second}, "SIMULATED_BLOCK_EVERY"},
		"no time between":          {workSettings{SimulatedEvery: time.Second}, "SCANNED_EVERY_LIVE is 0s"},
		"long between two of live": {workSettings{SimulatedEvery: time.Second, AnnounceLive: announceMost + 1}, "SCANNED_EVERY_LIVE"},
	} {
		err := c.s.check()
		if (err != nil) != (c.says != "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("check settings, %s: got %v, want an error with %q", name, err, c.says)
		}
	}
}

func TestRun_usage(t *testing.T) {
	for _, args := range [][]string{{"sreve"}, {"serve", "now"}, {"migrate", "up"}} {
		if err := program.Run(t.Context(), command.Input{Args: args}); err == nil || !strings.Contains(err.Error(), "usage") {
			t.Errorf("run %v: got %v, want the usage", args, err)
		}
	}
	if err := program.Run(t.Context(), command.Input{}); err == nil || !strings.Contains(err.Error(), "DATABASE_URL") {
		t.Errorf("run without settings: got %v, want an error that names DATABASE_URL", err)
	}
}
