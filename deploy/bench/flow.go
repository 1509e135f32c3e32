package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/bench/internal/drive"
)

// drainWithin bounds the wait for what is on its way when a round ends.
const drainWithin = 2 * time.Minute

// flow makes payments with everything on and receives their callbacks. It counts its input, payments created, and its
// output, callbacks of a payment's last event. It bounds the payments on their way: a caller beyond the bound waits, so
// nothing piles up anywhere, and in and out go at one rate.
type flow struct {
	bench   *bench
	clients int
	ramp    time.Duration // until the first payments come out
	last    []byte        // what the callback of a payment's last event holds
	copies  int           // how often that event comes, if more than once
	due     chan string   // payments that want a deposit; may be nil
	first   []byte        // what the first callback after a deposit holds; may be nil

	server  *http.Server
	url     string
	run     string
	way     chan struct{} // holds one for each payment on its way
	left    atomic.Int64  // payments that are still wanted
	sent    atomic.Int64
	in, out atomic.Int64
	mu      sync.Mutex
	heard   map[string]int       // copies of the last events that still lack some
	began   map[string]time.Time // of payments on their way; zero for one whose callback was faster than its answer
	arrived map[string]time.Time // when the first callback after a deposit came
	took    []time.Duration      // from the answer of a create to the callback, since it was last read
	warm    bool                 // whether the planner knows the tables
}

func newFlow(ctx context.Context, b *bench, clients, onWay int, ramp time.Duration, last string) (*flow, error) {
	f := &flow{
		bench: b, clients: clients, ramp: ramp, last: []byte(`"type":"` + last + `"`), run: name(), way: make(chan struct{}, onWay),
		heard: map[string]int{}, began: map[string]time.Time{}, arrived: map[string]time.Time{},
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening an endpoint: %w", err)
	}
	f.url = "http://" + listener.Addr().String() + "/"
	f.server = &http.Server{Handler: http.HandlerFunc(f.called), ReadHeaderTimeout: time.Minute}
	go func() { _ = f.server.Serve(listener) }() // it ends by close
	return f, nil
}

// called takes a callback.
func (f *flow) called(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f.note(body)
	if !bytes.Contains(body, f.last) {
		return
	}
	ref := reference(body)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.copies > 1 {
		if f.heard[ref]++; f.heard[ref] < f.copies {
			return
		}
		delete(f.heard, ref)
	}
	if at, known := f.began[ref]; known && !at.IsZero() {
		f.leave(ref, time.Since(at))
	} else if !known {
		f.began[ref] = time.Time{}
	}
}

