package infra

import (
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
)

// Each server waits for the other, whichever is the primary, and the URL names both.
func TestStandby_settings(t *testing.T) {
	t.Parallel()
	if !slices.Contains(replicated(Postgres), `synchronous_standby_names="postgres-2"`) ||
		!slices.Contains(replicated(PostgresSecond), `synchronous_standby_names="postgres"`) {
		t.Errorf("settings %v and %v: each must wait for the other", replicated(Postgres), replicated(PostgresSecond))
	}
	s, st := Servers{Dir: "/d"}, &state.State{}
	st.Put(state.Process{Name: Postgres, Ready: serverURL("p", "127.0.0.1:1").String()})
	s.recordPostgres(st, "p", "127.0.0.1:1")
	if want := "postgres://postgres:p@127.0.0.1:1/postgres?sslmode=disable"; st.Postgres.URL != want {
		t.Errorf("one server: got %s, want %s", st.Postgres.URL, want)
	}
	st.Put(state.Process{Name: PostgresSecond, Ready: serverURL("p", "127.0.0.1:2").String()})
	s.recordPostgres(st, "p", "127.0.0.1:2")
	got := with(st.Postgres.URL, "app", "q", "db")
	if want := "postgres://app:q@127.0.0.1:1,127.0.0.1:2/db?sslmode=disable&target_session_attrs=read-write"; got != want {
		t.Errorf("two servers: got %s, want %s", got, want)
	}
}

func TestConninfo(t *testing.T) {
	t.Parallel()
	source, environ, err := conninfo(state.Process{Ready: serverURL("p@ss", "127.0.0.1:7").String(), Spec: process.Spec{Path: "/pg/bin/postgres"}})
	if err != nil || strings.Contains(source, "p@ss") || !strings.Contains(source, "port=7") || !slices.Contains(environ, "PGPASSWORD=p@ss") {
		t.Errorf("name a server to PostgreSQL's programs: got %q, %v, %v", source, environ, err)
	}
}

func TestClusterConf(t *testing.T) {
	t.Parallel()
	if conf := (Servers{}).clusterConf(1); conf != "" {
		t.Errorf("a single node: got %q, want nothing", conf)
	}
	cluster := Servers{Cluster: true}
	if first := cluster.clusterConf(1); strings.Contains(first, "cluster_formation") || !strings.Contains(first, "pause_minority") {
		t.Errorf("the first node of three: got %q", first)
	}
	if third := cluster.clusterConf(3); !strings.Contains(third, "nodes.1 = causeway@localhost") || erlangName(3) != "causeway-3@localhost" {
		t.Errorf("the third node: got %q as %s", third, erlangName(3))
	}
}

func TestIsServer(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"postgres": true, "postgres-2": true, "rabbitmq-3": true, "epmd": true, "payments-work-2": false, "toxic": false} {
		if IsServer(name) != want {
			t.Errorf("%s is a server: got %t", name, !want)
		}
	}
}
