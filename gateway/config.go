package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/page"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/language"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
)

// settings is everything that `gateway serve` reads from its environment.
type settings struct {
	Keys      keySettings
	Telemetry telemetry.Config

	HTTPAddr string `env:"HTTP_ADDR" envDefault:":8080" doc:"address of the public API"`
	OpsAddr  string `env:"OPS_ADDR" envDefault:":9090" doc:"address of /healthz, /readyz, /metrics and /debug/pprof; keep it private"`

	PublicURL      string `env:"PUBLIC_URL" doc:"base URL that callers use; https makes browsers stay on https"`
	PageLanguages  string `env:"PAGE_LANGUAGES" envDefault:"en" doc:"comma separated languages of the pages of live payments, of en, fr, sw, ha, yo, pt and ar; English always is one. Name a language only once a speaker has signed its texts off (gateway/internal/page/texts). Pages of test payments have all"`
	TrustedProxies string `env:"TRUSTED_PROXIES" doc:"comma separated networks whose X-Forwarded-For is believed; empty: none"`

	OperatorTokens config.Secret `env:"OPERATOR_TOKENS" doc:"comma separated name:hex of the SHA-256 of a token, for development and tests: such tokens never expire and end with a restart only. Operators get theirs from gateway operators create (docs/operators.md)"`
	SecondOperator bool          `env:"SECOND_OPERATOR" envDefault:"true" doc:"making a live key or an operator's token, and changing or rotating a live key, takes two operators; false is for development"`

	PaymentsURL   string `env:"PAYMENTS_URL,required" doc:"base URL of payments"`
	WalletsURL    string `env:"WALLETS_URL,required" doc:"base URL of wallets"`
	ReportsURL    string `env:"REPORTS_URL,required" doc:"base URL of reports"`
	DispatcherURL string `env:"DISPATCHER_URL,required" doc:"base URL of callback-dispatcher"`

	ConsoleURL          string        `env:"CONSOLE_URL" doc:"base URL of the merchants' console, which is served under /console; empty: there is none"`
	ConsoleOperatorsURL string        `env:"CONSOLE_OPERATORS_URL" doc:"base URL of the operators' console, which is served under /operators; empty: there is none"`
	ConsoleIdentityKeys config.Secret `env:"CONSOLE_IDENTITY_KEYS" doc:"comma separated base64 keys of identities for the merchants' console; required with CONSOLE_URL"`
	ConsoleOperatorKeys config.Secret `env:"CONSOLE_OPERATORS_IDENTITY_KEYS" doc:"the same for the operators' console"`
	ConsoleKeys         string        `env:"CONSOLE_KEYS" doc:"comma separated merchant: or operator: and the base64 of an ed25519 public key: the keys by which the two consoles name the people who call. The other half is DOOR_KEY of that console; several keys of one door verify while one is changed"`
	OperatorsURL        string        `env:"OPERATORS_URL" doc:"public URL of the host on which operators use their console and its passkeys; empty: PUBLIC_URL. A passkey works for one host, whose name must be no IP address. On https with both consoles and two operators for live keys it must be another host than that of PUBLIC_URL"`
	LiveMax             int           `env:"LIVE_EVENTS_MAX" envDefault:"256" doc:"browsers that listen to the events of a console at a time, apart from the requests of IN_FLIGHT_MAX"`
	LivePerAddress      int           `env:"LIVE_EVENTS_PER_ADDRESS_MAX" envDefault:"64" doc:"share of them that one address may have"`

	PaymentsKeys   config.Secret `env:"PAYMENTS_IDENTITY_KEYS,required" doc:"comma separated base64 keys of identities for payments; the first signs"`
	WalletsKeys    config.Secret `env:"WALLETS_IDENTITY_KEYS,required" doc:"the same for wallets"`
	ReportsKeys    config.Secret `env:"REPORTS_IDENTITY_KEYS,required" doc:"the same for reports"`
	DispatcherKeys config.Secret `env:"DISPATCHER_IDENTITY_KEYS,required" doc:"the same for callback-dispatcher"`

	CacheTTL     time.Duration `env:"KEY_CACHE_TTL" envDefault:"1m" doc:"time for which a key is cached while this process is notified of changes; half a second while it is not"`
	CacheSize    int           `env:"KEY_CACHE_SIZE" envDefault:"20000" doc:"most keys in the cache"`
	SkipLoopback bool          `env:"LIMITS_SKIP_LOOPBACK" envDefault:"false" doc:"limits per address ignore callers on this machine itself; for make run, make up and compose"`
	InFlightMax  int           `env:"IN_FLIGHT_MAX" envDefault:"512" doc:"requests served at a time; more wait up to 2 s, then 503"`
	InFlightPart int           `env:"IN_FLIGHT_UPSTREAM_MAX" envDefault:"448" doc:"share of them that one service may hold, so that a service that hangs leaves room for the others"`
	InFlightLive int           `env:"IN_FLIGHT_LIVE_MIN" envDefault:"64" doc:"share of both that only live traffic may take; half at most"`
	LongMax      int           `env:"LONG_ANSWERS_MAX" envDefault:"32" doc:"reports, answers over 1 MiB, and those without room in HELD_BYTES_MAX, that go out at a time, apart from the requests of IN_FLIGHT_MAX; more wait up to 2 s, then 503"`
	LongPerKey   int           `env:"LONG_ANSWERS_PER_KEY_MAX" envDefault:"4" doc:"share of them that one key may have; more are 429 at once"`
	LongLive     int           `env:"LONG_ANSWERS_LIVE_MIN" envDefault:"8" doc:"share of them that only live keys may take; half at most"`
	LongPace     int           `env:"LONG_ANSWERS_BYTES_PER_SECOND" envDefault:"16384" doc:"bytes a second that the reader of such an answer must take; a reader 10 s behind is cut off"`
	HeldMax      int           `env:"HELD_BYTES_MAX" envDefault:"67108864" doc:"bytes of memory for all request bodies over 4 KiB, and as many again for answers over 4 KiB that wait for their readers. One key or address may have an eighth of each, all test keys together a half. A body that does not fit is 503 overloaded; an answer that does not fit goes out as a long one. At least 2097160, so that an eighth holds the largest body"`
	ConnsPerIP   int           `env:"CONNECTIONS_PER_ADDRESS_MAX" envDefault:"512" doc:"connections that one address (one IPv6 /64) may hold open; those of TRUSTED_PROXIES are not counted"`
	ConnsMax     int           `env:"CONNECTIONS_MAX" envDefault:"20000" doc:"connections in all; below the limit of open files"`
	Drain        time.Duration `env:"DRAIN" envDefault:"20s" doc:"time to finish requests at shutdown"`
	Recovery     bool          `env:"RECOVERY" envDefault:"false" doc:"true after a restore of the database: skips ids of keys that may have been given (docs/runbooks/gateway-restore.md)"`
}

