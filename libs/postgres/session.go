package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// settled is the key, in a connection's custom data, of its session's settings as PostgreSQL writes them.
const settled = "causeway settings"

// startup are the settings of the start-up packet. All others are set afterwards: a pooler refuses or drops start-up
// settings that it does not know.
var startup = []string{"application_name", "client_encoding", "options"}

// bound gives a connection the limits and names of every session. The URL's own settings override them, and more
// overrides both.
func bound(c *pgx.ConnConfig, more map[string]string) {
	c.ConnectTimeout = connectTimeout
	all := map[string]string{
		"lock_timeout":                        lockTimeout,
		"idle_in_transaction_session_timeout": idleInTxTimeout,
		"jit":                                 "off", // compiling takes longer than any statement here
		"timezone":                            "UTC",
		"application_name":                    "causeway",
	}
	maps.Copy(all, c.RuntimeParams)
	maps.Copy(all, more)
	clear(c.RuntimeParams)
	for _, name := range startup {
		if value, ok := all[name]; ok {
			c.RuntimeParams[name] = value
			delete(all, name)
		}
	}
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		ctx, cancel := context.WithTimeout(ctx, c.ConnectTimeout)
		defer cancel()
		return settle(ctx, conn, all)
	}
}

// settle sets a session's settings in one round trip and stores PostgreSQL's form of them.
func settle(ctx context.Context, conn *pgconn.PgConn, settings map[string]string) error {
	names := slices.Sorted(maps.Keys(settings))
	var calls []string
	var args [][]byte
	for i, name := range names {
		calls = append(calls, "set_config($"+strconv.Itoa(2*i+1)+", $"+strconv.Itoa(2*i+2)+", false)")
		args = append(args, []byte(name), []byte(settings[name]))
	}
	result := conn.ExecParams(ctx, "SELECT "+strings.Join(calls, ", "), args, nil, nil, nil).Read()
	if result.Err != nil {
		return fmt.Errorf("set up the session: %w", result.Err)
	}
	as := make(map[string]string, len(names))
	for i, name := range names {
		as[name] = string(result.Rows[0][i])
	}
	conn.CustomData()[settled] = as
	return nil
}

// Beside opens a session of its own beside a pool, with the pool's settings and out of its turn. The caller closes it.
func Beside(ctx context.Context, pool *pgxpool.Pool) (*pgx.Conn, error) {
	cc := pool.Config().ConnConfig.Copy()
	patient(cc)
	if t, ok := cc.Tracer.(*turns); ok {
		cc.Tracer = t.Tracer
	}
	return pgx.ConnectConfig(ctx, cc)
}

// patient keeps a connection from cancelling the statement of a caller that has given up; the statement ends by itself
// or by statement_timeout. A commit that waits for a standby must not be cancelled: PostgreSQL then shows it at once,
// although the primary alone has it, and the caller's next try would be answered with what a failover loses. Only a
// cancellation dials again once the connection is made, so the configuration is of one connection.
func patient(c *pgx.ConnConfig) {
	var made atomic.Bool
	dial, after := c.DialFunc, c.AfterConnect
	c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if made.Load() {
			return nil, errNotCancelled
		}
		if err := refusedInTurn(ctx); err != nil {
			return nil, err
		}
		return dial(ctx, network, address)
	}
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		made.Store(true)
		return after(ctx, conn)
	}
}

var errNotCancelled = errors.New("statements are not cancelled")
