// Command payments prices payments, follows their deposits and pays them out. `serve` answers the HTTP API and never
// dials the broker; `work` consumes, relays, runs the timers and sends payouts; without a verb it does both. This
// package only wires.
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
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/httpapi"
	"causeway.internal/services/payments/internal/messaging"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/screen"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/migrations"
)

var program = command.Program{Name: wire.Payments, Verbs: slices.Concat(
	command.Roles(start), command.Standard(migrations.FS), bus.DeadVerbs(wire.Payments),
	discard.Verbs(wire.Payments, migrations.FS), operations,
)}

func main() { program.Main() }

// process holds the parts that the roles share during the start.
type process struct {
	cfg       settings
	tel       *telemetry.Telemetry
	group     *lifecycle.Group
	providers map[tenant.Mode]provider.Set
	store     *store.Store
	deps      app.Deps
	relay     *outbox.Relay          // nil in a process that only serves
	led       []*prometheus.GaugeVec // set by the leader, and by no other process
	checks    []telemetry.Check
}

func start(ctx context.Context, environ map[string]string, serves, works bool) error {
	cfg, err := config.Read[settings](environ)
	if err != nil {
		return err
	}
	policy, err := cfg.policy()
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, wire.Payments, cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(ctx)
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()
	statement, err := store.OpenSimStatement(ctx, cfg.Postgres)
	if err != nil {
		return err
	}
	defer statement.Close()

	p := &process{cfg: cfg, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain)}
	if p.providers, err = cfg.providers(outside{statement, tel.Log, tel.Registry}); err != nil {
		return err
	}
	alerts := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "payments_alerts_total", Help: "Alerts to operators, by code."}, []string{"code"})
	tel.Registry.MustRegister(p.group, alerts)
	for _, code := range []string{"stray_deposit", payout.AlertContradicted} { // 0 from the start: increase() does not see a series appear
		alerts.WithLabelValues(code)
	}
	render := views.Renderer{PublicURL: cfg.PublicURL}
	clock, err := store.OpenClock(ctx, db, time.Now)
	if err != nil {
		return err
	}
	p.group.Every("database clock", clockEvery, clock.Measure)
	keys, err := keyring.Parse(cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	events, err := keyring.ParseOptional(cfg.EventKeys.Reveal())
	if err != nil {
		return fmt.Errorf("EVENT_KEYS: %w", err)
	}
	tokens, err := cfg.tokenKeys()
	if err != nil {
		return err
	}
	daily, err := cfg.Limits.daily()
	if err != nil {
		return err
	}
	p.store = store.New(db, store.Options{
		Render: render, Keys: keys, EventKeys: events, TokenKeys: tokens, TokenLife: policy.TokenLife, Daily: daily,
		Wake: p.wake, Alert: func(code string) { alerts.WithLabelValues(code).Inc() }, Moved: p.moves(), Log: tel.Log,
	})
	sanctions, err := screen.Open(cfg.SanctionsFile)
	if err != nil {
		return err
	}
	tel.Log.Info("sender screening enabled", "list", sanctions.Version())
	if err := cfg.Limits.narrow(&policy); err != nil {
		return err
	}
	policy.Screen, policy.Whole = true, whole(p.providers)
	_, live := p.providers[tenant.Live]
	second, err := cfg.secondAbove(live && !cfg.AllowSimulatedLive)
	if err != nil {
		return fmt.Errorf("SECOND_OPERATOR_ABOVE: %w", err)
	}
	pauses := admission.NewPauses(p.store.Pauses)
	if err := pauses.Load(ctx); err != nil {
		return err
	}
	p.group.Every("pauses", pausesEvery, pauses.Load)
	scans := admission.NewScans(p.store.Scans, cfg.ScanSilence, openGauge(tel.Registry), tel.Log)
	if err := scans.Load(ctx); err != nil {
		return err
	}
	p.group.Every("scans", scansEvery, scans.Load)
	families, err := cfg.families(p.providers)
	if err != nil {
		return err
	}
	p.deps = app.Deps{
		Keys: keys, Families: families, Screening: admission.NewScreening(screen.New(sanctions, p.store), tel.Log), Pauses: pauses, Scans: scans,
		Store: p.store, SecondAbove: second, Watch: watch(tel.Registry), Worlds: p.providers, Policy: policy, Render: render, Refusal: httpapi.Refusal, Now: clock.Now, Log: tel.Log, Daily: daily,
		Full: outbox.NewBacklog(db, outbox.MaxRows).Full,
	}
	if err := p.limits(ctx, func(code string) { alerts.WithLabelValues(code).Inc() }); err != nil {
		return err
	}
	if cfg.Recovery {
		tel.Log.Warn("recovery on: stock discarded, payouts queried before sending, expiry paused")
		if err := p.store.Recover(ctx); err != nil {
			return err
		}
	}
	p.checks = []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return p.group.Ready() }},
		{Name: "database", Ready: db.Ping},
	}
	p.announce()
	for _, m := range markets(p.providers) {
		p.group.Go("rates", m.Run)
	}
	if serves {
		closeStock, err := p.serve(environ)
		if err != nil {
			return err
		}
		defer closeStock(ctx)
	}
	if works {
		closeLink, err := p.work(ctx, environ)
		if err != nil {
			return err
		}
		defer closeLink()
	}
	if err := p.group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(p.checks...)); err != nil {
		return err
	}
	return p.group.Run(ctx)
}

