package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/placed"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/banks"
	"causeway.internal/services/payments/internal/httpapi"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/sandbox"
	"causeway.internal/services/payments/internal/screen"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/usecases"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/migrations"
)

// process holds the parts that both roles use.
type process struct {
	rules
	cfg       settings
	tel       *telemetry.Telemetry
	group     *lifecycle.Group
	checks    []telemetry.Check
	closers   []func(context.Context) // the last one runs first
	clock     *store.Clock
	store     *store.Store
	present   *presence.Reporter
	processes func(context.Context) (presence.Answer, error)
	full      func(context.Context) error // an error while the outbox is too full for new work
	stored    func(ctx context.Context, names []string, m wire.Stored) error
	providers map[tenant.Mode]provider.Set
	families  map[tenant.Mode][]money.Family
	second    map[money.Currency]decimal.Decimal // an order that moves more needs a second operator
	pauses    *admission.Pauses
	terms     *admission.Terms
	scans     *admission.Scans
	outages   *admission.Outages
	capacity  *admission.Capacity
	screening admission.Screening
	rails     payouts.Metrics
	banks     *banks.Banks
}

// open opens the database and makes the parts that both roles use. wake is called after every commit that left a
// message in the outbox.
func open(ctx context.Context, cfg settings, tel *telemetry.Telemetry, wake func()) (_ *process, err error) {
	p := &process{cfg: cfg, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain), rails: railMetrics(tel.Registry)}
	defer func() {
		if err != nil {
			p.close(ctx)
		}
	}()
	tel.Registry.MustRegister(p.group)
	if p.rules, err = cfg.rules(); err != nil {
		return nil, err
	}
	db, err := postgres.Open(ctx, store.Session(cfg.Postgres), migrations.FS, tel)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, func(context.Context) { db.Close() })
	if err := placed.Check(ctx, db, cfg.Place.Shard); err != nil {
		return nil, err
	}
	if p.clock, err = store.OpenClock(ctx, db, time.Now); err != nil {
		return nil, err
	}
	p.group.Every("database clock", clockEvery, p.clock.Measure)
	if err := p.openProviders(ctx); err != nil {
		return nil, err
	}
	raise := alertCounter(tel.Registry)
	p.terms = admission.NewTerms(func(ctx context.Context) ([]admission.Term, error) { return p.store.BindingTerms(ctx) })
	p.daily.Terms = p.terms
	p.store = store.New(db, store.Options{
		Render: p.render(), Keys: p.keys, EventKeys: p.eventKeys, TokenKeys: p.tokenKeys, TokenLife: p.policy.TokenLife, Daily: p.daily,
		Wake: wake, Alert: raise, Moved: moveMetrics(tel.Registry), Attached: attachCounter(tel.Registry), Log: tel.Log,
	})
	p.present = (&presence.Reporter{DB: db, Checks: func() []telemetry.Check { return p.checks }}).Start()
	p.processes = presence.Lister(db, wire.Payments)
	p.full = outbox.NewBacklog(db, outbox.MaxRows).Full
	p.stored = outbox.Stored(db)
	if cfg.Recovery {
		tel.Log.Warn("recovery on: stock discarded, payouts queried before sending, expiry, and refunds and withdrawals of live mode paused")
		if err := p.store.Recover(ctx, cfg.AccountHold); err != nil {
			return nil, err
		}
	}
	if err := p.openAdmission(ctx, raise); err != nil {
		return nil, err
	}
	p.checks = []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return p.group.Ready() }},
		{Name: "database", Ready: db.Ping},
	}
	return p, nil
}

// closeTimeout bounds the clean-up after the last request.
const closeTimeout = 5 * time.Second

// close cleans up after the group has ended.
func (p *process) close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	for _, f := range slices.Backward(p.closers) {
		f(ctx)
	}
}

func (p *process) render() views.Renderer { return views.Renderer{PublicURL: p.cfg.PublicURL} }

// openProviders opens the prices and the rails of each mode, and reads prices in the background.
func (p *process) openProviders(ctx context.Context) error {
	statement, err := store.OpenSimStatement(ctx, p.cfg.Postgres)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, func(context.Context) { statement.Close() })
	if p.providers, err = p.cfg.providers(outside{statement, p.tel.Log, p.tel.Registry}); err != nil {
		return err
	}
	if p.families, err = p.cfg.families(p.providers); err != nil {
		return err
	}
	_, live := p.providers[tenant.Live]
	if p.second, err = p.cfg.secondAbove(live && !p.cfg.AllowSimulatedLive); err != nil {
		return fmt.Errorf("SECOND_OPERATOR_ABOVE: %w", err)
	}
	p.policy.Whole = whole(p.providers)
	for _, m := range markets(p.providers) {
		p.group.Go("rates", m.Run)
	}
	p.announce()
	return nil
}

