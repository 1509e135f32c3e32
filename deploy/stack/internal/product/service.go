// Package product runs the services of an instance on servers that are already up: their settings, migrations,
// processes, and the first merchant. It talks to them only as any user would, over HTTP, and through their verbs.
package product

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
)

// The services, named like their binaries.
const (
	payments   = "payments"
	wallets    = "wallets"
	reports    = "reports"
	dispatcher = "callback-dispatcher"
	gateway    = "gateway"
	console    = "console"           // of merchants
	operators  = "console-operators" // the same program for operators
)

// signer is the program that holds keys which guard money. It is no tenant: it has no database and opens no connection.
// It runs only where its policy is configured, signer:SIGNER_POLICY, since the chains of test mode need none.
const signer = "signer"

// ShardsMax is the most shards of an instance. The extended public keys below are of so many accounts.
const ShardsMax = 2

// further are the shards besides the first.
var further = [ShardsMax - 1]string{"K2"}

// Tenants are the services of so many shards.
func Tenants(shards int) []infra.Tenant {
	all := []infra.Tenant{
		{Service: payments, Broker: true},
		{Service: wallets, Broker: true},
		{Service: reports, Broker: true},
		{Service: dispatcher, Broker: true},
		{Service: gateway},
		{Service: console},
		{Service: operators, Program: console},
	}
	for _, in := range further[:max(1, shards)-1] {
		for _, service := range []string{payments, wallets, dispatcher} {
			all = append(all, infra.Tenant{Service: service, Broker: true, Shard: in})
		}
	}
	return all
}

// doors are the people that each console serves.
var doors = map[string]string{console: "merchant", operators: "operator"}

// loopback is what test-mode callbacks may reach besides public addresses.
const loopback = "127.0.0.0/8,::1/128"

// testKeys are account-level extended public keys of the public mnemonic "abandon abandon … about", for simulated money
// only, of each shard: two that shared one would give the same addresses. Paths m/84'/0'/a', m/44'/60'/a',
// m/44'/195'/a'.
var testKeys = [ShardsMax]struct{ bitcoin, evm, tron string }{
	{
		"xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V",
		"xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt",
		"xpub6D1AabNHCupeiLM65ZR9UStMhJ1vCpyV4XbZdyhMZBiJXALQtmn9p42VTQckoHVn8WNqS7dqnJokZHAHcHGoaQgmv8D45oNUKx6DZMNZBCd",
	},
	{
		"xpub6CatWdiZiodmYVtWLtEQsAg1H9ooS1bmsJUBwQ83FE1Fyk386FWcyicJgEZv3quZSJKA5dh5Lo2PbubMGxCfZtRthV6ST2qquL9w3HSzcUn",
		"xpub6DCoCpSuQZB2k9PnGSMK9tinTK8kx3hcv7F4BWwhs5N2wnwGiLg17r9J7j2JcYP9gkip3sC87J1F99YxeBHGuFMg6ejA8qQEKSuzzaKvqBR",
		"xpub6D1AabNHCupeoA3sb15rvtDPuaeZSRWg39QsynNZQETJfbuy3fFsEqY44mJEP2j4XxLgZUbZZxuFWf67Srqf6Ucu9spE8AmbWZu5ZET1ELw",
	},
}

// keys are an instance's generated secrets.
type keys struct {
	identity    map[string]string // by tenant
	master      map[string]string // by tenant
	pepper      string
	tokens      map[string]string // seals settlement tokens between payments and the dispatcher of a shard
	events      map[string]string // by tenant that is a producer: seals the bodies of its events for the dispatcher
	door        map[string]string // by console: the seed of the key that signs for its people
	message     map[string]string // by tenant that is a producer: the seed of the key that signs its messages
	adminToken  string
	secondToken string // of another operator, for what two have to want
}

