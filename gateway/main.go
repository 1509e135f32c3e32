// Command gateway is the only public entrance of Causeway: it authenticates API keys, forwards requests to the services
// under a signed identity, and gives every refusal one shape. `gateway` serves; `gateway migrate`, `gateway keys
// create`, `gateway keys adopt`, `gateway operators …`, `gateway merchants …`, `gateway rotate-master`, `gateway
// health` and `gateway version` are its other verbs. This package only wires.
package main

import (
	"context"
	"crypto/rand"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/compress"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/journal"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/gateway/internal/page"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

var program = command.Program{Name: "gateway", Verbs: append(slices.Concat(command.Standard(migrations.FS), operatorVerbs, passkeyVerbs, merchantVerbs),
	command.Verb{Endless: true, Run: serve},
	command.Verb{Name: "serve", Endless: true, Run: serve},
	command.Verb{
		Name: "keys create", Args: "--merchant ID --name TEXT --mode live|test --permissions LIST [--tier TIER] [--allowed-cidrs LIST] [--expires TIME]",
		Run: createKey,
	},
	command.Verb{Name: "keys adopt", Args: "--from ID --to ID", Run: adopt},
	command.Verb{Name: "rotate-master", Run: rotateMaster},
)}

func main() { program.Main() }

// usedEvery is how often the times of last use are written. They are exact to the cache's time to live nevertheless.
const (
	usedEvery     = 15 * time.Second
	maintainEvery = time.Minute
	queueMax      = 2 * time.Second
	tellMax       = 3 * time.Second // less than the time after which another gateway tells it
)

func serve(ctx context.Context, in command.Input) error {
	cfg, err := config.Read[settings](in.Environ)
	if err != nil {
		return err
	}
	peppers, ring, err := cfg.Keys.read()
	if err != nil {
		return err
	}
	static, proxies, err := cfg.callers()
	if err != nil {
		return err
	}
	if err := cfg.bounds(); err != nil {
		return err
	}
	targets, err := cfg.services()
	if err != nil {
		return err
	}
	offer, err := cfg.offer()
	if err != nil {
		return err
	}
	people, err := person.NewVerifier(cfg.ConsoleKeys)
	if err != nil {
		return fmt.Errorf("CONSOLE_KEYS: %w", err)
	}
	site, err := cfg.site()
	if err != nil {
		return err
	}
	tel, err := telemetry.Start(ctx, "gateway", cfg.Telemetry)
	if err != nil {
		return err
	}
	defer tel.Flush(ctx)
	db, err := postgres.Open(ctx, cfg.Keys.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()

	keys := store.New(db)
	if cfg.Recovery {
		tel.Log.Warn("recovery on: skipping key ids that may have been given")
		if err := keys.Recover(ctx); err != nil {
			return err
		}
	}
	lookups := limit.NewLookups(cfg.SkipLoopback, time.Now)
	if err := tel.Registry.Register(lookups); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	cache := apikey.NewCache(keys, lookups, peppers, ring, apikey.CacheBounds{TTL: cfg.CacheTTL, Size: cfg.CacheSize}, time.Now)
	registry := apikey.NewRegistry(keys, peppers, ring, cache, cfg.Keys.Shard.Home(), time.Now)
	teller := merchant.NewTeller(keys, telling(targets[route.Payments]), tel.Log)
	merchants := merchant.NewRegistry(keys, func(id string) { cache.DropMerchant(id); teller.Wake() }, time.Now)
	pages, err := page.New(targets[route.Payments], merchant.NewBrands(keys, time.Now), offer, tel.Log, time.Now)
	if err != nil {
		return err
	}
	if err := lasting(static, cfg.SecondOperator, tel); err != nil {
		return err
	}
	operators, err := operator.NewDoor(static, keys, peppers, limit.NewTokens(cfg.SkipLoopback, time.Now), tel, time.Now)
	if err != nil {
		return err
	}
	targets[route.Self] = self(&httpapi.API{
		Keys: registry, Merchants: merchants, Answers: keys, Audit: keys, Tokens: operator.NewRegistry(keys, peppers), Passkeys: operator.NewPasskeys(keys), Two: cfg.SecondOperator, Requests: keys,
		Payments: reading(targets[route.Payments]), Wallets: reading(targets[route.Wallets]),
		Ring: ring, Caller: proxy.KeyOf, Log: tel.Log,
	}, pages, tel)
	router, err := route.NewRouter(table(targets))
	if err != nil {
		return err
	}
	acts, err := journal.New(keys, 0, tel.Log, tel.Registry, time.Now)
	if err != nil {
		return err
	}
	slots := limit.NewInFlight(cfg.InFlightMax, cfg.InFlightPart, cfg.InFlightLive, queueMax)
	long := limit.NewLong(cfg.LongMax, cfg.LongPerKey, cfg.LongLive, queueMax)
	live := limit.NewLive(cfg.LiveMax, cfg.LivePerAddress, queueMax)
	if err := errors.Join(tel.Registry.Register(slots), tel.Registry.Register(long), tel.Registry.Register(live)); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	callers := identity.NewResolver(cache, operators, limit.NewForgeries(cfg.SkipLoopback, time.Now), time.Now).
		Admitting(people, apikey.NewConsoles(keys, cache, registry))
	if site != (passkey.Site{}) {
		callers.Approving(site, keys)
	}
	door, err := proxy.New(proxy.Options{
		Router: router, Callers: callers, Replays: keys, Addresses: proxies, Targets: targets, Page: pages.Refuse,
		Gates: []proxy.Gate{limit.NewRates(cfg.SkipLoopback, time.Now), acts}, Slots: slots, Long: long, Live: live,
		LeastPace: cfg.LongPace, HeldMax: cfg.HeldMax,
		TLS: cfg.https(), Telemetry: tel, Now: time.Now,
	})
	if err != nil {
		return err
	}

	group := lifecycle.New(tel.Log, cfg.Drain)
	if err := tel.Registry.Register(group); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	answers, err := compress.Handler(door)
	if err != nil {
		return err
	}
	if err := listen(group, cfg, answers, proxies, tel); err != nil {
		return err
	}
	if err := background(group, cfg.Keys.Postgres, keys, cache, acts, tel); err != nil {
		return err
	}
	if err := tel.Registry.Register(teller); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	group.Go("changes of merchants", teller.Run)
	return group.Run(ctx)
}

// lasting warns of tokens that never expire where acts take two operators, which forbids such tokens.
func lasting(static identity.Static, two bool, tel *telemetry.Telemetry) error {
	out := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "gateway_operator_tokens_static", Help: "Operators' tokens that never expire, where two operators are needed.",
	})
	if two && len(static) > 0 {
		out.Set(float64(len(static)))
		tel.Log.Warn("operator tokens without expiry in OPERATOR_TOKENS; use gateway operators create", "tokens", len(static))
	}
	return tel.Registry.Register(out)
}

