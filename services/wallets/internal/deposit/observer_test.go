package deposit

import (
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/money"
)

// The objective of detection sees the first deposit of each network and mode.
func TestNewObserver(t *testing.T) {
	registry := prometheus.NewRegistry()
	NewObserver(registry, slog.New(slog.DiscardHandler))
	families, err := registry.Gather()
	if err != nil {
		t.Fatalf("Gather() = %v, want no error", err)
	}
	if len(families) != 1 || len(families[0].GetMetric()) != 2*len(money.Networks()) {
		t.Errorf("a new observer shows %v, want the lag of each network in both modes", families)
	}
}
