package store

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Planning a statement over lists, or a page of a list, for each of its arguments costs as much as running it. The plan
// for any arguments is the same one. The setting ends with the transaction.
const onePlan = `SELECT set_config('plan_cache_mode', 'force_generic_plan', true)`

// planned runs a statement with one plan for any arguments in a transaction of its own.
func planned(ctx context.Context, pool *pgxpool.Pool, collect func(pgx.Rows) error, sql string, args ...any) error {
	batch := &pgx.Batch{}
	batch.Queue(onePlan)
	batch.Queue(sql, args...).Query(collect)
	return pool.SendBatch(ctx, batch).Close()
}

// Bounds of what callers share.
const (
	gatherMost   = 100
	gatherWithin = 15 * time.Second
)

// gather lets calls that come while another is under way share the next statement. A call that comes alone is sent at
// once. When a shared statement fails, each call is made again alone, so a call fails for its own reasons only.
type gather[In, Out any] struct {
	all func(ctx context.Context, in []In) ([]Out, error) // one answer for each, in their order

	mu      sync.Mutex
	waiting []*question[In, Out]
	busy    bool
}

// question is a call and, once done is closed, its answer.
type question[In, Out any] struct {
	ctx  context.Context
	in   In
	out  Out
	err  error
	done chan struct{}
}

// ask returns the answer to a call, or the error of ctx if that ends first. The statement may run all the same.
func (g *gather[In, Out]) ask(ctx context.Context, in In) (Out, error) {
	a := &question[In, Out]{ctx: ctx, in: in, done: make(chan struct{})}
	g.mu.Lock()
	g.waiting = append(g.waiting, a)
	if !g.busy {
		g.busy = true
		go g.work()
	}
	g.mu.Unlock()
	select {
	case <-a.done:
		return a.out, a.err
	case <-ctx.Done():
		var none Out
		return none, ctx.Err()
	}
}

// work answers until nobody waits.
func (g *gather[In, Out]) work() {
	for {
		g.mu.Lock()
		n := min(len(g.waiting), gatherMost)
		some := g.waiting[:n:n]
		g.waiting = g.waiting[n:]
		if n == 0 {
			g.waiting, g.busy = nil, false
		}
		g.mu.Unlock()
		if n == 0 {
			return
		}
		if !g.answer(some) {
			for _, a := range some {
				g.answer([]*question[In, Out]{a})
			}
		}
		for _, a := range some {
			close(a.done)
		}
	}
}

// answer makes one statement of calls. It reports false when they have to be made again, each alone.
func (g *gather[In, Out]) answer(some []*question[In, Out]) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(some[0].ctx), gatherWithin)
	defer cancel()
	in := make([]In, len(some))
	for i, a := range some {
		in[i] = a.in
	}
	out, err := g.guarded(ctx, in)
	if err == nil && len(out) != len(in) {
		err = fmt.Errorf("%d calls have %d answers", len(in), len(out))
	}
	if err != nil {
		if len(some) > 1 {
			return false
		}
		some[0].err = err
		return true
	}
	for i, a := range some {
		a.out, a.err = out[i], nil
	}
	return true
}

// guarded makes a panic an error, which the callers' own handlers know what to do with.
func (g *gather[In, Out]) guarded(ctx context.Context, in []In) (out []Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return g.all(ctx, in)
}
