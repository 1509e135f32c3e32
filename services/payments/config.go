package main

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/address"
	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/refunds"
)

// nameWaitTest is how long a sandbox payout waits for a name. Then it goes on without one, so that the magic account
// whose name service is down is paid too.
const nameWaitTest = 2 * time.Second

// placeSettings say what the names of new objects carry.
type placeSettings struct {
	Shard shard.Code `env:"SHARD" envDefault:"AA" doc:"two characters at the end of the ids of new objects, and after CW- or CW-G in new references: the shard that this process belongs to, by which the gateway finds it. none: no code, as in names of earlier releases, while an earlier gateway or service runs, which answers 404 to a code (docs/deploy.md)"`
}

// settings are those that every role reads.
type settings struct {
	Postgres           postgres.Config
	Telemetry          telemetry.Config
	Rates              rateSettings
	Rails              railSettings
	OpsAddr            string        `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`
	Drain              time.Duration `env:"DRAIN" envDefault:"25s" doc:"longest time of a stop; payments asks about an order that was cut off on the wire, and never sends it again"`
	Place              placeSettings
	AddressStock       int           `env:"ADDRESS_STOCK" envDefault:"1024" doc:"least target of the stock of free deposit addresses per mode and network family"`
	PublicURL          string        `env:"PUBLIC_URL" doc:"base URL under which payers reach the pages, without a trailing slash; empty leaves checkoutUrl out"`
	RatesTest          string        `env:"RATES_TEST" envDefault:"fixed" doc:"source of test mode's prices: fixed, a fixed table, or market"`
	RatesLive          string        `env:"RATES_LIVE" doc:"source of live mode's prices: market (docs/rates.md); empty keeps live mode closed"`
	RailTest           string        `env:"RAIL_TEST" envDefault:"sim" doc:"rail of test mode's payouts: sim"`
	RailLive           string        `env:"RAIL_LIVE" doc:"comma separated rails of live mode's payouts in the order in which they are tried: paystack, flutterwave, self (docs/rails.md); empty keeps live mode closed"`
	Confirmations      string        `env:"CONFIRMATIONS" doc:"depths that confirm a transfer, over the defaults of docs/api-contract.md#networks: ethereum=12;ethereum/USDT=<1000:12,32;bsc=final|90, where <usd: bounds a tier"`
	MempoolHold        time.Duration `env:"MEMPOOL_HOLD" envDefault:"2h" doc:"time after expiresAt for which a payment stays open for a transaction that a mempool showed in time, or whose block left the chain; mined later, it is late money"`
	WitnessUSD         string        `env:"WITNESS_USD_LIVE" envDefault:"1000" doc:"worth in US dollars above which a live payment is confirmed only once a second RPC host has confirmed its deposits; where one host serves the network, a person decides (docs/networks.md); 0: never"`
	RefundHold         time.Duration `env:"REFUND_ADDRESS_HOLD" envDefault:"24h" doc:"time after a change of a payment's refund address in which no refund leaves; test mode has none"`
	AccountHold        time.Duration `env:"SETTLEMENT_ACCOUNT_HOLD" envDefault:"24h" doc:"time after the confirmation of a merchant's settlement account in which no money leaves to it; test mode has none"`
	UnclaimedAfter     time.Duration `env:"UNCLAIMED_AFTER" envDefault:"8760h" doc:"time for which nothing has moved on the accounts of money that is owed, after which two operators may book it as unclaimed; from 720h to 87600h (docs/operators.md)"`
	SanctionsFile      string        `env:"SANCTIONS_FILE" doc:"file of sanctioned addresses, one a line or JSON; read again every 20 s, so that it is replaced without a restart; empty uses the list in the program (docs/runbooks/payments-operations.md#screening)"`
	SanctionsMaxAge    time.Duration `env:"SANCTIONS_MAX_AGE" envDefault:"168h" doc:"age of the list of sanctioned addresses, by the time that it states or else the time of its file, from which on no live crypto is sent; money still comes in; 0: any age"`
	SecondOperator     string        `env:"SECOND_OPERATOR_ABOVE" envDefault:"NGN=1000000,GHS=10000,KES=90000,ZAR=12000" doc:"amounts above which an operator's accept, retry, refund, ask or conclude needs a second operator; a currency that is not named keeps its default; a retry of a live payment to another account then needs two at any amount; off: one operator always suffices, refused where live mode moves real money (docs/operators.md)"`
	Limits             limitSettings
	MasterKeys         config.Secret `env:"MASTER_KEYS,required" doc:"comma separated id:base64(32 bytes); the first seals stored values, all open them"`
	TokenKeys          config.Secret `env:"SETTLEMENT_TOKEN_KEYS" doc:"comma separated id:base64(32 bytes), shared with callback-dispatcher alone; the first seals settlement tokens inside payment.confirmed. Empty: that event has no token and the caller asks for one"`
	EventKeys          config.Secret `env:"EVENT_KEYS" doc:"comma separated id:base64(32 bytes), shared with callback-dispatcher, which gets a new key first; the first seals the bodies of events on their way to it. Empty: bodies are in the clear"`
	FamiliesLive       []string      `env:"ADDRESS_FAMILIES_LIVE" envDefault:"bitcoin,evm,tron" doc:"network families that live mode keeps addresses of and offers to payers"`
	BitcoinLive        address.Net   `env:"BITCOIN_NETWORK_LIVE" envDefault:"mainnet" doc:"network of live bitcoin addresses, as in wallets: mainnet, testnet or regtest; live mode takes refund addresses of no other. Another network than mainnet needs ALLOW_SIMULATED_LIVE where live mode is open"`
	ScanSilence        time.Duration `env:"SCAN_SILENCE" envDefault:"60s" doc:"silence of wallets about a network after which it closes: no new payments on it, and payouts of its deposits wait"`
	Recovery           bool          `env:"RECOVERY" envDefault:"false" doc:"true after a restore of the database: payments discards old addresses, asks about every payout before it sends one, sends no withdrawal and takes no refund of live mode, and lets no payment expire (docs/runbooks/payments-restore.md)"`
	AllowSimulatedLive bool          `env:"ALLOW_SIMULATED_LIVE" envDefault:"false" doc:"lets simulated prices and rails and a test network of bitcoin serve live mode; for test networks only"`
}

