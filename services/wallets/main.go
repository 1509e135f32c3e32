// Command wallets issues deposit addresses, scans every network for deposits to them and publishes those to the other
// services. It holds extended public keys only. `wallets` runs both roles, `wallets serve` the HTTP API, `wallets work`
// consumers, outbox relay and scanners; its other verbs are those of every service and those of operators
// (operate.go). This package only wires.
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/placed"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/deposit"
	"causeway.internal/services/wallets/internal/httpapi"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/network"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

const service = wire.Wallets

var program = command.Program{Name: service, Verbs: slices.Concat(
	command.Roles(start), command.Standard(migrations.FS), bus.DeadVerbs(service),
	discard.Verbs(service, migrations.FS), operations,
)}

func main() { program.Main() }

// start runs the roles until ctx ends. The relay comes after all that write messages, so that it ends after them and
// still sends what they write while they stop.
func start(ctx context.Context, environ map[string]string, serves, works bool) error {
	p, err := open(ctx, environ, works)
	if err != nil {
		return err
	}
	defer p.close()
	sources, closed, err := p.addresses(ctx)
	if err != nil {
		return err
	}
	var chains *network.Chains // of a process that works
	if works {
		if chains, err = p.chains(closed); err != nil {
			return err
		}
	}
	cases := p.cases(sources, chains)
	if err := p.recover(ctx, cases); err != nil {
		return err
	}
	if works {
		if err := p.work(ctx, cases, chains, sources); err != nil {
			return err
		}
	}
	if serves {
		if err := p.serve(ctx, environ, cases, sources, closed); err != nil {
			return err
		}
	}
	if works {
		p.group.Go("outbox relay", p.relay.Run)
	}
	p.present.Role, p.present.Checks = presence.Roles(serves, works), func() []telemetry.Check { return p.checks(chains) }
	if works {
		p.present.Queues = presence.Depths(p.link.Depths)
	}
	p.group.Every("presence", presence.Every, p.present.Report)
	if err := p.group.HTTP(lifecycle.Ops, p.cfg.OpsAddr, p.tel.Ops(p.checks(chains)...)); err != nil {
		return err
	}
	return p.group.Run(ctx)
}

// process is what the roles and the verbs of operators share.
type process struct {
	cfg     common
	tel     *telemetry.Telemetry
	group   *lifecycle.Group
	book    *store.Store
	backlog *outbox.Backlog
	ping    func(context.Context) error
	place   func(context.Context, shard.Code) error
	stored  func(ctx context.Context, names []string, m wire.Stored) error
	depths  wallet.Depths
	keeper  keys.Keeper
	refused prometheus.Counter // approved refunds that cannot be carried out

	// of a process that works
	worker workSettings
	link   *bus.Link
	relay  *outbox.Relay

	present   *presence.Reporter
	processes func(context.Context) (presence.Answer, error)

	ends []func()
}

