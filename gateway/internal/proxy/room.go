package proxy

import (
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
)

// heldAllMax is what all bodies may take together, and as much again all answers. It fits a pod of half a gigabyte with room
// for what the collector has not freed yet.
const heldAllMax = 64 << 20

// room is memory that many calls share while they wait for their callers.
type room struct{ left atomic.Int64 }

// take reserves n bytes, or none when so many are not left.
func (r *room) take(n int) bool {
	if r.left.Add(-int64(n)) >= 0 {
		return true
	}
	r.left.Add(int64(n))
	return false
}

func (r *room) give(n int) { r.left.Add(int64(n)) }

var errNoRoom = fault.New(fault.Unavailable, "overloaded", "Too many large requests are being served at once. Try again shortly.").After(2 * time.Second)

// collect reads a body. Memory is taken as bytes arrive, not as they are announced, and beyond bodyAtOnce only while there is
// room for it: ordinary requests are small, and get in however many large ones are sent.
func (p *Proxy) collect(r *http.Request, c *Call) ([]byte, error) {
	most := httpkit.BodyMax + 1
	if r.ContentLength > 0 {
		most = int(r.ContentLength) + 1 // the reader wants to say that this was all
	}
	body := make([]byte, 0, min(most, bodyAtOnce))
	for {
		if len(body) == cap(body) {
			size := min(2*cap(body), most)
			if size == cap(body) {
				return body, nil
			}
			if !p.bodies.take(size - cap(body)) {
				p.leave(c)
				return nil, errNoRoom
			}
			c.held += size - cap(body)
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

// leave gives back what a call's body took.
func (p *Proxy) leave(c *Call) {
	p.bodies.give(c.held)
	c.held = 0
}