// keySettings are the settings that `gateway keys` and `gateway serve` need to make and read keys.
type keySettings struct {
	Postgres postgres.Config
	Peppers  config.Secret `env:"KEY_PEPPERS,required" doc:"one or two comma separated base64 peppers of at least 32 bytes; the first is for new keys"`
	Master   config.Secret `env:"MASTER_KEYS,required" doc:"comma separated id:base64 of 32 bytes; the first seals, all open"`
	Shard    shard.Code    `env:"SHARD" envDefault:"AA" doc:"home of merchants whose first key is made here, AA or one of SHARDS; it never changes, and gateway merchants move gives a merchant another shard for its new payments"`
	Shards   config.Secret `env:"SHARDS" doc:"JSON of the shards besides AA, whose services are those of the variables above: for each code the url and the keys of payments, wallets and callback-dispatcher, as in {\"K2\": {\"payments\": {\"url\": …, \"keys\": …}, …}}"`
}

// shardTable is the setting SHARDS: the services of each shard but the first.
type shardTable map[shard.Code]map[route.Upstream]struct{ URL, Keys string }

// shards reads the table, and the shard of new merchants, which is the first or in the table.
func (k keySettings) shards() (table shardTable, home shard.Code, err error) {
	if text := k.Shards.Reveal(); text != "" {
		in := json.NewDecoder(strings.NewReader(text))
		in.DisallowUnknownFields()
		if in.Decode(&table) != nil || in.Decode(&struct{}{}) != io.EOF { //nolint:errorlint // Decode returns it as it is
			return nil, "", errors.New("SHARDS: not the JSON of a table of shards") // the error of Decode would show keys
		}
	}
	if home = k.Shard.Home(); home != shard.First && table[home] == nil {
		return nil, "", fmt.Errorf("SHARD: %s is not one of SHARDS", home)
	}
	return table, home, nil
}

func (k keySettings) read() (*apikey.Peppers, *keyring.Ring, error) {
	peppers, err := apikey.ParsePeppers(k.Peppers.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("KEY_PEPPERS: %w", err)
	}
	ring, err := keyring.Parse(k.Master.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("MASTER_KEYS: %w", err)
	}
	return peppers, ring, nil
}

// inputs are the settings with what they name, read and checked.
type inputs struct {
	settings
	peppers *apikey.Peppers
	ring    *keyring.Ring
	static  identity.Static
	proxies identity.Proxies
	targets map[route.Upstream]*proxy.Target
	offer   language.List
	people  *person.Verifier
	site    passkey.Site
}

