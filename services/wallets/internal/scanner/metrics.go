package scanner

import (
	"context"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/services/wallets/internal/chain"
)

// Metrics shows every chain's scan, and remembers which chains are halted for the readiness check.
type Metrics struct {
	head, height, lag, age, watched, halted *prometheus.GaugeVec
	rpcHosts, disputed, unheard             *prometheus.GaugeVec
	blocks, transfers, reorgs, failures     *prometheus.CounterVec
	unread                                  *prometheus.GaugeVec
	looks                                   *prometheus.CounterVec

	mu  sync.Mutex
	why map[Chain]string
}

// NewMetrics registers the metrics of all scans of a process.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	labels := []string{"mode", "network"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "wallets_" + name, Help: help}, labels)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "wallets_" + name, Help: help}, labels)
	}
	m := &Metrics{
		head:      gauge("chain_head_blocks", "Newest block that the node knows."),
		height:    gauge("chain_scanned_blocks", "Newest block that was scanned."),
		lag:       gauge("scan_lag_blocks", "Blocks that the node has and that are not scanned yet."),
		age:       gauge("chain_head_timestamp_seconds", "Time of the newest block that the node knows. It grows old when the node or the chain has stopped."),
		watched:   gauge("watched_addresses", "Addresses in the set that blocks are matched against."),
		halted:    gauge("scan_halted", "1 while the scan is halted after a reorganisation that is too deep."),
		rpcHosts:  gauge("rpc_hosts", "Hosts that serve the network; with one, large deposits wait for a person."),
		disputed:  gauge("contradicted_deposits", "Confirmed deposits that a host contradicts."),
		unheard:   gauge("unwitnessed_deposits", "Confirmed deposits about which fewer than two hosts have answered."),
		blocks:    counter("scanned_blocks_total", "Blocks scanned."),
		transfers: counter("matched_transfers_total", "Transfers to watched addresses."),
		reorgs:    counter("chain_reorgs_total", "Reorganisations followed."),
		failures:  counter("scan_failures_total", "Interruptions of a scan."),
		unread:    gauge("mempool_unread_transactions", "Transactions in the node's mempool that were not looked at yet."),
		looks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "wallets_mempool_looks_total", Help: "Looks at a node's mempool by outcome: ok or failed.",
		}, append(labels, "outcome")),
		why: map[Chain]string{},
	}
	registry.MustRegister(m.head, m.height, m.lag, m.age, m.watched, m.halted, m.rpcHosts, m.disputed, m.unheard, m.blocks, m.transfers, m.reorgs, m.failures, m.unread, m.looks)
	return m
}

func (m *Metrics) at(c Chain, head chain.Header, scanned int64, watched int) {
	mode, network := string(c.Mode), c.Network
	m.head.WithLabelValues(mode, network).Set(float64(head.Height))
	m.age.WithLabelValues(mode, network).Set(float64(head.Time.Unix()))
	m.lag.WithLabelValues(mode, network).Set(float64(max(0, head.Height-scanned)))
	m.height.WithLabelValues(mode, network).Set(float64(scanned))
	m.watched.WithLabelValues(mode, network).Set(float64(watched))
	m.release(c)
}

func (m *Metrics) hosts(c Chain, n int) {
	m.rpcHosts.WithLabelValues(string(c.Mode), c.Network).Set(float64(n))
}

func (m *Metrics) unsure(c Chain, contradicted, pending int) {
	m.disputed.WithLabelValues(string(c.Mode), c.Network).Set(float64(contradicted))
	m.unheard.WithLabelValues(string(c.Mode), c.Network).Set(float64(pending))
}

func (m *Metrics) scanned(c Chain, blocks, transfers int) {
	m.blocks.WithLabelValues(string(c.Mode), c.Network).Add(float64(blocks))
	m.transfers.WithLabelValues(string(c.Mode), c.Network).Add(float64(transfers))
}

func (m *Metrics) reorganised(c Chain) { m.reorgs.WithLabelValues(string(c.Mode), c.Network).Inc() }

func (m *Metrics) fail(c Chain) { m.failures.WithLabelValues(string(c.Mode), c.Network).Inc() }

func (m *Metrics) halt(c Chain, err error) {
	m.halted.WithLabelValues(string(c.Mode), c.Network).Set(1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.why[c] = err.Error()
}

// leave drops the series that another replica measures from now on.
func (m *Metrics) leave(c Chain) {
	m.release(c)
	for _, g := range []*prometheus.GaugeVec{m.lag, m.rpcHosts, m.disputed, m.unheard, m.unread} {
		g.DeleteLabelValues(string(c.Mode), c.Network)
	}
}

// looked counts a look at a mempool.
func (m *Metrics) looked(c Chain, ok bool) {
	outcome := "ok"
	if !ok {
		outcome = "failed"
	}
	m.looks.WithLabelValues(string(c.Mode), c.Network, outcome).Inc()
}

func (m *Metrics) waiting(c Chain, unread int) {
	m.unread.WithLabelValues(string(c.Mode), c.Network).Set(float64(unread))
}

// release drops a halt: the scan continues, here or at another replica.
func (m *Metrics) release(c Chain) {
	m.halted.WithLabelValues(string(c.Mode), c.Network).Set(0)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.why, c)
}

// Ready is a readiness check: it fails while a chain that this process scans is halted, and names the chain and the
// reason.
func (m *Metrics) Ready(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.why) == 0 {
		return nil
	}
	lines := make([]string, 0, len(m.why))
	for c, why := range m.why {
		lines = append(lines, c.String()+": "+why)
	}
	sort.Strings(lines)
	return fmt.Errorf("scan halted: %s", strings.Join(lines, "; "))
}
