// Package network reads the settings of live networks, opens their drivers and makes the scans of a process: every
// network simulated in test mode, and in live mode those with endpoints.
package network

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/bitcoin"
	"causeway.internal/services/wallets/internal/chain/evm"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/solana"
	"causeway.internal/services/wallets/internal/chain/tron"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweeper"
)

// Settings are the networks of live mode. Each is scanned when it has RPC URLs.
type Settings struct {
	Bitcoin  Bitcoin `envPrefix:"BITCOIN_"`
	Ethereum EVM     `envPrefix:"EVM_ETHEREUM_"`
	BSC      EVM     `envPrefix:"EVM_BSC_"`
	Polygon  EVM     `envPrefix:"EVM_POLYGON_"`
	Base     EVM     `envPrefix:"EVM_BASE_"`
	Arbitrum EVM     `envPrefix:"EVM_ARBITRUM_"`
	Tron     Tron    `envPrefix:"TRON_"`
	Solana   Solana  `envPrefix:"SOLANA_"`
}

// Scan is how one network is read.
type Scan struct {
	URLs       config.Secret `env:"RPC_URLS" doc:"comma separated RPC endpoints, best first; empty: the network is not scanned"`
	Start      int64         `env:"START" doc:"first block to scan on a database that never scanned the network; empty: a little below the head"`
	Poll       time.Duration `env:"POLL" doc:"pause between two queries of the head; empty: 5s on bitcoin, 1s elsewhere"`
	Prefetch   int           `env:"PREFETCH" envDefault:"6" doc:"blocks fetched at the same time, 1 to 32"`
	Timeout    time.Duration `env:"RPC_TIMEOUT" envDefault:"10s" doc:"time limit of one call"`
	AtOnce     int           `env:"RPC_AT_ONCE" envDefault:"16" doc:"calls in flight at one endpoint; more wait"`
	PerSecond  int           `env:"RPC_PER_SECOND" doc:"calls begun in a second at one endpoint; empty: no limit"`
	Lag        int64         `env:"RPC_LAG" doc:"blocks by which an endpoint may trail the best one before wallets leaves it; empty: the default of the network"`
	Grace      time.Duration `env:"ROLLBACK_GRACE" envDefault:"10s" doc:"time for which a node may be behind the scan before that counts as a rollback"`
	Behind     time.Duration `env:"BEHIND" doc:"time for which the scan may trail the head until payments takes no new payments on the network; empty: 30m on bitcoin, 3m elsewhere"`
	Stall      time.Duration `env:"STALL" doc:"age of the newest block from which the chain counts as stalled, and payments takes no new payments on it; empty: 3h on bitcoin, 30m elsewhere"`
	FinalDepth int64         `env:"FINAL_DEPTH" doc:"depth that counts as final where the node does not report finality; empty: the default of the network"`
}

// Bitcoin is bitcoin.
type Bitcoin struct {
	Scan  Scan
	Poll  time.Duration `env:"MEMPOOL_POLL" envDefault:"10s" doc:"pause between two lists of the node's mempool; 0: wallets does not read it, and sees a payment in blocks only"`
	Reads int           `env:"MEMPOOL_READS" envDefault:"1000" doc:"transactions read in one look at the mempool; the newest come first, more wait"`
	Grace time.Duration `env:"MEMPOOL_GRACE" envDefault:"10m" doc:"time for which a transaction may be missing from the mempool before its deposit is reverted"`
	Sweep sweeper.BitcoinSettings
}

// EVM is one EVM network.
type EVM struct {
	Scan    Scan
	ChainID int64  `env:"CHAIN_ID" doc:"chain id that every endpoint must have; empty: the network's own"`
	Tokens  string `env:"TOKENS" doc:"token contracts as USDT:0x…,USDC:0x…; empty: the listed ones"`
	Trace   string `env:"TRACE" doc:"call that shows coin sent by contracts: debug (debug_traceBlockByHash) or trace (trace_block), which every endpoint must serve; empty: wallets does not see such coin"`
	Sweep   sweeper.Settings
}

func (s Bitcoin) mempool() scanner.MempoolConfig {
	return scanner.MempoolConfig{Poll: s.Poll, Reads: max(s.Reads, 1), Grace: s.Grace}
}

