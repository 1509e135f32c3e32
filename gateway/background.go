package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/journal"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// listen opens the public port, with bounds on who may hold how many connections, and the port for operations.
func listen(group *lifecycle.Group, cfg settings, door http.Handler, proxies identity.Proxies, tel *telemetry.Telemetry) error {
	bound := limit.NewConnections(cfg.ConnsPerIP, cfg.ConnsMax, func(a netip.Addr) bool {
		return proxies.Trusts(a) || (cfg.SkipLoopback && a.IsLoopback())
	})
	if err := errors.Join(tel.Registry.Register(bound), group.HTTP("api", cfg.HTTPAddr, door, bound.Listener)); err != nil {
		return err
	}
	ready := func(context.Context) error { return group.Ready() }
	// The database is no part of it. It would turn every gateway red at once, and the ingress would answer in their stead; a
	// gateway serves public routes without it and says of the others when to try again.
	return group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(telemetry.Check{Name: "process", Ready: ready}))
}

// background adds what goes on beside requests: changes of keys are listened to, rows of the audit and times of use are
// written, partitions are kept.
func background(group *lifecycle.Group, cfg postgres.Config, keys *store.Store, cache *apikey.Cache, acts *journal.Journal, tel *telemetry.Telemetry) error {
	if err := tel.Registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gateway_key_changes_told", Help: "1 while this process is told of changes of keys; else it remembers a key for half a second.",
	}, func() float64 {
		if cache.Current() {
			return 1
		}
		return 0
	})); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	group.Go("changes of keys", func(ctx context.Context) error {
		return postgres.Listen(ctx, cfg, store.Channel, tel.Log, cache)
	})
	group.Go("audit of requests", acts.Run)
	group.Every("last use of keys", usedEvery, func(ctx context.Context) error { return keys.Used(ctx, cache.Used()) })
	group.Every("upkeep", maintainEvery, keys.Maintain)
	return nil
}