func readInputs(environ map[string]string) (inputs, error) {
	cfg, err := config.Read[settings](environ)
	in := inputs{settings: cfg}
	if err != nil {
		return in, err
	}
	if in.peppers, in.ring, err = cfg.Keys.read(); err != nil {
		return in, err
	}
	if in.static, in.proxies, err = cfg.callers(); err != nil {
		return in, err
	}
	if err := cfg.bounds(); err != nil {
		return in, err
	}
	if in.targets, err = cfg.services(); err != nil {
		return in, err
	}
	if in.offer, err = page.NewOffer(cfg.PageLanguages); err != nil {
		return in, fmt.Errorf("PAGE_LANGUAGES: %w", err)
	}
	if in.people, err = person.NewVerifier(cfg.ConsoleKeys); err != nil {
		return in, fmt.Errorf("CONSOLE_KEYS: %w", err)
	}
	if in.site, err = cfg.passkeySite(); err != nil {
		return in, err
	}
	return in, cfg.hostsApart()
}

// callers reads the operators' tokens and the trusted proxies.
func (s settings) callers() (identity.Static, identity.Proxies, error) {
	operators, err := identity.ParseOperators(s.OperatorTokens.Reveal())
	if err != nil {
		return nil, nil, fmt.Errorf("OPERATOR_TOKENS: %w", err)
	}
	proxies, err := identity.ParseProxies(s.TrustedProxies)
	if err != nil {
		return nil, nil, fmt.Errorf("TRUSTED_PROXIES: %w", err)
	}
	return operators, proxies, nil
}

// services makes a target of each service.
func (s settings) services() (map[route.Upstream]*proxy.Target, error) {
	targets := map[route.Upstream]*proxy.Target{}
	for _, line := range []struct {
		name   route.Upstream
		prefix string // of its variables
		url    string
		keys   config.Secret
	}{
		{route.Payments, "PAYMENTS", s.PaymentsURL, s.PaymentsKeys},
		{route.Wallets, "WALLETS", s.WalletsURL, s.WalletsKeys},
		{route.Reports, "REPORTS", s.ReportsURL, s.ReportsKeys},
		{route.Dispatcher, "DISPATCHER", s.DispatcherURL, s.DispatcherKeys},
	} {
		keys, err := httpkit.ParseIdentityKeys(line.keys.Reveal())
		if err != nil {
			return nil, fmt.Errorf("%s_IDENTITY_KEYS: %w", line.prefix, err)
		}
		if targets[line.name], err = proxy.Service(line.url, keys[0]); err != nil {
			return nil, fmt.Errorf("%s_URL: %w", line.prefix, err)
		}
	}
	if err := s.consoles(targets); err != nil {
		return nil, err
	}
	others, err := s.shards()
	if err != nil {
		return nil, err
	}
	for _, name := range route.Sharded {
		further := map[shard.Code]*proxy.Target{}
		for code, services := range others {
			further[code] = services[name]
		}
		targets[name] = proxy.Sharded(targets[name], further)
	}
	return targets, nil
}

// consoles adds a target for each console that has a URL.
func (s settings) consoles(targets map[route.Upstream]*proxy.Target) error {
	for _, line := range []struct {
		name   route.Upstream
		prefix string
		url    string
		keys   config.Secret
	}{
		{route.Console, "CONSOLE", s.ConsoleURL, s.ConsoleIdentityKeys},
		{route.ConsoleOperators, "CONSOLE_OPERATORS", s.ConsoleOperatorsURL, s.ConsoleOperatorKeys},
	} {
		if line.url == "" {
			continue
		}
		keys, err := httpkit.ParseIdentityKeys(line.keys.Reveal())
		if err != nil {
			return fmt.Errorf("%s_IDENTITY_KEYS: %w", line.prefix, err)
		}
		if targets[line.name], err = proxy.Service(line.url, keys[0]); err != nil {
			return fmt.Errorf("%s_URL: %w", line.prefix, err)
		}
	}
	return nil
}

// table is the table of routes, with those of the consoles that there are.
func (in inputs) table() ([]route.Route, error) {
	merchants, operators, err := in.hosts()
	if err != nil {
		return nil, err
	}
	if !in.https() || merchants == operators {
		merchants, operators = "", "" // neither console is kept from a host
	}
	all := route.Table()
	if in.targets[route.Console] != nil {
		all = append(all, route.Consoles(route.MerchantsPath, route.Console, operators)...)
	}
	if in.targets[route.ConsoleOperators] != nil {
		all = append(all, route.Consoles(route.OperatorsPath, route.ConsoleOperators, merchants)...)
	}
	return all, nil
}

