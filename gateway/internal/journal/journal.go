// Package journal writes down in the audit what callers change through the gateway: one row per request of a merchant's key,
// or of an operator to a service, that is no read. It must cost requests nothing, so rows wait in bounded memory and are
// written many at a time; what finds no room is counted and lost. Acts on keys do not pass here: their rows are written in
// their own transactions (the store).
package journal

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
)

// Writer appends rows to the audit.
type Writer interface {
	Append(ctx context.Context, acts []audit.Record) error
}

// Journal is a gate that lets everybody in and remembers what became of it.
type Journal struct {
	to      Writer
	log     *slog.Logger
	now     func() time.Time
	waiting chan audit.Record
	dropped prometheus.Counter
	lost    atomic.Int64 // dropped since the last time it was told
}

// Size of the buffer and of one statement, and how long a row waits for others.
const (
	waitingMax = 20_000
	batchMax   = 500
	every      = 500 * time.Millisecond
	writeMax   = 5 * time.Second
)

// New makes a journal of at most size waiting rows; 0 is the usual size. Its metrics are registered.
func New(to Writer, size int, log *slog.Logger, registry prometheus.Registerer, now func() time.Time) (*Journal, error) {
	if size == 0 {
		size = waitingMax
	}
	j := &Journal{to: to, log: log, now: now, waiting: make(chan audit.Record, size), dropped: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "gateway_audit_dropped_total", Help: "Rows of merchants' requests that found no room in the audit's buffer.",
	})}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gateway_audit_waiting", Help: "Rows of merchants' requests that wait to be written to the audit.",
	}, func() float64 { return float64(len(j.waiting)) })
	for _, c := range []prometheus.Collector{j.dropped, waiting} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	return j, nil
}

// Admit implements proxy.Gate.
func (j *Journal) Admit(_ context.Context, c *proxy.Call) (func(int), error) {
	if c.Route.Method == http.MethodGet || c.Route.Access == route.Open || c.Route.Upstream == route.Self {
		return nil, nil
	}
	return func(status int) { j.add(c, status) }, nil
}

// add notes a call. A row names ids alone: the pattern of the route and not its path, which may hold a reference, and
// neither address nor body.
func (j *Journal) add(c *proxy.Call, status int) {
	r := audit.Record{At: j.now(), Entry: audit.Entry{
		Act: audit.Act(c.Route.Name()), RequestID: c.RequestID, Detail: map[string]string{"status": strconv.Itoa(status)},
	}}
	if k := c.Caller.Key; k != nil {
		r.Actor, r.Object = "key:"+strconv.FormatInt(k.ID, 10), "merchant:"+k.MerchantID
		r.Detail["mode"] = string(k.Mode)
	} else {
		r.Actor, r.Object = "operator:"+c.Caller.Operator, "service:"+string(c.Route.Upstream)
	}
	select {
	case j.waiting <- r:
	default:
		j.dropped.Inc()
		j.lost.Add(1)
	}
}

// Run writes rows at every tick until ctx ends, and then what is left: a call that leaves one wakes nobody. Rows that cannot
// be written wait for the database; those that found no room meanwhile are told as an error, besides being counted.
func (j *Journal) Run(ctx context.Context) error {
	tick := time.NewTicker(every)
	defer tick.Stop()
	batch := make([]audit.Record, 0, batchMax)
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		if lost := j.lost.Swap(0); lost > 0 {
			j.log.ErrorContext(ctx, "merchants' requests are missing in the audit: its buffer is full", "rows", lost)
		}
		var err error
		switch batch, err = j.drain(ctx, batch); {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("the last %d rows of the audit are lost: %w", len(batch)+len(j.waiting), err)
		case err != nil:
			j.log.ErrorContext(ctx, "merchants' requests cannot be written to the audit; they wait", "rows", len(batch)+len(j.waiting), "err", err)
		case ctx.Err() != nil:
			return nil
		}
	}
}

// drain writes what waits, one batch after another. It returns what could not be written.
func (j *Journal) drain(ctx context.Context, batch []audit.Record) ([]audit.Record, error) {
	for {
		for len(batch) < batchMax && len(j.waiting) > 0 { // nobody else takes any
			batch = append(batch, <-j.waiting)
		}
		if err := j.write(ctx, batch); err != nil {
			return batch, err
		}
		full := len(batch) == batchMax
		if batch = batch[:0]; !full {
			return batch, nil
		}
	}
}

func (j *Journal) write(ctx context.Context, batch []audit.Record) error {
	if len(batch) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeMax)
	defer cancel()
	return j.to.Append(ctx, batch)
}