// serveSettings are those of the role serve.
type serveSettings struct {
	HTTPAddr     string `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the API, for the gateway alone"`
	Identity     httpkit.IdentitySettings
	AllowTest    []netip.Prefix `env:"CALLBACK_ALLOW_TEST" doc:"comma separated CIDRs that test-mode callbacks may reach besides public addresses"`
	AllowLive    []netip.Prefix `env:"CALLBACK_ALLOW_LIVE" doc:"comma separated CIDRs that live callbacks may reach besides public addresses; for test networks only"`
	MarkGifts    bool           `env:"MARK_GIFTS" envDefault:"true" doc:"true starts a gift's reference with CW-G, so that every service recognises the bearer secret; false while a gateway or a payments of an earlier release runs, which answers 404 to it (docs/deploy.md)"`
	Credit       bool           `env:"CREDIT_BALANCES" envDefault:"true" doc:"true lets merchants choose that their payments are credited to their balance: 503 balance_unavailable otherwise; false while a payments of an earlier release runs, which leaves such a payment to its merchant (docs/deploy.md)"`
	Refunds      refundSettings
	Draws        drawSettings
	AddressBlock int `env:"ADDRESS_BLOCK" envDefault:"256" doc:"number of deposit addresses that a process leases at once"`
}

// refundSettings are those of refunds on a chain.
type refundSettings struct {
	AutomaticKey  config.Secret `env:"ORDER_AUTOMATIC_KEY" doc:"base64 of the 32 bytes of the ed25519 seed that signs the orders of refunds which approve themselves; the signer of wallets pins its public key. Without both keys live mode takes no refunds on a chain: 409 refunds_closed"`
	OperatorKey   config.Secret `env:"ORDER_OPERATOR_KEY" doc:"the same for refunds that operators have approved; another key"`
	Networks      []string      `env:"REFUND_NETWORKS" doc:"comma separated networks on which wallets has a refund station, such as ethereum,bitcoin; live mode takes no refund on another network: 409 refunds_closed"`
	ApprovalAbove string        `env:"REFUND_APPROVAL_ABOVE" envDefault:"NGN=100000,GHS=1000,KES=9000,ZAR=1200" doc:"worth of all refunds of one live payment, by its locked rate, above which a refund needs operators; a currency that is not named keeps its default, 0 sends every refund to operators"`
}