func loadKeys(dir string, tenants []infra.Tenant) (keys, error) {
	secrets, err := state.LoadSecrets(dir)
	if err != nil {
		return keys{}, err
	}
	k := keys{
		identity: map[string]string{}, master: map[string]string{}, events: map[string]string{}, message: map[string]string{}, door: map[string]string{},
		tokens: map[string]string{},
	}
	for _, tenant := range tenants {
		if k.identity[tenant.Name()], err = secrets.Get("identity-"+tenant.Name(), state.Key); err != nil {
			return keys{}, err
		}
		if k.master[tenant.Name()], err = secrets.Get("master-"+tenant.Name(), state.Key); err != nil {
			return keys{}, err
		}
		if err := k.ofShard(secrets, tenant.Shard); err != nil {
			return keys{}, err
		}
	}
	for service := range doors {
		if k.door[service], err = secrets.Get("door-"+service, state.Key); err != nil {
			return keys{}, err
		}
	}
	if k.pepper, err = secrets.Get("pepper", state.Key); err != nil {
		return keys{}, err
	}
	operator := func() string { return "op_" + state.Password() + state.Password() }
	if k.adminToken, err = secrets.Get("admin-token", operator); err != nil {
		return keys{}, err
	}
	k.secondToken, err = secrets.Get("second-admin-token", operator)
	return k, err
}

// ofShard loads the keys by which the services of a shard trust each other. A shard has a key of each producer, also of
// one that does not run in it.
func (k keys) ofShard(secrets *state.Secrets, in string) (err error) {
	for _, producer := range producers() {
		name := infra.Tenant{Service: producer, Shard: in}.Name()
		if k.message[name], err = secrets.Get("message-"+name, state.Key); err != nil {
			return err
		}
		if k.events[name], err = secrets.Get("events-"+name, state.Key); err != nil {
			return err
		}
	}
	k.tokens[in], err = secrets.Get(infra.Tenant{Service: "settlement-tokens", Shard: in}.Name(), state.Key)
	return err
}

// plan is one attempt to run the product: ports may turn out to be taken, and then another plan is made.
type plan struct {
	dir      string
	options  Options
	tenants  []infra.Tenant
	keys     keys
	accounts map[string]infra.Account
	http     map[string]string // address of each API, by copyName
	doors    map[string]string // address of a server to the one of the proxy before it
}

func (p plan) replicas() int { return max(1, p.options.Replicas) }

// copyName names the replicas of a process: the first plainly, the others by number.
func copyName(name string, replica int) string {
	if replica == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(replica)
}

// through leads a server's URL through the proxy before it, if there is one.
func (p plan) through(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || p.doors[parsed.Host] == "" {
		return address
	}
	parsed.Host = p.doors[parsed.Host]
	return parsed.String()
}

// processes lists what to start. Everything that a process will ever read is in its environment.
func (p plan) processes() ([]state.Process, error) {
	var all []state.Process
	if socket := p.socket(); socket != "" {
		all = append(all, state.Process{
			Name: signer, Ready: infra.SocketScheme + socket,
			Spec: process.Spec{
				Path: p.options.Bin + "/" + signer, Args: []string{"serve"}, Dir: p.dir, Env: p.environ(infra.Tenant{Service: signer}, 1), Log: state.LogDir(p.dir) + "/" + signer + ".log",
			},
		})
	}
	ports, err := port.Take(p.replicas() * len(p.tenants) * 2)
	if err != nil {
		return nil, err
	}
	for replica := range p.replicas() {
		more := p.replica(replica+1, ports)
		all, ports = append(all, more...), ports[len(more):]
	}
	return all, nil
}

// socket is where the signer listens, "" without one.
func (p plan) socket() string {
	if p.options.Env[signer+":SIGNER_POLICY"] == "" {
		return ""
	}
	if given := p.options.Env[signer+":SIGNER_SOCKET"]; given != "" {
		return given
	}
	return p.dir + "/signer.sock"
}

// replica lists one process of every role, each with the next of the ports for its operations.
func (p plan) replica(number int, ports []int) []state.Process {
	var all []state.Process
	for _, tenant := range p.tenants {
		roles := []string{""}
		if p.options.Split && tenant.Broker {
			roles = []string{"serve", "work"}
		}
		for _, role := range roles {
			ops := "127.0.0.1:" + strconv.Itoa(ports[len(all)])
			name, args := tenant.Name(), []string(nil)
			if role != "" {
				name, args = name+"-"+role, []string{role}
			}
			name = copyName(name, number)
			all = append(all, state.Process{
				Name:  name,
				Ready: "http://" + ops + "/readyz",
				Spec: process.Spec{
					Path: p.options.Bin + "/" + tenant.Binary(), Args: args, Dir: p.dir,
					Env: append(p.environ(tenant, number), "OPS_ADDR="+ops),
					Log: state.LogDir(p.dir) + "/" + name + ".log",
				},
			})
		}
	}
	return all
}

