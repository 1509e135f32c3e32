package limit

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// slotSet holds a bounded number of calls at a time.
type slotSet chan struct{}

func (r slotSet) enter() bool {
	select {
	case r <- struct{}{}:
		return true
	default:
		return false
	}
}

// slotSets are entered in order and left together.
type slotSets []slotSet

func (all slotSets) enter() bool {
	for i, r := range all {
		if !r.enter() {
			all[:i].leave()
			return false
		}
	}
	return true
}

func (all slotSets) leave() {
	for _, r := range all {
		<-r
	}
}

var errBusy = fault.New(fault.Unavailable, "overloaded", "Too many requests are being served at once. Try again shortly.").
	After(2 * time.Second)

// queue holds the calls that wait for slots: a bounded number, for a bounded time.
type queue struct {
	wait    time.Duration
	most    int64
	waiting atomic.Int64
}

// queueFactor is how many calls may wait for each that is served. At an ordinary pace a queue of that length is served
// well within the wait.
const queueFactor = 4

func newQueue(served int, wait time.Duration) *queue {
	return &queue{wait: wait, most: int64(queueFactor * served)}
}

// enter takes a slot in every set. While a call waits for one set it holds no slot of the sets after it.
func (q *queue) enter(ctx context.Context, all slotSets) error {
	if all.enter() {
		return nil
	}
	if q.waiting.Add(1) > q.most {
		q.waiting.Add(-1)
		return errBusy
	}
	defer q.waiting.Add(-1)
	timer := time.NewTimer(q.wait)
	defer timer.Stop()
	for i, r := range all {
		if err := await(ctx, r, timer.C); err != nil {
			all[:i].leave()
			return err
		}
	}
	return nil
}

func await(ctx context.Context, r slotSet, late <-chan time.Time) error {
	select {
	case r <- struct{}{}:
		return nil
	case <-late:
		return errBusy
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pool is a number of slots, some of which test traffic cannot take. Live and test calls wait in separate queues, so
// that test traffic takes no place in the queue of live calls. It is a Prometheus collector of its slots.
type pool struct {
	all, test            slotSet
	liveQueue, testQueue *queue
	refused              *prometheus.CounterVec
	size, taken          *prometheus.Desc
}

// The traffic of a call. Calls without a key count as live: a payer's page does not name the mode of its payment.
const (
	live = "live"
	test = "test"
)

func trafficOf(c *proxy.Call) string {
	if k := c.Caller.Key; k != nil && k.Mode == tenant.Test {
		return test
	}
	return live
}

// besides is how many slots are left for test traffic: all but those for live traffic alone, and at least half.
func besides(slots, liveOnly int) int { return max(slots-liveOnly, (slots+1)/2) }

func newPool(name string, slots, liveOnly int, wait time.Duration) *pool {
	about, by := prometheus.Labels{"pool": name}, []string{"traffic"}
	p := &pool{
		all: make(slotSet, slots), test: make(slotSet, besides(slots, liveOnly)),
		size:  prometheus.NewDesc("gateway_slots", "Slots of a pool that live, or test, traffic may take.", by, about),
		taken: prometheus.NewDesc("gateway_slots_taken", "Slots of a pool that are taken by live, or test, traffic.", by, about),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_slots_refused_total", Help: "Calls that got no slot of a pool.", ConstLabels: about,
		}, by),
	}
	p.liveQueue, p.testQueue = newQueue(cap(p.all), wait), newQueue(cap(p.test), wait)
	p.refused.WithLabelValues(live) // starts at 0: an alert cannot see a series appear
	p.refused.WithLabelValues(test)
	return p
}

// enter takes a call into sets of the pool.
func (p *pool) enter(ctx context.Context, traffic string, all slotSets) error {
	q := p.liveQueue
	if traffic == test {
		q = p.testQueue
	}
	err := q.enter(ctx, all)
	if err != nil {
		p.refused.WithLabelValues(traffic).Inc()
	}
	return err
}

// sets are those that every call of a traffic enters in the pool.
func (p *pool) sets(traffic string) slotSets {
	if traffic == test {
		return slotSets{p.test, p.all}
	}
	return slotSets{p.all}
}

// Describe implements prometheus.Collector.
func (p *pool) Describe(ch chan<- *prometheus.Desc) {
	ch <- p.size
	ch <- p.taken
	p.refused.Describe(ch)
}

// Collect implements prometheus.Collector.
func (p *pool) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, n int, traffic string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), traffic)
	}
	tests := len(p.test)
	gauge(p.size, cap(p.all), live)
	gauge(p.size, cap(p.test), test)
	gauge(p.taken, max(0, len(p.all)-tests), live)
	gauge(p.taken, tests, test)
	p.refused.Collect(ch)
}