// EVM are the EVM networks by name.
func (s Settings) EVM() map[string]EVM {
	return map[string]EVM{"ethereum": s.Ethereum, "bsc": s.BSC, "polygon": s.Polygon, "base": s.Base, "arbitrum": s.Arbitrum}
}

// Untraced are the scanned EVM networks without traces, on which the scan does not see coin that contracts send.
func (s Settings) Untraced() map[string]bool {
	out := map[string]bool{}
	for name, set := range s.EVM() {
		if set.Trace == evm.TraceNone && len(set.Scan.Endpoints()) > 0 {
			out[name] = true
		}
	}
	return out
}

// ID is the chain id that every endpoint must have.
func (e EVM) ID(n money.Network) int64 { return cmp.Or(e.ChainID, n.ChainID) }

// Tron is tron.
type Tron struct {
	Scan    Scan
	Genesis string        `env:"GENESIS" doc:"id of block 0 that every endpoint must have; empty: the main network's"`
	Tokens  string        `env:"TOKENS" doc:"token contracts as USDT:T…; empty: the listed ones"`
	Key     config.Secret `env:"API_KEY" doc:"sent to every endpoint as TRON-PRO-API-KEY"`
	Sweep   sweeper.TronSettings
}

func (s Tron) open(n money.Network, endpoints rpc.Config, log *slog.Logger, metrics *rpc.Metrics) (chain.Driver, error) {
	tokens, err := contracts(n, s.Tokens)
	if err != nil {
		return nil, err
	}
	if s.Key != "" {
		endpoints.Headers = map[string]string{"TRON-PRO-API-KEY": s.Key.Reveal()}
	}
	return tron.New(tron.Config{Network: n, Genesis: s.Genesis, Tokens: tokens, RPC: endpoints}, log, metrics)
}

// Solana is solana.
type Solana struct {
	Scan    Scan
	Genesis string `env:"GENESIS" doc:"genesis hash that every endpoint must have; empty: mainnet-beta's"`
	Tokens  string `env:"TOKENS" doc:"mints as USDT:Es9…,USDC:EPj…; empty: the listed ones"`
	Sweep   sweeper.SolanaSettings
}

func (s Solana) open(n money.Network, endpoints rpc.Config, log *slog.Logger, metrics *rpc.Metrics) (chain.Driver, error) {
	mints, err := contracts(n, s.Tokens)
	if err != nil {
		return nil, err
	}
	return solana.New(solana.Config{Network: n, Genesis: s.Genesis, Tokens: mints, RPC: endpoints}, log, metrics)
}

// lags are the blocks by which an endpoint may trail the best one: some twenty seconds, or a block where they are slow.
var lags = map[string]int64{"bitcoin": 1, "ethereum": 2, "bsc": 30, "polygon": 10, "base": 10, "arbitrum": 80, "tron": 7, "solana": 50}

// patience is how long a scan may trail its head, and the age above which a head is older than any pause of the chain.
// Bitcoin's blocks are ten minutes apart on average and sometimes more than an hour; the others come every few seconds.
type patience struct{ behind, stall time.Duration }

func patienceOf(n money.Network) patience {
	if n.Family == money.Bitcoin {
		return patience{30 * time.Minute, 3 * time.Hour}
	}
	return patience{3 * time.Minute, 30 * time.Minute}
}

// SimulatedBelow bounds the time between two blocks of a simulated network: a head that is older than patience closes
// the network.
const SimulatedBelow = 10 * time.Minute

// Live is one network of live mode: its settings, and the function that opens its driver.
type Live struct {
	Scan
	open    func(n money.Network, endpoints rpc.Config, log *slog.Logger, metrics *rpc.Metrics) (chain.Driver, error)
	tokens  string                // the setting of its contracts
	Mempool scanner.MempoolConfig // set where the mempool is watched
}

// Networks lists every network of docs/api-contract.md#networks by name.
func (s Settings) Networks(net address.Net) map[string]Live {
	out := map[string]Live{
		"bitcoin": {Scan: s.Bitcoin.Scan, Mempool: s.Bitcoin.mempool(), open: func(n money.Network, endpoints rpc.Config, log *slog.Logger, metrics *rpc.Metrics) (chain.Driver, error) {
			return bitcoin.New(bitcoin.Config{Network: n, Net: net, RPC: endpoints}, log, metrics)
		}},
	}
	out["tron"] = Live{Scan: s.Tron.Scan, open: s.Tron.open, tokens: s.Tron.Tokens}
	out["solana"] = Live{Scan: s.Solana.Scan, open: s.Solana.open, tokens: s.Solana.Tokens}
	for name, set := range s.EVM() {
		out[name] = Live{Scan: set.Scan, open: set.open, tokens: set.Tokens}
	}
	return out
}

