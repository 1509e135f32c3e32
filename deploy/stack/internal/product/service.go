// Package product runs the six services of an instance on servers that are already up: their settings, migrations,
// processes, and the first merchant. It talks to them only as any user would, over HTTP, and through their verbs.
package product

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
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

// Tenants are the services.
func Tenants() []infra.Tenant {
	return []infra.Tenant{
		{Service: payments, Broker: true},
		{Service: wallets, Broker: true},
		{Service: reports, Broker: true},
		{Service: dispatcher, Broker: true},
		{Service: gateway},
		{Service: console},
		{Service: operators, Program: console},
	}
}

// doors are the people that each console serves.
var doors = map[string]string{console: "merchant", operators: "operator"}

// loopback is what test-mode callbacks may reach besides public addresses.
const loopback = "127.0.0.0/8,::1/128"

// Account-level extended public keys of the public mnemonic "abandon abandon … about", for simulated money only. Paths
// m/84'/0'/0', m/44'/60'/0', m/44'/195'/0'.
const (
	testBitcoin = "xpub6CatWdiZiodmUeTDp8LT5or8nmbKNcuyvz7WyksVFkKB4RHwCD3XyuvPEbvqAQY3rAPshWcMLoP2fMFMKHPJ4ZeZXYVUhLv1VMrjPC7PW6V"
	testEVM     = "xpub6DCoCpSuQZB2jawqnGMEPS63ePKWkwWPH4TU45Q7LPXWuNd8TMtVxRrgjtEshuqpK3mdhaWHPFsBngh5GFZaM6si3yZdUsT8ddYM3PwnATt"
	testTron    = "xpub6D1AabNHCupeiLM65ZR9UStMhJ1vCpyV4XbZdyhMZBiJXALQtmn9p42VTQckoHVn8WNqS7dqnJokZHAHcHGoaQgmv8D45oNUKx6DZMNZBCd"
)

// keys are an instance's generated secrets.
type keys struct {
	identity    map[string]string // by service
	master      map[string]string // by service
	pepper      string
	tokens      string            // seals settlement tokens between payments and the dispatcher
	events      map[string]string // by producer: seals the bodies of its events for the dispatcher
	door        map[string]string // by console: the seed of the key that signs for its people
	message     map[string]string // by producer: the seed of the key that signs its messages
	adminToken  string
	secondToken string // of another operator, for what two have to want
}

func loadKeys(dir string) (keys, error) {
	secrets, err := state.LoadSecrets(dir)
	if err != nil {
		return keys{}, err
	}
	k := keys{
		identity: map[string]string{}, master: map[string]string{}, events: map[string]string{}, message: map[string]string{}, door: map[string]string{},
	}
	for _, tenant := range Tenants() {
		if k.identity[tenant.Service], err = secrets.Get("identity-"+tenant.Service, state.Key); err != nil {
			return keys{}, err
		}
		if k.master[tenant.Service], err = secrets.Get("master-"+tenant.Service, state.Key); err != nil {
			return keys{}, err
		}
	}
	for service := range doors {
		if k.door[service], err = secrets.Get("door-"+service, state.Key); err != nil {
			return keys{}, err
		}
	}
	for _, producer := range producers() {
		if k.message[producer], err = secrets.Get("message-"+producer, state.Key); err != nil {
			return keys{}, err
		}
		if k.events[producer], err = secrets.Get("events-"+producer, state.Key); err != nil {
			return keys{}, err
		}
	}
	if k.pepper, err = secrets.Get("pepper", state.Key); err != nil {
		return keys{}, err
	}
	if k.tokens, err = secrets.Get("settlement-tokens", state.Key); err != nil {
		return keys{}, err
	}
	operator := func() string { return "op_" + state.Password() + state.Password() }
	if k.adminToken, err = secrets.Get("admin-token", operator); err != nil {
		return keys{}, err
	}
	k.secondToken, err = secrets.Get("second-admin-token", operator)
	return k, err
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
				Path: p.options.Bin + "/" + signer, Args: []string{"serve"}, Dir: p.dir, Env: p.environ(signer, 1), Log: state.LogDir(p.dir) + "/" + signer + ".log",
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
			name, args := tenant.Service, []string(nil)
			if role != "" {
				name, args = name+"-"+role, []string{role}
			}
			name = copyName(name, number)
			all = append(all, state.Process{
				Name:  name,
				Ready: "http://" + ops + "/readyz",
				Spec: process.Spec{
					Path: p.options.Bin + "/" + tenant.Binary(), Args: args, Dir: p.dir,
					Env: append(p.environ(tenant.Service, number), "OPS_ADDR="+ops),
					Log: state.LogDir(p.dir) + "/" + name + ".log",
				},
			})
		}
	}
	return all
}

