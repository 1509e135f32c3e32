package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/tick"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/simulated"
	"causeway.internal/services/wallets/internal/lookup"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// Options are the parts and settings of a process's scans.
type Options struct {
	Networks       Settings
	Bitcoin        address.Net // how live bitcoin addresses are written
	Depths         wallet.Depths
	AnnounceTest   time.Duration // between two wallets.scanned_through of a simulated network
	SimulatedEvery time.Duration // between two blocks of a simulated network while no deposit waits
	AnnounceLive   time.Duration
	Closed         Closed
	Book           *store.Store
	Telemetry      *telemetry.Telemetry
	Metrics        *scanner.Metrics
}

// Chains are the scans of this process: every network simulated in test mode, and in live mode those with endpoints.
type Chains struct {
	Options
	Jobs []scanner.Job

	simulated map[string]*simulated.Chain
	readers   map[scanner.Chain]scanner.Reader
	lookups   map[string]lookup.Network // live networks by name
	watches   map[tenant.Mode]map[money.Family]*scanner.Watch
	endpoints *rpc.Metrics
}

// Taken wakes a simulated chain for a deposit that waits for its next block.
func (c *Chains) Taken(network string) {
	if s := c.simulated[network]; s != nil {
		s.Taken()
	}
}

// TakeWaiting wakes the simulated chains on which a deposit waits that any replica stored.
func (c *Chains) TakeWaiting(ctx context.Context) error {
	networks, err := c.Book.SimWaiting(ctx)
	for _, network := range networks {
		c.Taken(network)
	}
	return err
}

// Reader returns the reader of a chain; ok is false for a chain without endpoints.
func (c *Chains) Reader(of scanner.Chain) (r scanner.Reader, ok bool) {
	r, ok = c.readers[of]
	return r, ok
}

// errNotRead refuses to look for a transaction on a network that this process does not read.
var errNotRead = errors.New("no endpoint of the network is read")

// Find looks for what a transaction brought to an address on a live network.
func (c *Chains) Find(ctx context.Context, network, tx string, key []byte) (lookup.Finding, error) {
	n, ok := c.lookups[network]
	if !ok {
		return lookup.Finding{State: wire.TransferUnknown}, errNotRead
	}
	return n.Find(ctx, tx, key)
}

// addLookup lets transactions of a live network be found.
func (c *Chains) addLookup(n money.Network, finalDepth int64, hosts []scanner.Host) error {
	found := lookup.Network{FinalDepth: finalDepth, Coin: n.Coin().Symbol}
	for _, h := range hosts {
		node, ok := h.Driver.(lookup.Node)
		if !ok {
			return fmt.Errorf("%s: its driver finds no transactions", n.Name)
		}
		found.Hosts = append(found.Hosts, node)
	}
	c.lookups[n.Name] = found
	return nil
}