// environ renders the settings of one replica of a tenant; Options.Env has the last word.
func (p plan) environ(tenant infra.Tenant, replica int) []string {
	service, name := tenant.Service, tenant.Name()
	settings := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": p.dir, "TZ": "UTC", "LOG_LEVEL": "info"}
	if service != signer {
		settings["HTTP_ADDR"], settings["DATABASE_URL"] = p.http[copyName(name, replica)], p.through(p.accounts[name].Database)
	}
	if tenant.Shard != "" {
		settings["SHARD"] = tenant.Shard
	}
	if broker := p.accounts[name].Broker; broker != "" {
		settings["AMQP_URL"], settings["SIGNED_MESSAGES_ONLY"] = p.through(broker), "true"
		settings["MESSAGE_PUBLIC_KEYS"], settings["SIGN_PACKS"] = p.keys.trusted(tenant), "true"
		if seed := p.keys.message[name]; seed != "" {
			settings["MESSAGE_KEY"], settings["EVENT_KEYS"] = master(seed), service+":"+p.keys.events[name]
		}
	}
	if key := p.keys.identity[name]; key != "" && service != gateway {
		settings["IDENTITY_KEYS"], settings["BOUND_IDENTITIES_ONLY"] = key, "true"
	}
	public := "http://" + p.http[gateway]
	more := map[string]string{}
	switch service {
	case payments:
		more = map[string]string{
			"MASTER_KEYS":           master(p.keys.master[name]),
			"SETTLEMENT_TOKEN_KEYS": master(p.keys.tokens[tenant.Shard]),
			"RATES_TEST":            "fixed", "RAIL_TEST": "sim", "PUBLIC_URL": public, "CALLBACK_ALLOW_TEST": loopback,
			"OWED_EVERY":        "2s",
			"TREASURY_EVERY":    "5s",
			"SANCTIONS_MAX_AGE": "0", // the list in the program is as old as the checkout
			"ADDRESS_STOCK":     strconv.Itoa(addressStock),
		}
	case wallets:
		account := testKeys[slices.Index(further[:], tenant.Shard)+1]
		more = map[string]string{
			"MASTER_KEYS":       master(p.keys.master[name]),
			"XPUB_TEST_BITCOIN": account.bitcoin, "XPUB_TEST_EVM": account.evm, "XPUB_TEST_TRON": account.tron, "SIGNER_SOCKET": p.socket(),
		}
	case signer:
		more = map[string]string{"SIGNER_SOCKET": p.socket(), "SIGNER_LOG": p.dir + "/signer-log.jsonl"}
	case reports:
		more = map[string]string{
			"MASTER_KEYS": master(p.keys.master[name]), "SEAL_PERSONAL": "true",
			"REPORTS_PUBLIC_MODES": "live,test", "LIMITS_SKIP_LOOPBACK": "true",
		}
	case dispatcher:
		more = map[string]string{
			"MASTER_KEYS":         master(p.keys.master[name]),
			"CALLBACK_ALLOW_TEST": loopback, "SETTLEMENT_TOKEN_KEYS": master(p.keys.tokens[tenant.Shard]), "EVENT_KEYS": p.keys.opening(tenant.Shard),
		}
	case console, operators:
		more = map[string]string{
			"DOOR": doors[service], "DOOR_KEY": p.keys.door[service], "GATEWAY_URL": "http://" + p.http[copyName(gateway, replica)],
			// Passkeys need the name of a host; an address has none.
			"PUBLIC_URL":  strings.Replace(public, "127.0.0.1", "localhost", 1),
			"MASTER_KEYS": master(p.keys.master[name]), "DATABASE_MAX_CONNS": "4",
		}
	case gateway:
		more = p.gateway(public, replica)
	}
	for name, value := range more {
		settings[name] = value
	}
	for name, value := range p.options.Env {
		of, variable, qualified := strings.Cut(name, ":")
		if !qualified {
			settings[name] = value
		} else if of == service || of == name {
			settings[variable] = value
		}
	}
	return append(render(settings), process.Mark(p.dir))
}

