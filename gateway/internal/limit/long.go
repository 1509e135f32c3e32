package limit

import (
	"context"
	"sync"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
)

// Long admits a small number of long answers at a time, apart from all other calls: each lasts as long as its reader
// takes. Each key may have a few of them, and a part is for live traffic alone.
type Long struct {
	*pool
	each int

	mu   sync.Mutex
	held map[proxy.Party]int
}

// NewLong makes a gate for so many long answers at a time, with a bound per key. Test traffic cannot take the last
// liveOnly, but always has half.
func NewLong(answers, each, liveOnly int, wait time.Duration) *Long {
	return &Long{pool: newPool("long", answers, liveOnly, wait), each: each, held: map[proxy.Party]int{}}
}

// NewLive makes a gate for so many browsers that listen to events at a time, apart from all other calls, with a bound
// per address.
func NewLive(browsers, each int, wait time.Duration) *Long {
	return &Long{pool: newPool("live", browsers, 0, wait), each: each, held: map[proxy.Party]int{}}
}

// errLong has a Retry-After of its own because long answers last.
var errLong = fault.New(fault.RateLimited, "rate_limited",
	"This caller has as many long answers under way as it may have. Read one to its end first.").After(5 * time.Second)

// Admit implements proxy.Gate. A caller beyond its bound is refused at once and does not wait.
func (l *Long) Admit(ctx context.Context, c *proxy.Call) (func(int), error) {
	by, traffic := c.Party(), trafficOf(c)
	if !l.count(by) {
		l.refused.WithLabelValues(traffic).Inc()
		return nil, errLong
	}
	all := l.sets(traffic)
	if err := l.enter(ctx, traffic, all); err != nil {
		l.forget(by)
		return nil, err
	}
	return func(int) {
		all.leave()
		l.forget(by)
	}, nil
}

func (l *Long) count(by proxy.Party) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[by] >= l.each {
		return false
	}
	l.held[by]++
	return true
}

func (l *Long) forget(by proxy.Party) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[by]--; l.held[by] == 0 {
		delete(l.held, by)
	}
}
