// Command reports takes fraud and complaint reports and answers look-ups (interface.md §4.7 to §4.9). `serve` answers the
// HTTP API, `work` publishes the events; without a verb it does both. This package only wires.
package main

import (
	"context"
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
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/migrations"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], config.Environ())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		err = nil // asked to stop while starting
	}
	stop()
	if err != nil {
		slog.Error(wire.Reports+" stopped", "err", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: reports [serve | work | migrate | version]")

func run(ctx context.Context, args []string, environ map[string]string) error {
	verb := ""
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch {
	case len(args) > 0:
		return errUsage
	case verb == "migrate":
		cfg, err := config.Read[migrateSettings](environ)
		if err != nil {
			return err
		}
		return postgres.Migrate(ctx, cfg.OwnerURL.Reveal(), migrations.FS)
	case verb == "version":
		_, err := fmt.Println(telemetry.Version())
		return err
	case verb == "", verb == "serve", verb == "work":
		return start(ctx, environ, verb != "work", verb != "serve")
	}
	return errUsage
}

// process is what the roles share while they are put together.
type process struct {
	cfg    settings
	tel    *telemetry.Telemetry
	group  *lifecycle.Group
	db     postgres.Querier
	checks []telemetry.Check
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
	defer flush(ctx, tel)
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()

	p := &process{cfg: cfg, tel: tel, group: lifecycle.New(tel.Log, cfg.Drain), db: db}
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
	if err := p.group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(p.checks...)); err != nil {
		return err
	}
	return p.group.Run(ctx)
}

// serve adds the HTTP API. Without a route every request is a 404 in the error shape.
func (p *process) serve(environ map[string]string) error {
	cfg, err := config.Read[serveSettings](environ)
	if err != nil {
		return err
	}
	keys, err := httpkit.ParseIdentityKeys(cfg.IdentityKeys.Reveal())
	if err != nil {
		return fmt.Errorf("IDENTITY_KEYS: %w", err)
	}
	server := httpkit.NewServer(p.tel.Log, p.tel.Registry, httpkit.Verifier{Audience: wire.Reports, Keys: keys, Now: time.Now})
	return p.group.HTTP("api", cfg.HTTPAddr, server)
}

const maintainEvery = time.Minute

// work adds the relay and the upkeep.
func (p *process) work(ctx context.Context, environ map[string]string) (closeLink func(), err error) {
	cfg, err := config.Read[workSettings](environ)
	if err != nil {
		return nil, err
	}
	link, err := bus.Dial(ctx, cfg.Bus, wire.Reports, p.tel)
	if err != nil {
		return nil, err
	}
	p.checks = append(p.checks, telemetry.Check{Name: "broker", Ready: link.Ready})
	p.group.Go("broker", link.Run)
	p.group.Every("upkeep", maintainEvery, func(ctx context.Context) error { return idempotency.Maintain(ctx, p.db) })
	p.group.Go("outbox relay", outbox.NewRelay(p.cfg.Postgres, link.Publisher(), p.tel).Run)
	return func() { _ = link.Close() }, nil // the process ends
}

const flushTimeout = 5 * time.Second

func flush(ctx context.Context, tel *telemetry.Telemetry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	tel.Flush(ctx)
}
