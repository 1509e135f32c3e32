//go:build integration

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

var (
	metricName = regexp.MustCompile(`\b(?:payments|wallets|reports|gateway|dispatcher|outbox|bus|database|lifecycle|http|process|build)_[a-z_]+\b`)
	exported   = regexp.MustCompile(`(?m)^# TYPE (\S+) (\S+)$`)
	quoted     = regexp.MustCompile(`"(?:expr|series)": "((?:[^"\\]|\\.)*)"|expr: (.*)`)
)

// watched lists the metrics that alert rules and dashboards name.
func watched(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, pattern := range []string{"../prometheus/rules/*.yml", "../grafana/dashboards/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("list %s: got no file, %v", pattern, err)
		}
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, expr := range quoted.FindAllStringSubmatch(string(text), -1) {
				names = append(names, metricName.FindAllString(expr[1]+expr[2], -1)...)
			}
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) < 30 {
		t.Fatalf("only %d metrics are watched", len(names))
	}
	return names
}

// elsewhere are the metrics of what this stack does not do: import addresses of a signer, sweep, compare live balances,
// and owe money when the list is made. The tests of wallets and payments have them.
var elsewhere = []string{
	"wallets_address_pool", "wallets_address_pool_low", "wallets_sweep_errors_total", "wallets_sweeps",
	"wallets_sweep_collected_total", "wallets_sweep_cost_total", "payments_collected_usd", "payments_collecting_cost_usd",
	"payments_owed_oldest_seconds", "wallets_refunds", "wallets_refund_oldest_seconds", "wallets_refund_station",
	"payments_treasury_difference", "payments_treasury_unread", "wallets_unexplained_balances", "wallets_unclear_hints", "wallets_balances_compared_timestamp_seconds",
}

// lost is a connection to the broker that BrokerLost would page about.
var lost = regexp.MustCompile(`(?m)^bus_connected\{.*connection="(?:consume|inspect)".*\} 0$`)

// everyMetric: whatever an alert or a panel asks for is there, and every process says that it has its broker. A process
// that has just opened a connection anew, or just become a leader, has its numbers soon.
func everyMetric(t *testing.T, s *stack.Stack) {
	names := watched(t)
	var complaints []string
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("at last: %s", strings.Join(complaints, "; "))
		}
	})
	api.Eventually(t, soon, "all metrics", func() bool {
		complaints = unexported(string(s.Metrics(t)), names)
		return len(complaints) == 0
	})
}

// unexported says what is missing from the metrics of a healthy stack.
func unexported(all string, names []string) (complaints []string) {
	if found := lost.FindAllString(all, -1); len(found) > 0 || !strings.Contains(all, `bus_connected{connection="inspect"} 1`) {
		complaints = append(complaints, fmt.Sprintf("processes have no broker: %v", found))
	}
	var have []string
	for _, m := range exported.FindAllStringSubmatch(all, -1) {
		have = append(have, m[1])
		if m[2] == "histogram" {
			have = append(have, m[1]+"_bucket", m[1]+"_count", m[1]+"_sum")
		}
	}
	for _, name := range names {
		if !slices.Contains(have, name) && !slices.Contains(elsewhere, name) {
			complaints = append(complaints, "nobody exports "+name)
		}
	}
	return complaints
}
