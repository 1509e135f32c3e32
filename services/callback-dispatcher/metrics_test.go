package main

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// The rule about callbacks to forbidden addresses sees the first ones.
func TestMetrics_start(t *testing.T) {
	registry := prometheus.NewRegistry()
	newMetrics(registry, prometheus.NewCounter(prometheus.CounterOpts{Name: "unopened", Help: "For the test."}), time.Now)
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("Gather() = %v, want no error", err)
	}
	for _, f := range families {
		if f.GetName() == "dispatcher_attempts_total" && len(f.GetMetric()) == 2 {
			return
		}
	}
	t.Errorf("the metrics of a new process are %v, want dispatcher_attempts_total of both modes", families)
}
