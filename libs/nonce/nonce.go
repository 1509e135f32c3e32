// Package nonce remembers which nonces this process has seen, for as long as the statements that carry them live.
package nonce

import (
	"sync"
	"time"
)

// Memory remembers nonces. It belongs to one process: another replica accepts a copy once more. Its size follows the
// real traffic, because callers ask it only about statements whose signature they have verified.
type Memory struct {
	life time.Duration

	mu         sync.Mutex
	turned     time.Time // when young was started
	young, old map[string]struct{}
}

// NewMemory makes a memory of nonces whose statements live for so long, before and after their issue.
func NewMemory(life time.Duration) *Memory { return &Memory{life: life} }

// First reports whether a nonce is seen for the first time. A statement from one life ahead lives for two, so the older
// half is dropped after that time.
func (m *Memory) First(nonce string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now.Sub(m.turned) >= 2*m.life {
		m.old, m.young, m.turned = m.young, make(map[string]struct{}, len(m.young)), now
	}
	if _, used := m.young[nonce]; used {
		return false
	}
	if _, used := m.old[nonce]; used {
		return false
	}
	m.young[nonce] = struct{}{}
	return true
}