// Open makes the scans.
func Open(o Options) (*Chains, error) {
	c := &Chains{
		Options: o, simulated: map[string]*simulated.Chain{}, readers: map[scanner.Chain]scanner.Reader{}, lookups: map[string]lookup.Network{},
		watches: map[tenant.Mode]map[money.Family]*scanner.Watch{tenant.Test: {}, tenant.Live: {}}, endpoints: rpc.NewMetrics(o.Telemetry.Registry),
	}
	for mode, byFamily := range c.watches {
		for _, family := range money.Families() {
			byFamily[family] = scanner.NewWatch(mode, family, o.Book)
		}
	}
	live := o.Networks.Networks(o.Bitcoin)
	turns := tick.NewTurns(1)
	for _, n := range money.Networks() {
		c.openSimulated(n, turns)
		if err := c.openLive(n, live[n.Name]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Chains) openSimulated(n money.Network, turns tick.Turns) {
	sim := simulated.New(n, c.Book, c.SimulatedEvery, turns, c.Telemetry.Log)
	c.simulated[n.Name] = sim
	cfg := scanConfig(tenant.Test, n, simulated.PollEvery, c.AnnounceTest)
	if !c.refused(cfg) {
		c.add(cfg, sim, alone(sim.Mine))
	}
}

func (c *Chains) openLive(n money.Network, set Live) error {
	if len(set.Endpoints()) == 0 {
		return nil
	}
	driver, err := set.Driver(n, c.Telemetry.Log, c.endpoints)
	if err != nil {
		return err
	}
	cfg := set.Config(n, c.AnnounceLive)
	if c.refused(cfg) {
		return nil
	}
	if err := c.Depths.Within(n, cfg.FinalDepth); err != nil {
		return fmt.Errorf("FINAL_DEPTH: %w", err)
	}
	hosts, err := set.Hosts(n, c.Telemetry.Log, c.endpoints)
	if err != nil {
		return err
	}
	if len(hosts) < 2 {
		c.Telemetry.Log.Warn("single RPC host: large deposits wait for an operator", "network", n.Name)
	}
	if err := c.addLookup(n, cfg.FinalDepth, hosts); err != nil {
		return err
	}
	hearing := scanner.Hearing{Chain: cfg.Chain, Hosts: hosts, Store: c.Book, Log: c.Telemetry.Log, Metrics: c.Metrics}
	beside := alone(hearing.Run)
	if pooled, ok := driver.(chain.Mempool); ok && set.Mempool.Poll > 0 {
		bounds := set.Mempool
		bounds.Chain = cfg.Chain
		waits := scanner.NewMempool(bounds, pooled, c.Book, c.watches[tenant.Live][n.Family], c.Telemetry.Log, c.Metrics)
		beside = func(ctx context.Context, epoch int64) error {
			g, ctx := errgroup.WithContext(ctx)
			g.Go(func() error { return hearing.Run(ctx) })
			g.Go(func() error { return waits.Run(ctx, epoch) })
			return g.Wait()
		}
	}
	c.add(cfg, driver, beside)
	return nil
}

// refused makes a job that only announces the closed state to payments, if the network is closed.
func (c *Chains) refused(cfg scanner.Config) bool {
	if c.Closed[cfg.Chain] == nil {
		return false
	}
	c.Jobs = append(c.Jobs, scanner.Mismatched(cfg.Chain, cfg.Announce, c.Book, c.Telemetry.Log))
	return true
}

// alone is work that writes nothing under the lease.
func alone(f func(context.Context) error) func(context.Context, int64) error {
	return func(ctx context.Context, _ int64) error { return f(ctx) }
}

// prefetch is how many blocks of a simulated chain are read at the same time.
const prefetch = 8

func scanConfig(mode tenant.Mode, n money.Network, poll, announce time.Duration) scanner.Config {
	return scanner.Config{
		Chain: scanner.Chain{Mode: mode, Network: n.Name}, Family: n.Family, Poll: poll, Prefetch: prefetch, Announce: announce,
		FinalDepth: n.FinalDepth, Window: wallet.Window(n), Behind: patienceOf(n).behind, Stall: patienceOf(n).stall,
	}
}

// add makes the job of one chain: its scanner, and the chain's own background work.
func (c *Chains) add(cfg scanner.Config, driver chain.Driver, beside func(context.Context, int64) error) {
	watch := c.watches[cfg.Chain.Mode][cfg.Family]
	c.readers[cfg.Chain] = scanner.Reader{Chain: cfg.Chain, Driver: driver, Watch: watch, Prefetch: cfg.Prefetch}
	c.Jobs = append(c.Jobs, scanner.Job{Chain: cfg.Chain, Run: func(ctx context.Context, epoch int64) error {
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() error { return beside(ctx, epoch) })
		g.Go(func() error {
			return scanner.New(cfg, driver, c.Book, watch, c.Telemetry.Log, c.Metrics).Run(ctx, epoch)
		})
		return g.Wait()
	}})
}
