package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/chain/simulated"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// chains are the scans of this process: every network simulated in test mode, and in live mode those with endpoints.
type chains struct {
	jobs      []scanner.Job
	simulated map[string]*simulated.Chain
	scans     map[scanner.Chain]scan
}

// scan is what a chain is read with.
type scan struct {
	driver   chain.Driver
	watch    *scanner.Watch
	prefetch int
}

// taken tells a simulated chain that a deposit waits for its next block.
func (c *chains) taken(network string) {
	if s := c.simulated[network]; s != nil {
		s.Taken()
	}
}

func newChains(
	cfg workSettings, world worldSettings, shut closed, book *store.Store, tel *telemetry.Telemetry, metrics *scanner.Metrics,
) (*chains, error) {
	out := &chains{simulated: map[string]*simulated.Chain{}, scans: map[scanner.Chain]scan{}}
	watches := map[tenant.Mode]map[money.Family]*scanner.Watch{tenant.Test: {}, tenant.Live: {}}
	for mode, byFamily := range watches {
		for _, family := range money.Families() {
			byFamily[family] = scanner.NewWatch(mode, family, book)
		}
	}
	endpoints := rpc.NewMetrics(tel.Registry)
	live := world.Live.networks(address.Net(world.BitcoinLive))
	depths, err := wallet.ParseDepths(world.Confirmations)
	if err != nil {
		return nil, fmt.Errorf("CONFIRMATIONS: %w", err)
	}
	for _, n := range money.Networks() {
		sim := simulated.New(n, book, tel.Log)
		out.simulated[n.Name] = sim
		test := scanConfig(tenant.Test, n, simulated.PollEvery, cfg.AnnounceTest)
		if shut[test.Chain] == nil {
			out.add(test, sim, alone(sim.Mine), watches[tenant.Test][n.Family], book, tel, metrics)
		} else {
			out.jobs = append(out.jobs, scanner.Mismatched(test.Chain, test.Announce, book, tel.Log))
		}

		set := live[n.Name]
		if len(set.urls()) == 0 {
			continue
		}
		driver, err := set.driver(n, tel.Log, endpoints)
		if err != nil {
			return nil, err
		}
		conf := set.scan(n, cfg.AnnounceLive)
		if shut[conf.Chain] != nil {
			out.jobs = append(out.jobs, scanner.Mismatched(conf.Chain, conf.Announce, book, tel.Log))
			continue
		}
		if err := depths.Within(n, conf.FinalDepth); err != nil {
			return nil, fmt.Errorf("FINAL_DEPTH: %w", err)
		}
		hosts, err := set.hosts(n, tel.Log, endpoints)
		if err != nil {
			return nil, err
		}
		if len(hosts) < 2 {
			tel.Log.Warn("one host serves the network: nothing confirms what it says, and large deposits wait for a person", "network", n.Name)
		}
		hearing := scanner.Hearing{Chain: conf.Chain, Hosts: hosts, Store: book, Log: tel.Log, Metrics: metrics}
		beside := alone(hearing.Run)
		watch := watches[tenant.Live][n.Family]
		if pooled, ok := driver.(chain.Mempool); ok && set.mempool.Poll > 0 {
			waits := scanner.NewMempool(set.mempool, conf.Chain, pooled, book, watch, tel.Log, metrics)
			beside = func(ctx context.Context, epoch int64) error {
				g, ctx := errgroup.WithContext(ctx)
				g.Go(func() error { return hearing.Run(ctx) })
				g.Go(func() error { return waits.Run(ctx, epoch) })
				return g.Wait()
			}
		}
		out.add(conf, driver, beside, watch, book, tel, metrics)
	}
	return out, nil
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

// add makes the job of one chain: its scanner, and beside it whatever keeps the chain itself going.
func (c *chains) add(cfg scanner.Config, driver chain.Driver, beside func(context.Context, int64) error, watch *scanner.Watch, book *store.Store,
	tel *telemetry.Telemetry, metrics *scanner.Metrics,
) {
	c.scans[cfg.Chain] = scan{driver, watch, cfg.Prefetch}
	c.jobs = append(c.jobs, scanner.Job{Chain: cfg.Chain, Run: func(ctx context.Context, epoch int64) error {
		g, ctx := errgroup.WithContext(ctx)
		if beside != nil {
			g.Go(func() error { return beside(ctx, epoch) })
		}
		g.Go(func() error { return scanner.New(cfg, driver, book, watch, tel.Log, metrics, time.Now).Run(ctx, epoch) })
		return g.Wait()
	}})
}
