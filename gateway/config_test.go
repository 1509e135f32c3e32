package main

import (
	"encoding/base64"
	"strings"
	"testing"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/testkit/page"
)

func TestConfigPage(t *testing.T) {
	type all struct {
		Serve   settings
		Migrate command.MigrateSettings
	}
	page.Section(t, "../docs/config.md", "gateway", config.Describe[all]("gateway"))
}

// A wrong setting is named before anything starts, and no secret is shown.
func TestRun_namesWhatIsWrong(t *testing.T) {
	err := program.Run(t.Context(), command.Input{Environ: map[string]string{"HTTP_ADDR": "127.0.0.1:0"}})
	for _, name := range []string{"DATABASE_URL", "KEY_PEPPERS", "MASTER_KEYS", "PAYMENTS_URL", "DISPATCHER_IDENTITY_KEYS"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
	key := base64.StdEncoding.EncodeToString(make([]byte, 32))
	good := map[string]string{"DATABASE_URL": "postgres://nowhere.invalid/x", "KEY_PEPPERS": key, "MASTER_KEYS": "k1:" + key}
	for _, name := range []string{"PAYMENTS", "WALLETS", "REPORTS", "DISPATCHER"} {
		good[name+"_URL"], good[name+"_IDENTITY_KEYS"] = "http://127.0.0.1:1", key
	}
	for name, value := range map[string]string{
		"KEY_PEPPERS": "hunter2", "MASTER_KEYS": "k1:hunter2", "OPERATOR_TOKENS": "ops:hunter2", "TRUSTED_PROXIES": "hunter2",
		"PAYMENTS_URL": "hunter2", "PAYMENTS_IDENTITY_KEYS": "hunter2", "LONG_ANSWERS_MAX": "0", "IN_FLIGHT_MAX": "-1", "HELD_BYTES_MAX": "2097159",
		"PAGE_LANGUAGES": "en, tlh",
		"SHARDS":         `{"K2":{"payments":{"keys":"hunter2"}}}`, "SHARD": "K2",
	} {
		environ := map[string]string{}
		for k, v := range good {
			environ[k] = v
		}
		environ[name] = value
		err := program.Run(t.Context(), command.Input{Environ: environ})
		secret := name != "TRUSTED_PROXIES" && name != "PAYMENTS_URL" && name != "SHARD" && name != "PAGE_LANGUAGES"
		if err == nil || !strings.Contains(err.Error(), name) ||
			(secret && strings.Contains(err.Error(), "hunter2")) {
			t.Errorf("run with a wrong %s: got %v, want an error that names the setting and no secret", name, err)
		}
	}
}

// The table of shards names three services for each shard besides the first, and its mistakes show no key.
func TestSettings_shards(t *testing.T) {
	key := func(n byte) string {
		return base64.StdEncoding.EncodeToString(append(make([]byte, 31), n))
	}
	own := config.Secret(key(1) + ", " + key(2))
	one := func(n byte) string { return `{"url":"http://127.0.0.1:2","keys":"` + key(n) + `"}` }
	of := func(code string, from byte) string {
		return `"` + code + `":{"payments":` + one(from) + `,"wallets":` + one(from+1) + `,"callback-dispatcher":` + one(from+2) + `}`
	}
	table := func(code string) string { return "{" + of(code, 10) + "}" }
	read := func(text string) error {
		_, err := settings{PaymentsKeys: own, Keys: keySettings{Shards: config.Secret(text)}}.shards()
		return err
	}
	for _, good := range []string{"", "{}", table("K2"), table("A2"), "{" + of("K2", 10) + "," + of("K3", 20) + "}"} {
		if err := read(good); err != nil {
			t.Errorf("read %s: got %v, want no error", good, err)
		}
	}
	for _, bad := range []string{
		"hunter2", "[]", table("AA"), table("none"), table("GA"), table("k2"), table(""), `{"K2":{"payments":` + one(10) + `}}`,
		strings.Replace(table("K2"), "wallets", "reports", 1), strings.Replace(table("K2"), "http:", "ftp:", 1), strings.Replace(table("K2"), key(10), "hunter2", 1),
		strings.Replace(table("K2"), `"url"`, `"uri"`, 1), table("K2") + "x", table("K2") + table("K3"),
		"{" + of("K2", 2) + "}", "{" + of("K2", 10) + "," + of("K3", 11) + "}", // keys that another has
	} {
		if err := read(bad); err == nil || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), key(10)) {
			t.Errorf("read %s: got %v, want an error without keys", bad, err)
		}
	}
	for home, good := range map[shard.Code]bool{"": true, shard.First: true, "K2": true, "K3": false} {
		if _, got, err := (keySettings{Shard: home, Shards: config.Secret(table("K2"))}).shards(); (err == nil) != good || good && got != home.Home() {
			t.Errorf("read the shard %q of new merchants: got %q, %v, want it taken: %t", home, got, err, good)
		}
	}
}

// Both consoles on one host are for development: where callers use https and live keys take two operators, the gateway
// does not start.
func TestSettings_hostsApart(t *testing.T) {
	apart := settings{
		PublicURL: "https://pay.example", OperatorsURL: "https://operators.example", ConsoleURL: "http://console", ConsoleOperatorsURL: "http://console-operators",
		SecondOperator: true,
	}
	for name, c := range map[string]struct {
		change func(*settings)
		refuse bool
	}{
		"two hosts":                    {func(*settings) {}, false},
		"no host of operators":         {func(s *settings) { s.OperatorsURL = "" }, true},
		"one host":                     {func(s *settings) { s.OperatorsURL = "https://PAY.example" }, true},
		"one host with two ports":      {func(s *settings) { s.OperatorsURL = "https://pay.example:8443" }, true}, // cookies know no ports
		"one host, development":        {func(s *settings) { s.OperatorsURL, s.SecondOperator = "", false }, false},
		"one host of plain http":       {func(s *settings) { s.OperatorsURL, s.PublicURL = "", "http://localhost:8080" }, false},
		"one host for one console":     {func(s *settings) { s.OperatorsURL, s.ConsoleOperatorsURL = "", "" }, false},
		"one host for the other alone": {func(s *settings) { s.OperatorsURL, s.ConsoleURL = "", "" }, false},
	} {
		s := apart
		c.change(&s)
		if err := s.hostsApart(); (err != nil) != c.refuse || err != nil && !strings.Contains(err.Error(), "OPERATORS_URL") {
			t.Errorf("%s: got %v, want a refusal: %t", name, err, c.refuse)
		}
	}
}

// On https each console is kept from the other one's host, where the settings name two.
func TestInputs_consolesAtTheirHosts(t *testing.T) {
	targets := map[route.Upstream]*proxy.Target{route.Console: {}, route.ConsoleOperators: {}}
	for name, c := range map[string]struct{ public, operators, merchantsNot, operatorsNot string }{
		"two hosts":            {"https://pay.example", "https://Operators.example:8443", "operators.example", "pay.example"},
		"one host":             {"https://pay.example", "https://PAY.example", "", ""},
		"no host of operators": {"https://pay.example", "", "", ""},
		"plain http":           {"http://127.0.0.1:8080", "http://localhost:8080", "", ""},
	} {
		all, err := inputs{settings: settings{PublicURL: c.public, OperatorsURL: c.operators}, targets: targets}.table()
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range all {
			if want := map[route.Upstream]string{route.Console: c.merchantsNot, route.ConsoleOperators: c.operatorsNot}[r.Upstream]; r.Away != want {
				t.Errorf("%s: %s is kept from %q, want %q", name, r.Name(), r.Away, want)
			}
		}
	}
}
