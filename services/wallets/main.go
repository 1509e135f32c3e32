// Command wallets issues deposit addresses, scans every network for deposits to them and publishes those to the other
// services. It holds extended public keys only. `wallets` runs both roles, `wallets serve` the HTTP API, `wallets work`
// consumers, outbox relay and scanners; `migrate`, `dead` and `version` are its other verbs, and for operators
// `rescan`, `rewind` and `deposits`. This package only wires.
package main

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/address"
	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/httpapi"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/network"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/signer"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/unseen"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

const service = wire.Wallets

var program = command.Program{Name: service, Verbs: slices.Concat(
	command.Roles(start), command.Standard(migrations.FS), bus.DeadVerbs(service),
	discard.Verbs(service, migrations.FS), operations,
)}

func main() { program.Main() }

// process is the state that the roles share while they start.
type process struct {
	cfg     common
	environ map[string]string
	tel     *telemetry.Telemetry
	group   *lifecycle.Group
	book    *store.Store
	backlog *outbox.Backlog
	nets    map[tenant.Mode]address.Net
	depths  wallet.Depths
	sources app.Sources
	wrong   app.Mismatches
	closed  network.Closed
	pinned  ed25519.PublicKey // of address batches; nil for none
	relay   *outbox.Relay     // nil in a process that only serves
	taken   func(network string)
	checks  []telemetry.Check
}

// out makes outgoing messages.
func (p *process) out() (messaging.Out, error) {
	events, err := keyring.ParseOptional(p.cfg.EventKeys.Reveal())
	if err != nil {
		return messaging.Out{}, fmt.Errorf("EVENT_KEYS: %w", err)
	}
	return messaging.Out{Now: time.Now, Untraced: p.cfg.Chains.Live.Untraced(), Events: events}, nil
}

// open reads the settings and opens the parts that every role and every verb uses. end closes them.
func open(ctx context.Context, environ map[string]string) (p *process, end func(), err error) {
	cfg, err := config.Read[common](environ)
	if err != nil {
		return nil, nil, err
	}
	tel, err := telemetry.Start(ctx, service, cfg.Telemetry)
	if err != nil {
		return nil, nil, err
	}
	p = &process{
		cfg: cfg, environ: environ, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain), taken: func(string) {}, closed: network.Closed{},
	}
	out, err := p.out()
	if err == nil {
		err = p.cfg.Chains.read(p)
	}
	if err != nil {
		tel.Flush(ctx)
		return nil, nil, err
	}
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		tel.Flush(ctx)
		return nil, nil, err
	}
	p.book = store.New(db, out, store.Settings{
		Nets: p.nets, Depths: p.depths, Now: time.Now, Wake: p.wake, Strayed: p.strayed(), Changed: p.changed, Found: p.found(),
	})
	p.backlog = outbox.NewBacklog(db, outbox.MaxRows)
	p.checks = []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return p.group.Ready() }},
		{Name: "database", Ready: db.Ping},
	}
	return p, func() { db.Close(); tel.Flush(ctx) }, nil
}

