//go:build integration

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/testkit/pg"
)

// cable is a TCP connection to PostgreSQL whose links can be frozen, like those of a stopped process or a cut cable: no
// data passes and no connection ends.
type cable struct {
	t      *testing.T
	target string
	front  net.Listener

	mu     sync.Mutex
	wake   *sync.Cond
	frozen map[string]bool // by local port of the side to PostgreSQL
	all    bool
	ends   []net.Conn
	closed bool
	pumps  sync.WaitGroup
}

func newCable(t *testing.T, database string) (c *cable, through string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	front, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c = &cable{t: t, target: u.Host, front: front, frozen: map[string]bool{}}
	c.wake = sync.NewCond(&c.mu)
	c.pumps.Go(c.accept)
	t.Cleanup(func() {
		c.mu.Lock()
		c.closed = true
		for _, end := range c.ends {
			_ = end.Close()
		}
		c.wake.Broadcast()
		c.mu.Unlock()
		_ = front.Close()
		c.pumps.Wait()
	})
	u.Host = front.Addr().String()
	return c, u.String()
}

func (c *cable) accept() {
	for {
		near, err := c.front.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		if err != nil {
			_ = near.Close()
			continue
		}
		_, port, _ := net.SplitHostPort(far.LocalAddr().String())
		c.mu.Lock()
		c.ends = append(c.ends, near, far)
		c.mu.Unlock()
		c.pumps.Go(func() { c.pump(near, far, port) })
		c.pumps.Go(func() { c.pump(far, near, port) })
	}
}

func (c *cable) pump(from, to net.Conn, port string) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		c.mu.Lock()
		for !c.closed && (c.all || c.frozen[port]) {
			c.wake.Wait()
		}
		c.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// freeze stops the links of some ports, or every link, present and future. A port of another cable stops nothing.
func (c *cable) freeze(ports []string, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range ports {
		c.frozen[p] = true
	}
	c.all = all
}

func (c *cable) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frozen, c.all = map[string]bool{}, false
	c.wake.Broadcast()
}

// listeners are the client ports of the sessions that listen on the database.
func listeners(t *testing.T, database string) (ports []string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `SELECT client_port::text FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'causeway listener'`)
	if err != nil {
		t.Fatal(err)
	}
	if ports, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		t.Fatal(err)
	}
	return ports
}

func (w *fixture) caughtUp(t *testing.T) bool {
	t.Helper()
	return w.metric(t, "gateway_key_changes_told") == 1
}

func (w *fixture) makeKey(t *testing.T) (secret, path string) {
	t.Helper()
	key := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"shop","mode":"test","permissions":["*"],"tier":"unlimited"}`).want(t, 201, "").key(t)
	secret, _ = key["secret"].(string)
	return secret, "/v1/admin/keys/" + fmt.Sprint(key["id"])
}

// TestReplicas_revoke: a second after one replica has revoked a key, no other accepts it, whether the other's link to
// the database works, has its listener stopped for five seconds, or is cut; other keys keep working.
func TestReplicas_revoke(t *testing.T) {
	t.Parallel()
	database := pg.URL(t, migrations.FS)
	cable, through := newCable(t, database)
	here := startOn(t, database, "KEY_CACHE_TTL", "1h")
	there := startOn(t, through, "KEY_CACHE_TTL", "1h")
	for name, tc := range map[string]struct {
		freeze func()
		others int // status for another key meanwhile
	}{
		"all is well":           {func() {}, http.StatusOK},
		"the listener freezes":  {func() { cable.freeze(listeners(t, database), false) }, http.StatusOK},
		"the listener stops":    {func() { halt(t, database) }, http.StatusOK},
		"the cable is cut":      {func() { cable.freeze(nil, true) }, 0},
		"the listener is ended": {func() { terminate(t, database) }, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			eventually(t, func() bool { return here.caughtUp(t) && there.caughtUp(t) })
			secret, path := here.makeKey(t)
			other, _ := here.makeKey(t)
			for _, s := range []string{secret, other} {
				there.call(t, "POST", "/v1/payments", s, "{}").want(t, 200, "")
			}
			tc.freeze()
			here.call(t, "DELETE", path, operatorToken, "").want(t, 200, "")
			revoked := time.Now()
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for refused := false; time.Since(revoked) < watchRevoked || !refused; {
				begun := time.Now()
				a := there.call(t, "POST", "/v1/payments", secret, "{}")
				if a.StatusCode == http.StatusOK && begun.Sub(revoked) > time.Second {
					t.Fatalf("the key still passes %s after it was revoked", begun.Sub(revoked))
				}
				refused = refused || a.StatusCode != http.StatusOK
				if tc.others != 0 {
					there.call(t, "POST", "/v1/payments", other, "{}").want(t, tc.others, "")
				}
				<-pace.C
			}
			cable.thaw()
			eventually(t, func() bool { return there.caughtUp(t) })
			there.call(t, "POST", "/v1/payments", secret, "{}").want(t, 401, "api_key_revoked")
			there.call(t, "POST", "/v1/payments", other, "{}").want(t, 200, "")
		})
	}
}

// halt stops the server's processes of every listening session (SIGSTOP) until the test ends: their connections stay
// open, and nothing answers on them.
func halt(t *testing.T, database string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	rows, err := conn.Query(t.Context(), `SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'causeway listener'`)
	if err != nil {
		t.Fatal(err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil || len(pids) == 0 {
		t.Fatalf("%d listeners: %v", len(pids), err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			t.Fatalf("stop PostgreSQL's process %d, which must run on this machine: %v", pid, err)
		}
		t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	}
}

// terminate ends every listening session of the database.
func terminate(t *testing.T, database string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	if _, err := conn.Exec(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'causeway listener'`); err != nil {
		t.Fatal(err)
	}
}
