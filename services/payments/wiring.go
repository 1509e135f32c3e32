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
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/checkouts"
	"causeway.internal/services/payments/internal/deposits"
	"causeway.internal/services/payments/internal/httpapi"
	"causeway.internal/services/payments/internal/intake"
	"causeway.internal/services/payments/internal/merchants"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/sandbox"
	"causeway.internal/services/payments/internal/screen"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/store"
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
	full      func(context.Context) error // an error while the outbox is too full for new work
	providers map[tenant.Mode]provider.Set
	families  map[tenant.Mode][]money.Family
	second    map[money.Currency]decimal.Decimal // an order that moves more needs a second operator
	pauses    *admission.Pauses
	scans     *admission.Scans
	capacity  *admission.Capacity
	screening admission.Screening
	access    *access.Payments
	receivers *receivers.Receivers
	deposits  *deposits.Deposits
	rails     payouts.Metrics
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
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return nil, err
	}
	p.closers = append(p.closers, func(context.Context) { db.Close() })
	if p.clock, err = store.OpenClock(ctx, db, time.Now); err != nil {
		return nil, err
	}
	p.group.Every("database clock", clockEvery, p.clock.Measure)
	if err := p.openProviders(ctx); err != nil {
		return nil, err
	}
	alert := alertCounter(tel.Registry)
	p.store = store.New(db, store.Options{
		Render: p.render(), Keys: p.keys, EventKeys: p.eventKeys, TokenKeys: p.tokenKeys, TokenLife: p.policy.TokenLife, Daily: p.daily,
		Wake: wake, Alert: alert, Moved: moveMetrics(tel.Registry), Log: tel.Log,
	})
	p.full = outbox.NewBacklog(db, outbox.MaxRows).Full
	if cfg.Recovery {
		tel.Log.Warn("recovery on: stock discarded, payouts queried before sending, expiry paused")
		if err := p.store.Recover(ctx); err != nil {
			return nil, err
		}
	}
	if err := p.openAdmission(ctx, alert); err != nil {
		return nil, err
	}
	p.access = &access.Payments{Store: p.store, Keys: p.keys, Refusal: httpapi.Refusal}
	p.receivers = receivers.New(receivers.Options{Providers: p.providers, Access: p.access, Find: p.store.Find, Policy: p.policy, Now: p.clock.Now})
	p.deposits = &deposits.Deposits{Store: p.store, Providers: p.providers, Policy: p.policy, Capacity: p.capacity, Screening: p.screening}
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
	clockEvery    = 10 * time.Second
	pausesEvery   = time.Second
	scansEvery    = time.Second
	capacityEvery = 5 * time.Second
)

// openAdmission loads pauses, scans and open amounts, and reads them again in the background.
func (p *process) openAdmission(ctx context.Context, alert func(code string)) error {
	sanctions, err := screen.Open(p.cfg.SanctionsFile)
	if err != nil {
		return err
	}
	p.tel.Log.Info("sender screening enabled", "list", sanctions.Version())
	p.screening = admission.NewScreening(screen.New(sanctions, p.store), p.tel.Log)
	p.pauses = admission.NewPauses(p.store.Pauses)
	p.scans = admission.NewScans(p.store.Scans, p.cfg.ScanSilence, networkGauge(p.tel.Registry), p.tel.Log)
	p.capacity = admission.NewCapacity(p.store.Exposure, p.caps.Crypto, p.caps.Fiat, capacityGauge(p.tel.Registry),
		func(string, string) { alert("capacity_near") })
	for _, load := range []func(context.Context) error{p.pauses.Load, p.scans.Load, p.capacity.Load} {
		if err := load(ctx); err != nil {
			return err
		}
	}
	p.group.Every("pauses", pausesEvery, p.pauses.Load)
	p.group.Every("scans", scansEvery, p.scans.Load)
	if p.capacity.On() {
		p.group.Every("capacity", capacityEvery, p.capacity.Load)
	}
	return nil
}

// useCases makes the use cases of the API.
func (p *process) useCases(cfg serveSettings, stock *stock.Stock) httpapi.UseCases {
	render, now := p.render(), p.clock.Now
	pricing := &pricing.Pricing{Providers: p.providers, Families: p.families, Policy: p.policy, Pauses: p.pauses, Scans: p.scans, Now: now}
	return httpapi.UseCases{
		Intake: &intake.Intake{
			Store: p.store, Access: p.access, Providers: p.providers, Pricing: pricing, Receivers: p.receivers, Stock: stock, Full: p.full,
			Policy: p.policy, Daily: p.daily, Capacity: p.capacity, Render: render, Callback: cfg.callbacks(), Keys: p.keys,
			PlainGifts: !cfg.MarkGifts, Now: now, Log: p.tel.Log,
		},
		Payments:  &views.Reader{Store: p.store, Render: render},
		Checkouts: &checkouts.Checkouts{Access: p.access, Pricing: pricing, Policy: p.policy, Render: render, Keep: p.store.NameTransaction},
		Merchants: &merchants.Merchants{Access: p.access, Policy: p.policy, Render: render, Keys: p.keys, Screening: p.screening},
		Receivers: p.receivers,
		Pricing:   pricing,
		Sandbox: &sandbox.Sandbox{
			Store: p.store, Access: p.access, Providers: p.providers, Deposits: p.deposits, Policy: p.policy, Render: render,
		},
		Operators: &operators.Operators{
			Store: p.store, Access: p.access, Providers: p.providers, Receivers: p.receivers, Policy: p.policy, Render: render, Keys: p.keys,
			SecondAbove: p.second, Now: now,
		},
		Hints: &payouts.Hints{Providers: p.providers, Hint: p.store.Hint, Metrics: p.rails},
	}
}

// payoutOptions are those of the worker that sends payouts.
func (p *process) payoutOptions(slots int) payouts.Options {
	return payouts.Options{
		Store: p.store, Providers: p.providers, Receivers: p.receivers, Policy: p.policy, Scans: p.scans, Screening: p.screening,
		Slots: slots, AskFirst: p.cfg.Recovery, Metrics: p.rails, Now: p.clock.Now, Log: p.tel.Log,
	}
}
