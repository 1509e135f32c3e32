// Command wallets hands out deposit addresses, watches every network for money that reaches them and tells the other
// services what it saw. It holds extended public keys only. `wallets` runs both roles, `wallets serve` the HTTP API,
// `wallets work` consumers, outbox relay and scanners; `migrate`, `dead` and `version` are its other verbs. This package
// only wires.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/httpapi"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
	"causeway.internal/services/wallets/migrations"
)

const service = wire.Wallets

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], config.Environ())
	stop()
	if err != nil {
		slog.Error("wallets stopped", "err", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: wallets [serve | work | migrate | dead list | dead redrive | version]")

func run(ctx context.Context, args []string, environ map[string]string) error {
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	switch {
	case len(args) <= 1 && (verb == "" || verb == "serve" || verb == "work"):
		return start(ctx, environ, verb != "work", verb != "serve")
	case len(args) == 1 && verb == "migrate":
		cfg, err := config.Read[migrateSettings](environ)
		if err != nil {
			return err
		}
		return postgres.Migrate(ctx, cfg.OwnerURL.Reveal(), migrations.FS)
	case verb == "dead":
		cfg, err := config.Read[bus.Config](environ)
		if err != nil {
			return err
		}
		return bus.Command(ctx, cfg, service, args[1:], os.Stdout)
	case len(args) == 1 && verb == "version":
		_, err := fmt.Println(telemetry.Version())
		return err
	}
	return errUsage
}

// start runs the roles until ctx ends.
func start(ctx context.Context, environ map[string]string, serve, work bool) error {
	cfg, err := config.Read[common](environ)
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, service, cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(context.WithoutCancel(ctx))
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()
	group := lifecycle.New(tel.Log, cfg.Drain)
	tel.Registry.MustRegister(group)
	checks := []telemetry.Check{
		{Name: "running", Ready: func(context.Context) error { return group.Ready() }},
		{Name: "database", Ready: db.Ping},
	}
	if serve {
		if err := addServe(group, environ, tel); err != nil {
			return err
		}
	}
	if work {
		open := func(m store.Messages, set store.Settings) *store.Store { return store.New(db, m, set) }
		more, end, err := addWork(ctx, group, environ, cfg.Postgres, open, tel)
		if err != nil {
			return err
		}
		defer end()
		checks = append(checks, more...)
	}
	if err := group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(checks...)); err != nil {
		return err
	}
	return group.Run(ctx)
}

func addServe(group *lifecycle.Group, environ map[string]string, tel *telemetry.Telemetry) error {
	cfg, err := config.Read[serveSettings](environ)
	if err != nil {
		return err
	}
	verifier, err := cfg.verifier(time.Now)
	if err != nil {
		return err
	}
	return group.HTTP("api", cfg.HTTPAddr, httpapi.New(httpkit.NewServer(tel.Log, tel.Registry, verifier)))
}

// Intervals of the periodic work.
const (
	grantEvery  = 10 * time.Second
	rotateEvery = time.Hour
)

// addWork wires consumers, relay and scanners. The relay comes last, so that it ends last and what the others wrote while
// stopping still leaves.
func addWork(ctx context.Context, group *lifecycle.Group, environ map[string]string, database postgres.Config,
	open func(store.Messages, store.Settings) *store.Store, tel *telemetry.Telemetry,
) (checks []telemetry.Check, end func(), err error) {
	cfg, err := config.Read[workSettings](environ)
	if err != nil {
		return nil, nil, err
	}
	depths, err := wallet.ParseDepths(cfg.Confirmations)
	if err != nil {
		return nil, nil, fmt.Errorf("CONFIRMATIONS: %w", err)
	}
	nets, err := cfg.nets()
	if err != nil {
		return nil, nil, err
	}
	sources, err := cfg.sources(nets)
	if err != nil {
		return nil, nil, err
	}
	link, err := bus.Dial(ctx, cfg.Bus, service, tel)
	if err != nil {
		return nil, nil, err
	}
	end = func() { _ = link.Close() }
	relay := outbox.NewRelay(database, link.Publisher(), tel)
	book := open(messaging.Out{Now: time.Now}, store.Settings{Nets: nets, Depths: depths, Now: time.Now, Wake: relay.Wake})
	metrics := scanner.NewMetrics(tel.Registry)
	chains, err := newChains(cfg, book, tel, metrics)
	if err != nil {
		end()
		return nil, nil, err
	}
	cases := app.New(book, book, app.Settings{
		Sources: sources, Nets: nets, Depths: depths, Taken: chains.taken, Most: wire.AllocateMax, Log: tel.Log,
	})
	if err := cases.ProveKeys(ctx); err != nil {
		end()
		return nil, nil, fmt.Errorf("proving the extended keys: %w", err)
	}
	messaging.Consume(link, cases)
	group.Go("consumers", link.Run)
	group.Every("waiting allocations", grantEvery, cases.GrantWaiting)
	group.Every("inbox rotation", rotateEvery, book.RotateInbox)
	owner := rand.Text()
	group.Go("scanners", func(ctx context.Context) error {
		return book.Alive(ctx, database, owner, tel.Log, scanner.NewDesk(book, owner, chains.jobs, tel.Log, metrics).Run)
	})
	group.Go("outbox relay", relay.Run)
	return []telemetry.Check{{Name: "consumers", Ready: link.Ready}, {Name: "scans", Ready: metrics.Ready}}, end, nil
}
