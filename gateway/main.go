// Command gateway is the only public door of Causeway: it knows API keys, forwards requests to the services under a
// signed identity, and answers everything it refuses in one shape. `gateway` serves; `gateway migrate`,
// `gateway keys create`, `gateway keys adopt`, `gateway rotate-master`, `gateway health` and `gateway version` are its other verbs.
// This package only wires.
package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/journal"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/page"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

func main() {
	lifecycle.Memory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], config.Environ())
	stop()
	if err != nil {
		slog.Error("gateway stopped", "err", err)
		os.Exit(1)
	}
}

var errUsage = errors.New(`usage: gateway [serve | migrate | keys create --merchant ID --name TEXT --mode live|test --permissions LIST |
	keys adopt --from ID --to ID | rotate-master | health | version]`)

func run(ctx context.Context, args []string, environ map[string]string) error {
	verb := "serve"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch {
	case verb == "serve" && len(args) == 0:
		return serve(ctx, environ)
	case verb == "migrate" && len(args) == 0:
		return migrate(ctx, environ)
	case verb == "keys" && len(args) > 0 && args[0] == "adopt":
		return adopt(ctx, args[1:], environ, os.Stdout)
	case verb == "rotate-master" && len(args) == 0:
		return rotateMaster(ctx, environ, os.Stdout)
	case verb == "keys" && len(args) > 0 && args[0] == "create":
		return createKey(ctx, args[1:], environ, os.Stdout)
	case verb == "health":
		return telemetry.Probe(ctx, environ["OPS_ADDR"])
	case verb == "version":
		_, err := fmt.Println(telemetry.Version())
		return err
	}
	return errUsage
}

func migrate(ctx context.Context, environ map[string]string) error {
	cfg, err := config.Read[migrateSettings](environ)
	if err != nil {
		return err
	}
	return postgres.Migrate(ctx, cfg.OwnerURL.Reveal(), migrations.FS)
}

// usedEvery is how often the times of last use are written; they are exact to the cache's time to live all the same.
const (
	usedEvery     = 15 * time.Second
	maintainEvery = time.Minute
	queueMax      = 2 * time.Second
)

func serve(ctx context.Context, environ map[string]string) error {
	cfg, err := config.Read[settings](environ)
	if err != nil {
		return err
	}
	peppers, ring, err := cfg.Keys.read()
	if err != nil {
		return err
	}
	operators, proxies, err := cfg.callers()
	if err != nil {
		return err
	}
	targets, err := cfg.services()
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, "gateway", cfg.Telemetry)
	if err != nil {
		return err
	}
	defer flush(ctx, tel)
	db, err := postgres.Open(ctx, cfg.Keys.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()

	keys := store.New(db)
	if cfg.Recovery {
		tel.Log.Warn("recovery is on: ids of keys that may have been given are passed over")
		if err := keys.Recover(ctx); err != nil {
			return err
		}
	}
	cache := apikey.NewCache(keys, peppers, ring, cfg.CacheTTL, cfg.CacheSize, time.Now)
	registry := apikey.NewRegistry(keys, peppers, ring, cache, time.Now)
	pages, err := page.New(targets[route.Payments], tel.Log, time.Now)
	if err != nil {
		return err
	}
	targets[route.Self] = self(registry, keys, ring, pages, tel)
	router, err := route.NewRouter(route.Table())
	if err != nil {
		return err
	}
	acts, err := journal.New(keys, 0, tel.Log, tel.Registry, time.Now)
	if err != nil {
		return err
	}
	door, err := proxy.New(proxy.Options{
		Router: router, Callers: identity.NewResolver(cache, operators, time.Now), Replays: keys, Addresses: proxies, Targets: targets, Page: pages.Refuse,
		Gates: []proxy.Gate{limit.NewRates(cfg.SkipLoopback, time.Now), acts}, Slots: limit.NewInFlight(cfg.InFlightMax, cfg.InFlightPart, queueMax),
		TLS: cfg.https(), Telemetry: tel, Now: time.Now,
	})
	if err != nil {
		return err
	}

	group := lifecycle.New(tel.Log, cfg.Drain)
	if err := tel.Registry.Register(group); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := listen(group, cfg, door, proxies, keys, tel); err != nil {
		return err
	}
	if err := background(group, cfg.Keys.Postgres, keys, cache, acts, tel); err != nil {
		return err
	}
	return group.Run(ctx)
}

// self makes the target of the routes that the gateway answers itself. They are called like a service's, with an
// identity that only this process signs and verifies.
func self(registry *apikey.Registry, answers *store.Store, ring *keyring.Ring, pages *page.Pages, tel *telemetry.Telemetry) *proxy.Target {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: the program crashes instead
	server := httpkit.NewServer(tel.Log, tel.Registry, httpkit.Verifier{Audience: string(route.Self), Keys: [][]byte{key}, Now: time.Now})
	(&httpapi.API{Keys: registry, Answers: answers, Audit: answers, Ring: ring, Caller: proxy.KeyOf, Log: tel.Log}).Register(server)
	mux := http.NewServeMux()
	mux.Handle("/", server)
	mux.HandleFunc("GET /openapi.yaml", serveOpenAPI)
	pages.Routes(mux)
	return proxy.Local(mux, key)
}

//go:embed openapi.yaml
var openAPI []byte

func serveOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/yaml; charset=utf-8")
	w.Header().Set("Cache-Control", "public, max-age=300")
	_, _ = w.Write(openAPI) // the caller may be gone
}

// flush sends the last traces after everything has stopped.
func flush(ctx context.Context, tel *telemetry.Telemetry) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	tel.Flush(ctx)
}
