package proxy

import (
	"net/http"

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
}

// exposed are the headers that a page of another origin may read.
const exposed = "X-Request-Id, Retry-After, Idempotent-Replayed, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset"

// WriteHeader stamps the headers and sends them.
func (a *answer) WriteHeader(status int) {
	if a.wrote {
		return
	}
	if status >= http.StatusOK { // 1xx are not the answer
		a.wrote, a.status = true, status
		a.stamp()
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) stamp() {
	h := a.Header()
	h.Set(httpkit.RequestIDHeader, a.requestID)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer") // paths hold payment references, which are bearer secrets
	if len(h["Content-Security-Policy"]) == 0 {
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	}
	if len(h["Cache-Control"]) == 0 {
		h.Set("Cache-Control", "no-store")
	}
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
	return a.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

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