// drawSettings are those of withdrawals from standalone wallets (docs/api-contract.md#withdrawals-from-wallets).
type drawSettings struct {
	Networks []string      `env:"WITHDRAWAL_NETWORKS" doc:"comma separated networks on which live mode withdraws crypto of standalone wallets: 409 withdrawals_closed elsewhere. The signer's policy has to allow it too (docs/custody.md)"`
	Fees     string        `env:"WITHDRAWAL_FEES" doc:"fees of such withdrawals over those of docs/api-contract.md#withdrawals-from-wallets, in the withdrawn crypto: ethereum/USDT=5,bitcoin/BTC=0.0001; none closes a pair, as in tron/TRX=none"`
	Daily    string        `env:"WITHDRAWAL_DAILY_USD" envDefault:"10000" doc:"most US dollars that a merchant withdraws from standalone wallets within 24 hours in live mode, and the limits of single merchants: 10000,acme=200000"`
	Above    string        `env:"WITHDRAWAL_APPROVAL_ABOVE_USD" envDefault:"1000" doc:"worth of a merchant's live withdrawals within 24 hours above which one needs two operators; 0 sends every one to operators"`
	Hold     time.Duration `env:"WITHDRAWAL_ADDRESS_HOLD" envDefault:"24h" doc:"time after its addition in which no live withdrawal goes to an address of the address book; test mode has none"`
	Tokens   string        `env:"WITHDRAWAL_CONTRACTS" doc:"token contracts of live mode that differ from the listed ones, on a private chain: ethereum/USDT=0x…; those that wallets has in EVM_<NETWORK>_TOKENS and its like"`
}

// rules reads the rules of withdrawals.
func (s drawSettings) rules() (r draws.Rules, err error) {
	for _, name := range s.Networks {
		n, ok := money.NetworkOf(name)
		if !ok {
			return r, fmt.Errorf("WITHDRAWAL_NETWORKS: %q is no network", name)
		}
		r.Networks = append(r.Networks, n.Name)
	}
	if r.Fees, err = draw.ParseFees(s.Fees); err != nil {
		return r, fmt.Errorf("WITHDRAWAL_FEES: %w", err)
	}
	if r.Contracts, err = draw.ParseContracts(s.Tokens); err != nil {
		return r, fmt.Errorf("WITHDRAWAL_CONTRACTS: %w", err)
	}
	if r.Limits, err = draw.ParseLimits(s.Daily); err != nil {
		return r, fmt.Errorf("WITHDRAWAL_DAILY_USD: %w", err)
	}
	if r.Above, err = money.Parse(s.Above); err != nil || r.Above.IsNegative() {
		return r, fmt.Errorf("WITHDRAWAL_APPROVAL_ABOVE_USD: %q is no amount of dollars", s.Above)
	}
	if r.Hold = s.Hold; r.Hold < 0 {
		return r, fmt.Errorf("WITHDRAWAL_ADDRESS_HOLD: %s is below zero", s.Hold)
	}
	return r, nil
}

// refundDefault repeats the default in the tag of ApprovalAbove.
const refundDefault = "NGN=100000,GHS=1000,KES=9000,ZAR=1200"

// above gives the worth up to which a refund approves itself.
func (s refundSettings) above() (map[money.Currency]decimal.Decimal, error) {
	out, err := amounts(refundDefault)
	if err != nil {
		return nil, err
	}
	named, err := amounts(s.ApprovalAbove)
	if err != nil {
		return nil, fmt.Errorf("REFUND_APPROVAL_ABOVE: %w", err)
	}
	maps.Copy(out, named)
	return out, nil
}

// networks are the networks on which refunds of live mode leave.
func (s refundSettings) networks() ([]string, error) {
	var out []string
	for _, name := range s.Networks {
		n, ok := money.NetworkOf(name)
		if !ok {
			return nil, fmt.Errorf("REFUND_NETWORKS: wallets sends no refunds on %q", name)
		}
		out = append(out, n.Name)
	}
	return out, nil
}

