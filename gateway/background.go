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

// listen opens the public port, which bounds connections per address and in all, and the operations port.
func listen(group *lifecycle.Group, cfg settings, door http.Handler, proxies identity.Proxies, tel *telemetry.Telemetry) error {
	bound := limit.NewConnections(cfg.ConnsPerIP, cfg.ConnsMax, func(a netip.Addr) bool {
		return proxies.Trusts(a) || (cfg.SkipLoopback && a.IsLoopback())
	})
	if err := errors.Join(tel.Registry.Register(bound), group.HTTP("api", cfg.HTTPAddr, door, bound.Listener)); err != nil {
		return err
	}
	// Readiness does not depend on the database: one outage would make every gateway unready at once. Without the
	// database a gateway serves public routes and answers the others with Retry-After.
	return group.HTTP(lifecycle.Ops, cfg.OpsAddr, tel.Ops(checks(group)...))
}

// checks decide whether this process is ready.
func checks(group *lifecycle.Group) []telemetry.Check {
	return []telemetry.Check{{Name: "process", Ready: func(context.Context) error { return group.Ready() }}}
}

// background adds the work beside requests: listening for changes of keys, writing audit rows and times of use, and
// maintaining partitions.
func background(group *lifecycle.Group, cfg postgres.Config, keys *store.Store, cache *apikey.Cache, acts *journal.Journal, tel *telemetry.Telemetry) error {
	if err := tel.Registry.Register(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gateway_key_changes_told", Help: "1 while this process hears of changes of keys; else it remembers a key for half a second.",
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
