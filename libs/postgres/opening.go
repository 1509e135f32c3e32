package postgres

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
)

const (
	// openingAtOnce is how many connections of a pool are made at a time.
	openingAtOnce = 2

	// turnFor bounds a turn: a host that does not answer, before one that does, must not hold up the others.
	turnFor = 2500 * time.Millisecond
)

// turns makes few connections of a pool at a time. When PostgreSQL comes back, every process wants all of its
// connections at once, and for each of them the server starts a process. On a machine where that is slow they would all
// run out of time together, and again at the next try. The wait for a turn is not part of a connection's time. When the
// server refuses one, those that wait are refused with it, so that callers hear soon that the database is away.
//
// It is a tracer because pgx calls one before and after each connection, whether it was made or not.
type turns struct {
	*otelpgx.Tracer
	taken chan struct{}

	mu      sync.Mutex
	refusal *refusal // the next one
}

// refusal is the failure of a connection, which closes came. Its error may be read then.
type refusal struct {
	came chan struct{}
	err  error
}

// turn is what a connection waited for: the end of its turn, or a refusal.
type turn struct {
	end     func()
	refused error
}

type turnKey struct{}

func newTurns(tracer *otelpgx.Tracer) *turns {
	return &turns{Tracer: tracer, taken: make(chan struct{}, openingAtOnce), refusal: &refusal{came: make(chan struct{})}}
}

// TraceConnectStart waits for a turn. If the context ends first, so does the connection.
func (t *turns) TraceConnectStart(ctx context.Context, data pgx.TraceConnectStartData) context.Context {
	t.mu.Lock()
	next := t.refusal
	t.mu.Unlock()
	var mine turn
	select {
	case t.taken <- struct{}{}:
		mine.end = sync.OnceFunc(func() { <-t.taken })
		time.AfterFunc(turnFor, mine.end)
	case <-next.came:
		mine.refused = next.err
	case <-ctx.Done():
	}
	return t.Tracer.TraceConnectStart(context.WithValue(ctx, turnKey{}, mine), data)
}

// TraceConnectEnd gives the turn to the next, or the refusal to all that wait.
func (t *turns) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	t.Tracer.TraceConnectEnd(ctx, data)
	mine, _ := ctx.Value(turnKey{}).(turn)
	if mine.end == nil {
		return
	}
	if data.Err != nil && ctx.Err() == nil {
		t.mu.Lock()
		t.refusal.err = data.Err
		close(t.refusal.came)
		t.refusal = &refusal{came: make(chan struct{})}
		t.mu.Unlock()
	}
	mine.end()
}

// refusedInTurn is the error of a connection that failed while this one waited for its turn.
func refusedInTurn(ctx context.Context) error {
	if mine, ok := ctx.Value(turnKey{}).(turn); ok && mine.refused != nil {
		return fmt.Errorf("another connection failed: %w", mine.refused)
	}
	return nil
}