// keys reads the keys that sign orders: both, or none. One key for both approvals would let an automatic approval pass
// for an operator's.
func (s refundSettings) keys() (refunds.Keys, error) {
	automatic, operator := s.AutomaticKey.Reveal(), s.OperatorKey.Reveal()
	switch {
	case automatic == "" && operator == "":
		return nil, nil //nolint:nilnil // no keys: live mode takes no refunds
	case automatic == operator || automatic == "" || operator == "":
		return nil, errors.New("ORDER_AUTOMATIC_KEY and ORDER_OPERATOR_KEY must be two different keys, or both empty")
	}
	out := refunds.Keys{}
	for name, of := range map[string]refund.Approval{"ORDER_AUTOMATIC_KEY": refund.Automatic, "ORDER_OPERATOR_KEY": refund.ByOperator} {
		text := automatic
		if of == refund.ByOperator {
			text = operator
		}
		key, err := order.ParseKey(text)
		if err != nil {
			return nil, fmt.Errorf("%s %w", name, err)
		}
		out[of] = key
	}
	return out, nil
}

// workSettings are those of the role work.
type workSettings struct {
	Erasing
	Bus            bus.Config
	TreasuryEvery  time.Duration `env:"TREASURY_EVERY" envDefault:"5m" doc:"time between two reports of the treasury (GET /v1/admin/treasury); below an hour"`
	OwedEvery      time.Duration `env:"OWED_EVERY" envDefault:"30m" doc:"time between two lists of what is owed to payers, receivers and merchants (GET /v1/admin/owed); below an hour"`
	BankListsEvery time.Duration `env:"BANK_LISTS_EVERY" envDefault:"24h" doc:"age at which the rails' own lists of banks are read again (docs/rails.md#banks); at least 10m; 0 reads none, and the banks are those of the lists that are kept, else of the table in the program"`
	PayoutSlots    int           `env:"PAYOUT_SLOTS" envDefault:"16" doc:"payouts of real rails that one process works on at once in each mode; of simulated rails it works on 64 more in each mode"`
}

// operateSettings are those of the operators' verbs.
type operateSettings struct {
	Postgres   postgres.Config
	MasterKeys config.Secret `env:"MASTER_KEYS,required" doc:"comma separated id:base64(32 bytes); the first seals stored values, all open them"`
}

// Erasing says how long payments are kept from erasure.
type Erasing struct {
	Laundering time.Duration `env:"AML_RETENTION" envDefault:"43824h" doc:"time for which the law against money laundering requires the records of a live payment after its last move: five years by default; at least 1680h, for which other services hold copies. The erasure of a younger record waits for that time (docs/runbooks/personal-data.md)"`
}

// placed refuses references without a code in another shard than the first, to which they would lead.
func (s serveSettings) placed(in shard.Code) error {
	if !s.MarkGifts && in.Home() != shard.First {
		return fmt.Errorf("MARK_GIFTS: false makes references without a code, which lead to the shard %s and not to %s", shard.First, in)
	}
	return nil
}

// callbacks judges a callback URL at registration.
func (s serveSettings) callbacks() func(mode tenant.Mode, url string) error {
	policies := map[tenant.Mode]guard.Policy{tenant.Test: {Allow: s.AllowTest}, tenant.Live: {Allow: s.AllowLive}}
	return func(mode tenant.Mode, url string) error { return guard.CheckURL(mode, url, policies[mode]) }
}

// families lists the network families for which each open mode keeps addresses. Test mode has all of them, because the
// simulated chain has.
func (s settings) families(providers map[tenant.Mode]provider.Set) (map[tenant.Mode][]money.Family, error) {
	wanted := map[tenant.Mode][]money.Family{}
	if _, ok := providers[tenant.Test]; ok {
		wanted[tenant.Test] = money.Families()
	}
	if _, ok := providers[tenant.Live]; !ok {
		return wanted, nil
	}
	known := map[money.Family]bool{}
	for _, f := range money.Families() {
		known[f] = true
	}
	for _, name := range s.FamiliesLive {
		if !known[money.Family(name)] {
			return nil, fmt.Errorf("ADDRESS_FAMILIES_LIVE: %q is no network family", name)
		}
		wanted[tenant.Live] = append(wanted[tenant.Live], money.Family(name))
	}
	return wanted, nil
}

// rules holds the checked values of the settings.
type rules struct {
	keys      *keyring.Ring
	eventKeys keyring.Optional
	tokenKeys *keyring.Ring // nil without SETTLEMENT_TOKEN_KEYS
	policy    payment.Policy
	daily     admission.Daily
	caps      admission.Exposure
}

