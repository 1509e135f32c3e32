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
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/presence"
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
	command.Verb{Name: "merchants move", Args: "--merchant ID --shard CODE", Run: moveMerchant},
	command.Verb{Name: "merchants tell", Run: tellMerchants},
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
	cfg, err := readInputs(in.Environ)
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
	known, err := newRegistries(cfg, keys, tel)
	if err != nil {
		return err
	}
	acts, err := journal.New(keys, 0, tel.Log, tel.Registry, time.Now)
	if err != nil {
		return err
	}
	known.processes = presence.Lister(db, "gateway")
	door, err := newDoor(cfg, known, acts, tel)
	if err != nil {
		return err
	}

	group := lifecycle.New(tel.Log, cfg.Drain)
	if err := tel.Registry.Register(group); err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := listen(group, cfg.settings, door, cfg.proxies, tel); err != nil {
		return err
	}
	if err := background(group, cfg.Keys.Postgres, keys, known.cache, acts, tel); err != nil {
		return err
	}
	group.Go("changes of merchants", known.teller.Run)
	present := presence.Reporter{DB: db, Role: presence.Roles(true, false), Checks: func() []telemetry.Check { return checks(group) }}
	group.Every("presence", presence.Every, present.Start().Report)
	return group.Run(ctx)
}

// registries are those of keys, merchants and operators, over one store.
type registries struct {
	store     *store.Store
	cache     *apikey.Cache
	keys      *apikey.Registry
	merchants *merchant.Registry
	teller    *merchant.Teller
	operators *operator.Door
	processes func(context.Context) (presence.Answer, error)
}

func newRegistries(cfg inputs, keys *store.Store, tel *telemetry.Telemetry) (registries, error) {
	r := registries{store: keys}
	lookups := limit.NewLookups(cfg.SkipLoopback, time.Now)
	r.cache = apikey.NewCache(keys, lookups, cfg.peppers, cfg.ring, apikey.CacheBounds{TTL: cfg.CacheTTL, Size: cfg.CacheSize}, time.Now)
	r.keys = apikey.NewRegistry(keys, cfg.peppers, cfg.ring, r.cache, cfg.Keys.Shard.Home(), time.Now)
	r.teller = merchant.NewTeller(keys, telling(cfg.targets[route.Payments]), tel.Log)
	r.merchants = merchant.NewRegistry(keys, func(id string) { r.cache.DropMerchant(id); r.teller.Wake() }, time.Now)
	if err := errors.Join(tel.Registry.Register(lookups), tel.Registry.Register(r.teller)); err != nil {
		return r, fmt.Errorf("register metrics: %w", err)
	}
	if err := lasting(cfg.static, cfg.SecondOperator, tel); err != nil {
		return r, err
	}
	var err error
	r.operators, err = operator.NewDoor(cfg.static, keys, cfg.peppers, limit.NewTokens(cfg.SkipLoopback, time.Now), tel, time.Now)
	return r, err
}

// callers authenticates who calls: by a key, an operator's token, or a console's assertion.
func (r registries) callers(cfg inputs) *identity.Resolver {
	callers := identity.NewResolver(r.cache, r.operators, limit.NewForgeries(cfg.SkipLoopback, time.Now), time.Now).
		Admitting(cfg.people, apikey.NewConsoles(r.store, r.cache, r.keys))
	if cfg.site != (passkey.Site{}) {
		callers.Approving(cfg.site, r.store)
	}
	return callers
}

// newDoor makes the entrance: callers, limits, routes, the gateway's own pages and routes, and compression.
func newDoor(cfg inputs, known registries, acts *journal.Journal, tel *telemetry.Telemetry) (http.Handler, error) {
	pages, err := page.New(cfg.targets[route.Payments], merchant.NewBrands(known.store, time.Now), cfg.offer, tel.Log, time.Now)
	if err != nil {
		return nil, err
	}
	cfg.targets[route.Self] = self(&httpapi.API{
		Keys: known.keys, Merchants: known.merchants, Answers: known.store, Audit: known.store, Requests: known.store,
		Tokens: operator.NewRegistry(known.store, cfg.peppers), Passkeys: operator.NewPasskeys(known.store), Two: cfg.SecondOperator,
		Payments: reading(cfg.targets[route.Payments]), Wallets: reading(cfg.targets[route.Wallets]), Consoles: readingConsoles(cfg.targets),
		Ring: cfg.ring, Caller: proxy.KeyOf, Log: tel.Log, Processes: known.processes,
	}, pages, tel)
	all, err := cfg.table()
	if err != nil {
		return nil, err
	}
	router, err := route.NewRouter(all)
	if err != nil {
		return nil, err
	}
	slots := limit.NewInFlight(cfg.InFlightMax, cfg.InFlightPart, cfg.InFlightLive, queueMax)
	long := limit.NewLong(cfg.LongMax, cfg.LongPerKey, cfg.LongLive, queueMax)
	live := limit.NewLive(cfg.LiveMax, cfg.LivePerAddress, queueMax)
	if err := errors.Join(tel.Registry.Register(slots), tel.Registry.Register(long), tel.Registry.Register(live)); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	door, err := proxy.New(proxy.Options{
		Router: router, Callers: known.callers(cfg), Replays: known.store, Addresses: cfg.proxies, Targets: cfg.targets, Page: pages.Refuse,
		Gates: []proxy.Gate{limit.NewRates(cfg.SkipLoopback, time.Now), acts}, Slots: slots, Long: long, Live: live,
		LeastPace: cfg.LongPace, HeldMax: cfg.HeldMax,
		TLS: cfg.https(), Telemetry: tel, Now: time.Now,
	})
	if err != nil {
		return nil, err
	}
	return compress.Handler(door)
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

// readingConsoles asks the consoles that there are.
func readingConsoles(targets map[route.Upstream]*proxy.Target) map[string]httpapi.Ask {
	out := map[string]httpapi.Ask{}
	for _, name := range []route.Upstream{route.Console, route.ConsoleOperators} {
		if t := targets[name]; t != nil {
			out[string(name)] = reading(t)
		}
	}
	return out
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
		for _, in := range n.Shards {
			if err := t.Tell(ctx, in, "/v1/admin/merchants/terms", body, "gateway"); err != nil {
				return fmt.Errorf("tell the shard %s: %w", in, err)
			}
		}
		return nil
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
