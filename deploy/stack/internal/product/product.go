package product

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/testkit/port"
)

// Options say how to run the product.
type Options struct {
	Bin      string            // directory of the services' binaries
	Split    bool              // every service as two processes, serve and work
	Replicas int               // how many of every process; 0 is one
	Shards   int               // of payments, wallets and callback-dispatcher; 0 is one
	Toxic    bool              // services reach their servers through a proxy that can be poisoned
	Cluster  bool              // services reach the nodes of RabbitMQ through a proxy, as through a Service
	Env      map[string]string // settings NAME or service:NAME that override the launcher's

	// EarlierRights gives broker users what binaries need that declare their queues themselves.
	EarlierRights bool
}

// Product runs the services of one instance.
type Product struct {
	Dir      string
	Progress *progress.Printer
	Servers  infra.Servers
	Options  Options
}

const attempts = 3

// Up migrates, starts and readies the product, and leaves the env file.
func (p Product) Up(ctx context.Context) error {
	one, err := p.plan(ctx)
	if err != nil {
		return err
	}
	if p.Options.Toxic || p.Options.Cluster {
		err := p.Progress.Step("put a proxy before the servers", func() error { return p.poison(ctx, &one) })
		if err != nil {
			return err
		}
	}
	if err := p.Progress.Step("migrate the databases", func() error { return p.migrate(ctx, one) }); err != nil {
		return err
	}
	if err := p.Progress.Step("start the services", func() error { return p.start(ctx, one) }); err != nil {
		return err
	}
	return p.settle(ctx, one.keys)
}

// Migrate brings the databases of an instance that is up to the schemas of the binaries in Options.Bin, under whatever
// runs.
func (p Product) Migrate(ctx context.Context) error {
	one, err := p.plan(ctx)
	if err != nil {
		return err
	}
	return p.Progress.Step("migrate the databases", func() error { return p.migrate(ctx, one) })
}

// plan begins a plan with what every process of the instance needs: secrets, and accounts on the servers.
func (p Product) plan(ctx context.Context) (plan, error) {
	one := plan{dir: p.Dir, options: p.Options, tenants: p.tenants(), accounts: map[string]infra.Account{}}
	if err := p.check(); err != nil {
		return one, err
	}
	var err error
	if one.keys, err = loadKeys(p.Dir, Tenants(p.Options.Shards)); err != nil {
		return one, err
	}
	return one, p.Progress.Step("make databases, roles and broker users", func() error {
		accounts, err := p.Servers.Accounts(ctx, one.tenants, p.Options.EarlierRights)
		for _, account := range accounts {
			one.accounts[account.Tenant] = account
		}
		return err
	})
}

// tenants are the services of the binaries in Options.Bin: those from before v0.1.0 have no console.
func (p Product) tenants() []infra.Tenant {
	return slices.DeleteFunc(Tenants(p.Options.Shards), func(t infra.Tenant) bool {
		_, err := os.Stat(filepath.Join(p.Options.Bin, t.Binary()))
		return doors[t.Service] != "" && errors.Is(err, os.ErrNotExist)
	})
}

func (p Product) check() error {
	for _, tenant := range p.tenants() {
		if _, err := os.Stat(filepath.Join(p.Options.Bin, tenant.Binary())); err != nil {
			return fmt.Errorf("%s is not built: run `make build` first", filepath.Join(p.Options.Bin, tenant.Binary()))
		}
	}
	return nil
}

// migrate runs every service's migrations at the same time, each as the owner of its database.
func (p Product) migrate(ctx context.Context, one plan) error {
	failures := make(chan error)
	for _, tenant := range one.tenants {
		go func() { failures <- p.migrateOne(ctx, one, tenant) }()
	}
	var all []error
	for range one.tenants {
		all = append(all, <-failures)
	}
	return errors.Join(all...)
}

func (p Product) migrateOne(ctx context.Context, one plan, tenant infra.Tenant) error {
	name := tenant.Name()
	path := filepath.Join(state.LogDir(p.Dir), name+"-migrate.log")
	log, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the command has its own
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, filepath.Join(p.Options.Bin, tenant.Binary()), "migrate")
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.Dir, log, log
	cmd.Env = append(one.environ(tenant, 1), "DATABASE_OWNER_URL="+one.accounts[name].Owner, "OPS_ADDR=127.0.0.1:0")
	if err := cmd.Run(); err != nil {
		return &infra.Failure{Err: fmt.Errorf("%s migrate: %w", name, err), Log: path}
	}
	return nil
}

