// Command reports takes fraud and complaint reports and answers look-ups (docs/api-contract.md#reports). `serve`
// answers the HTTP API, `work` publishes the events; no verb does both. This package only wires.
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
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/app"
	"causeway.internal/services/reports/internal/httpapi"
	"causeway.internal/services/reports/internal/limit"
	"causeway.internal/services/reports/internal/store"
	"causeway.internal/services/reports/migrations"
)

var program = command.Program{Name: wire.Reports, Verbs: slices.Concat(command.Roles(start), command.Standard(migrations.FS), operations)}

func main() { program.Main() }

// process holds the parts that the roles share.
type process struct {
	cfg    settings
	tel    *telemetry.Telemetry
	group  *lifecycle.Group
	db     postgres.Querier
	store  *store.Store
	relay  *outbox.Relay // nil in a process that only serves
	checks []telemetry.Check
	link   *bus.Link // of a process that works
}

// wake signals the relay of this process, if it has one, that a message waits.
func (p *process) wake() {
	if p.relay != nil {
		p.relay.Wake()
	}
}

func start(ctx context.Context, environ map[string]string, serves, works bool) error {
	cfg, err := config.Read[settings](environ)
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, wire.Reports, cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(ctx)
	events, err := keyring.ParseOptional(cfg.EventKeys.Reveal())
	if err != nil {
		return fmt.Errorf("EVENT_KEYS: %w", err)
	}
	keys, err := cfg.keys()
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, store.Session(cfg.Postgres), migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()

	p := &process{cfg: cfg, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain), db: db}
	p.store = store.New(db, p.tel.Log, keys, cfg.Seal, p.wake)
	p.store.SealEvents(events)
	if cfg.Recovery {
		tel.Log.Warn("recovery on: skipping record ids that may have been shown")
		if err := p.store.Recover(ctx); err != nil {
			return err
		}
	}
	tel.Registry.MustRegister(p.group)
	p.checks = []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return p.group.Ready() }},
		{Name: "database", Ready: db.Ping},
	}
	if serves {
		if err := p.serve(environ); err != nil {
			return err
		}
	}
	if works {
		closeLink, err := p.work(ctx, environ)
		if err != nil {
			return err
		}
		defer closeLink()
	}
	present := (&presence.Reporter{DB: db, Role: presence.Roles(serves, works), Checks: func() []telemetry.Check { return p.checks }}).Start()
	if works {
		present.Queues = presence.Depths(p.link.Depths)
	}
	p.group.Every("presence", presence.Every, present.Report)
	if err := p.group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(p.checks...)); err != nil {
		return err
	}
	return p.group.Run(ctx)
}

// serve adds the HTTP API.
func (p *process) serve(environ map[string]string) error {
	cfg, err := config.Read[serveSettings](environ)
	if err != nil {
		return err
	}
	verifier, err := cfg.Identity.Verifier(wire.Reports)
	if err != nil {
		return err
	}
	modes, err := cfg.modes()
	if err != nil {
		return err
	}
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "reports_refused_total", Help: "Requests refused by a limit: lookup (one subject), guess (one address), flood (one key on one wallet).",
	}, []string{"limit"})
	p.tel.Registry.MustRegister(refused)
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, verifier)
	httpapi.Routes(server, app.New(app.Deps{
		Filing: p.store, Reading: p.store, Changing: p.store, Oversight: p.store, Backlog: outbox.NewBacklog(p.db, outbox.MaxRows),
		PublicModes: modes, MarkedSince: cfg.MarkedSince, SkipLoopback: cfg.SkipLoopback, FloodPerHour: cfg.FloodPerHour, Merchants: p.cfg.Merchants,
		Lookups:      limit.New(cfg.LookupRate, time.Second, cfg.LookupBurst, time.Now),
		Guesses:      limit.New(cfg.Guesses, time.Minute, cfg.Guesses, time.Now),
		NewReference: id.ReportReference, Refused: func(reason string) { refused.WithLabelValues(reason).Inc() }, Log: p.tel.Log,
	}), presence.Lister(p.db, wire.Reports))
	return p.group.HTTP("api", cfg.HTTPAddr, server)
}

const (
	maintainEvery = time.Minute
	eraseEvery    = 10 * time.Minute
)

const suspectsEvery = 15 * time.Second

// suspects counts the addresses that wait for an operator.
func (p *process) suspects() func(ctx context.Context) error {
	waiting := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "reports_addresses_waiting", Help: "Accused addresses that wait for an operator to confirm or withdraw.",
	}, []string{"mode"})
	p.tel.Registry.MustRegister(waiting)
	return func(ctx context.Context) error {
		found, err := p.store.Waiting(ctx, p.cfg.Merchants)
		if err != nil {
			return err
		}
		for _, mode := range tenant.Modes() {
			waiting.WithLabelValues(string(mode)).Set(float64(found[mode]))
		}
		return nil
	}
}

// work adds the consumer of answers, the relay and the upkeep.
func (p *process) work(ctx context.Context, environ map[string]string) (closeLink func(), err error) {
	cfg, err := config.Read[workSettings](environ)
	if err != nil {
		return nil, err
	}
	keep, err := erasure.Keep(cfg.Laundering)
	if err != nil {
		return nil, err
	}
	link, err := bus.Dial(ctx, cfg.Bus, wire.Reports, p.tel)
	if err != nil {
		return nil, err
	}
	p.link = link
	p.checks = append(p.checks, telemetry.Check{Name: "consumers", Ready: link.Ready})
	link.HandleStored(outbox.Stored(p.db))
	p.group.Go("consumers", link.Run)
	p.group.Every("upkeep", maintainEvery, func(ctx context.Context) error { return idempotency.Maintain(ctx, p.db) })
	p.group.Every("erasures", eraseEvery, func(ctx context.Context) error { return p.store.EraseDue(ctx, keep) })
	p.group.Every("suspects", suspectsEvery, p.suspects())
	p.relay = outbox.NewRelay(p.cfg.Postgres, link.Publisher(), p.tel)
	p.group.Go("outbox relay", p.relay.Run)
	return func() { _ = link.Close() }, nil // the process ends
}
