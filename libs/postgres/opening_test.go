//go:build integration

package postgres_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/pg"
)

// door is an address of the database behind which connections are held once it is closed. A held one goes on when more
// are held than may be, or after a while.
type door struct {
	net.Listener
	server string

	mu         sync.Mutex
	closed     bool
	held, most int
	crowded    chan struct{} // closed once more are held than may be
}

func (d *door) serve(t *testing.T) {
	for {
		from, err := d.Accept()
		if err != nil {
			return // the test has ended
		}
		go func() {
			defer from.Close()
			d.hold()
			to, err := net.Dial("tcp", d.server)
			if err != nil {
				t.Error(err)
				return
			}
			defer to.Close()
			go func() { _, _ = io.Copy(to, from) }() // it ends with either side
			_, _ = io.Copy(from, to)
		}()
	}
}

// hold counts a connection while it is being made.
func (d *door) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		return
	}
	d.held++
	if d.held > d.most {
		d.most = d.held
		if d.most == postgres.OpeningAtOnce+1 {
			close(d.crowded)
		}
	}
	d.mu.Unlock()
	select {
	case <-d.crowded:
	case <-time.After(100 * time.Millisecond):
	}
	d.mu.Lock()
	d.held--
}

// After PostgreSQL was away, many processes want all of their connections at the same moment. Each process asks for few
// at a time: otherwise all run out of time together, and the server has computed for nothing, again and again.
func TestOpen_fewAtATime(t *testing.T) {
	t.Parallel()
	cfg := pg.Config(t, migrations)
	address, err := url.Parse(cfg.URL.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	d := &door{Listener: listener, server: address.Host, crowded: make(chan struct{})}
	go d.serve(t)
	address.Host = listener.Addr().String()
	cfg.URL = config.Secret(address.String())
	pool, err := postgres.Open(t.Context(), cfg, migrations, telemetrytest.ForTest(t))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	conns := make(chan *pgxpool.Conn, pool.Config().MaxConns)
	for range cap(conns) {
		go func() {
			conn, err := pool.Acquire(t.Context())
			if err != nil {
				t.Errorf("acquire: %v, want no error", err)
			}
			conns <- conn
		}()
	}
	for range cap(conns) {
		if conn := <-conns; conn != nil {
			defer conn.Release()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.most != postgres.OpeningAtOnce {
		t.Errorf("%d connections were being made at a time, want %d", d.most, postgres.OpeningAtOnce)
	}
}