// reading asks a service for what the gateway puts into an answer of its own.
func reading(t *proxy.Target) httpapi.Ask {
	return func(ctx context.Context, path string) (httpapi.Reply, error) {
		reply, err := t.Ask(ctx, http.MethodGet, path, nil)
		return httpapi.Reply{Status: reply.Status, Body: reply.Body, RetryAfter: reply.RetryAfter}, err
	}
}

// telling tells payments of merchants' changes.
func telling(t *proxy.Target) func(ctx context.Context, n merchant.Notice) error {
	return func(ctx context.Context, n merchant.Notice) error {
		ctx, cancel := context.WithTimeout(ctx, tellMax)
		defer cancel()
		body, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("encode the change of a merchant: %w", err)
		}
		return t.Tell(ctx, n.Shard, "/v1/admin/merchants/terms", body, "gateway")
	}
}

// self makes the target of the routes that the gateway answers itself. They are called like a service's, with an
// identity that only this process signs and verifies.
func self(api *httpapi.API, pages *page.Pages, tel *telemetry.Telemetry) *proxy.Target {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails: the program crashes instead
	server := httpkit.NewServer(tel.Log, tel.Registry, httpkit.Verifier{Audience: string(route.Self), Keys: [][]byte{key}, BoundOnly: true, Now: time.Now})
	api.Register(server)
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