// announce logs the prices and the rails of each mode.
func (p *process) announce() {
	for _, mode := range []tenant.Mode{tenant.Test, tenant.Live} {
		if w, ok := p.providers[mode]; ok {
			rails := []string{w.Rail.Name()}
			for _, other := range w.Others {
				rails = append(rails, other.Name())
			}
			p.tel.Log.Info("mode open", "mode", mode, "rates", w.Rates.Name(), "rails", rails,
				"simulated", w.Rates.Simulated() || w.Rail.Caps().Simulated)
		} else {
			p.tel.Log.Info("mode closed", "mode", mode)
		}
	}
}

// wake makes the relay of this process, if it has one, look at the outbox.
func (p *process) wake() {
	if p.relay != nil {
		p.relay.Wake()
	}
}

// clockEvery is how often a process measures the difference to the database's clock.
const clockEvery = 10 * time.Second

// pausesEvery is how often a process reads the pauses of quotes.
const pausesEvery = time.Second

// scansEvery is how often a process reads which networks are open.
const scansEvery = time.Second

// closeTimeout bounds the clean-up after the last request.
const closeTimeout = 5 * time.Second

// serve adds the HTTP API with its stock of addresses.
func (p *process) serve(environ map[string]string) (closeStock func(context.Context), err error) {
	cfg, err := config.Read[serveSettings](environ)
	if err != nil {
		return nil, err
	}
	verifier, err := cfg.Identity.Verifier(wire.Payments)
	if err != nil {
		return nil, err
	}
	stock := stock.New(p.store, id.New("replica_", time.Now()), cfg.AddressBlock, p.tel.Log)
	p.deps.Stock, p.deps.Callback, p.deps.PlainGifts = stock, cfg.callbacks(), !cfg.MarkGifts
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, verifier)
	httpapi.Routes(server, app.New(p.deps))
	if err := p.group.HTTP("api", cfg.HTTPAddr, server); err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		stock.Close(ctx)
	}, nil
}

// Intervals of the timers. The leader runs them.
const (
	stockEvery   = 200 * time.Millisecond
	expireEvery  = 500 * time.Millisecond
	cleanEvery   = 2 * time.Second
	retainEvery  = time.Minute
	eraseEvery   = 10 * time.Minute
	floatEvery   = time.Minute
	screenEvery  = 2 * time.Second
	unknownEvery = 10 * time.Second
	openEvery    = 30 * time.Second
	// A reconciliation runs once a day; this is how soon after midnight, or after a start, it begins.
	reconcileEvery = time.Minute
)