// announce logs the prices and the rails of each mode.
func (p *process) announce() {
	for _, mode := range tenant.Modes() {
		set, ok := p.providers[mode]
		if !ok {
			p.tel.Log.Info("mode closed", "mode", mode)
			continue
		}
		var rails []string
		for _, r := range set.Rails() {
			rails = append(rails, r.Name())
		}
		p.tel.Log.Info("mode open", "mode", mode, "rates", set.Rates.Name(), "rails", rails,
			"simulated", set.Rates.Simulated() || set.Rail.Caps().Simulated)
	}
}

// Intervals at which a process reads what decides about new money.
const (
	clockEvery     = 10 * time.Second
	admissionEvery = time.Second
	capacityEvery  = 5 * time.Second
	feesEvery      = 2 * time.Second // several times within fees.Lead
	sanctionsEvery = 20 * time.Second
	banksEvery     = time.Minute
)

// openAdmission loads pauses, scans and open amounts, and reads them again in the background.
func (p *process) openAdmission(ctx context.Context, raise func(tenant.Mode, alert.Code)) error {
	sanctions, err := screen.OpenFile(p.cfg.SanctionsFile, p.cfg.SanctionsMaxAge, time.Now, p.tel.Log)
	if err != nil {
		return err
	}
	p.tel.Log.Info("sender screening enabled", "list", sanctions.Current().Version(), "age", sanctions.Age())
	_, live := p.providers[tenant.Live]
	sanctionsMetrics(p.tel.Registry, sanctions, live)
	p.screening = admission.NewScreening(sandbox.Screener{Screener: screen.New(sanctions, p.store)}, p.tel.Log)
	p.pauses = admission.NewPauses(p.store.Pauses)
	p.scans = admission.NewScans(p.store.Scans, p.cfg.ScanSilence, networkGauge(p.tel.Registry), p.tel.Log)
	p.outages = admission.NewOutages(p.store.Outages)
	p.scans.Outages = p.outages
	p.capacity = admission.NewCapacity(p.store.Exposure, p.caps.Crypto, p.caps.Fiat, capacityGauge(p.tel.Registry),
		func(string, string) { raise(tenant.Live, alert.CapacityNear) })
	p.banks = &banks.Banks{Store: p.store, Sets: p.providers, Log: p.tel.Log}
	p.group.Every("bank lists", banksEvery, p.banks.Load)
	copies := admission.Copies{Pauses: p.pauses, Terms: p.terms, Scans: p.scans, Outages: p.outages}
	admit := func(ctx context.Context) error { return copies.Load(ctx, p.store.Admission) }
	for _, load := range []func(context.Context) error{p.banks.Load, admit, p.capacity.Load} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	if p.cfg.SanctionsFile != "" {
		p.group.Every("sanctions list", sanctionsEvery, sanctions.Refresh)
	}
	p.group.Every("pauses, terms, scans and outages", admissionEvery, admit)
	if p.capacity.On() {
		p.group.Every("capacity", capacityEvery, p.capacity.Load)
	}
	return nil
}

// parts are what the use cases are made of, with the API's in a process that serves.
func (p *process) parts(a api) usecases.Parts {
	parts := usecases.Parts{
		Store: p.store, Full: p.full, Providers: p.providers, Families: p.families, Policy: p.policy, Render: p.render(),
		Refusal: httpapi.Refusal, Now: p.clock.Now, Log: p.tel.Log, Screening: p.screening, Pauses: p.pauses, Terms: p.terms, Scans: p.scans, Outages: p.outages, Daily: p.daily,
		Capacity: p.capacity, Metrics: p.rails, SecondAbove: p.second, UnclaimedAfter: p.cfg.UnclaimedAfter, AccountHold: p.cfg.AccountHold, Keys: p.keys, StockLeast: p.cfg.AddressStock,
		Shard: p.cfg.Place.Shard, Recovery: p.cfg.Recovery,
	}
	if a.stock != nil {
		parts.API = usecases.API{
			Stock: a.stock, Fees: a.fees, Callback: a.cfg.callbacks(), PlainGifts: !a.cfg.MarkGifts, NoCredit: !a.cfg.Credit, Signing: a.signing, RefundsOn: a.refundsOn,
			Automatic: a.above, Draws: a.draws,
		}
	}
	return parts
}
