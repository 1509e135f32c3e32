package proxy

import (
	"maps"
	"net/http"
	"strconv"
	"time"

	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/httpkit"
)

// answer is the response of a call. It stamps what every response carries on the first byte, over whatever an upstream
// said, and remembers the status.
type answer struct {
	http.ResponseWriter
	requestID string
	tls       bool
	open      bool // the route is public: any origin may read the answer
	status    int
	wrote     bool
	quota     Quota

	room     *room // what is written waits in body until send, while there is room for it; nil holds nothing
	body     []byte
	writeMax time.Duration // bounds the time to take an answer, from its first byte; 0 does not
}

// heldMax bounds an answer that waits in memory for its caller. Longer ones go out as they come, and so do those for which there
// is no room.
const heldMax = 1 << 20

// hold makes what is written wait in memory, so that a call has left its service before a slow reader is waited for.
func (a *answer) hold(in *room) { a.room = in }

// send lets the held answer go.
func (a *answer) send() error {
	if a.room == nil {
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
	if len(a.body) == 0 { // a status such as 204 refuses even that
		return nil
	}
	_, err := a.ResponseWriter.Write(a.body)
	return err
}

// release ends the holding and gives the room back.
func (a *answer) release() {
	if a.room != nil {
		a.room.give(len(a.body))
	}
	a.room, a.body = nil, nil
}

// drop forgets a held answer, so that another can take its place.
func (a *answer) drop() {
	a.release()
	a.wrote, a.status = false, 0
	clear(a.Header())
}

// start puts the headers on the wire, and with them the time in which the caller must take the answer.
func (a *answer) start() {
	if a.writeMax > 0 {
		_ = http.NewResponseController(a.ResponseWriter).SetWriteDeadline(time.Now().Add(a.writeMax)) // recorders have no connection
	}
	a.ResponseWriter.WriteHeader(a.status)
}

// exposed are the headers that a page of another origin may read.
const exposed = "X-Request-Id, Retry-After, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"

// WriteHeader stamps the headers and sends them.
func (a *answer) WriteHeader(status int) {
	if a.wrote {
		return
	}
	if status < http.StatusOK { // 1xx are not the answer, and no service has one to give
		return
	}
	a.wrote, a.status = true, status
	a.stamp()
	if a.room == nil {
		a.start()
	}
}

// FlushError sends what has been written so far, unless it is held.
func (a *answer) FlushError() error {
	if a.room != nil {
		return nil
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// always are headers of every response. Each is a whole value, so that whoever adds to one gets a list of its own.
var always = http.Header{
	"X-Content-Type-Options": {"nosniff"},
	"X-Frame-Options":        {"DENY"},
	"Referrer-Policy":        {"no-referrer"}, // paths hold payment references, which are bearer secrets
}

func (a *answer) stamp() {
	h := a.Header()
	h.Set(httpkit.RequestIDHeader, a.requestID)
	maps.Copy(h, always)
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
	if a.room != nil {
		if len(a.body)+len(b) <= heldMax && a.room.take(len(b)) {
			a.body = append(a.body, b...)
			return len(b), nil
		}
		defer a.release()
		a.start()
		if _, err := a.ResponseWriter.Write(a.body); err != nil {
			return 0, err
		}
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// Quota is what a rate limit has left for a caller, told in RateLimit-* headers.
type Quota struct {
	Limit     int // calls at once; 0 is no limit
	Remaining int
	Reset     time.Duration // until all of it is there again
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

// options answers OPTIONS. Only a pre-flight for a public route is told that other origins may call it.
func (p *Proxy) options(out *answer, r *http.Request, place *route.Place) {
	h := out.Header()
	h.Set("Allow", place.Allow)
	if wanted := place.Route(r.Header.Get("Access-Control-Request-Method")); wanted != nil && wanted.Access == route.Open {
		out.open = true
		h.Set("Access-Control-Allow-Methods", place.Allow)
		h.Set("Access-Control-Allow-Headers", "Content-Type, Idempotency-Key, X-Request-Id")
		h.Set("Access-Control-Max-Age", "86400")
	}
	out.WriteHeader(http.StatusNoContent)
}