func (s settings) rules() (r rules, err error) {
	if r.keys, err = keyring.Parse(s.MasterKeys.Reveal()); err != nil {
		return r, fmt.Errorf("MASTER_KEYS: %w", err)
	}
	if r.eventKeys, err = keyring.ParseOptional(s.EventKeys.Reveal()); err != nil {
		return r, fmt.Errorf("EVENT_KEYS: %w", err)
	}
	tokens, err := keyring.ParseOptional(s.TokenKeys.Reveal())
	if err != nil {
		return r, fmt.Errorf("SETTLEMENT_TOKEN_KEYS: %w", err)
	}
	r.tokenKeys = tokens.Ring()
	if r.policy, err = s.policy(); err != nil {
		return r, err
	}
	if err := s.bounded(); err != nil {
		return r, err
	}
	r.policy.Screen = true
	if err := s.Limits.narrow(&r.policy); err != nil {
		return r, err
	}
	if r.daily.Settings, err = s.Limits.daily(); err != nil {
		return r, err
	}
	r.caps, err = s.Limits.caps()
	return r, err
}

// secondDefault repeats the default in the tag of SecondOperator.
const secondDefault = "NGN=1000000,GHS=10000,KES=90000,ZAR=12000"

// secondAbove gives the amounts above which an order needs a second operator; nil means that one operator always
// suffices. real says that live mode moves real money, which always has such amounts.
func (s settings) secondAbove(real bool) (map[money.Currency]decimal.Decimal, error) {
	if s.SecondOperator == "off" {
		if real {
			return nil, errors.New("live mode moves real money, so it needs an amount for each currency, such as NGN=1000000")
		}
		return nil, nil
	}
	above, err := amounts(secondDefault)
	if err != nil {
		return nil, err
	}
	named, err := amounts(s.SecondOperator)
	maps.Copy(above, named)
	return above, err
}

// amounts reads fiat amounts by currency, as NGN=1000000,GHS=10000.
func amounts(text string) (map[money.Currency]decimal.Decimal, error) {
	out := map[money.Currency]decimal.Decimal{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		name, figure, _ := strings.Cut(part, "=")
		amount, err := money.Parse(figure)
		if currency := money.Currency(name); err != nil || amount.IsNegative() || !currency.Valid() {
			return nil, fmt.Errorf("%q is no amount of a currency, such as NGN=1000000", part)
		}
		out[money.Currency(name)] = amount
	}
	return out, nil
}

// The bounds of UNCLAIMED_AFTER: a month and ten years.
const (
	unclaimedLeast = 720 * time.Hour
	unclaimedMost  = 87_600 * time.Hour
)

// bounded refuses settings outside of their bounds.
func (s settings) bounded() error {
	if s.AccountHold < 0 {
		return fmt.Errorf("SETTLEMENT_ACCOUNT_HOLD: %s is below zero", s.AccountHold)
	}
	if s.UnclaimedAfter < unclaimedLeast || s.UnclaimedAfter > unclaimedMost {
		return fmt.Errorf("UNCLAIMED_AFTER: %s is not between %s and %s", s.UnclaimedAfter, unclaimedLeast, unclaimedMost)
	}
	return nil
}

// policy is the policy of docs/api-contract.md#money and docs/api-contract.md#payment-life with the configured depths.
func (s settings) policy() (payment.Policy, error) {
	p := payment.Defaults()
	depths, err := payment.ParseDepths(s.Confirmations)
	if err != nil {
		return p, fmt.Errorf("CONFIRMATIONS: %w", err)
	}
	p.Depths, p.Bitcoin = depths, s.BitcoinLive
	if p.MempoolHold = s.MempoolHold; p.MempoolHold < 0 {
		return p, fmt.Errorf("MEMPOOL_HOLD: %s is below zero", s.MempoolHold)
	}
	if p.RefundHold = s.RefundHold; p.RefundHold < 0 {
		return p, fmt.Errorf("REFUND_ADDRESS_HOLD: %s is below zero", s.RefundHold)
	}
	if p.WitnessUSD, err = money.Parse(s.WitnessUSD); err != nil || p.WitnessUSD.IsNegative() {
		return p, fmt.Errorf("WITNESS_USD_LIVE: %q is no amount of dollars", s.WitnessUSD)
	}
	return p, nil
}
