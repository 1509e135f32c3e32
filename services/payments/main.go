// Command payments prices payments, follows their deposits and pays them out. `serve` answers the HTTP API and never
// dials the broker; `work` consumes, relays, runs the timers and sends payouts; without a verb it does both. This
// package only wires.
package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/httpapi"
	"causeway.internal/services/payments/internal/messaging"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/screen"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/usecases"
	"causeway.internal/services/payments/migrations"
)

var program = command.Program{Name: wire.Payments, Verbs: slices.Concat(
	command.Roles(start), command.Standard(migrations.FS), bus.DeadVerbs(wire.Payments),
	discard.Verbs(wire.Payments, migrations.FS), operations,
)}

func main() { program.Main() }

// start runs one role or both until ctx ends.
func start(ctx context.Context, environ map[string]string, serves, works bool) error {
	cfg, err := config.Read[settings](environ)
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, wire.Payments, cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(ctx)
	var b broker // of a process that works; one that only serves has none
	if works {
		if b, err = dial(ctx, environ, cfg, tel); err != nil {
			return err
		}
		defer b.close()
	}
	p, err := open(ctx, cfg, tel, b.wake)
	if err != nil {
		return err
	}
	defer p.close(ctx)
	var a api // of a process that serves
	if serves {
		if a, err = p.openAPI(ctx, environ); err != nil {
			return err
		}
	}
	cases := usecases.New(p.parts(a))
	if serves {
		if err := p.serve(a, cases); err != nil {
			return err
		}
	}
	if works {
		if err := p.work(b, cases); err != nil {
			return err
		}
	}
	if p.present.Role = presence.Roles(serves, works); works {
		p.present.Queues = presence.Depths(b.link.Depths)
	}
	p.group.Every("presence", presence.Every, p.present.Report)
	if err := p.group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(p.checks...)); err != nil {
		return err
	}
	return p.group.Run(ctx)
}

// broker is the connection to the message broker, with the relay of the outbox.
type broker struct {
	cfg   workSettings
	link  *bus.Link
	relay *outbox.Relay
}

// dial connects to the broker with the settings of a process that works.
func dial(ctx context.Context, environ map[string]string, cfg settings, tel *telemetry.Telemetry) (broker, error) {
	own, err := config.Read[workSettings](environ)
	if err != nil {
		return broker{}, err
	}
	link, err := bus.Dial(ctx, own.Bus, wire.Payments, tel)
	if err != nil {
		return broker{}, err
	}
	return broker{own, link, outbox.NewRelay(cfg.Postgres, link.Publisher(), tel)}, nil
}

// wake makes the relay, if there is one, read the outbox.
func (b broker) wake() {
	if b.relay != nil {
		b.relay.Wake()
	}
}

func (b broker) close() { _ = b.link.Close() } // the process ends

// api is what the HTTP API needs beside the use cases.
type api struct {
	cfg       serveSettings
	verifier  httpkit.Verifier
	stock     *stock.Stock
	fees      *fees.Schedules
	signing   refunds.Keys
	refundsOn []string                           // networks on which refunds of live mode leave
	above     map[money.Currency]decimal.Decimal // a refund that moves more needs operators
	draws     draws.Rules
}

// openAPI reads the settings of a process that serves and the fee schedules, and opens its stock of addresses.
func (p *process) openAPI(ctx context.Context, environ map[string]string) (a api, err error) {
	if a.cfg, err = config.Read[serveSettings](environ); err != nil {
		return a, err
	}
	if err := a.cfg.placed(p.cfg.Place.Shard); err != nil {
		return a, err
	}
	if a.verifier, err = a.cfg.Identity.Verifier(wire.Payments); err != nil {
		return a, err
	}
	if a.signing, err = a.cfg.Refunds.keys(); err != nil {
		return a, err
	}
	if a.refundsOn, err = a.cfg.Refunds.networks(); err != nil {
		return a, err
	}
	if a.above, err = a.cfg.Refunds.above(); err != nil {
		return a, err
	}
	if a.draws, err = a.cfg.Draws.rules(); err != nil {
		return a, err
	}
	a.fees = fees.NewSchedules(p.store.PublishedFees, p.clock.Now)
	if err := a.fees.Load(ctx); err != nil {
		return a, err
	}
	p.group.Every("fee schedules", feesEvery, a.fees.Load)
	a.stock = stock.New(p.store, id.New("replica_", time.Now()), a.cfg.AddressBlock, p.tel.Log)
	p.closers = append(p.closers, a.stock.Close)
	return a, nil
}

// serve adds the HTTP API.
func (p *process) serve(a api, cases *usecases.Set) error {
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, a.verifier)
	httpapi.Routes(server, httpapi.UseCases{
		Intake: cases.Intake, Payments: cases.Reader, Checkouts: cases.Checkouts, Merchants: cases.Merchants, Receivers: cases.Receivers,
		Pricing: cases.Pricing, Sandbox: cases.Sandbox, Operators: cases.Operators, Refunds: cases.Refunds, Hints: cases.Hints,
		Withdrawals: cases.Withdrawals, Statistics: cases.Statistics, Links: cases.Links, Draws: cases.Draws, Books: cases.Books, Processes: p.processes,
	})
	return p.group.HTTP("api", a.cfg.HTTPAddr, server)
}

