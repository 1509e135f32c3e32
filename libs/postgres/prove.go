package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrPooled is returned by Open and Migrate when a pooler shares PostgreSQL's sessions among connections. Leaders would
// lose their locks to others, or keep them after they died.
var ErrPooled = errors.New("the database's URL leads through a pooler that does not give each connection a session of its own: " +
	"name PostgreSQL itself, or put the pooler in session mode with its reset query")

// Bounds of the proof. With a session of its own each wait takes a millisecond or two.
const (
	proveTimeout = 45 * time.Second
	proveWait    = 10 * time.Second // a false alarm would stop a healthy service on a slow machine
	proveEvery   = 20 * time.Millisecond
)

// prove fails with ErrPooled unless connections have what leaders, listeners and statements need: one session for all
// statements, with its settings; session locks that last exactly as long as the connection; notifications that arrive
// while it is idle. An idle connection holds no session of a pooler in transaction mode, so it receives no
// notification, whichever session it gets next: the proof is deterministic. Its lock and channel are random, so that
// replicas that start at once do not meet.
func prove(ctx context.Context, cc *pgx.ConnConfig) error {
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	cc = cc.Copy()
	cc.Tracer = nil
	p := proof{key: rand.Int64()} //nolint:gosec // it names a lock and is no secret
	p.channel = "causeway_proof_" + strconv.FormatInt(p.key, 36)
	for _, conn := range []**pgx.Conn{&p.subject, &p.witness} {
		var err error
		if *conn, err = pgx.ConnectConfig(ctx, cc); err != nil {
			return fmt.Errorf("connect to prove sessions: %w", err)
		}
		defer hangUp(ctx, *conn)
	}
	for _, step := range []func(context.Context) error{p.take, p.hear, p.compare, p.release} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// proof holds the two connections of a proof. Statements use the simple protocol, which every pooler accepts.
type proof struct {
	subject, witness *pgx.Conn
	key              int64
	channel          string
	pid              int32 // of the subject's session
}

// pooled adds the failed check to ErrPooled.
func pooled(fault string) error { return fmt.Errorf("%w (%s)", ErrPooled, fault) }

// take takes a lock and listens on a channel in the subject's session.
func (p *proof) take(ctx context.Context) error {
	var won bool
	err := p.subject.QueryRow(ctx, `SELECT pg_backend_pid(), pg_try_advisory_lock($1)`, pgx.QueryExecModeSimpleProtocol, p.key).
		Scan(&p.pid, &won)
	if err == nil && !won {
		err = errors.New("a random lock is taken")
	}
	if err == nil {
		_, err = p.subject.Exec(ctx, "LISTEN "+pgx.Identifier{p.channel}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("take a session lock: %w", err)
	}
	return nil
}

// hear proves that the idle subject receives the witness's notification.
func (p *proof) hear(ctx context.Context) error {
	if _, err := p.witness.Exec(ctx, `SELECT pg_notify($1, '')`, pgx.QueryExecModeSimpleProtocol, p.channel); err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, proveWait)
	defer cancel()
	_, err := p.subject.WaitForNotification(waiting)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil { // else the whole proof ran out of time, and is retried
		return pooled("a notification does not reach the connection that listens")
	}
	if err != nil {
		return fmt.Errorf("wait for a notification: %w", err)
	}
	return nil
}

// compare proves, while the witness is in a transaction, that the subject still has its session and its settings.
func (p *proof) compare(ctx context.Context) error {
	tx, err := p.witness.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	holder, err := p.holder(ctx)
	if err != nil {
		return err
	}
	if holder != p.pid {
		return pooled("a session lock is lost between two statements")
	}
	var pid int32
	if err := p.subject.QueryRow(ctx, `SELECT pg_backend_pid()`, pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return fmt.Errorf("read the session: %w", err)
	}
	if pid != p.pid {
		return pooled("two statements of one connection run in two sessions")
	}
	settings, _ := p.subject.PgConn().CustomData()[settled].(map[string]string)
	for name, want := range settings {
		var has string
		err := p.subject.QueryRow(ctx, `SELECT current_setting($1)`, pgx.QueryExecModeSimpleProtocol, name).Scan(&has)
		if err != nil {
			return fmt.Errorf("read a setting: %w", err)
		}
		if has != want {
			return pooled("the setting " + name + " is lost between two statements")
		}
	}
	return nil
}

// release proves that the subject's lock ends with its connection.
func (p *proof) release(ctx context.Context) error {
	hangUp(ctx, p.subject)
	for until := time.Now().Add(proveWait); ; {
		holder, err := p.holder(ctx)
		if err != nil || holder == 0 {
			return err
		}
		if time.Now().After(until) {
			return pooled("a session lock is held after its connection was closed")
		}
		if !sleep(ctx, proveEvery) {
			return ctx.Err()
		}
	}
}

// holder returns the session that holds the lock; 0 for none.
func (p *proof) holder(ctx context.Context) (pid int32, err error) {
	err = p.witness.QueryRow(ctx, `SELECT coalesce(max(pid), 0) FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
		AND classid::bigint = $1 AND objid::bigint = $2`, pgx.QueryExecModeSimpleProtocol, p.key>>32, p.key&0xffffffff).Scan(&pid)
	if err != nil {
		return 0, fmt.Errorf("find the lock's holder: %w", err)
	}
	return pid, nil
}

func hangUp(ctx context.Context, conn *pgx.Conn) {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	_ = conn.Close(closing) // its error changes nothing
}