// open reads the settings and opens the parts.
func open(ctx context.Context, environ map[string]string, works bool) (_ *process, err error) {
	p := &process{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.cfg, err = config.Read[common](environ); err != nil {
		return nil, err
	}
	if p.tel, err = telemetry.Start(ctx, service, p.cfg.Telemetry); err != nil {
		return nil, err
	}
	p.ends = append(p.ends, func() { p.tel.Flush(ctx) })
	p.group = lifecycle.New(p.tel.Log, p.cfg.Drain)
	p.refused = prometheus.NewCounter(prometheus.CounterOpts{
		Name: "wallets_refunds_refused_total", Help: "Approved refunds that were refused: malformed, or another order under a known id.",
	})
	p.tel.Registry.MustRegister(p.group, p.refused)
	if p.depths, err = wallet.ParseDepths(p.cfg.Chains.Confirmations); err != nil {
		return nil, fmt.Errorf("CONFIRMATIONS: %w", err)
	}
	events, err := keyring.ParseOptional(p.cfg.EventKeys.Reveal())
	if err != nil {
		return nil, fmt.Errorf("EVENT_KEYS: %w", err)
	}
	if p.keeper, err = p.cfg.keeper(); err != nil {
		return nil, err
	}
	wake := func() {}
	if works {
		if p.worker, err = config.Read[workSettings](environ); err != nil {
			return nil, err
		}
		if p.link, err = bus.Dial(ctx, p.worker.Bus, service, p.tel); err != nil {
			return nil, err
		}
		p.ends = append(p.ends, func() { _ = p.link.Close() })
		p.relay = outbox.NewRelay(p.cfg.Postgres, p.link.Publisher(), p.tel)
		wake = p.relay.Wake
	}
	db, err := postgres.Open(ctx, p.cfg.Postgres, migrations.FS, p.tel)
	if err != nil {
		return nil, err
	}
	p.ends = append(p.ends, db.Close)
	p.present, p.processes = (&presence.Reporter{DB: db}).Start(), presence.Lister(db, service)
	p.place = func(ctx context.Context, in shard.Code) error { return placed.Check(ctx, db, in) }
	p.ping, p.backlog, p.stored = db.Ping, outbox.NewBacklog(db, outbox.MaxRows), outbox.Stored(db)
	seen := deposit.NewObserver(p.tel.Registry, p.tel.Log)
	out := messaging.Out{Now: time.Now, Untraced: p.cfg.Chains.Live.Untraced(), Events: events}
	p.book = store.New(db, out, store.Settings{
		Nets: p.keeper.Nets, Depths: p.depths, Now: time.Now, Wake: wake,
		Strayed: seen.Strayed, Changed: seen.Changed, Found: seen.Found,
	})
	p.keeper.Store = p.book
	return p, nil
}

func (p *process) close() {
	for _, end := range slices.Backward(p.ends) {
		end()
	}
}

// addresses opens the address sources, and the networks that are closed because their settings differ from those of
// what is stored. After a restore such a network stops the start: an index that is not moved would be used twice, and a
// network that is not scanned would not get its second look.
func (p *process) addresses(ctx context.Context) (keys.Sources, network.Closed, error) {
	given, err := p.cfg.Chains.keys()
	if err != nil {
		return nil, nil, err
	}
	sources, wrong, err := p.keeper.Open(ctx, given)
	if err != nil {
		return nil, nil, err
	}
	closed, err := network.Close(ctx, wrong, p.cfg.Chains.Live, p.book, p.tel.Log)
	if err == nil && p.cfg.Recovery && len(closed) > 0 {
		err = fmt.Errorf("RECOVERY is on: %w", closed.Err())
	}
	return sources, closed, err
}

func (p *process) cases(sources keys.Sources, chains *network.Chains) *app.App {
	taken, find := func(string) {}, app.Finder(nil)
	if chains != nil {
		taken, find = chains.Taken, chains.Find
	}
	return app.New(p.book, p.book, app.Settings{
		Sources: sources, Nets: p.keeper.Nets, Depths: p.depths, Taken: taken, Most: wire.AllocateMax, Margin: p.cfg.Margin,
		Log: p.tel.Log, Hints: p.book, Refunds: p.book, Refused: p.refused.Inc,
		Find: find, Answers: p.book,
	})
}

// recover does the work of RECOVERY before anything is issued, or notes that the service runs normally again.
func (p *process) recover(ctx context.Context, cases *app.App) error {
	if p.cfg.Recovery {
		return cases.Recover(ctx, p.book)
	}
	return cases.EndRecovery(ctx, p.book)
}

func (p *process) checks(chains *network.Chains) []telemetry.Check {
	checks := []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return p.group.Ready() }},
		{Name: "database", Ready: p.ping},
	}
	if chains == nil {
		return checks
	}
	return append(checks,
		telemetry.Check{Name: "consumers", Ready: p.link.Ready}, telemetry.Check{Name: "scans", Ready: chains.Metrics.Ready})
}

// serve adds the HTTP API.
func (p *process) serve(ctx context.Context, environ map[string]string, cases *app.App, sources keys.Sources, closed network.Closed) error {
	cfg, err := config.Read[serveSettings](environ)
	if err != nil {
		return err
	}
	if err := p.place(ctx, cfg.Shard); err != nil {
		return err
	}
	verifier, err := cfg.Identity.Verifier(service)
	if err != nil {
		return err
	}
	api := app.NewAPI(cases, app.APISettings{
		Wallets: p.book, Backlog: p.backlog, Sources: sources, Scanned: closed.Scanned(p.cfg.Chains.Live), Shard: cfg.Shard,
		Now: time.Now,
	})
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, verifier)
	httpapi.Adopt(server, p.book)
	httpapi.Operate(server, &app.Operators{Store: p.book, Low: p.cfg.Chains.PoolLow}, p.processes)
	return p.group.HTTP("api", cfg.HTTPAddr, httpapi.New(server, api))
}
