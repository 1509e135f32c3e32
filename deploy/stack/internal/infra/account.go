package infra

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/stack/internal/state"
	"causeway.internal/libs/wire"
)

// Account is what one tenant may use.
type Account struct {
	Tenant   string // its name
	Database string // URL of the role that reads and writes rows
	Owner    string // URL of the role that owns the tables and migrates
	Broker   string // AMQP URL, "" for a service that uses no broker
}

// Tenant names a service of a shard and says whether it uses the broker.
type Tenant struct {
	Service string
	Program string // its binary; "" has the service's name
	Broker  bool
	Shard   string // its code; "" is the first, and what is one for all shards
}

// Name is that of the tenant's processes, databases and broker user: payments, or payments-k2 of another shard.
func (t Tenant) Name() string { return inShard(t.Service, t.Shard) }

func inShard(name, in string) string {
	if in == "" {
		return name
	}
	return name + "-" + strings.ToLower(in)
}

// Binary is the name of the tenant's program.
func (t Tenant) Binary() string {
	if t.Program != "" {
		return t.Program
	}
	return t.Service
}

// Accounts makes the broker's topology for each shard and, for each tenant, a database with two roles and a broker
// user, all named with the instance's prefix. It keeps existing ones. Passwords are the instance's secrets. With
// earlier, broker users have the rights of binaries that declare their queues themselves.
func (s Servers) Accounts(ctx context.Context, tenants []Tenant, earlier bool) ([]Account, error) {
	st, err := state.Load(s.Dir)
	if err != nil {
		return nil, err
	}
	secrets, err := state.LoadSecrets(s.Dir)
	if err != nil {
		return nil, err
	}
	passwords := make([]passwords, len(tenants))
	for i, tenant := range tenants {
		for name, into := range map[string]*string{"owner": &passwords[i].owner, "app": &passwords[i].app, "broker": &passwords[i].broker} {
			if *into, err = secrets.Get(name+"-password-"+tenant.Name(), state.Password); err != nil {
				return nil, err
			}
		}
	}
	broker := management{api: st.Rabbit.API}
	for _, host := range hosts(st.Prefix, tenants) {
		if err := broker.makeHost(ctx, host); err != nil {
			return nil, err
		}
	}
	if st.Postgres.Private {
		if err := closeServer(ctx, st.Postgres.URL); err != nil {
			return nil, err
		}
	}
	type result struct {
		at      int
		account Account
		err     error
	}
	results := make(chan result)
	for i, tenant := range tenants {
		go func() {
			account, err := makeAccount(ctx, st, broker, tenant, passwords[i], earlier)
			results <- result{i, account, err}
		}()
	}
	accounts := make([]Account, len(tenants))
	var failures []error
	for range tenants {
		r := <-results
		accounts[r.at] = r.account
		failures = append(failures, r.err)
	}
	return accounts, errors.Join(failures...)
}

// hosts are the virtual hosts of the tenants' shards.
func hosts(prefix string, tenants []Tenant) []string {
	all := []string{prefix}
	for _, tenant := range tenants {
		if host := inShard(prefix, tenant.Shard); !slices.Contains(all, host) {
			all = append(all, host)
		}
	}
	return all
}

// passwords are those of one tenant: nobody learns one from another.
type passwords struct{ owner, app, broker string }

func makeAccount(ctx context.Context, st *state.State, broker management, tenant Tenant, secret passwords, earlier bool) (Account, error) {
	name := database(st.Prefix, tenant.Name())
	owner, app := name+"_owner", name+"_app"
	account := Account{
		Tenant:   tenant.Name(),
		Database: with(st.Postgres.URL, app, secret.app, name),
		Owner:    with(st.Postgres.URL, owner, secret.owner, name),
	}
	if err := makeDatabase(ctx, st.Postgres.URL, name, secret); err != nil {
		return account, fmt.Errorf("make the database of %s: %w", tenant.Name(), err)
	}
	if !tenant.Broker {
		return account, nil
	}
	rights := wire.RightsOf(tenant.Service)
	if earlier {
		rights = wire.EarlierRights()
	}
	user, host := st.Prefix+"-"+tenant.Name(), inShard(st.Prefix, tenant.Shard)
	account.Broker = with(st.Rabbit.URL, user, secret.broker, host)
	return account, broker.makeUser(ctx, host, user, secret.broker, rights)
}

func database(prefix, tenant string) string {
	return prefix + "_" + strings.ReplaceAll(tenant, "-", "_")
}

// with replaces the account and the path of a server's URL.
func with(server, user, password, path string) string {
	address, err := url.Parse(server)
	if err != nil {
		return ""
	}
	address.User, address.Path = url.UserPassword(user, password), "/"+path
	return address.String()
}

