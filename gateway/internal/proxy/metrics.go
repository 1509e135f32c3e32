package proxy

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/gateway/internal/route"
)

// metrics counts calls by route pattern and status class. The label values are a closed set: no value comes from a
// caller.
type metrics struct {
	calls    map[*route.Route]*routeMetrics
	none     *routeMetrics
	upstream *prometheus.CounterVec
	cut      prometheus.Counter
}

// classClosed is the place of the refusals that are no errors of the system.
const classClosed = 6

type routeMetrics struct {
	seconds prometheus.Observer
	classes [7]prometheus.Counter // by first digit of the status; 0 is the rest, 6 a refusal because something is closed
}

func newMetrics(registry prometheus.Registerer, router *route.Router) (*metrics, error) {
	calls := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "gateway_requests_total", Help: "Requests answered, by route pattern and class: the status class, or closed.",
	}, []string{"route", "class"})
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "gateway_request_seconds", Help: "Time to answer a request, by route pattern.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route"})
	m := &metrics{
		calls: map[*route.Route]*routeMetrics{},
		upstream: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "gateway_upstream_failures_total", Help: "Calls that a service did not answer, by service and reason.",
		}, []string{"upstream", "reason"}),
		cut: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "gateway_readers_cut_total", Help: "Answers that were cut because their readers took them too slowly.",
		}),
	}
	for _, c := range []prometheus.Collector{calls, seconds, m.upstream, m.cut} {
		if err := registry.Register(c); err != nil {
			return nil, fmt.Errorf("register metrics: %w", err)
		}
	}
	one := func(name string) *routeMetrics {
		r := &routeMetrics{seconds: seconds.WithLabelValues(name)}
		for i, class := range []string{"other", "1xx", "2xx", "3xx", "4xx", "5xx", "closed"} {
			r.classes[i] = calls.WithLabelValues(name, class)
		}
		return r
	}
	m.none = one("none")
	for _, rt := range router.Routes() {
		m.calls[rt] = one(rt.Name())
		if rt.Upstream != route.Self {
			m.upstream.WithLabelValues(string(rt.Upstream), "timeout") // starts at 0: an alert cannot see a series appear
		}
	}
	return m, nil
}

func (m *metrics) observe(c *Call, status int, took time.Duration) {
	r := m.calls[c.Route]
	if r == nil {
		r = m.none
	}
	class := status / 100
	switch {
	case c.closed && status == http.StatusServiceUnavailable:
		class = classClosed
	case class >= classClosed:
		class = 0
	}
	r.classes[class].Inc()
	r.seconds.Observe(took.Seconds())
}

func (m *metrics) upstreamFailed(name route.Upstream, reason string) {
	m.upstream.WithLabelValues(string(name), reason).Inc()
}
