package main

import (
	"errors"
	"fmt"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/network"
	"causeway.internal/services/wallets/internal/wallet"
)

// common is what both roles read.
type common struct {
	Telemetry  telemetry.Config
	Postgres   postgres.Config
	OpsAddr    string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`
	Drain      time.Duration `env:"DRAIN" envDefault:"10s" doc:"longest time of a stop"`
	MasterKeys config.Secret `env:"MASTER_KEYS,required" doc:"comma separated id:base64(32 bytes); the first seals the extended public keys in the database, all open"`
	EventKeys  config.Secret `env:"EVENT_KEYS" doc:"comma separated id:base64(32 bytes), shared with callback-dispatcher, which gets a new key first; the first seals the bodies of events on their way to it. Empty: bodies are in the clear"`
	Recovery   bool          `env:"RECOVERY" envDefault:"false" doc:"true after a restore of the database: wallets moves every next index past all that may have been issued, and scans the 24 hours before the backup again (docs/runbooks/wallets-restore.md)"`
	Margin     int64         `env:"RECOVERY_MARGIN" envDefault:"100000" doc:"number of addresses of each family that a recovery skips and scans: more than can have been made since the backup"`
	Chains     chainSettings
}

// chainSettings say where addresses come from and what is scanned: the API refuses networks that no scanner reads.
type chainSettings struct {
	XpubTestBitcoin config.Secret `env:"XPUB_TEST_BITCOIN" doc:"account-level extended public key of test mode, m/84'/…/a'; never equal to the live one. The first start stores each key sealed in the database. After that it may be left out here; a different key closes its networks"`
	XpubTestEVM     config.Secret `env:"XPUB_TEST_EVM" doc:"the same for the EVM family, m/44'/60'/a'"`
	XpubTestTron    config.Secret `env:"XPUB_TEST_TRON" doc:"the same for tron, m/44'/195'/a'"`
	XpubLiveBitcoin config.Secret `env:"XPUB_LIVE_BITCOIN" doc:"account-level extended public key of live mode; while it is empty, requests for live bitcoin addresses wait"`
	XpubLiveEVM     config.Secret `env:"XPUB_LIVE_EVM" doc:"the same for the EVM family"`
	XpubLiveTron    config.Secret `env:"XPUB_LIVE_TRON" doc:"the same for tron"`
	BatchKey        string        `env:"ADDRESS_BATCH_KEY" doc:"base64 of the ed25519 key that signs the signer's address batches (signer xpubs prints it); while it is empty, requests for live solana addresses wait"`
	PoolLow         int64         `env:"ADDRESS_POOL_LOW" envDefault:"5000" doc:"number of imported addresses below which wallets_address_pool raises the alert AddressPoolLow"`
	BitcoinLive     address.Net   `env:"BITCOIN_NETWORK_LIVE" envDefault:"mainnet" doc:"network of live bitcoin addresses: mainnet, testnet or regtest"`

	Confirmations string `env:"CONFIRMATIONS" doc:"depths at which wallets publishes a deposit again, over the defaults of docs/api-contract.md#networks: ethereum=12,32;ethereum/USDT=6,12"`

	Live network.Settings
}

// serveSettings is what the HTTP API reads in addition.
type serveSettings struct {
	HTTPAddr string     `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API; only the gateway calls it"`
	Shard    shard.Code `env:"SHARD" envDefault:"AA" doc:"two characters at the end of the ids of new objects: the shard that this process belongs to, by which the gateway finds it. none: no code, as in names of earlier releases, while an earlier gateway or service runs, which answers 404 to a code (docs/deploy.md)"`
	Identity httpkit.IdentitySettings
}