// Intervals of the timers. The leader runs them.
const (
	stockEvery      = 200 * time.Millisecond
	expireEvery     = time.Second
	cleanEvery      = 2 * time.Second
	retainEvery     = time.Minute
	sendPausesEvery = 20 * time.Second
	eraseEvery      = 10 * time.Minute
	floatEvery      = time.Minute
	tellRailsEvery  = 5 * time.Second
	screenEvery     = 2 * time.Second
	unknownEvery    = 10 * time.Second
	openEvery       = 30 * time.Second
	// A reconciliation runs once a day; this is how soon after midnight, or after a start, it begins.
	reconcileEvery = time.Minute
	collectEvery   = 10 * time.Minute
	foldEvery      = 2 * time.Second
	closeEvery     = time.Minute // this is how soon after midnight a day is closed
	// Daily settlements begin this soon after midnight, or after a merchant has chosen one.
	settleEvery = time.Minute
	// A rail whose list of banks is old, and that did not give a new one, is asked again so often.
	banksRetry = 10 * time.Minute
)

// work adds consumers, payouts, timers and the relay. They stop in this order, so that the relay still publishes the
// last messages of the others.
func (p *process) work(b broker, cases *usecases.Set) error {
	keep, err := erasure.Keep(b.cfg.Laundering)
	if err != nil {
		return err
	}
	if every := b.cfg.BankListsEvery; every != 0 && every < banksRetry {
		return fmt.Errorf("BANK_LISTS_EVERY: %s is below %s", every, banksRetry)
	}
	messaging.Handle(b.link, messaging.Handlers{
		DepositChanged: cases.DepositChanged, AddressesAllocated: stock.Allocated(p.store.Fill), AddressesOwned: stock.Owned(p.store.KeepOwn),
		ScannedThrough: admission.Scanned(p.store.Advance), OutgoingFinal: books.Outgoing(p.store.Post), FraudSignal: screen.Signalled(p.store.NoteFraud),
		TransferFound: operators.Found(p.store.KeepFound),
		RefundChanged: cases.RefundChanged, HoldingsRead: books.Holdings(p.store.KeepReading),
	})
	b.link.HandleStored(p.stored)
	p.checks = append(p.checks, telemetry.Check{Name: "consumers", Ready: b.link.Ready})
	p.group.Go("consumers", b.link.Run)
	worker := payouts.New(cases.Payouts(b.cfg.PayoutSlots, p.cfg.Recovery))
	p.group.Go("payouts", worker.Run)
	p.group.Every("floats", floatEvery, worker.ReadFloats)
	p.group.Every("states of rails", tellRailsEvery, worker.TellRails)
	p.group.Go("timers", p.timers(cases, b.cfg, keep, worker.Wake))
	p.group.Go("outbox relay", b.relay.Run)
	return nil
}

// timers runs the periodic work on the leader, which wakes its payout worker when a payout is due.
func (p *process) timers(cases *usecases.Set, cfg workSettings, keep erasure.Retention, payoutDue func()) func(context.Context) error {
	metrics := newLeaderMetrics(p.tel.Registry)
	replenisher := stock.NewReplenisher(p.store, p.families, p.cfg.AddressStock, time.Now, metrics.stocked)
	return func(ctx context.Context) error {
		return postgres.LeadSession(ctx, p.cfg.Postgres, "payments timers", p.tel.Log, func(ctx context.Context, s *postgres.Session) error {
			defer metrics.reset()
			leading := p.group.Child(closeTimeout)
			stock := lifecycle.NewPace(stockEvery)
			leading.Go("due work", func(ctx context.Context) error { return s.AwaitWork(ctx, p.store.Work(payoutDue, stock.Wake)...) })
			leading.Paced("address stock", stock, func(ctx context.Context) error {
				err := replenisher.Look(ctx)
				if replenisher.Awaits() {
					stock.Stay()
				}
				return err
			})
			if !p.cfg.Recovery { // wallets still has to repeat the deposits of the lost time
				leading.Every("expiry", expireEvery, cases.ExpireDue)
			}
			leading.Every("used addresses", cleanEvery, p.store.CleanStock)
			leading.Every("reconciliation", reconcileEvery, func(ctx context.Context) error { return cases.Reconcile(ctx, metrics.compared) })
			leading.Every("cost of collecting", collectEvery, metrics.countCollecting(cases.Collecting))
			leading.Every("daily close", closeEvery, metrics.close(cases.CloseDays))
			leading.Every("treasury report", cfg.TreasuryEvery, func(ctx context.Context) error { return cases.Report(ctx, metrics.treasury) })
			leading.Every("statistics", foldEvery, p.store.FoldStatistics)
			if cfg.BankListsEvery > 0 {
				lists := metrics.bankLists(p.banks, cfg.BankListsEvery)
				leading.Every("reading of bank lists", banksRetry, lists.Refresh)
			}
			leading.Every("screening", screenEvery, cases.Rescreen)
			leading.Every("daily settlements", settleEvery, cases.Withdrawals.SettleDue)
			leading.Every("pauses of refunds", sendPausesEvery, p.store.SendPauses)
			leading.Every("retention", retainEvery, p.store.Retain)
			leading.Every("erasures", eraseEvery, func(ctx context.Context) error { return p.store.EraseDue(ctx, keep) })
			leading.Every("owed list", cfg.OwedEvery, metrics.listOwed(p.store, p.tel.Log))
			leading.Every("unknown payouts", unknownEvery, metrics.countPayouts(p.store))
			leading.Every("open payments", openEvery, metrics.countPayments(p.store))
			leading.Every("open refunds", openEvery, metrics.countRefunds(p.store))
			return leading.Run(ctx)
		})
	}
}