func (p plan) gateway(public string, replica int) map[string]string {
	settings := map[string]string{
		"MASTER_KEYS": master(p.keys.master[gateway]), "KEY_PEPPERS": p.keys.pepper,
		"OPERATOR_TOKENS": "local:" + digest(p.keys.adminToken) + ",second:" + digest(p.keys.secondToken), "PUBLIC_URL": public,
		"LIMITS_SKIP_LOOPBACK": "true", "SECOND_OPERATOR": "false",
	}
	var names []string
	for service, door := range doors {
		seed, err := base64.StdEncoding.DecodeString(p.keys.door[service])
		if err == nil && len(seed) == ed25519.SeedSize {
			public, _ := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
			names = append(names, door+":"+base64.StdEncoding.EncodeToString(public))
		}
	}
	slices.Sort(names)
	settings["CONSOLE_KEYS"] = strings.Join(names, ",")
	settings["OPERATORS_URL"] = strings.Replace(public, "127.0.0.1", "localhost", 1) // as the console has it
	for service, name := range map[string]string{
		payments: "PAYMENTS", wallets: "WALLETS", reports: "REPORTS", dispatcher: "DISPATCHER", console: "CONSOLE", operators: "CONSOLE_OPERATORS",
	} {
		if p.http[copyName(service, replica)] == "" {
			continue
		}
		settings[name+"_URL"] = (&url.URL{Scheme: "http", Host: p.http[copyName(service, replica)]}).String()
		settings[name+"_IDENTITY_KEYS"] = p.keys.identity[service]
	}
	if shards := p.shards(replica); shards != "" {
		settings["SHARDS"] = shards
	}
	return settings
}

// shards is the gateway's table of the shards besides the first, "" without one.
func (p plan) shards(replica int) string {
	type service struct {
		URL  string `json:"url"`
		Keys string `json:"keys"`
	}
	table := map[string]map[string]service{}
	for _, tenant := range p.tenants {
		if tenant.Shard == "" {
			continue
		}
		if table[tenant.Shard] == nil {
			table[tenant.Shard] = map[string]service{}
		}
		table[tenant.Shard][tenant.Service] = service{"http://" + p.http[copyName(tenant.Name(), replica)], p.keys.identity[tenant.Name()]}
	}
	if len(table) == 0 {
		return ""
	}
	text, err := json.Marshal(table)
	if err != nil {
		panic(err) // texts
	}
	return string(text)
}

func master(key string) string { return "k1:" + key }

// producers are the services that publish messages.
func producers() []string {
	var all []string
	for _, line := range wire.Topology() {
		if !slices.Contains(all, line.Exchange) {
			all = append(all, line.Exchange)
		}
	}
	return all
}

// opening lists what the dispatcher of a shard opens the events of all producers with.
func (k keys) opening(in string) string {
	var all []string
	for _, producer := range producers() {
		if producer == dispatcher {
			continue
		}
		all = append(all, producer+":"+k.events[infra.Tenant{Service: producer, Shard: in}.Name()])
	}
	slices.Sort(all)
	return strings.Join(all, ",")
}

// trusted lists the public keys of the services whose messages a tenant reads.
func (k keys) trusted(tenant infra.Tenant) string {
	var all []string
	for _, line := range wire.Topology() {
		seed, err := base64.StdEncoding.DecodeString(k.message[infra.Tenant{Service: line.Exchange, Shard: tenant.Shard}.Name()])
		if line.Consumer != tenant.Service || err != nil || len(seed) != ed25519.SeedSize {
			continue
		}
		public, _ := ed25519.NewKeyFromSeed(seed).Public().(ed25519.PublicKey)
		if key := line.Exchange + "/" + master(base64.StdEncoding.EncodeToString(public)); !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return strings.Join(all, ",")
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func render(settings map[string]string) []string {
	variables := make([]string, 0, len(settings)+2)
	for name, value := range settings {
		variables = append(variables, fmt.Sprintf("%s=%s", name, value))
	}
	return variables
}
