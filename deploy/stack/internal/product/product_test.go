package product

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/process"
)

func examplePlan(options Options) plan {
	one := plan{
		dir: "/d", options: options, tenants: Tenants(options.Shards), accounts: map[string]infra.Account{}, http: map[string]string{},
		keys: keys{identity: map[string]string{}, master: map[string]string{}, door: map[string]string{}, pepper: "pepper", adminToken: "op_x"},
	}
	for _, tenant := range one.tenants {
		name := tenant.Name()
		one.accounts[name] = infra.Account{Tenant: name, Database: "postgres://" + name, Owner: "postgres://owner-of-" + name}
		one.http[name] = name + ":1"
		one.keys.identity[name], one.keys.master[name] = "identity-"+name+".", "master-"+name+"." // no name is in another
	}
	return one
}

func TestEnviron_secretsGoWhereTheyBelong(t *testing.T) {
	one := examplePlan(Options{Shards: 2})
	for _, tenant := range one.tenants {
		name, environ := tenant.Name(), one.environ(tenant, 1)
		if !slices.Contains(environ, process.Mark("/d")) || !slices.Contains(environ, "DATABASE_URL=postgres://"+name) {
			t.Errorf("%s lacks its mark or database: %v", name, environ)
		}
		for _, variable := range environ {
			if strings.Contains(variable, "owner-of-") {
				t.Errorf("%s is given the owner's role: %s", name, variable)
			}
			if strings.Contains(variable, "op_x") {
				t.Errorf("%s is given the operator's token itself: %s", name, variable)
			}
			for _, other := range one.tenants {
				foreign := other != tenant
				if foreign && strings.Contains(variable, "master-"+other.Name()+".") {
					t.Errorf("%s is given a key of %s: %s", name, other.Name(), variable)
				}
				if foreign && tenant.Service != gateway && strings.Contains(variable, "identity-"+other.Name()+".") {
					t.Errorf("%s could sign for %s: %s", name, other.Name(), variable)
				}
			}
		}
	}
}

// A second shard has processes and settings of its own, and the gateway its addresses and keys.
func TestProcesses_shards(t *testing.T) {
	one := examplePlan(Options{Bin: "/b", Shards: 2})
	all, err := one.processes()
	if err != nil || len(all) != 10 || all[7].Name != "payments-k2" || all[7].Spec.Path != "/b/payments" || !IsService("wallets-k2") {
		t.Fatalf("plan two shards: got %+v, %v, want ten processes, the last three of the second shard", all, err)
	}
	first, second := one.environ(infra.Tenant{Service: wallets}, 1), one.environ(infra.Tenant{Service: wallets, Shard: "K2"}, 1)
	xpub := func(v string) bool { return strings.HasPrefix(v, "XPUB_") && slices.Contains(first, v) }
	if !slices.Contains(second, "SHARD=K2") || slices.ContainsFunc(second, xpub) || slices.ContainsFunc(first, func(v string) bool { return strings.HasPrefix(v, "SHARD") }) {
		t.Errorf("plan wallets of two shards: got %v and %v, want a code and extended keys of its own in the second", first, second)
	}
	want := `SHARDS={"K2":{"callback-dispatcher":{"url":"http://callback-dispatcher-k2:1","keys":"identity-callback-dispatcher-k2."},` +
		`"payments":{"url":"http://payments-k2:1","keys":"identity-payments-k2."},"wallets":{"url":"http://wallets-k2:1","keys":"identity-wallets-k2."}}}`
	if environ := one.environ(infra.Tenant{Service: gateway}, 1); !slices.Contains(environ, want) {
		t.Errorf("plan the gateway of two shards: got %v, want %s", environ, want)
	}
	for process, tenant := range map[string]string{"payments": "payments", "payments-work-2": "payments", "payments-k2-serve": "payments-k2", "wallets-k2": ""} {
		if got := paymentsOf(process); got != tenant {
			t.Errorf("find payments of %s: got %q, want %q", process, got, tenant)
		}
	}
}

func TestEnviron_overrides(t *testing.T) {
	one := examplePlan(Options{Env: map[string]string{"LOG_LEVEL": "debug", "payments:RAIL_TEST": "other", "wallets:X": "y=z"}})
	payments, wallets := one.environ(infra.Tenant{Service: payments}, 1), one.environ(infra.Tenant{Service: wallets}, 1)
	if !slices.Contains(payments, "LOG_LEVEL=debug") || !slices.Contains(payments, "RAIL_TEST=other") || slices.Contains(payments, "X=y=z") {
		t.Errorf("payments: %v", payments)
	}
	if !slices.Contains(wallets, "X=y=z") || !slices.Contains(wallets, "LOG_LEVEL=debug") {
		t.Errorf("wallets: %v", wallets)
	}
}

func TestProcesses_roles(t *testing.T) {
	whole, err := examplePlan(Options{Bin: "/b"}).processes()
	if err != nil || len(whole) != 7 || len(whole[0].Spec.Args) != 0 || whole[0].Spec.Path != "/b/payments" {
		t.Fatalf("whole: %+v, %v", whole, err)
	}
	split, err := examplePlan(Options{Bin: "/b", Split: true}).processes()
	if err != nil || len(split) != 11 || split[0].Name != "payments-serve" || split[1].Spec.Args[0] != "work" {
		t.Fatalf("split: %+v, %v", split, err)
	}
	seen := map[string]bool{}
	for _, one := range split {
		if seen[one.Ready] || !IsService(one.Name) {
			t.Errorf("%s shares %s or is no service", one.Name, one.Ready)
		}
		seen[one.Ready] = true
	}
	if IsService(infra.Postgres) || IsService(infra.Rabbit) {
		t.Error("a server counts as a service")
	}
}