// made notes the answer to a create.
func (f *flow) made(ref string) {
	f.in.Add(1)
	if f.due != nil {
		f.due <- ref
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, called := f.began[ref]; called {
		f.leave(ref, 0)
	} else {
		f.began[ref] = time.Now()
	}
}

// leave makes room. A callback that comes again afterwards, which is allowed, leaves an entry that nobody looks at.
func (f *flow) leave(ref string, took time.Duration) {
	delete(f.began, ref)
	f.took = append(f.took, took)
	f.out.Add(1)
	<-f.way
}

// reference reads the first reference of a payment in an answer or a callback.
func reference(body []byte) string { return textOf(body, "reference") }

// textOf reads the first text of a name in JSON.
func textOf(body []byte, name string) string {
	_, after, _ := bytes.Cut(body, []byte(`"`+name+`":"`))
	found, _, whole := bytes.Cut(after, []byte(`"`))
	if !whole {
		return ""
	}
	return string(found)
}

// next is the next request of a client: a deposit to a payment that wants one, or another payment as soon as there is
// room.
func (f *flow) next(ctx context.Context) drive.Request {
	select {
	case ref := <-f.due: // they go first: each makes room
		return f.deposit(ref)
	default:
	}
	if f.left.Add(-1) < 0 {
		return drive.Request{}
	}
	select {
	case f.way <- struct{}{}:
		return f.create()
	case <-ctx.Done():
		return drive.Request{}
	}
}

func (f *flow) create() drive.Request {
	return drive.Request{
		Method: http.MethodPost, Path: "/v1/payments", Header: f.header(), Body: transfer(f.url),
		Took: func(body []byte) { f.made(reference(body)) },
	}
}

func (f *flow) deposit(ref string) drive.Request {
	return drive.Request{Method: http.MethodPost, Path: "/v1/sandbox/payments/" + ref + "/deposits", Header: f.header(), Body: "{}"}
}

func (f *flow) header() string {
	return "Authorization: Bearer " + f.bench.stack.APIKey + "\r\nContent-Type: application/json\r\nIdempotency-Key: " + f.run +
		strconv.FormatInt(f.sent.Add(1), 10) + "\r\n"
}

// reading is the state of a flow at one moment.
type reading struct {
	at      time.Time
	in, out int64
	cpu     map[string]float64
}

func (f *flow) read() (reading, error) {
	cpu, err := f.bench.stack.CPU()
	return reading{time.Now(), f.in.Load(), f.out.Load(), cpu}, err
}

// measure runs the flow until it is steady, counts for the given time, and lets everything arrive. The rate is that of
// the slower end.
func (f *flow) measure(ctx context.Context, length time.Duration) (side, error) {
	return f.steady(ctx, func() (side, error) { return f.window(ctx, length) })
}

func (f *flow) window(ctx context.Context, length time.Duration) (side, error) {
	flowing, stop := context.WithCancel(ctx)
	defer stop()
	f.left.Store(math.MaxInt64)
	finished := make(chan drive.Result, 1)
	go func() {
		finished <- drive.Run(flowing, f.bench.stack.BaseURL, f.clients, f.ramp+length+drainWithin, func(int) drive.Request { return f.next(flowing) })
	}()
	before, err := f.after(ctx, f.ramp)
	if err != nil {
		return side{}, err
	}
	f.latencies()
	after, err := f.after(ctx, length)
	if err != nil {
		return side{}, err
	}
	took := f.latencies()
	stop()
	got := <-finished
	if got.Failed > 0 {
		return side{}, fmt.Errorf("%d of %d requests failed: %s", got.Failed, got.Failed+got.Done, got.Failure)
	}
	if err := f.drain(ctx); err != nil {
		return side{}, err
	}
	in, out := after.in-before.in, after.out-before.out
	if out == 0 {
		return side{}, errors.New("no payment came out")
	}
	return side{
		PerSec: float64(min(in, out)) / after.at.Sub(before.at).Seconds(), CPU: costs(before.cpu, after.cpu, int(in)),
		P50: milliseconds(quantile(took, 0.5)), P99: milliseconds(quantile(took, 0.99)), RSS: f.bench.memory(),
	}, nil
}

// batch sends so many payments as fast as they are taken and waits until the last has come out. The rate is that of the
// whole batch, its beginning and its end included.
func (f *flow) batch(ctx context.Context, payments int64) (side, error) {
	return f.steady(ctx, func() (side, error) { return f.whole(ctx, payments) })
}

func (f *flow) whole(ctx context.Context, payments int64) (side, error) {
	f.latencies()
	before, err := f.read()
	if err != nil {
		return side{}, err
	}
	made := f.in.Load()
	f.left.Store(payments)
	got := drive.Run(ctx, f.bench.stack.BaseURL, f.clients, drainWithin, func(int) drive.Request { return f.next(ctx) })
	if made = f.in.Load() - made; got.Failed > 0 || made != payments {
		return side{}, fmt.Errorf("%d of %d payments were made, %d requests failed: %s", made, payments, got.Failed, got.Failure)
	}
	if err := f.drain(ctx); err != nil {
		return side{}, err
	}
	after, err := f.read()
	took := f.latencies()
	return side{
		PerSec: float64(payments) / after.at.Sub(before.at).Seconds(), CPU: costs(before.cpu, after.cpu, int(payments)),
		P50: milliseconds(quantile(took, 0.5)), P99: milliseconds(quantile(took, 0.99)), RSS: f.bench.memory(),
	}, err
}

func (f *flow) after(ctx context.Context, wait time.Duration) (reading, error) {
	select {
	case <-time.After(wait):
		return f.read()
	case <-ctx.Done():
		return reading{}, ctx.Err()
	}
}

// latencies gives what was noted since the last call, in order.
func (f *flow) latencies() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	took := f.took
	f.took = nil
	slices.Sort(took)
	return took
}

// drain sends the deposits that are still owed and waits until every payment has come out.
func (f *flow) drain(ctx context.Context) error {
	for len(f.due) > 0 {
		got := drive.Run(ctx, f.bench.stack.BaseURL, f.clients, time.Nanosecond, func(int) drive.Request {
			select {
			case ref := <-f.due:
				return f.deposit(ref)
			default:
				return drive.Request{}
			}
		})
		if got.Failed > 0 {
			return fmt.Errorf("%d requests failed: %s", got.Failed, got.Failure)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, drainWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for f.out.Load() < f.in.Load() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d payments have come out: %w", f.out.Load(), f.in.Load(), ctx.Err())
		}
	}
	return nil
}

// steady takes a side. The first one runs once more before it: to fill the tables, which were empty a moment ago, so
// that the planner can be given the statistics that autovacuum gives it a minute later. A plan for an empty table reads
// all of it. Each ANALYZE makes every connection plan each of its statements anew, which a side of seconds would count
// as costs of its payments. So there is one, and the side after it, which nobody counts, makes the plans.
func (f *flow) steady(ctx context.Context, take func() (side, error)) (side, error) {
	if !f.warm {
		if s, err := take(); err != nil {
			return s, err
		}
		for _, service := range []string{"payments", "wallets", "callback-dispatcher"} {
			if err := f.bench.within(ctx, f.bench.stack.Databases[service], func(ctx context.Context, conn *pgx.Conn) error {
				return execute(ctx, conn, "ANALYZE")
			}); err != nil {
				return side{}, err
			}
		}
		f.warm = true
	}
	return take()
}

func (f *flow) close() error { return f.server.Close() }

func quantile(sorted []time.Duration, q float64) time.Duration {
	return drive.Result{Latencies: sorted}.Quantile(q)
}
