package proxy

import (
	"io"
	"net/http"
	"sync"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// heldAllMax bounds all bodies together, and equally all answers. It fits a pod of half a gigabyte, including memory
// that the collector has not freed yet.
const heldAllMax = 64 << 20

// These parts bound each party: one key or address may take an eighth, and all test keys together a half.
const (
	partyPart = 8
	testPart  = 2
)

// HeldLeast is the smallest budget in which the part of one party holds the largest body.
const HeldLeast = partyPart * (httpkit.BodyMax + 1)

// budget is memory that many calls share while they wait for their callers.
type budget struct {
	size int

	mu          sync.Mutex
	taken, test int
	held        map[Party]int
}

func newBudget(size int) *budget { return &budget{size: size, held: map[Party]int{}} }

// share is the part of a budget that one call takes.
type share struct {
	budget *budget
	by     Party
	test   bool
	size   int
}

// share begins with nothing. Its party is that of the call now; for an unproved signature, the address.
func (r *budget) share(c *Call) share {
	k := c.Caller.Key
	return share{budget: r, by: c.Party(), test: k != nil && k.Mode == tenant.Test}
}

// grow takes n more bytes, or none when fewer are left.
func (s *share) grow(n int) bool {
	r := s.budget
	r.mu.Lock()
	defer r.mu.Unlock()
	if n > r.size-r.taken || n > r.size/partyPart-r.held[s.by] || (s.test && n > r.size/testPart-r.test) {
		return false
	}
	s.add(n)
	return true
}

// leave returns everything.
func (s *share) leave() {
	if s.size == 0 {
		return
	}
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.add(-s.size)
}

// add counts n more bytes.
func (s *share) add(n int) {
	r := s.budget
	s.size += n
	r.taken += n
	if s.test {
		r.test += n
	}
	if r.held[s.by] += n; r.held[s.by] == 0 {
		delete(r.held, s.by)
	}
}

var errBudgetSpent = fault.New(fault.Unavailable, "overloaded", "Too many large requests are being served at once. Try again shortly.").After(2 * time.Second)

// collect reads a body. It takes memory as bytes arrive, not as they are announced, and beyond bodyAtOnce only within
// the budget: ordinary requests are small and pass however many large ones are sent.
func (p *Proxy) collect(r *http.Request, c *Call) ([]byte, error) {
	most := httpkit.BodyMax + 1
	if r.ContentLength > 0 {
		most = int(r.ContentLength) + 1 // the reader needs one more byte to see the end
	}
	c.memory = p.bodies.share(c)
	body := make([]byte, 0, min(most, bodyAtOnce))
	for {
		if len(body) == cap(body) {
			size := min(2*cap(body), most)
			if size == cap(body) {
				return body, nil
			}
			if !c.memory.grow(size - cap(body)) {
				c.memory.leave()
				return nil, errBudgetSpent
			}
			body = append(make([]byte, 0, size), body...)
		}
		n, err := r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		if err == io.EOF { //nolint:errorlint // readers return this very value
			return body, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
