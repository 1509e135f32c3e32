package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
)

var errAway = errors.New("the database is away")

// opening is a connection that is being made, or waits for its turn.
type opening struct {
	t    *turns
	ctx  context.Context
	done chan struct{}
}

func open(t *turns, ctx context.Context) *opening {
	o := &opening{t: t, done: make(chan struct{})}
	go func() {
		o.ctx = t.TraceConnectStart(ctx, pgx.TraceConnectStartData{ConnConfig: &pgx.ConnConfig{}})
		close(o.done)
	}()
	synctest.Wait()
	return o
}

func (o *opening) waits() bool {
	synctest.Wait()
	select {
	case <-o.done:
		return false
	default:
		return true
	}
}

func (o *opening) end(err error) { o.t.TraceConnectEnd(o.ctx, pgx.TraceConnectEndData{Err: err}) }

func full(t *testing.T) (all *turns, made []*opening) {
	t.Helper()
	all = newTurns(otelpgx.NewTracer())
	for range openingAtOnce {
		o := open(all, t.Context())
		if o.waits() {
			t.Fatal("a connection waits although few are being made, want it to be made")
		}
		made = append(made, o)
	}
	return all, made
}

func TestTurns_nextOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, made := full(t)
		next := open(all, t.Context())
		if !next.waits() {
			t.Fatal("one more connection is made at once, want it to wait")
		}
		made[0].end(nil)
		if next.waits() || refusedInTurn(next.ctx) != nil {
			t.Errorf("a connection after another was made: waits %v, %v, want it to be made", next.waits(), refusedInTurn(next.ctx))
		}
	})
}

// A connection that fails ends those that wait, with its error. Later ones are tried anew.
func TestTurns_refusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, made := full(t)
		var waiting []*opening
		for range 5 {
			waiting = append(waiting, open(all, t.Context()))
		}
		made[0].end(errAway)
		for _, o := range waiting {
			if o.waits() || !errors.Is(refusedInTurn(o.ctx), errAway) {
				t.Fatal("a connection waits after another was refused, want it refused")
			}
			o.end(refusedInTurn(o.ctx))
		}
		later := open(all, t.Context())
		if later.waits() || refusedInTurn(later.ctx) != nil {
			t.Error("a connection after the refusal waits or is refused, want it to be tried")
		}
		if one := open(all, t.Context()); !one.waits() {
			t.Error("three connections are made at a time after a refusal, want two")
		}
	})
}

// A host that does not answer holds up the others for no longer than a turn.
func TestTurns_silentHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, made := full(t)
		next := open(all, t.Context())
		time.Sleep(turnFor)
		if next.waits() || refusedInTurn(next.ctx) != nil {
			t.Fatal("a connection waits for longer than a turn, want it to be made")
		}
		next.end(nil)
		for _, o := range made { // their turns have ended
			o.end(nil)
		}
		_ = open(all, t.Context())
		_ = open(all, t.Context())
		if third := open(all, t.Context()); !third.waits() {
			t.Error("three connections are made at a time after turns ended late, want two")
		}
	})
}

// A pool that closes ends those that wait. They leave no turn taken.
func TestTurns_endOfTheWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		all, made := full(t)
		ctx, cancel := context.WithCancel(t.Context())
		gone := open(all, ctx)
		cancel()
		if gone.waits() {
			t.Fatal("a connection waits although its pool has closed, want it to end")
		}
		gone.end(ctx.Err())
		for _, o := range made {
			o.end(nil)
		}
		for range openingAtOnce {
			if o := open(all, t.Context()); o.waits() {
				t.Error("a connection waits although none is being made, want it to be made")
			}
		}
	})
}