// shards makes targets of the services of all shards but the first. No two shards share a key of identities: the one
// could use an identity that was signed for the other.
func (s settings) shards() (map[shard.Code]map[route.Upstream]*proxy.Target, error) {
	table, _, err := s.Keys.shards()
	if err != nil {
		return nil, err
	}
	taken := map[string]bool{}
	for _, of := range []config.Secret{s.PaymentsKeys, s.WalletsKeys, s.DispatcherKeys} {
		for _, key := range strings.Split(of.Reveal(), ",") {
			taken[strings.TrimSpace(key)] = true
		}
	}
	all := map[shard.Code]map[route.Upstream]*proxy.Target{}
	for code, services := range table {
		if code.Home() == shard.First || len(services) != len(route.Sharded) {
			return nil, fmt.Errorf("SHARDS: shard %q: want another than %s with %d services", code, shard.First, len(route.Sharded))
		}
		all[code] = map[route.Upstream]*proxy.Target{}
		for _, name := range route.Sharded {
			for _, key := range strings.Split(services[name].Keys, ",") {
				if key = strings.TrimSpace(key); taken[key] {
					return nil, fmt.Errorf("SHARDS: %s of shard %s: another service or shard has one of its keys", name, code)
				}
				taken[key] = true
			}
			keys, err := httpkit.ParseIdentityKeys(services[name].Keys)
			if err != nil {
				return nil, fmt.Errorf("SHARDS: %s of shard %s: %w", name, code, err)
			}
			if all[code][name], err = proxy.Service(services[name].URL, keys[0]); err != nil {
				return nil, fmt.Errorf("SHARDS: %s of shard %s: %w", name, code, err)
			}
		}
	}
	return all, nil
}

// bounds reports limits that would admit nothing.
func (s settings) bounds() error {
	for _, one := range []struct {
		name  string
		value int
	}{
		{"IN_FLIGHT_MAX", s.InFlightMax},
		{"IN_FLIGHT_UPSTREAM_MAX", s.InFlightPart},
		{"LONG_ANSWERS_MAX", s.LongMax},
		{"LONG_ANSWERS_PER_KEY_MAX", s.LongPerKey},
		{"LONG_ANSWERS_BYTES_PER_SECOND", s.LongPace},
		{"LIVE_EVENTS_MAX", s.LiveMax},
		{"LIVE_EVENTS_PER_ADDRESS_MAX", s.LivePerAddress},
	} {
		if one.value < 1 {
			return fmt.Errorf("%s: %d is less than 1", one.name, one.value)
		}
	}
	if s.HeldMax < proxy.HeldLeast {
		return fmt.Errorf("HELD_BYTES_MAX: %d is less than %d; an eighth, which one caller may have, must hold the largest body",
			s.HeldMax, proxy.HeldLeast)
	}
	return nil
}

// passkeySite is where operators use their passkeys; none without a URL.
func (s settings) passkeySite() (passkey.Site, error) {
	at := cmp.Or(s.OperatorsURL, s.PublicURL)
	if at == "" {
		return passkey.Site{}, nil
	}
	site, err := passkey.SiteOf(at)
	if err != nil {
		return site, fmt.Errorf("OPERATORS_URL: %w", err)
	}
	return site, nil
}

// hostsApart refuses one host for both consoles where real money is. A script of a host may send requests in the name
// of the person who is signed in there, so a merchants' console that somebody has taken over would act for operators.
func (s settings) hostsApart() error {
	if !s.https() || !s.SecondOperator || s.ConsoleURL == "" || s.ConsoleOperatorsURL == "" {
		return nil
	}
	merchants, operators, err := s.hosts()
	if err == nil && merchants == operators {
		err = errors.New("OPERATORS_URL: the operators' console needs another host than PUBLIC_URL; only with SECOND_OPERATOR=false both may have one")
	}
	return err
}

// hosts are the names of the hosts of both consoles, in small letters.
func (s settings) hosts() (merchants, operators string, err error) {
	of, err := url.Parse(s.PublicURL)
	if err != nil {
		return "", "", fmt.Errorf("PUBLIC_URL: %w", err)
	}
	other, err := url.Parse(cmp.Or(s.OperatorsURL, s.PublicURL))
	if err != nil {
		return "", "", fmt.Errorf("OPERATORS_URL: %w", err)
	}
	return strings.ToLower(of.Hostname()), strings.ToLower(other.Hostname()), nil
}

// https reports whether callers reach the gateway over TLS.
func (s settings) https() bool { return strings.HasPrefix(s.PublicURL, "https://") }