// start runs the roles until ctx ends.
func start(ctx context.Context, environ map[string]string, serve, work bool) error {
	p, end, err := open(ctx, environ)
	if err != nil {
		return err
	}
	defer end()
	p.tel.Registry.MustRegister(p.group)
	if err := p.openKeys(ctx); err != nil {
		return err
	}
	if err := p.recover(ctx); err != nil {
		return err
	}
	if work {
		stop, err := p.work(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	if serve {
		if err := p.serve(); err != nil {
			return err
		}
	}
	if work {
		p.group.Go("outbox relay", p.relay.Run)
	}
	if err := p.group.HTTP(lifecycle.Ops, p.cfg.OpsAddr, p.tel.Ops(p.checks...)); err != nil {
		return err
	}
	return p.group.Run(ctx)
}

// scanned reports whether processes with these settings scan a network of a mode.
func (p *process) scanned(mode tenant.Mode, network string) bool {
	return p.cfg.Chains.Live.Scanned(mode, network) && p.closed[scanner.Chain{Mode: mode, Network: network}] == nil
}

// read applies the settings of addresses and networks to the process.
func (s chainSettings) read(p *process) (err error) {
	if p.depths, err = wallet.ParseDepths(s.Confirmations); err != nil {
		return fmt.Errorf("CONFIRMATIONS: %w", err)
	}
	p.nets, err = s.nets()
	return err
}

// wake wakes the relay of this process, if it has one, for a new message.
func (p *process) wake() {
	if p.relay != nil {
		p.relay.Wake()
	}
}

// strayed reports a deposit to a standalone wallet in another crypto or on another network than the wallet's.
func (p *process) strayed() func(context.Context, wallet.Wallet, wallet.Deposit) {
	count := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "wallets_stray_deposits_total", Help: "Deposits on standalone wallets of another crypto or on another network than theirs.",
	}, []string{"mode", "network", "asset"})
	p.tel.Registry.MustRegister(count)
	return func(ctx context.Context, w wallet.Wallet, d wallet.Deposit) {
		count.WithLabelValues(string(d.Mode), d.Network, d.Asset).Inc()
		ctx = telemetry.With(telemetry.At(ctx, w.Trace), telemetry.MerchantID, w.MerchantID, "wallet_id", w.ID)
		p.tel.Log.WarnContext(ctx, "deposit of unexpected asset on wallet", "deposit", d.Key(), "asset", d.Asset,
			"network", d.Network, "wallet_crypto", w.Crypto, "wallet_network", w.Network)
	}
}

// changed logs every version of a deposit, in the trace of its address's payment.
func (p *process) changed(ctx context.Context, d wallet.Deposit) {
	p.tel.Log.InfoContext(telemetry.At(ctx, d.Trace), "deposit changed", "deposit", d.Key(), "mode", d.Mode, "state", d.State,
		"version", d.Version, "depth", d.Depth, "asset", d.Asset, "wallet_id", d.WalletID)
}

// found measures the time until a deposit is seen.
func (p *process) found() func(wallet.Deposit) {
	lag := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "wallets_deposit_lag_seconds", Help: "From the time of a deposit's block to when it was first seen.",
		Buckets: []float64{.25, .5, 1, 2.5, 5, 10, 15, 30, 60, 120, 300, 900, 3600},
	}, []string{"mode", "network"})
	p.tel.Registry.MustRegister(lag)
	return func(d wallet.Deposit) {
		lag.WithLabelValues(string(d.Mode), d.Network).Observe(max(0, d.FirstSeenAt.Sub(d.BlockTime).Seconds()))
	}
}

func (p *process) cases() *app.App {
	return app.New(p.book, p.book, app.Settings{
		Sources: p.sources, Nets: p.nets, Depths: p.depths, Taken: p.taken, Most: wire.AllocateMax, Margin: p.cfg.Margin, Log: p.tel.Log, Hints: p.book,
	})
}

func (p *process) serve() error {
	cfg, err := config.Read[serveSettings](p.environ)
	if err != nil {
		return err
	}
	verifier, err := cfg.Identity.Verifier(service)
	if err != nil {
		return err
	}
	api := app.NewAPI(p.cases(), app.APISettings{
		Wallets: p.book, Backlog: p.backlog, Sources: p.sources, Scanned: p.scanned, Now: time.Now,
	})
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, verifier)
	httpapi.Adopt(server, p.book)
	return p.group.HTTP("api", cfg.HTTPAddr, httpapi.New(server, api))
}

// Intervals of the periodic work.
const (
	grantEvery  = 10 * time.Second
	rotateEvery = 10 * time.Minute
	closeEvery  = 500 * time.Millisecond
	tellEvery   = time.Second
	retainEvery = time.Minute
)

// closeMost bounds how many wallets one transaction expires.
const closeMost = 200

