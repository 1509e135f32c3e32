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
		dir: "/d", options: options, tenants: Tenants(), accounts: map[string]infra.Account{}, http: map[string]string{},
		keys: keys{identity: map[string]string{}, master: map[string]string{}, door: map[string]string{}, pepper: "pepper", adminToken: "op_x"},
	}
	for _, tenant := range Tenants() {
		name := tenant.Service
		one.accounts[name] = infra.Account{Service: name, Database: "postgres://" + name, Owner: "postgres://owner-of-" + name}
		one.http[name] = name + ":1"
		one.keys.identity[name], one.keys.master[name] = "identity-"+name+".", "master-"+name+"." // no name is in another
	}
	return one
}

func TestEnviron_secretsGoWhereTheyBelong(t *testing.T) {
	one := examplePlan(Options{})
	for _, tenant := range Tenants() {
		environ := one.environ(tenant.Service, 1)
		if !slices.Contains(environ, process.Mark("/d")) || !slices.Contains(environ, "DATABASE_URL=postgres://"+tenant.Service) {
			t.Errorf("%s lacks its mark or database: %v", tenant.Service, environ)
		}
		for _, variable := range environ {
			if strings.Contains(variable, "owner-of-") {
				t.Errorf("%s is given the owner's role: %s", tenant.Service, variable)
			}
			if strings.Contains(variable, "op_x") {
				t.Errorf("%s is given the operator's token itself: %s", tenant.Service, variable)
			}
			for _, other := range Tenants() {
				foreign := other.Service != tenant.Service
				if foreign && strings.Contains(variable, "master-"+other.Service+".") {
					t.Errorf("%s is given a key of %s: %s", tenant.Service, other.Service, variable)
				}
				if foreign && tenant.Service != gateway && strings.Contains(variable, "identity-"+other.Service+".") {
					t.Errorf("%s could sign for %s: %s", tenant.Service, other.Service, variable)
				}
			}
		}
	}
}

func TestEnviron_overrides(t *testing.T) {
	one := examplePlan(Options{Env: map[string]string{"LOG_LEVEL": "debug", "payments:RAIL_TEST": "other", "wallets:X": "y=z"}})
	payments, wallets := one.environ(payments, 1), one.environ(wallets, 1)
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
	if environ := one.environ(wallets, 1); !slices.Contains(environ, "SIGNER_SOCKET="+socket) {
		t.Errorf("wallets: %v", environ)
	}
	if environ := examplePlan(Options{}).environ(wallets, 1); !slices.Contains(environ, "SIGNER_SOCKET=") {
		t.Errorf("wallets without a signer: %v", environ)
	}
}

func TestProcesses_replicas(t *testing.T) {
	one := examplePlan(Options{Bin: "/b", Split: true, Replicas: 2})
	for _, tenant := range Tenants() {
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
	environ := one.environ(payments, 1)
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
	if short := missing(have); strings.Join(short, ",") != "tron 0,solana 12" {
		t.Errorf("short %v", short)
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
