package outbound

import (
	"slices"
	"sync"
	"time"
)

// pool keeps connections that are idle, by origin. The one that was used last goes out first, so that those that are too
// many grow old.
type pool struct {
	perHost int

	mu     sync.Mutex
	idle   map[string][]*conn // the oldest first
	count  int
	sweep  *time.Timer // runs while any is idle
	closed bool
	http2  map[string]bool // origins that chose HTTP/2; at most idleMax
}

// take returns a connection that is open, or nil.
func (p *pool) take(origin string) *conn {
	for {
		c := p.pop(origin)
		if c == nil || time.Since(c.idle) < idle && c.quiet() {
			return c
		}
		c.abort()
	}
}

func (p *pool) pop(origin string) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := p.idle[origin]
	if len(list) == 0 {
		return nil
	}
	c := list[len(list)-1]
	list[len(list)-1] = nil
	p.keep(origin, list[:len(list)-1])
	p.count--
	return c
}

func (p *pool) keep(origin string, list []*conn) {
	if len(list) == 0 {
		delete(p.idle, origin)
	} else {
		p.idle[origin] = list
	}
}

// put keeps a connection for the next attempt, unless there are enough.
func (p *pool) put(origin string, c *conn) {
	c.idle = time.Now()
	if surplus := p.add(origin, c); surplus != nil {
		surplus.abort()
	}
}

func (p *pool) add(origin string, c *conn) (surplus *conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle[origin]) >= p.perHost {
		return c
	}
	if p.count >= idleMax { // whoever's it is: it has waited longer than this one
		for other, list := range p.idle {
			surplus = list[0]
			p.keep(other, slices.Delete(list, 0, 1))
			p.count--
			break
		}
	}
	p.idle[origin] = append(p.idle[origin], c)
	p.count++
	if p.sweep == nil {
		p.sweep = time.AfterFunc(idle, p.expire)
	}
	return surplus
}

// expire closes what was idle for too long, and looks again when the next may be.
func (p *pool) expire() {
	for _, c := range p.expired(time.Now().Add(-idle)) {
		c.abort()
	}
}

func (p *pool) expired(before time.Time) (old []*conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for origin, list := range p.idle {
		n := 0
		for n < len(list) && !list[n].idle.After(before) {
			n++
		}
		old = append(old, list[:n]...)
		p.keep(origin, slices.Delete(list, 0, n))
	}
	p.count -= len(old)
	p.sweep = nil
	if p.count > 0 && !p.closed {
		p.sweep = time.AfterFunc(idle/4, p.expire)
	}
	return old
}

func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.sweep != nil {
		p.sweep.Stop()
	}
	p.mu.Unlock()
	for _, c := range p.expired(time.Now()) {
		c.abort()
	}
}

func (p *pool) speaksHTTP2(origin string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.http2[origin]
}

func (p *pool) learnHTTP2(origin string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.http2) >= idleMax {
		clear(p.http2) // it is learnt again
	}
	p.http2[origin] = true
}

func (p *pool) forgetHTTP2(origin string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.http2, origin)
}
