package postgres

import (
	"context"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
)

// openingAtOnce is how many connections of a pool are made at a time.
const openingAtOnce = 2

// turns makes few connections of a pool at a time. When PostgreSQL comes back, every process wants all of its
// connections at once, and for each of them the server starts a process. On a machine where that is slow they would all
// run out of time together, and again at the next try. The wait for a turn is not part of a connection's time.
//
// It is a tracer because pgx calls one before and after each connection, whether it was made or not.
type turns struct {
	*otelpgx.Tracer
	taken chan struct{}
}

func newTurns(tracer *otelpgx.Tracer) *turns {
	return &turns{Tracer: tracer, taken: make(chan struct{}, openingAtOnce)}
}

type turn struct{}

// TraceConnectStart waits for a turn. Without one the context has ended, and so does the connection.
func (t *turns) TraceConnectStart(ctx context.Context, data pgx.TraceConnectStartData) context.Context {
	select {
	case t.taken <- struct{}{}:
		ctx = context.WithValue(ctx, turn{}, true)
	case <-ctx.Done():
	}
	return t.Tracer.TraceConnectStart(ctx, data)
}

// TraceConnectEnd gives the turn to the next.
func (t *turns) TraceConnectEnd(ctx context.Context, data pgx.TraceConnectEndData) {
	t.Tracer.TraceConnectEnd(ctx, data)
	if ctx.Value(turn{}) != nil {
		<-t.taken
	}
}
