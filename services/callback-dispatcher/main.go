// Command callback-dispatcher brings events to merchants: it takes status messages from RabbitMQ, stores one delivery
// per event and target, and posts them, signed, until they are accepted or exhausted (docs/api-contract.md#webhooks).
// `serve` answers the HTTP API, `work` consumes and sends; without a verb it does both. This package only wires.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/outbound"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/placed"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/attempt"
	"causeway.internal/services/callback-dispatcher/internal/httpapi"
	"causeway.internal/services/callback-dispatcher/internal/messaging"
	"causeway.internal/services/callback-dispatcher/internal/store"
	"causeway.internal/services/callback-dispatcher/migrations"
)

var program = command.Program{Name: wire.Dispatcher, Verbs: slices.Concat(command.Roles(start), command.Standard(migrations.FS), []command.Verb{
	{Name: "dead list", Args: "[--limit n] [--broker]", Run: deadList},
	{Name: "dead redrive", Args: "[--limit n] [--broker] (--all | id…)", Run: deadRedrive},
	{Name: "rotate-master", Run: rotateMaster},
	{Name: "dead discard", Args: "[--broker] " + discard.Usage, Run: deadDiscard},
	{Name: "dead discarded", Args: "[--limit n]", Run: deadDiscarded},
	{Name: "events", Args: "--id evt_… | --from TIME [--to TIME] [--type PREFIX] [--bare]", Run: events},
	{Name: "missing", Args: "< SEQUENCES", Run: missing},
})}

func main() { program.Main() }

// process is what the roles share while they are put together.
type process struct {
	tel     *telemetry.Telemetry
	group   *lifecycle.Group
	store   *store.Store
	session postgres.Config // of the store's connections
	secrets *app.Secrets
	checks  []telemetry.Check

	policies map[tenant.Mode]guard.Policy
	bodies   keyring.Optional // opens events
	unopened prometheus.Counter

	processes func(context.Context) (presence.Answer, error)
	link      *bus.Link // of a process that works
}