func (e EVM) open(n money.Network, endpoints rpc.Config, log *slog.Logger, metrics *rpc.Metrics) (chain.Driver, error) {
	tokens, err := contracts(n, e.Tokens)
	if err != nil {
		return nil, err
	}
	return evm.New(evm.Config{Network: n, ChainID: e.ID(n), Tokens: tokens, Trace: e.Trace, RPC: endpoints}, log, metrics)
}

// Driver opens the network's driver.
func (l Live) Driver(n money.Network, log *slog.Logger, metrics *rpc.Metrics) (chain.Driver, error) {
	lag := l.Lag
	if lag == 0 {
		lag = lags[n.Name]
	}
	d, err := l.open(n, rpc.Config{URLs: l.Endpoints(), Timeout: l.Timeout, AtOnce: l.AtOnce, PerSecond: l.PerSecond, Lag: lag}, log, metrics)
	if err != nil {
		return nil, fmt.Errorf("live network %w", err)
	}
	return d, nil
}

// Config is the settings of the network's scanner.
func (l Live) Config(n money.Network, announce time.Duration) scanner.Config {
	poll := l.Poll
	switch {
	case poll > 0:
	case n.Family == money.Bitcoin:
		poll = 5 * time.Second
	default:
		poll = time.Second
	}
	conf := scanConfig(tenant.Live, n, poll, announce)
	conf.Prefetch, conf.Grace, conf.Start = min(max(l.Prefetch, 1), 32), l.Grace, l.Start
	if l.FinalDepth > 0 {
		conf.FinalDepth = l.FinalDepth
	}
	if l.Behind > 0 {
		conf.Behind = l.Behind
	}
	if l.Stall > 0 {
		conf.Stall = l.Stall
	}
	return conf
}

// Endpoints are the endpoints of a network, best first.
func (s Scan) Endpoints() (out []string) {
	for each := range strings.SplitSeq(s.URLs.Reveal(), ",") {
		if each = strings.TrimSpace(each); each != "" {
			out = append(out, each)
		}
	}
	return out
}

// Hosts opens a driver for each host among the endpoints, which asks only that host. The host name identifies a
// provider.
func (l Live) Hosts(n money.Network, log *slog.Logger, metrics *rpc.Metrics) ([]scanner.Host, error) {
	byName := map[string][]string{}
	var names []string
	for _, text := range l.Endpoints() {
		u, err := url.Parse(text)
		if err != nil {
			return nil, errors.New("an RPC URL is invalid") // the URL is omitted: it may hold a key
		}
		if byName[u.Hostname()] == nil {
			names = append(names, u.Hostname())
		}
		byName[u.Hostname()] = append(byName[u.Hostname()], text)
	}
	out := make([]scanner.Host, len(names))
	for i, name := range names {
		alone := l
		alone.URLs = config.Secret(strings.Join(byName[name], ","))
		driver, err := alone.Driver(n, log, metrics)
		if err != nil {
			return nil, err
		}
		out[i] = scanner.Host{Name: name, Driver: driver}
	}
	return out, nil
}

// contracts reads the configured token contracts of a network, or the listed ones.
func contracts(n money.Network, text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return n.Contracts(), nil
	}
	out := map[string]string{}
	for entry := range strings.SplitSeq(text, ",") {
		symbol, contract, ok := strings.Cut(strings.TrimSpace(entry), ":")
		if !ok {
			return nil, fmt.Errorf("%s tokens: %q is not SYMBOL:contract", n.Name, entry)
		}
		out[strings.ToUpper(symbol)] = contract
	}
	return out, nil
}

// contracts are the contracts that the network's scan reads, by symbol and in their usual form.
func (l Live) contracts(n money.Network) (map[string]string, error) {
	texts, err := contracts(n, l.tokens)
	if err != nil {
		return nil, err
	}
	tokens, err := chain.Tokens(n, texts)
	if err != nil {
		return nil, fmt.Errorf("%s tokens: %w", n.Name, err)
	}
	out := map[string]string{}
	for _, t := range tokens {
		out[t.Symbol] = t.Contract
	}
	return out, nil
}