// work starts consumers, scanners and timers. The relay comes last, so that it ends last and still sends the messages
// that the others write while they stop.
func (p *process) work(ctx context.Context) (end func(), err error) {
	cfg, err := config.Read[workSettings](p.environ)
	if err != nil {
		return nil, err
	}
	link, err := bus.Dial(ctx, cfg.Bus, service, p.tel)
	if err != nil {
		return nil, err
	}
	end = func() { _ = link.Close() }
	p.relay = outbox.NewRelay(p.cfg.Postgres, link.Publisher(), p.tel)
	metrics := scanner.NewMetrics(p.tel.Registry)
	chains, err := p.chains(cfg, p.closed, metrics)
	if err != nil {
		end()
		return nil, err
	}
	p.taken = chains.Taken
	cases := p.cases()
	messaging.Consume(link, cases)
	p.group.Go("consumers", link.Run)
	p.group.Every("waiting allocations", grantEvery, cases.GrantWaiting)
	p.group.Every("wallet windows", closeEvery, p.closeWindows)
	p.group.Every("addresses for payments", tellEvery, p.tellOwned)
	swept, err := chains.Sweeps(cfg.SignerSocket != "")
	if err == nil {
		err = p.book.KeepAccounts(ctx, p.cfg.Chains.Live.Treasuries())
	}
	if err != nil {
		end()
		return nil, err
	}
	if len(swept) > 0 && !p.cfg.Recovery { // after a restore nothing is swept before the chains were scanned again
		p.group.Go("sweeps", sweeper.NewFleet(sweeper.Options{
			Networks: swept, Every: cfg.SweepEvery, Postgres: p.cfg.Postgres, Telemetry: p.tel, Store: p.book.Sweeps(),
			Signer: signer.New(cfg.SignerSocket), Source: p.sources[tenant.Live][money.EVM], Sample: p.book.Sample,
		}).Run)
	}
	p.group.Go("unseen coin", unseen.NewWatch(unseen.Options{
		Networks: chains.Unseen(), Every: cfg.BalancesEvery, Postgres: p.cfg.Postgres, Telemetry: p.tel, Store: p.book,
	}).Run)
	if p.pinned != nil {
		p.group.Every("address stock", poolEvery, p.watchStock())
	}
	p.group.Every("inbox rotation", rotateEvery, p.book.RotateInbox)
	p.group.Every("trace rotation", rotateEvery, p.book.RotateTraces)
	p.group.Every("retention", retainEvery, p.book.Retain)
	if p.cfg.Recovery {
		p.group.Go("second look", func(ctx context.Context) error { return chains.SecondLook(ctx, p.cfg.Postgres) })
	}
	owner := rand.Text()
	p.group.Go("scanners", func(ctx context.Context) error {
		worker := scanner.NewWorker(p.book, owner, chains.Jobs, p.tel.Log, metrics)
		return p.book.Alive(ctx, p.cfg.Postgres, owner, p.tel.Log, worker.Run)
	})
	p.checks = append(p.checks, telemetry.Check{Name: "consumers", Ready: link.Ready}, telemetry.Check{Name: "scans", Ready: metrics.Ready})
	return end, nil
}

// chains makes the scans.
func (p *process) chains(cfg workSettings, closed network.Closed, metrics *scanner.Metrics) (*network.Chains, error) {
	return network.Open(network.Options{
		Networks: p.cfg.Chains.Live, Bitcoin: p.nets[tenant.Live], Depths: p.depths, AnnounceTest: cfg.AnnounceTest,
		AnnounceLive: cfg.AnnounceLive, Closed: closed, Book: p.book, Telemetry: p.tel, Metrics: metrics,
	})
}

// tellOwned publishes the owned addresses to payments until all are sent.
func (p *process) tellOwned(ctx context.Context) error {
	for {
		if more, err := p.book.TellOwned(ctx); err != nil || !more {
			return err
		}
	}
}

// closeWindows expires wallets until no ended window is left.
func (p *process) closeWindows(ctx context.Context) error {
	for {
		if closed, err := p.book.CloseWindows(ctx, closeMost); err != nil || closed < closeMost {
			return err
		}
	}
}