func start(ctx context.Context, environ map[string]string, serves, works bool) error {
	cfg, err := config.Read[settings](environ)
	if err != nil {
		return err
	}
	ring, err := keyring.Parse(cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	tel, err := telemetry.Start(ctx, wire.Dispatcher, cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(ctx)
	session := store.Session(cfg.Postgres)
	db, err := postgres.Open(ctx, session, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()

	policies, err := cfg.policies()
	if err != nil {
		return err
	}
	bodies, err := keyring.ParseOptional(cfg.EventKeys.Reveal())
	if err != nil {
		return fmt.Errorf("EVENT_KEYS: %w", err)
	}
	p := &process{
		policies: policies, bodies: bodies, unopened: newUnopened(tel.Registry), session: session, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain),
	}
	p.store = store.New(db, id.New("dsp_", time.Now()), lockKey())
	p.secrets = app.NewSecrets(p.store, ring, time.Now)
	tel.Registry.MustRegister(p.group)
	p.checks = []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return p.group.Ready() }},
		{Name: "database", Ready: p.store.Ready},
	}
	p.processes = presence.Lister(db, wire.Dispatcher)
	if serves {
		if err := p.serve(ctx, environ, db); err != nil {
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
func (p *process) serve(ctx context.Context, environ map[string]string, db postgres.Querier) error {
	cfg, err := config.Read[serveSettings](environ)
	if err != nil {
		return err
	}
	if err := placed.Check(ctx, db, cfg.Shard); err != nil {
		return err
	}
	verifier, err := cfg.Identity.Verifier(wire.Dispatcher)
	if err != nil {
		return err
	}
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, verifier)
	httpapi.Routes(server, httpapi.Parts{
		Bodies: p.bodies, Secrets: p.secrets, Endpoints: app.NewEndpoints(p.store, p.store, cfg.Shard, time.Now), Log: p.store, Replays: p.store,
		Processes: p.processes, Operated: p.store, TakeIn: takeIn(p.store, messaging.Rules{Policies: p.policies, Bodies: p.bodies}),
		Shard: cfg.Shard, CheckURL: p.checkURL, Now: time.Now, Unopened: p.leftOut,
	})
	return p.group.HTTP("api", cfg.HTTPAddr, server)
}

// leftOut tells operators of an event that is missing in a merchant's list.
func (p *process) leftOut(ctx context.Context, merchantID, eventID string, err error) {
	p.unopened.Inc()
	p.tel.Log.ErrorContext(telemetry.With(ctx, telemetry.MerchantID, merchantID), "unreadable event omitted from list",
		"event_id", eventID, "err", err)
}

// checkURL says whether an endpoint may be registered in a mode and returns it as it is dialled.
func (p *process) checkURL(mode tenant.Mode, raw string) (string, error) {
	u, err := guard.Normalize(mode, raw, p.policies[mode])
	if err != nil {
		return "", err
	}
	return u.String(), nil
}

const (
	maintainEvery = time.Minute
	watchEvery    = 15 * time.Second
	healthEvery   = 5 * time.Second
	finish        = 16 * time.Second // a whole attempt and a little
	garbage       = 200              // percent of what is kept, which in a burst is every delivery that was taken in
)

// work adds the consumer, the sender and the upkeep. Consumers stop first, so that the sender sees no new event while
// it finishes.
func (p *process) work(ctx context.Context, environ map[string]string) (closeLink func(), err error) {
	lifecycle.Garbage(garbage)
	cfg, err := config.Read[workSettings](environ)
	if err != nil {
		return nil, err
	}
	limits, err := cfg.limits()
	if err != nil {
		return nil, err
	}
	schedules, err := cfg.schedules()
	if err != nil {
		return nil, err
	}
	health, err := cfg.health()
	if err != nil {
		return nil, err
	}
	tokens, err := cfg.tokens()
	if err != nil {
		return nil, err
	}
	link, err := bus.Dial(ctx, cfg.Bus, wire.Dispatcher, p.tel)
	if err != nil {
		return nil, err
	}
	p.link = link
	clients := map[tenant.Mode]*outbound.Client{}
	for mode, policy := range p.policies {
		clients[mode] = outbound.New(outbound.Config{Policy: policy, PerHost: limits.PerHost})
	}
	seen := newMetrics(p.tel.Registry, p.unopened, time.Now)
	sender := attempt.New(p.secrets, tokens, p.bodies, clients, p.tel.Tracer, time.Now)
	dispatcher := app.NewDispatcher(app.Options{
		Queue: p.store, Sender: sender, Ledger: p.store, Rules: app.Rules{Schedules: schedules, Breaker: cfg.breaker(), Jitter: rand.Int64N},
		Limits: limits, Observer: seen, Now: time.Now, Log: p.tel.Log,
	})
	seen.lanes(p.tel.Registry, dispatcher.Lanes())
	intake := app.NewIntake(p.store, p.store, dispatcher.Lanes(), seen, time.Now, dispatcher.Waiting)
	engine := &app.Engine{
		Members: store.NewMember(p.store, p.tel.Log), Intake: intake, Dispatcher: dispatcher, Log: p.tel.Log, Finish: finish,
	}
	link.HandleAll(wire.IntakeQueue, messaging.Parallel, messaging.StatusChanged(intake, p.store, messaging.Rules{Policies: p.policies, Bodies: p.bodies}))
	p.checks = append(p.checks, telemetry.Check{Name: "consumers", Ready: link.Ready})
	p.group.Go("consumers", link.Run)
	p.group.Go("sender", engine.Run)
	feed := app.FeedPace()
	p.group.Go("replays", func(ctx context.Context) error { return app.Feed(ctx, p.store, limits, feed, p.tel.Log) })
	p.group.Go("due work", func(ctx context.Context) error {
		return postgres.LeadSession(ctx, p.session, "due work", p.tel.Log, func(ctx context.Context, s *postgres.Session) error {
			return s.AwaitWork(ctx, store.Work(dispatcher.Wake, feed.Wake)...)
		})
	})
	p.group.Every("upkeep", maintainEvery, p.store.Maintain)
	p.group.Every("abandoned", maintainEvery, p.store.Abandon)
	p.group.Every("health", min(healthEvery, health.Warn[0]), func(ctx context.Context) error { return health.Look(ctx, p.store, time.Now) })
	p.group.Every("backlog", watchEvery, seen.watch(p.store.Backlog))
	return func() {
		for _, c := range clients {
			c.Close()
		}
		_ = link.Close() // the process ends
	}, nil
}