// work adds consumers, payouts, timers and the relay. They stop in this order, so that the relay still publishes the
// last messages of the others.
func (p *process) work(ctx context.Context, environ map[string]string) (closeLink func(), err error) {
	cfg, err := config.Read[workSettings](environ)
	if err != nil {
		return nil, err
	}
	keep, err := erasure.Keep(cfg.Laundering)
	if err != nil {
		return nil, err
	}
	link, err := bus.Dial(ctx, cfg.Bus, wire.Payments, p.tel)
	if err != nil {
		return nil, err
	}
	a := app.New(p.deps)
	messaging.Handle(link, messaging.Handlers{
		DepositChanged: a.DepositChanged, AddressesAllocated: stock.Allocated(p.store.Fill), AddressesOwned: stock.Owned(p.store.KeepOwn),
		ScannedThrough: admission.Scanned(p.store.Advance), OutgoingFinal: books.Outgoing(p.store.Post), FraudSignal: screen.Signalled(p.store.NoteFraud),
	})
	p.relay = outbox.NewRelay(p.cfg.Postgres, link.Publisher(), p.tel)
	p.checks = append(p.checks, telemetry.Check{Name: "consumers", Ready: link.Ready})

	p.group.Go("consumers", link.Run)
	worker := a.Worker(p.store, cfg.PayoutSlots)
	worker.AskFirst = p.cfg.Recovery
	payouts := payouts.New(worker)
	p.group.Go("payouts", payouts.Run)
	p.group.Every("floats", floatEvery, payouts.ReadFloats)
	p.group.Go("timers", p.timers(a, stock.NewReplenisher(p.store, p.deps.Families, cfg.AddressStock, time.Now, p.stockGauge()), keep))
	p.group.Go("outbox relay", p.relay.Run)
	return func() { _ = link.Close() }, nil // the process ends
}

// timers runs the periodic work on the leader.
func (p *process) timers(a *app.App, r *stock.Replenisher, keep erasure.Retention) func(context.Context) error {
	differs, unknown, open := p.differences(), p.unknown(), p.open()
	return func(ctx context.Context) error {
		return postgres.Lead(ctx, p.cfg.Postgres, "payments timers", p.tel.Log, func(ctx context.Context) error {
			defer func() { // a former leader must not show old values
				for _, gauge := range p.led {
					gauge.Reset()
				}
			}()
			leading := p.group.Child(closeTimeout)
			leading.Every("address stock", stockEvery, r.Look)
			if !p.cfg.Recovery { // wallets still has to repeat the deposits of the lost time
				leading.Every("expiry", expireEvery, a.ExpireDue)
			}
			leading.Every("used addresses", cleanEvery, p.store.CleanStock)
			leading.Every("reconciliation", reconcileEvery, func(ctx context.Context) error { return a.Reconcile(ctx, differs) })
			leading.Every("screening", screenEvery, a.Rescreen)
			leading.Every("retention", retainEvery, p.store.Retain)
			leading.Every("erasures", eraseEvery, func(ctx context.Context) error { return p.store.EraseDue(ctx, keep) })
			leading.Every("unknown payouts", unknownEvery, unknown)
			leading.Every("open payments", openEvery, open)
			return leading.Run(ctx)
		})
	}
}

// openGauge shows which networks take payments. A network of live mode that was never scanned has no series, because it
// may have no RPC endpoint.
func openGauge(registry prometheus.Registerer) func(tenant.Mode, string, bool) {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_network_open", Help: "1 while the scan of a network follows its chain, so that it takes payments; 0 while it is closed.",
	}, []string{"mode", "network"})
	registry.MustRegister(gauge)
	for _, n := range money.Networks() { // every network of test mode is scanned; closed until wallets reports it
		gauge.WithLabelValues(string(tenant.Test), n.Name)
	}
	return func(mode tenant.Mode, network string, open bool) {
		value := 0.0
		if open {
			value = 1
		}
		gauge.WithLabelValues(string(mode), network).Set(value)
	}
}

// moves counts the payments that enter each status, and measures how long they stay in it.
func (p *process) moves() func(store.Move) {
	entered := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "payments_entered_total", Help: "Payments that entered a status, by mode and type.",
	}, []string{"mode", "type", "status"})
	stayed := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "payments_status_seconds", Help: "Time that payments spent in a status before they left it.",
		Buckets: []float64{1, 5, 15, 60, 300, 900, 1800, 3600, 4 * 3600, 24 * 3600, 72 * 3600},
	}, []string{"mode", "status"})
	p.tel.Registry.MustRegister(entered, stayed)
	return func(m store.Move) {
		entered.WithLabelValues(string(m.Mode), string(m.Type), string(m.To)).Inc()
		if m.From != payment.StateNone {
			stayed.WithLabelValues(string(m.Mode), string(m.From)).Observe(m.After.Seconds())
		}
	}
}