// environ renders the settings of one replica of a service; Options.Env has the last word.
func (p plan) environ(service string, replica int) []string {
	settings := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": p.dir, "TZ": "UTC", "LOG_LEVEL": "info"}
	if service != signer {
		settings["HTTP_ADDR"], settings["DATABASE_URL"] = p.http[copyName(service, replica)], p.through(p.accounts[service].Database)
	}
	if broker := p.accounts[service].Broker; broker != "" {
		settings["AMQP_URL"], settings["SIGNED_MESSAGES_ONLY"] = p.through(broker), "true"
		settings["MESSAGE_PUBLIC_KEYS"] = p.keys.trusted(service)
		if seed := p.keys.message[service]; seed != "" {
			settings["MESSAGE_KEY"], settings["EVENT_KEYS"] = master(seed), service+":"+p.keys.events[service]
		}
	}
	if key := p.keys.identity[service]; key != "" && service != gateway {
		settings["IDENTITY_KEYS"], settings["BOUND_IDENTITIES_ONLY"] = key, "true"
	}
	public := "http://" + p.http[gateway]
	more := map[string]string{}
	switch service {
	case payments:
		more = map[string]string{
			"MASTER_KEYS":           master(p.keys.master[service]),
			"SETTLEMENT_TOKEN_KEYS": master(p.keys.tokens),
			"RATES_TEST":            "fixed", "RAIL_TEST": "sim", "PUBLIC_URL": public, "CALLBACK_ALLOW_TEST": loopback,
			"OWED_EVERY":        "2s",
			"TREASURY_EVERY":    "5s",
			"SANCTIONS_MAX_AGE": "0", // the list in the program is as old as the checkout
			// Refilled at half, so more than stockWanted are there after any restart, leased blocks apart.
			"ADDRESS_STOCK": strconv.Itoa(stockWanted * 5 / 2),
		}
	case wallets:
		more = map[string]string{
			"MASTER_KEYS":       master(p.keys.master[service]),
			"XPUB_TEST_BITCOIN": testBitcoin, "XPUB_TEST_EVM": testEVM, "XPUB_TEST_TRON": testTron, "SIGNER_SOCKET": p.socket(),
		}
	case signer:
		more = map[string]string{"SIGNER_SOCKET": p.socket(), "SIGNER_LOG": p.dir + "/signer-log.jsonl"}
	case reports:
		more = map[string]string{
			"MASTER_KEYS": master(p.keys.master[service]), "SEAL_PERSONAL": "true",
			"REPORTS_PUBLIC_MODES": "live,test", "LIMITS_SKIP_LOOPBACK": "true",
		}
	case dispatcher:
		more = map[string]string{
			"MASTER_KEYS":         master(p.keys.master[service]),
			"CALLBACK_ALLOW_TEST": loopback, "SETTLEMENT_TOKEN_KEYS": master(p.keys.tokens), "EVENT_KEYS": p.keys.opening(),
		}
	case console, operators:
		more = map[string]string{
			"DOOR": doors[service], "DOOR_KEY": p.keys.door[service], "GATEWAY_URL": "http://" + p.http[copyName(gateway, replica)],
			// Passkeys need the name of a host; an address has none.
			"PUBLIC_URL":  strings.Replace(public, "127.0.0.1", "localhost", 1),
			"MASTER_KEYS": master(p.keys.master[service]), "DATABASE_MAX_CONNS": "4",
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
		} else if of == service {
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
	return settings
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

// opening lists what the dispatcher opens the events of all producers with.
func (k keys) opening() string {
	var all []string
	for _, producer := range slices.Sorted(maps.Keys(k.events)) {
		all = append(all, producer+":"+k.events[producer])
	}
	return strings.Join(all, ",")
}

// trusted lists the public keys of the services whose messages a service reads.
func (k keys) trusted(service string) string {
	var all []string
	for _, line := range wire.Topology() {
		seed, err := base64.StdEncoding.DecodeString(k.message[line.Exchange])
		if line.Consumer != service || err != nil || len(seed) != ed25519.SeedSize {
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
