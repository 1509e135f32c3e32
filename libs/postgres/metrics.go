package postgres

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// poolStats shows the pool's connections as gauges; it reads them when it is scraped.
type poolStats struct{ pool *pgxpool.Pool }

var (
	connsDesc = prometheus.NewDesc("database_connections", "Connections of the pool by state.", []string{"state"}, nil)
	waitsDesc = prometheus.NewDesc("database_acquire_wait_seconds_total", "Time spent waiting for a connection of the pool.", nil, nil)
)

// Describe implements prometheus.Collector.
func (p *poolStats) Describe(ch chan<- *prometheus.Desc) { ch <- connsDesc; ch <- waitsDesc }

// Collect implements prometheus.Collector.
func (p *poolStats) Collect(ch chan<- prometheus.Metric) {
	s := p.pool.Stat()
	gauge := func(v int32, state string) {
		ch <- prometheus.MustNewConstMetric(connsDesc, prometheus.GaugeValue, float64(v), state)
	}
	gauge(s.AcquiredConns(), "acquired")
	gauge(s.IdleConns(), "idle")
	gauge(s.MaxConns(), "max")
	ch <- prometheus.MustNewConstMetric(waitsDesc, prometheus.CounterValue, s.EmptyAcquireWaitTime().Seconds())
}
