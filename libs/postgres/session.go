package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// settled names, in a connection's custom data, the settings of its session as PostgreSQL writes them.
const settled = "causeway settings"

// startup are the settings that a connection is opened with. All others are set once it is open: a pooler refuses or
// drops what it does not know when a connection is opened.
var startup = []string{"application_name", "client_encoding", "options"}

// bound gives a connection the limits and names that every session has. URL's own settings win over them, and more wins
// over both.
func bound(c *pgx.ConnConfig, more map[string]string) {
	c.ConnectTimeout = connectTimeout
	all := map[string]string{
		"lock_timeout":                        lockTimeout,
		"idle_in_transaction_session_timeout": idleInTxTimeout,
		"jit":                                 "off", // it takes longer to compile than any statement here to run
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
	c.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error { return settle(ctx, conn, all) }
}

// settle sets a session's settings in one round trip and keeps what PostgreSQL made of them.
func settle(ctx context.Context, conn *pgconn.PgConn, settings map[string]string) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
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
