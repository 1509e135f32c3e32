//go:build integration

package e2e

import (
	"context"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/oasdiff/yaml"

	"causeway.internal/libs/testkit/stack"
)

// declared is one object of k8s/overlays/prod/postgres.yaml, as far as it says how databases are made.
type declared struct {
	Kind string `json:"kind"`
	Spec struct {
		Bootstrap struct {
			InitDB struct {
				Encoding               string   `json:"encoding"`
				LocaleCollate          string   `json:"localeCollate"`
				LocaleCType            string   `json:"localeCType"`
				PostInitSQL            []string `json:"postInitSQL"`
				PostInitApplicationSQL []string `json:"postInitApplicationSQL"`
			} `json:"initdb"`
		} `json:"bootstrap"`
		Managed struct {
			Roles []struct {
				Name            string `json:"name"`
				Login           bool   `json:"login"`
				ConnectionLimit int    `json:"connectionLimit"`
			} `json:"roles"`
		} `json:"managed"`
		Name  string `json:"name"` // of a Database
		Owner string `json:"owner"`
	} `json:"spec"`
}

func manifest(t *testing.T, path string) []declared {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []declared
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var one declared
		if _, err := yaml.Unmarshal([]byte(document), &one, yaml.DecodeOpts{}); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

// asCloudNativePG makes roles and databases as the operator makes them from the manifests of production, and nothing
// else: it grants nothing. The server has the manifest's encoding and locale. The operator also makes a database named
// app, which nobody uses, because the manifest names no other. It returns the superuser's URL.
func asCloudNativePG(t *testing.T) string {
	t.Helper()
	server := os.Getenv("CAUSEWAY_TEST_POSTGRES_URL")
	admin, err := pgx.Connect(t.Context(), server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.WithoutCancel(t.Context())) })
	run := func(sql string) {
		t.Helper()
		if _, err := admin.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Fatalf("run %s: %v", sql, err)
		}
	}
	for _, one := range manifest(t, "../../k8s/overlays/prod/postgres.yaml") {
		switch one.Kind {
		case "Cluster":
			init := one.Spec.Bootstrap.InitDB
			var encoding, collate, ctype string
			err := admin.QueryRow(t.Context(), `SELECT pg_encoding_to_char(encoding), datcollate, datctype FROM pg_database WHERE datname = 'template1'`).
				Scan(&encoding, &collate, &ctype)
			if err != nil || encoding != init.Encoding || collate != init.LocaleCollate || ctype != init.LocaleCType {
				t.Fatalf("the server was made with %s %s %s, the manifest says %+v: %v", encoding, collate, ctype, init, err)
			}
			for _, role := range one.Spec.Managed.Roles {
				name := pgx.Identifier{role.Name}.Sanitize()
				run(`CREATE ROLE ` + name + ` NOBYPASSRLS NOCREATEDB NOCREATEROLE INHERIT LOGIN NOREPLICATION NOSUPERUSER ` +
					`CONNECTION LIMIT ` + strconv.Itoa(role.ConnectionLimit) + ` PASSWORD 'causeway'`)
				t.Cleanup(func() { run(`DROP ROLE ` + name) })
			}
			run(`CREATE ROLE app LOGIN`)
			t.Cleanup(func() { run(`DROP ROLE app`) })
			run(`CREATE DATABASE app OWNER app`)
			t.Cleanup(func() { run(`DROP DATABASE app WITH (FORCE)`) })
			for _, sql := range slices.Concat(init.PostInitSQL, init.PostInitApplicationSQL) {
				run(sql)
			}
		case "Database":
			name := pgx.Identifier{one.Spec.Name}.Sanitize()
			run(`CREATE DATABASE ` + name + ` OWNER ` + pgx.Identifier{one.Spec.Owner}.Sanitize())
			t.Cleanup(func() { run(`DROP DATABASE ` + name + ` WITH (FORCE)`) })
		}
	}
	return server
}

// TestGrants: on databases that CloudNativePG made, `migrate` as the owner, as the Jobs of the manifests run it, gives
// the application what it needs. Then the whole product runs as the application roles, and pays.
func TestGrants(t *testing.T) {
	t.Parallel()
	server := asCloudNativePG(t)
	address := func(role, database string) string {
		parsed, err := url.Parse(server)
		if err != nil {
			t.Fatal(err)
		}
		parsed.User, parsed.Path = url.UserPassword(role, "causeway"), "/"+database
		return parsed.String()
	}
	made := &stack.Stack{Databases: map[string]string{}, Owners: map[string]string{}}
	settings := map[string]map[string]string{}
	for _, service := range []string{"callback-dispatcher", "gateway", "payments", "reports", "wallets"} {
		database := strings.ReplaceAll(service, "-", "_")
		made.Databases[service], made.Owners[service] = address(database+"_app", database), address(database+"_owner", database)
		settings[service] = map[string]string{"DATABASE_URL": made.Databases[service]}
		for range 2 { // a Job may run again
			migrate := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(os.Getenv("CAUSEWAY_STACK")), service), "migrate")
			migrate.Env = []string{"DATABASE_OWNER_URL=" + made.Owners[service], "OPS_ADDR=127.0.0.1:0"}
			if out, err := migrate.CombinedOutput(); err != nil {
				t.Fatalf("%s migrate: %v\n%s", service, err, out)
			}
		}
	}
	s := stack.New(t, stack.Options{Env: settings})
	c := client(t, s)
	reference := create(t, c, transfer(nil)).Text(t, "payment.reference")
	deposit(t, c, reference, nil)
	awaitStatus(t, c, reference, "settled")
	databases := []string{"app", "callback_dispatcher", "gateway", "payments", "postgres", "reports", "template1", "wallets"}
	for service := range made.Databases {
		reach(t, service, "application", made.Databases[service], databases)
		reach(t, service, "owner", made.Owners[service], databases)
		within(t, made, service)
	}
}
