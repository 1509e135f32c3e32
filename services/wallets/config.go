package main

import (
	"errors"
	"fmt"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/services/wallets/internal/address"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

// common is what both roles read.
type common struct {
	Telemetry telemetry.Config
	Postgres  postgres.Config
	OpsAddr   string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz and /metrics; keep it private"`
	Drain     time.Duration `env:"DRAIN" envDefault:"10s" doc:"how long stopping may take"`
	Recovery  bool          `env:"RECOVERY" envDefault:"false" doc:"true after a restore of the database: every next index is moved past what may have been issued, and the 24 hours before the backup are scanned again (docs/runbooks/wallets-restore.md)"`
	World     worldSettings
}

// worldSettings say where addresses come from and what is scanned: the API refuses what no scanner would see.
type worldSettings struct {
	XpubTestBitcoin config.Secret `env:"XPUB_TEST_BITCOIN" doc:"account-level extended public key of test mode, m/84'/…/a'; never equal to the live one"`
	XpubTestEVM     config.Secret `env:"XPUB_TEST_EVM" doc:"the same for the EVM family, m/44'/60'/a'"`
	XpubTestTron    config.Secret `env:"XPUB_TEST_TRON" doc:"the same for tron, m/44'/195'/a'"`
	XpubLiveBitcoin config.Secret `env:"XPUB_LIVE_BITCOIN" doc:"account-level extended public key of live mode; while it is empty, requests for live bitcoin addresses wait"`
	XpubLiveEVM     config.Secret `env:"XPUB_LIVE_EVM" doc:"the same for the EVM family"`
	XpubLiveTron    config.Secret `env:"XPUB_LIVE_TRON" doc:"the same for tron"`
	BitcoinLive     string        `env:"BITCOIN_NETWORK_LIVE" envDefault:"mainnet" doc:"how live bitcoin addresses are written: mainnet, testnet or regtest"`

	Confirmations string `env:"CONFIRMATIONS" doc:"depths at which deposits are told, over the defaults of contract.md §5: ethereum=12,32;ethereum/USDT=6,12"`

	Live liveSettings
}

// serveSettings is what the HTTP API reads besides.
type serveSettings struct {
	HTTPAddr     string        `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API; only the gateway calls it"`
	IdentityKeys config.Secret `env:"IDENTITY_KEYS,required" doc:"comma separated base64 keys of 32 bytes; all verify the gateway's identities"`
}

// workSettings is what consumers, relay and scanners read besides.
type workSettings struct {
	Bus bus.Config

	AnnounceTest time.Duration `env:"SCANNED_EVERY_TEST" envDefault:"1s" doc:"least time between two wallets.scanned_through of a simulated network"`
	AnnounceLive time.Duration `env:"SCANNED_EVERY_LIVE" envDefault:"5s" doc:"the same for a live network"`
}

type migrateSettings struct {
	OwnerURL config.Secret `env:"DATABASE_OWNER_URL,required" doc:"PostgreSQL URL of the database's owner; used by migrate alone"`
}

func (s serveSettings) verifier(now func() time.Time) (httpkit.Verifier, error) {
	keys, err := httpkit.ParseIdentityKeys(s.IdentityKeys.Reveal())
	if err != nil {
		return httpkit.Verifier{}, fmt.Errorf("IDENTITY_KEYS: %w", err)
	}
	return httpkit.Verifier{Audience: service, Keys: keys, Now: now}, nil
}

// nets says how bitcoin addresses of each mode are written.
func (s worldSettings) nets() (map[wallet.Mode]address.Net, error) {
	live := address.Net(s.BitcoinLive)
	if live != address.Mainnet && live != address.Testnet && live != address.Regtest {
		return nil, fmt.Errorf("BITCOIN_NETWORK_LIVE: %q is none of mainnet, testnet, regtest", s.BitcoinLive)
	}
	return map[wallet.Mode]address.Net{wallet.Live: live, wallet.Test: address.Testnet}, nil
}

// sources opens the configured keys and refuses what would mix the two worlds.
func (s worldSettings) sources(nets map[wallet.Mode]address.Net) (app.Sources, error) {
	out := app.Sources{wallet.Live: {}, wallet.Test: {money.Solana: address.NewSandbox()}}
	var problems []error
	opened := map[string]address.Extended{}
	for _, k := range []struct {
		name   string
		text   config.Secret
		mode   wallet.Mode
		family money.Family
	}{
		{"XPUB_TEST_BITCOIN", s.XpubTestBitcoin, wallet.Test, money.Bitcoin},
		{"XPUB_TEST_EVM", s.XpubTestEVM, wallet.Test, money.EVM},
		{"XPUB_TEST_TRON", s.XpubTestTron, wallet.Test, money.Tron},
		{"XPUB_LIVE_BITCOIN", s.XpubLiveBitcoin, wallet.Live, money.Bitcoin},
		{"XPUB_LIVE_EVM", s.XpubLiveEVM, wallet.Live, money.EVM},
		{"XPUB_LIVE_TRON", s.XpubLiveTron, wallet.Live, money.Tron},
	} {
		if k.text == "" {
			continue
		}
		key, err := address.ParseExtended(k.text.Reveal())
		var account *address.Account
		if err == nil {
			account, err = address.NewAccount(k.family, nets[k.mode], key)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %w", k.name, err))
			continue
		}
		for other, twin := range opened {
			if twin.Same(key) {
				problems = append(problems, fmt.Errorf("%s and %s are one key: every mode and family needs its own", other, k.name))
			}
		}
		opened[k.name], out[k.mode][k.family] = key, account
	}
	return out, errors.Join(problems...)
}

// scanned says whether a network of a mode is scanned: every simulated one is, and a live one with endpoints.
func (s worldSettings) scanned(mode wallet.Mode, network string) bool {
	return mode == wallet.Test || len(s.Live.networks("")[network].urls()) > 0
}
