package main

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// metrics implements app.Observer. Labels are modes and classes, never merchants, targets or ids.
type metrics struct {
	events, duplicates prometheus.Counter
	attempts           *prometheus.CounterVec
	lag, delivered     map[tenant.Mode]prometheus.Observer // by mode
	phases             phases
	batches            prometheus.Histogram
	oldestDue, dead    prometheus.Gauge
	unopened           prometheus.Counter
	now                func() time.Time
}

// phases are the parts of an attempt that dispatcher_attempt_seconds tells apart.
type phases struct{ total, wait, dns, connect, tls prometheus.Observer }

// newUnopened counts for both roles: one sends events, the other lists them.
func newUnopened(registry prometheus.Registerer) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "dispatcher_unopened_total", Help: "Times that a stored event could not be sent or listed because no key opens it.",
	})
	registry.MustRegister(c)
	return c
}

func newMetrics(registry prometheus.Registerer, unopened prometheus.Counter, now func() time.Time) *metrics {
	seconds := []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15, 60, 300}
	m := &metrics{
		now: now, unopened: unopened,
		events:     prometheus.NewCounter(prometheus.CounterOpts{Name: "dispatcher_events_total", Help: "Events taken in, duplicates included."}),
		duplicates: prometheus.NewCounter(prometheus.CounterOpts{Name: "dispatcher_duplicates_total", Help: "Deliveries that a repeated event did not make again."}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "dispatcher_attempts_total", Help: "Attempts by mode, class of their end and what followed.",
		}, []string{"mode", "class", "verdict"}),
		lag: map[tenant.Mode]prometheus.Observer{}, delivered: map[tenant.Mode]prometheus.Observer{},
		batches: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "dispatcher_record_batch_size", Help: "Attempts recorded in one commit.", Buckets: []float64{1, 2, 5, 10, 20, 50, 100, 200},
		}),
		oldestDue: prometheus.NewGauge(prometheus.GaugeOpts{Name: "dispatcher_oldest_due_seconds", Help: "Age of the oldest delivery that is due and not leased."}),
		dead:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "dispatcher_dead_messages", Help: "Messages that could not be taken in and wait for a person."}),
	}
	lag := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "dispatcher_lag_seconds", Help: "From when an attempt was due to when it was made.", Buckets: seconds,
	}, []string{"mode"})
	delivered := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "dispatcher_delivered_seconds", Help: "From an event's intake to its 2xx.", Buckets: seconds,
	}, []string{"mode"})
	phase := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "dispatcher_attempt_seconds", Help: "Time of an attempt by phase.", Buckets: seconds[:13],
	}, []string{"phase"})
	for _, mode := range tenant.Modes() { // looked up once, not for each attempt
		m.attempts.WithLabelValues(string(mode), delivery.Blocked, string(delivery.Exhausted)) // 0 from the start: increase() does not see a series appear
		m.lag[mode], m.delivered[mode] = lag.WithLabelValues(string(mode)), delivered.WithLabelValues(string(mode))
	}
	m.phases = phases{
		total: phase.WithLabelValues("total"), wait: phase.WithLabelValues("wait"), dns: phase.WithLabelValues("dns"),
		connect: phase.WithLabelValues("connect"), tls: phase.WithLabelValues("tls"),
	}
	registry.MustRegister(m.events, m.duplicates, m.attempts, lag, delivered, phase, m.batches, m.oldestDue, m.dead)
	return m
}

// lanes adds gauges over the lanes.
func (m *metrics) lanes(registry prometheus.Registerer, lanes *app.Lanes) {
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dispatcher_attempts_running", Help: "Attempts under way."},
			func() float64 { n, _, _ := lanes.Running(); return float64(n) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dispatcher_attempts_slow", Help: "Attempts under way to slow targets."},
			func() float64 { _, n, _ := lanes.Running(); return float64(n) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "dispatcher_lanes", Help: "Targets with deliveries in memory."},
			func() float64 { _, _, n := lanes.Running(); return float64(n) }),
	)
}

// Accepted implements app.Observer.
func (m *metrics) Accepted(events, duplicates int) {
	m.events.Add(float64(events))
	m.duplicates.Add(float64(duplicates))
}

// Attempted implements app.Observer.
func (m *metrics) Attempted(r app.Result) {
	d, o := r.Delivery, r.Outcome
	m.attempts.WithLabelValues(string(d.Mode), o.Class, string(r.Verdict.State)).Inc()
	m.lag[d.Mode].Observe(max(0, o.At.Sub(d.DueAt).Seconds()))
	if r.Verdict.State == delivery.Delivered {
		m.delivered[d.Mode].Observe(max(0, m.now().Sub(d.AcceptedAt).Seconds()))
	}
	m.phases.total.Observe(o.Total.Seconds())
	m.phases.wait.Observe(o.Wait.Seconds())
	if o.Connect > 0 {
		m.phases.dns.Observe(o.DNS.Seconds())
		m.phases.connect.Observe(o.Connect.Seconds())
		m.phases.tls.Observe(o.TLS.Seconds())
	}
}

// Recorded implements app.Observer.
func (m *metrics) Recorded(batch int) { m.batches.Observe(float64(batch)) }

// Unopened implements app.Observer.
func (m *metrics) Unopened() { m.unopened.Inc() }

// watch reads the age of the backlog, and how much was buried.
func (m *metrics) watch(backlog func(context.Context) (seconds, dead int64, err error)) func(context.Context) error {
	return func(ctx context.Context) error {
		seconds, dead, err := backlog(ctx)
		if err == nil {
			m.oldestDue.Set(float64(seconds))
			m.dead.Set(float64(dead))
		}
		return err
	}
}