// unknown measures payouts of unknown outcome, on the leader.
func (p *process) unknown() func(context.Context) error {
	unknown := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "payments_payouts_unknown", Help: "Payouts of unknown outcome."}, []string{"mode"})
	oldest := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_payout_unknown_oldest_seconds", Help: "Time since the oldest payout of unknown outcome was first sent.",
	}, []string{"mode"})
	under := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "payments_payouts_open", Help: "Payouts that have not ended."}, []string{"mode"})
	waits := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_payout_open_oldest_seconds", Help: "Time since the oldest payout that has not ended was entered.",
	}, []string{"mode"})
	frozen := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_payouts_frozen", Help: "Payouts whose rail's answer does not match what was sent; an operator has to conclude them.",
	}, []string{"mode"})
	stuck := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_payouts_stuck", Help: "Payouts that are not sent again by themselves; an operator has to conclude them.",
	}, []string{"mode"})
	gauges := []*prometheus.GaugeVec{unknown, oldest, under, waits, frozen, stuck}
	for _, gauge := range gauges {
		p.tel.Registry.MustRegister(gauge)
	}
	p.led = append(p.led, gauges...)
	return func(ctx context.Context) error {
		all, err := p.store.Unknowns(ctx)
		if err != nil {
			return err
		}
		for _, mode := range []string{"live", "test"} {
			for _, gauge := range gauges {
				gauge.WithLabelValues(mode).Set(0)
			}
		}
		for _, d := range all {
			unknown.WithLabelValues(string(d.Mode)).Set(float64(d.Payouts))
			oldest.WithLabelValues(string(d.Mode)).Set(d.Oldest.Seconds())
			under.WithLabelValues(string(d.Mode)).Set(float64(d.Open))
			waits.WithLabelValues(string(d.Mode)).Set(d.Waits.Seconds())
			frozen.WithLabelValues(string(d.Mode)).Set(float64(d.Frozen))
			stuck.WithLabelValues(string(d.Mode)).Set(float64(d.Stuck))
		}
		return nil
	}
}

// open counts the payments in each status that is not final, on the leader.
func (p *process) open() func(context.Context) error {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_open", Help: "Payments in a status that they will leave; 20000 means that many or more.",
	}, []string{"mode", "type", "status"})
	p.tel.Registry.MustRegister(gauge)
	p.led = append(p.led, gauge)
	return func(ctx context.Context) error {
		all, err := p.store.Open(ctx)
		for _, o := range all {
			gauge.WithLabelValues(string(o.Mode), string(o.Type), string(o.Status)).Set(float64(o.Payments))
		}
		return err
	}
}

// differences is the gauge of the open differences that reconciliation found, on the leader.
func (p *process) differences() func(open map[string]int, at time.Time) {
	open := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_ledger_differences", Help: "Open differences of the ledger from deposits, payouts and rails, by kind.",
	}, []string{"kind"})
	at := prometheus.NewGauge(prometheus.GaugeOpts{Name: "payments_reconciled_timestamp_seconds", Help: "When the books were last compared."})
	p.tel.Registry.MustRegister(open, at)
	p.led = append(p.led, open)
	return func(found map[string]int, compared time.Time) {
		for _, kind := range books.DiffKinds() {
			open.WithLabelValues(kind).Set(float64(found[kind]))
		}
		at.Set(float64(compared.Unix()))
	}
}

func (p *process) stockGauge() func(tenant.Mode, money.Family, int) {
	stock := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "payments_address_stock", Help: "Free deposit addresses that no replica has leased.",
	}, []string{"mode", "family"})
	p.tel.Registry.MustRegister(stock)
	p.led = append(p.led, stock)
	return func(mode tenant.Mode, family money.Family, free int) {
		stock.WithLabelValues(string(mode), string(family)).Set(float64(free))
	}
}
