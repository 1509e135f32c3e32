// Package journal records the changes that callers make through the gateway in the audit: one row per request that is
// not a read, of a merchant's key or person or of an operator to a service. It must not slow requests down, so rows
// wait in bounded memory and are written in batches; rows beyond the bound are counted and lost. The store writes the
// rows of acts on keys, in the transactions of those acts.
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
	"causeway.internal/libs/tick"
)

// Writer appends rows to the audit.
type Writer interface {
	Append(ctx context.Context, acts []audit.Record) error
}

// Journal is a gate that admits every call and records its result.
type Journal struct {
	to      Writer
	log     *slog.Logger
	now     func() time.Time
	waiting chan audit.Record
	dropped prometheus.Counter
	lost    atomic.Int64 // dropped since the last log line
}

// Size of the buffer and of one statement, and how long a row waits for others.
const (
	waitingMax = 20_000
	batchMax   = 500
	every      = time.Second
	writeMax   = 5 * time.Second
)

// New makes a journal of at most size waiting rows; 0 means the usual size. It registers its metrics.
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

// add records a call. A row holds ids alone: the pattern of the route instead of its path, which may hold a reference,
// and neither the address nor the body.
func (j *Journal) add(c *proxy.Call, status int) {
	r := audit.Record{At: j.now(), Entry: audit.Entry{
		Act: audit.Act(c.Route.Name()), RequestID: c.RequestID, Detail: map[string]string{"status": strconv.Itoa(status)},
	}}
	if p := c.Caller.Person; p != nil {
		r.Door, r.User = string(p.Door), p.User
	}
	if k := c.Caller.Key; k != nil {
		r.Actor, r.Object = "key:"+strconv.FormatInt(k.ID, 10), "merchant:"+k.MerchantID
		if c.Caller.Person != nil {
			r.Actor = "person:" + c.Caller.Person.Name
		}
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

// Run writes rows at every tick until ctx ends, and then the rest. It ticks because a call that leaves a row wakes
// nobody. Rows that cannot be written wait for the database; lost rows are logged as an error and counted.
func (j *Journal) Run(ctx context.Context) error {
	timer := time.NewTimer(every)
	defer timer.Stop()
	batch := make([]audit.Record, 0, batchMax)
	for {
		timer.Reset(tick.Until(every))
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
		if lost := j.lost.Swap(0); lost > 0 {
			j.log.ErrorContext(ctx, "audit rows lost: buffer full", "rows", lost)
		}
		var err error
		switch batch, err = j.drain(ctx, batch); {
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("the last %d rows of the audit are lost: %w", len(batch)+len(j.waiting), err)
		case err != nil:
			j.log.ErrorContext(ctx, "audit rows not written, kept for retry", "rows", len(batch)+len(j.waiting), "err", err)
		case ctx.Err() != nil:
			return nil
		}
	}
}

// drain writes the waiting rows, one batch after another. It returns the rows that could not be written.
func (j *Journal) drain(ctx context.Context, batch []audit.Record) ([]audit.Record, error) {
	for {
		for len(batch) < batchMax && len(j.waiting) > 0 { // this loop alone receives from the channel
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
