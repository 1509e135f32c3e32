package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/keys"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/network"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/unseen"
)

// Intervals of the periodic work.
const (
	grantEvery  = 10 * time.Second
	rotateEvery = 10 * time.Minute
	closeEvery  = time.Second
	tellEvery   = time.Second
	retainEvery = time.Minute
	levelEvery  = 10 * time.Second
	sealEvery   = 5 * time.Minute

	endpointsEvery = 5 * time.Second
	rescanEvery    = 2 * time.Second

	simulateEvery = time.Second
)

// work adds consumers, scanners, sweeps and timers.
func (p *process) work(ctx context.Context, cases *app.App, chains *network.Chains, sources keys.Sources) error {
	swept, err := chains.Sweeps(p.worker.SignerSocket != "")
	if err != nil {
		return err
	}
	if err := p.worker.check(); err != nil {
		return err
	}
	if err := p.book.KeepAccounts(ctx, p.cfg.Chains.Live.Treasuries()); err != nil {
		return err
	}
	messaging.Consume(p.link, cases)
	p.link.HandleStored(p.stored)
	p.group.Go("consumers", p.link.Run)
	p.group.Every("waiting allocations", grantEvery, cases.GrantWaiting)
	p.group.Every("wallet windows", closeEvery, drained(p.closeWindows))
	p.group.Every("addresses for payments", tellEvery, drained(p.book.TellOwned))
	if len(swept) > 0 && !p.cfg.Recovery { // after a restore nothing is swept before the chains were scanned again
		p.group.Go("sweeps", sweeper.NewFleet(sweeper.Options{
			Networks: swept, Every: p.worker.SweepEvery, Postgres: p.cfg.Postgres, Telemetry: p.tel, Store: p.book.Sweeps(),
			Refunds: p.book.Refunds(), Signer: signer.New(p.worker.SignerSocket), Sources: sources[tenant.Live], Sample: p.book.Sample,
		}).Run)
	}
	p.group.Every("simulated deposits", simulateEvery, chains.TakeWaiting)
	p.group.Every("refunds of test mode", simulateEvery, drained(p.book.SimulateRefunds))
	p.group.Every("spent outputs", levelEvery, holdings.NewElsewhereGauge(p.book.Refunds(), p.tel.Registry).Measure)
	p.group.Every("open refunds", levelEvery, sweeper.NewRefundGauges(p.book.Refunds(), p.tel.Registry).Measure)
	p.group.Go("unseen coin", unseen.NewWatch(unseen.Options{
		Networks: chains.Unseen(), Every: p.worker.BalancesEvery, Postgres: p.cfg.Postgres, Telemetry: p.tel, Store: p.book,
	}).Run)
	if !p.cfg.Recovery { // the books of a restored database are behind the chains
		if every := p.worker.HoldingsEvery; every <= 0 || every >= holdings.EveryBelow {
			return fmt.Errorf("HOLDINGS_EVERY is %s; it must be above 0 and below %s", every, holdings.EveryBelow)
		}
		read, err := chains.Holdings(signer.New(p.worker.SignerSocket).Stations)
		if err != nil {
			return err
		}
		p.group.Go("holdings", func(ctx context.Context) error {
			return holdings.Run(ctx, holdings.Options{
				Networks: read, Every: p.worker.HoldingsEvery, Postgres: p.cfg.Postgres, Telemetry: p.tel, Store: p.book.Refunds(),
			})
		})
	}
	if p.keeper.Pinned != nil {
		level := keys.NewLevel(p.book, p.cfg.Chains.PoolLow, p.tel.Registry, p.tel.Log)
		p.group.Every("address stock", levelEvery, level.Measure)
	}
	p.group.Every("inbox rotation", rotateEvery, p.book.RotateInbox)
	p.group.Every("trace rotation", rotateEvery, p.book.RotateTraces)
	p.group.Every("retention", retainEvery, p.book.Retain)
	p.group.Every("address segments", sealEvery, drained(p.sealSegment))
	if p.cfg.Recovery {
		p.group.Go("second look", func(ctx context.Context) error { return chains.SecondLook(ctx, p.cfg.Postgres) })
	}
	owner := rand.Text()
	p.group.Every("health of endpoints", endpointsEvery, func(ctx context.Context) error { return p.book.TellEndpoints(ctx, owner, chains.Endpoints()) })
	p.group.Every("rescans", rescanEvery, func(ctx context.Context) error { return chains.Rescan(ctx, owner) })
	p.group.Go("scanners", func(ctx context.Context) error {
		worker := scanner.NewWorker(p.book, owner, chains.Jobs, p.tel.Log, chains.Metrics)
		return p.book.Alive(ctx, p.cfg.Postgres, owner, p.tel.Log, worker.Run)
	})
	return nil
}

// chains makes the scans.
func (p *process) chains(closed network.Closed) (*network.Chains, error) {
	return network.Open(network.Options{
		Networks: p.cfg.Chains.Live, Bitcoin: p.keeper.Nets[tenant.Live], Depths: p.depths,
		AnnounceTest: p.worker.AnnounceTest, AnnounceLive: p.worker.AnnounceLive, SimulatedEvery: p.worker.SimulatedEvery, Closed: closed, Book: p.book,
		Telemetry: p.tel, Metrics: scanner.NewMetrics(p.tel.Registry),
	})
}

// closeMost bounds how many wallets one transaction expires.
const closeMost = 200

func (p *process) closeWindows(ctx context.Context) (more bool, err error) {
	closed, err := p.book.CloseWindows(ctx, closeMost)
	return closed == closeMost, err
}

func (p *process) sealSegment(ctx context.Context) (more bool, err error) {
	return p.book.SealSegment(ctx, store.SegmentSize)
}

// drained repeats a transaction until no work is left.
func drained(page func(context.Context) (more bool, err error)) func(context.Context) error {
	return func(ctx context.Context) error {
		for {
			if more, err := page(ctx); err != nil || !more {
				return err
			}
		}
	}
}
