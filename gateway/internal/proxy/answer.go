package proxy

import (
	"errors"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/httpkit"
)

// answer is the response of a call. It sets the headers of every response on the first byte, over those of an upstream,
// and records the status.
type answer struct {
	http.ResponseWriter
	requestID string
	tls       bool
	open      bool // the route is public: any origin may read the answer
	browser   bool // the answer is a console's page, which may choose its own headers
	status    int
	wrote     bool
	quota     Quota

	held     bool // written bytes wait in body until send, while the budget allows
	memory   share
	body     []byte
	outgrown func() error  // lets an answer continue that is too long to be held, or returns why not
	refused  error         // the error of outgrown
	writeMax time.Duration // bounds the time to take an answer, from its first byte; 0 does not

	pace *pace // the reader's pace, for an answer that is not held
	end  time.Time
	cut  bool // the reader was too slow
}

// heldMax bounds an answer that waits in memory for its caller. Longer ones are streamed, and so are those beyond the
// memory budget. An answer up to heldFree needs no budget, so that slow readers of large answers do not shut out
// ordinary requests.
const (
	heldMax  = 1 << 20
	heldFree = bodyAtOnce
)

func beyondFree(size int) int { return max(0, size-heldFree) }

// hold makes written bytes wait in memory, so that a call leaves its service before it waits for a slow reader. An
// answer that becomes too long, or finds no budget, calls outgrown.
func (a *answer) hold(in share, outgrown func() error) {
	a.held, a.memory, a.outgrown = true, in, outgrown
}

// send writes the held answer.
func (a *answer) send() error {
	if !a.held {
		return nil
	}
	defer a.release()
	if !a.wrote {
		return nil
	}
	if len(a.body) > 0 && len(a.Header()["Content-Length"]) == 0 {
		a.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	a.start()
	if len(a.body) == 0 { // a status such as 204 refuses even an empty body
		return nil
	}
	_, err := a.ResponseWriter.Write(a.body)
	a.cut = errors.Is(err, os.ErrDeadlineExceeded)
	return err
}

// release ends the holding and returns the memory.
func (a *answer) release() {
	a.memory.leave()
	a.held, a.body = false, nil
}

// drop discards a held answer, so that another can take its place.
func (a *answer) drop() {
	a.release()
	a.wrote, a.status, a.pace = false, 0, nil
	clear(a.Header())
}

// start sends the headers and starts the time in which the caller must take the answer.
func (a *answer) start() {
	if a.writeMax > 0 {
		a.end = time.Now().Add(a.writeMax)
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(a.end) // fails only in tests, whose recorders have no connection
	}
	a.ResponseWriter.WriteHeader(a.status)
}

// exposed are the headers that a page of another origin may read.
const exposed = "X-Request-Id, Retry-After, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"

// WriteHeader sets the headers and sends them.
func (a *answer) WriteHeader(status int) {
	if a.wrote {
		return
	}
	if status < http.StatusOK { // 1xx are not the answer, and no service sends one
		return
	}
	a.wrote, a.status = true, status
	a.stamp()
	if !a.held {
		a.start()
	}
}

// FlushError sends what has been written so far, unless it is held.
func (a *answer) FlushError() error {
	if a.held {
		return nil
	}
	return a.paced(0, http.NewResponseController(a.ResponseWriter).Flush)
}

// always are headers of every response. Each value has full capacity, so that appending to one copies it.
var always = http.Header{
	"X-Content-Type-Options": {"nosniff"},
	"X-Frame-Options":        {"DENY"},
	"Referrer-Policy":        {"no-referrer"}, // paths hold payment references, which are bearer secrets
}

func (a *answer) stamp() {
	h := a.Header()
	h.Set(httpkit.RequestIDHeader, a.requestID)
	for name, values := range always {
		if !a.browser || len(h[name]) == 0 {
			h[name] = values
		}
	}
	if len(h["Content-Security-Policy"]) == 0 {
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	}
	if len(h["Cache-Control"]) == 0 {
		h.Set("Cache-Control", "no-store")
	}
	a.quota.stamp(h)
	if a.tls {
		h.Set("Strict-Transport-Security", "max-age=31536000; includeSubDomains")
	}
	if a.open {
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", exposed)
	} else {
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
}

// Write sends body bytes, and the headers before the first of them.
func (a *answer) Write(b []byte) (int, error) {
	if !a.wrote {
		a.WriteHeader(http.StatusOK)
	}
	if a.held {
		size := len(a.body) + len(b)
		if size <= heldMax && a.memory.grow(beyondFree(size)-beyondFree(len(a.body))) {
			if a.body == nil {
				a.body = make([]byte, 0, max(len(b), a.announced()))
			}
			a.body = append(a.body, b...)
			return len(b), nil
		}
		if a.refused = a.outgrown(); a.refused != nil {
			return 0, a.refused
		}
		defer a.release()
		a.start()
		if _, err := a.put(a.body); err != nil {
			return 0, err
		}
	}
	return a.put(b)
}

// announced is the length that a service has announced of an answer that can be held, 0 for any other.
func (a *answer) announced() int {
	size, err := strconv.Atoi(a.Header().Get("Content-Length"))
	if err != nil || size > heldMax {
		return 0
	}
	return size
}

// paceBytes is how much is written between two checks of the reader's pace.
const paceBytes = 16 << 10

// put writes to the connection, in pieces where the reader must keep a pace.
func (a *answer) put(b []byte) (n int, err error) {
	if a.pace == nil {
		return a.ResponseWriter.Write(b)
	}
	for piece := range slices.Chunk(b, paceBytes) {
		err = a.paced(len(piece), func() error {
			wrote, err := a.ResponseWriter.Write(piece)
			n += wrote
			return err
		})
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// paced writes so many bytes within the time that the reader has for them.
func (a *answer) paced(bytes int, write func() error) error {
	if a.pace == nil {
		return write()
	}
	begun := time.Now()
	until := begun.Add(a.pace.earn(bytes))
	if a.end.Before(until) {
		until = a.end
	}
	_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(until) // recorders have no connection
	err := write()
	a.pace.spend(time.Since(begun))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		a.cut = true
	}
	return err
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Quota is what a rate limit has left for a caller; RateLimit-* headers carry it.
type Quota struct {
	Limit     int // calls at once; 0 is no limit
	Remaining int
	Reset     time.Duration // until the bucket is full again
}

// Tighten keeps the tighter of two quotas.
func (q *Quota) Tighten(o Quota) {
	if q.Limit == 0 || o.Remaining < q.Remaining {
		*q = o
	}
}

func (q Quota) stamp(h http.Header) {
	if q.Limit == 0 {
		return
	}
	h.Set("RateLimit-Limit", strconv.Itoa(q.Limit))
	h.Set("RateLimit-Remaining", strconv.Itoa(q.Remaining))
	h.Set("RateLimit-Reset", strconv.FormatInt(int64((q.Reset+time.Second-1)/time.Second), 10))
}

// options answers OPTIONS. Only a pre-flight for a public route allows other origins.
func (p *Proxy) options(out *answer, r *http.Request, place *route.Place) {
	h := out.Header()
	h.Set("Allow", place.Allow)
	if wanted := place.Route(r.Header.Get("Access-Control-Request-Method")); wanted != nil && wanted.Public() {
		out.open = true
		h.Set("Access-Control-Allow-Methods", place.Allow)
		h.Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key, X-Request-Id")
		h.Set("Access-Control-Max-Age", "86400")
	}
	out.WriteHeader(http.StatusNoContent)
}