// closeServer shuts the databases that PostgreSQL makes by itself, which everybody may enter else. It is done to
// private servers only: a lent one belongs to somebody else.
func closeServer(ctx context.Context, server string) error {
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect as superuser: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	if _, err := conn.Exec(ctx, `REVOKE ALL ON DATABASE postgres, template1 FROM PUBLIC`); err != nil {
		return fmt.Errorf("close the server's own databases: %w", err)
	}
	return nil
}

// makeDatabase gives the owner the database and its schema, and the application rows only: it can neither create nor
// alter nor truncate. Every table that the owner's migrations will ever create is covered by the default privileges.
func makeDatabase(ctx context.Context, server, name string, secret passwords) error {
	owner, app := name+"_owner", name+"_app"
	conn, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("connect as superuser: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for role, password := range map[string]string{owner: secret.owner, app: secret.app} {
		if err := makeRole(ctx, conn, role, password); err != nil {
			return err
		}
	}
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, name).Scan(&exists); err != nil {
		return fmt.Errorf("look for the database: %w", err)
	}
	if !exists {
		create := fmt.Sprintf(`CREATE DATABASE %s OWNER %s TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'`, quoted(name), quoted(owner))
		if _, err := conn.Exec(ctx, create); err != nil {
			return fmt.Errorf("create it: %w", err)
		}
	}
	inside, err := pgx.Connect(ctx, inDatabase(server, name))
	if err != nil {
		return fmt.Errorf("connect to it: %w", err)
	}
	defer inside.Close(context.WithoutCancel(ctx))
	if _, err := inside.Exec(ctx, grants(name, owner, app)); err != nil {
		return fmt.Errorf("grant rights: %w", err)
	}
	return nil
}

func grants(name, owner, app string) string {
	return strings.NewReplacer("{db}", quoted(name), "{owner}", quoted(owner), "{app}", quoted(app)).Replace(`
		REVOKE ALL ON DATABASE {db} FROM PUBLIC;
		GRANT CONNECT ON DATABASE {db} TO {app};
		REVOKE ALL ON SCHEMA public FROM PUBLIC;
		ALTER SCHEMA public OWNER TO {owner};
		GRANT USAGE ON SCHEMA public TO {app};
		ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {app};
		ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT USAGE, SELECT ON SEQUENCES TO {app};
		ALTER DEFAULT PRIVILEGES FOR ROLE {owner} REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;
		ALTER DEFAULT PRIVILEGES FOR ROLE {owner} GRANT EXECUTE ON FUNCTIONS TO {app};`)
}

func makeRole(ctx context.Context, conn *pgx.Conn, role, password string) error {
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, role).Scan(&exists); err != nil {
		return fmt.Errorf("look for role %s: %w", role, err)
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	statement := fmt.Sprintf(`%s ROLE %s LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD '%s'`, verb, quoted(role), password)
	if _, err := conn.Exec(ctx, statement); err != nil {
		return fmt.Errorf("make role %s: %w", role, err)
	}
	return nil
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func inDatabase(server, name string) string {
	address, err := url.Parse(server)
	if err != nil {
		return ""
	}
	address.Path = "/" + name
	return address.String()
}

// Drop removes everything that Accounts made, for servers that are only lent.
func Drop(ctx context.Context, st *state.State, tenants []Tenant) error {
	var failures []error
	if st.Postgres.URL != "" {
		failures = append(failures, dropDatabases(ctx, st, tenants))
	}
	if st.Rabbit.URL != "" {
		broker := management{api: st.Rabbit.API}
		for _, host := range hosts(st.Prefix, tenants) {
			failures = append(failures, broker.remove(ctx, "/api/vhosts/"+url.PathEscape(host)))
		}
		for _, tenant := range tenants {
			failures = append(failures, broker.remove(ctx, "/api/users/"+url.PathEscape(st.Prefix+"-"+tenant.Name())))
		}
	}
	return errors.Join(failures...)
}

func dropDatabases(ctx context.Context, st *state.State, tenants []Tenant) error {
	conn, err := pgx.Connect(ctx, st.Postgres.URL)
	if err != nil {
		return fmt.Errorf("connect to drop the databases: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var failures []error
	for _, tenant := range tenants {
		name := database(st.Prefix, tenant.Name())
		statements := []string{
			fmt.Sprintf(`DROP DATABASE IF EXISTS %s WITH (FORCE)`, quoted(name)),
			fmt.Sprintf(`DROP ROLE IF EXISTS %s, %s`, quoted(name+"_owner"), quoted(name+"_app")),
		}
		for _, statement := range statements {
			if _, err := conn.Exec(ctx, statement); err != nil {
				failures = append(failures, fmt.Errorf("drop what %s used: %w", tenant.Name(), err))
			}
		}
	}
	return errors.Join(failures...)
}
