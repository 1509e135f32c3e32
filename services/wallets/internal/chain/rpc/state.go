package rpc

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// State is the health of the endpoints of one host, as this process has seen it last. Several pools may ask a host.
type State struct {
	Network, Host string
	Healthy       bool
	Outcome       string // of the last read: ok, failed, garbage
	Head          int64  // newest block when it was last asked, 0 before
	AnsweredAt    time.Time
	FailedAt      time.Time
}

// states remembers the health of hosts by network and host.
type states struct {
	mu  sync.Mutex
	all map[[2]string]*State
}

func (s *states) change(network, host string, f func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := [2]string{network, host}
	if s.all == nil {
		s.all = map[[2]string]*State{}
	}
	if s.all[at] == nil {
		s.all[at] = &State{Network: network, Host: host}
	}
	f(s.all[at])
}

// States lists the health of every host that was asked, by network and host.
func (m *Metrics) States() []State {
	m.states.mu.Lock()
	defer m.states.mu.Unlock()
	out := make([]State, 0, len(m.states.all))
	for _, at := range slices.SortedFunc(maps.Keys(m.states.all), func(a, b [2]string) int {
		return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1])
	}) {
		out = append(out, *m.states.all[at])
	}
	return out
}

// read counts a read from an endpoint and its outcome.
func (m *Metrics) read(network string, e *Endpoint, outcome string) {
	ok := outcome == "ok"
	m.answers.WithLabelValues(network, e.Name, outcome).Inc()
	healthy := 0.0
	if ok {
		healthy = 1
	}
	m.healthy.WithLabelValues(network, e.Name).Set(healthy)
	m.states.change(network, e.host, func(s *State) {
		s.Healthy, s.Outcome = ok, outcome
		if now := time.Now(); ok {
			s.AnsweredAt = now
		} else {
			s.FailedAt = now
		}
	})
}

// head shows the newest block of an endpoint.
func (m *Metrics) head(network string, e *Endpoint, height int64) {
	m.heads.WithLabelValues(network, e.Name).Set(float64(height))
	m.states.change(network, e.host, func(s *State) { s.Head = height })
}