// The signer runs once, and only where its policy is configured; wallets has its address.
func TestProcesses_signer(t *testing.T) {
	one := examplePlan(Options{Bin: "/b", Split: true, Env: map[string]string{"signer:SIGNER_POLICY": "/etc/policy.json"}})
	all, err := one.processes()
	if err != nil || len(all) != 12 || all[0].Name != "signer" || all[0].Spec.Path != "/b/signer" || !IsService(all[0].Name) {
		t.Fatalf("plan the processes with a signer: got %+v, %v, want twelve, with the signer first", all, err)
	}
	socket := one.dir + "/signer.sock"
	if !slices.Contains(all[0].Spec.Env, "SIGNER_POLICY=/etc/policy.json") || !slices.Contains(all[0].Spec.Env, "SIGNER_SOCKET="+socket) ||
		all[0].Ready != infra.SocketScheme+socket || slices.ContainsFunc(all[0].Spec.Env, func(v string) bool { return strings.HasPrefix(v, "DATABASE_URL") }) {
		t.Errorf("plan the signer: got %+v, want its policy and socket, and no database", all[0])
	}
	if environ := one.environ(infra.Tenant{Service: wallets}, 1); !slices.Contains(environ, "SIGNER_SOCKET="+socket) {
		t.Errorf("wallets: %v", environ)
	}
	if environ := examplePlan(Options{}).environ(infra.Tenant{Service: wallets}, 1); !slices.Contains(environ, "SIGNER_SOCKET=") {
		t.Errorf("wallets without a signer: %v", environ)
	}
}

func TestProcesses_replicas(t *testing.T) {
	one := examplePlan(Options{Bin: "/b", Split: true, Replicas: 2})
	for _, tenant := range one.tenants {
		one.http[tenant.Service+"-2"] = tenant.Service + ":2"
	}
	all, err := one.processes()
	if err != nil || len(all) != 22 || all[11].Name != "payments-serve-2" || !IsService(all[11].Name) {
		t.Fatalf("replicas: %+v, %v", all, err)
	}
	if !slices.Contains(all[11].Spec.Env, "HTTP_ADDR=payments:2") || !slices.Contains(all[19].Spec.Env, "WALLETS_URL=http://wallets:2") {
		t.Errorf("the second ones do not keep to themselves: %v, %v", all[11].Spec.Env, all[19].Spec.Env)
	}
}

func TestEnviron_throughTheProxy(t *testing.T) {
	one := examplePlan(Options{Toxic: true})
	account := one.accounts[payments]
	account.Database, account.Broker = "postgres://u:p@127.0.0.1:5/d?x=y", "amqp://u:p@127.0.0.1:6/v"
	one.accounts[payments] = account
	one.doors = map[string]string{"127.0.0.1:5": "127.0.0.1:55", "127.0.0.1:6": "127.0.0.1:66"}
	environ := one.environ(infra.Tenant{Service: payments}, 1)
	for _, want := range []string{"DATABASE_URL=postgres://u:p@127.0.0.1:55/d?x=y", "AMQP_URL=amqp://u:p@127.0.0.1:66/v"} {
		if !slices.Contains(environ, want) {
			t.Errorf("no %s in %v", want, environ)
		}
	}
}

func TestParseStock(t *testing.T) {
	const metrics = `# HELP payments_address_stock addresses
payments_address_stock{family="bitcoin",mode="test"} 1024
payments_address_stock{mode="test",family="evm"} 2.048e+03
payments_address_stock{family="tron",mode="live"} 5000
payments_address_stock{family="solana",mode="test"} 12 1700000000
payments_address_stock_low{family="tron",mode="test"} 9999
payments_address_stock{broken
`
	have := map[string]int{}
	parseStock(metrics, have)
	if have["bitcoin"] != 1024 || have["evm"] != 2048 || have["solana"] != 12 || have["tron"] != 0 {
		t.Errorf("stock %v", have)
	}
	if short := missing(have, 1024); strings.Join(short, ",") != "tron 0,solana 12" {
		t.Errorf("short %v", short)
	}
}

func TestOptions_wanted(t *testing.T) {
	for want, env := range map[int]map[string]string{
		1024: nil,
		128:  {"payments:ADDRESS_STOCK": "320"},
		40:   {"ADDRESS_STOCK": "100", "wallets:ADDRESS_STOCK": "9"},
	} {
		if got := (Options{Env: env}).wanted(); got != want {
			t.Errorf("wanted with %v: got %d, want %d", env, got, want)
		}
	}
}

func TestClosedNetworks(t *testing.T) {
	const metrics = `payments_network_open{mode="test",network="tron"} 1
payments_network_open{mode="test",network="base"} 0
payments_network_open{mode="live",network="bsc"} 0
`
	if closed := closedNetworks(metrics); !slices.Equal(closed, []string{"base closed"}) {
		t.Errorf("closed %v", closed)
	}
	if closed := closedNetworks(""); len(closed) != 0 {
		t.Errorf("an older version: %v", closed)
	}
}

func TestFindSecret(t *testing.T) {
	for text, want := range map[string]string{
		`{"success":true,"secret":"whsec_a"}`:             "whsec_a",
		`{"success":true,"webhook":{"secret":"whsec_b"}}`: "whsec_b",
		`{"success":true}`:                                "",
		`{"secret":5}`:                                    "",
	} {
		var answer map[string]json.RawMessage
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if got := findSecret(answer); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