// start starts every service; when one finds its port taken, all are started again on other ports, because they name
// each other's.
func (p Product) start(ctx context.Context, one plan) error {
	for attempt := 1; ; attempt++ {
		err := p.startOnce(ctx, &one)
		if err == nil || attempt == attempts {
			return err
		}
		if log, tail := infra.ExplainedBy(err, 30); log == "" || !strings.Contains(tail, "address already in use") {
			return err
		}
		p.Progress.Print("      a port was taken in the meantime: again on others")
		if err := p.Down(); err != nil {
			return err
		}
	}
}

func (p Product) startOnce(ctx context.Context, one *plan) error {
	ports, err := port.Take(len(one.tenants) * one.replicas())
	if err != nil {
		return err
	}
	one.http = map[string]string{}
	for replica := range one.replicas() {
		for i, tenant := range one.tenants {
			one.http[copyName(tenant.Name(), replica+1)] = "127.0.0.1:" + strconv.Itoa(ports[replica*len(one.tenants)+i])
		}
	}
	all, err := one.processes()
	if err != nil {
		return err
	}
	for i := range all {
		if err := os.Truncate(all[i].Spec.Log, 0); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("empty the log: %w", err)
		}
		if all[i].Ref, err = process.Start(all[i].Spec); err != nil {
			return err
		}
		if _, err := state.Change(p.Dir, func(st *state.State) error { st.Put(all[i]); return nil }); err != nil {
			return err
		}
	}
	for _, one := range all {
		if err := infra.Ready(ctx, one); err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
	}
	_, err = state.Change(p.Dir, func(st *state.State) error {
		st.Product.BaseURL = "http://" + one.http[gateway]
		st.Product.Gateways = nil
		for replica := range one.replicas() {
			st.Product.Gateways = append(st.Product.Gateways, "http://"+one.http[copyName(gateway, replica+1)])
		}
		st.Product.AdminToken, st.Product.SecondToken = one.keys.adminToken, one.keys.secondToken
		st.Databases, st.Owners, st.Brokers = map[string]string{}, map[string]string{}, map[string]string{}
		for tenant, account := range one.accounts {
			st.Databases[tenant], st.Owners[tenant] = account.Database, account.Owner
			if account.Broker != "" {
				st.Brokers[tenant] = account.Broker
			}
		}
		return nil
	})
	return err
}

// Down stops every service at the same time and forgets them; the servers stay.
func (p Product) Down() error {
	st, err := state.Load(p.Dir)
	if err != nil {
		return err
	}
	var services []state.Process
	for _, one := range st.Processes {
		if IsService(one.Name) {
			services = append(services, one)
		}
	}
	if err := StopAll(p.Progress, services); err != nil {
		return err
	}
	_, err = state.Change(p.Dir, func(st *state.State) error {
		st.Processes = slices.DeleteFunc(st.Processes, func(one state.Process) bool { return IsService(one.Name) })
		return nil
	})
	return err
}

// IsService tells a service's process from a server's.
func IsService(name string) bool {
	if name == signer {
		return true
	}
	for _, tenant := range Tenants(1) {
		if name == tenant.Service || strings.HasPrefix(name, tenant.Service+"-") {
			return true
		}
	}
	return false
}

// StopAll stops processes at the same time and waits for all.
func StopAll(con *progress.Printer, all []state.Process) error {
	failures := make(chan error)
	for _, one := range all {
		go func() {
			killed, err := infra.Stop(one)
			if killed {
				con.Print("      %s did not stop when asked and was killed", one.Name)
			}
			failures <- err
		}()
	}
	var joined []error
	for range all {
		joined = append(joined, <-failures)
	}
	return errors.Join(joined...)
}

// Links are addresses that sign a newcomer in, as the owner of the test merchant and as an operator; "" without a
// console.
func (p Product) Links(ctx context.Context) (merchant, operator string, err error) {
	st, err := state.Load(p.Dir)
	if err != nil {
		return "", "", err
	}
	link := func(service string, words ...string) (string, error) {
		one, err := st.Find(service)
		if err != nil {
			return "", nil //nolint:nilerr // binaries from before there was a console
		}
		cmd := exec.CommandContext(ctx, one.Spec.Path, words...)
		cmd.Env = one.Spec.Env
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", service, strings.Join(words, " "), err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	if merchant, err = link(console, "create-owner", "--merchant", merchantID, "--email", "owner@local.example"); err != nil {
		return "", "", err
	}
	operator, err = link(operators, "create-operator", "--name", "local")
	return merchant, operator, err
}