// workSettings is what consumers, relay and scanners read in addition.
type workSettings struct {
	Bus bus.Config

	SimulatedEvery time.Duration `env:"SIMULATED_BLOCK_EVERY" envDefault:"5s" doc:"time between two blocks of a simulated network while no deposit waits for one; a payment of test mode expires with the next block after its window; above 0 and below 10 minutes"`
	AnnounceTest   time.Duration `env:"SCANNED_EVERY_TEST" envDefault:"1s" doc:"least time between two wallets.scanned_through of a simulated network; while its scan does not move, every whole three times that since the process began; payments closes a network that is silent for its SCAN_SILENCE"`
	SignerSocket   string        `env:"SIGNER_SOCKET" doc:"path of the signer's unix socket; needed when a network has a treasury"`
	SweepEvery     time.Duration `env:"SWEEP_EVERY" envDefault:"5s" doc:"pause between two rounds of sweeping on a network"`
	BalancesEvery  time.Duration `env:"BALANCES_EVERY" envDefault:"24h" doc:"time in which wallets compares the native balances of all addresses with the books once, on EVM networks without TRACE; one call for each address and network"`
	HoldingsEvery  time.Duration `env:"HOLDINGS_EVERY" envDefault:"5m" doc:"time between two readings of what a live network has at the addresses of this system, for the report of the treasury (GET /v1/admin/treasury); above 0 and below half an hour"`
	AnnounceLive   time.Duration `env:"SCANNED_EVERY_LIVE" envDefault:"5s" doc:"the same for a live network; above 0 and at most 10 seconds, because a minute of silence stops refunds"`
}

// announceMost bounds the time between two announcements of a live scan. After a minute without one refunds stop and
// payments closes the network, and a scan that does not move announces itself every third time only.
const announceMost = 10 * time.Second

// check refuses intervals at which the product does not work.
func (s workSettings) check() error {
	if s.SimulatedEvery <= 0 || s.SimulatedEvery >= network.SimulatedBelow {
		return fmt.Errorf("SIMULATED_BLOCK_EVERY is %s; it must be above 0 and below %s", s.SimulatedEvery, network.SimulatedBelow)
	}
	if s.AnnounceLive <= 0 || s.AnnounceLive > announceMost {
		return fmt.Errorf("SCANNED_EVERY_LIVE is %s; it must be above 0 and at most %s", s.AnnounceLive, announceMost)
	}
	return nil
}

// keeper makes the keeper of the keys, which has no store yet.
func (c common) keeper() (k keys.Keeper, err error) {
	if k.Ring, err = keyring.Parse(c.MasterKeys.Reveal()); err != nil {
		return k, fmt.Errorf("MASTER_KEYS: %w", err)
	}
	k.Nets = c.Chains.nets()
	if c.Chains.BatchKey == "" {
		return k, nil
	}
	if k.Pinned, err = intent.ParseBatchKey(c.Chains.BatchKey); err != nil {
		return k, fmt.Errorf("ADDRESS_BATCH_KEY %w", err)
	}
	return k, nil
}

// nets says how bitcoin addresses of each mode are written.
func (s chainSettings) nets() map[tenant.Mode]address.Net {
	return map[tenant.Mode]address.Net{tenant.Live: s.BitcoinLive, tenant.Test: address.Testnet}
}

// keys reads the configured keys and refuses keys that would mix live and test mode.
func (s chainSettings) keys() (keys.Set, error) {
	out := keys.Set{}
	var problems []error
	for slot, text := range map[wallet.Slot]config.Secret{
		{Mode: tenant.Test, Family: money.Bitcoin}: s.XpubTestBitcoin,
		{Mode: tenant.Test, Family: money.EVM}:     s.XpubTestEVM,
		{Mode: tenant.Test, Family: money.Tron}:    s.XpubTestTron,
		{Mode: tenant.Live, Family: money.Bitcoin}: s.XpubLiveBitcoin,
		{Mode: tenant.Live, Family: money.EVM}:     s.XpubLiveEVM,
		{Mode: tenant.Live, Family: money.Tron}:    s.XpubLiveTron,
	} {
		if text == "" {
			continue
		}
		key, err := derivation.ParseExtended(text.Reveal())
		if err != nil {
			problems = append(problems, fmt.Errorf("%s %w", slot.Setting(), err))
			continue
		}
		out[slot] = key
	}
	return out, errors.Join(append(problems, out.Distinct())...)
}
