// Package httpkit serves the HTTP routes of every service with go-kit: a route is an endpoint within a chain of
// middlewares, which trace and measure it, verify the gateway's identity, bound its time, check its caller and keep its
// Idempotency-Key. The package decodes and bounds input, and writes answers and errors in the shapes of
// docs/api-contract.md#requests. It holds no business rule.
package httpkit

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/go-kit/kit/endpoint"
	kithttp "github.com/go-kit/kit/transport/http"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/nonce"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/telemetry"
)

// BodyMax bounds a request body (docs/api-contract.md#statuses).
const BodyMax = 256 << 10

// handleMax bounds the time an endpoint may take; the gateway gives up a little later.
const handleMax = 10 * time.Second

// Server is what every endpoint of a service shares.
type Server struct {
	log       *slog.Logger
	spare     *telemetry.Sparing // of failed requests: an outage fails them all
	verifier  Verifier
	nonces    *nonce.Memory
	approvals *nonce.Memory
	seconds   *prometheus.HistogramVec
	mux       *http.ServeMux
	routes    []string
}

// NewServer makes the server of one service. The verifier's audience names the service in metrics.
func NewServer(log *slog.Logger, registry prometheus.Registerer, verifier Verifier) *Server {
	return &Server{log: log, spare: telemetry.NewSparing(log, time.Now), verifier: verifier, seconds: Seconds(registry), mux: http.NewServeMux(), nonces: nonce.NewMemory(identityLife), approvals: nonce.NewMemory(passkey.Life)}
}

// Seconds returns the histogram in which a process counts its requests, whether a Server or pages answer them.
func Seconds(registry prometheus.Registerer) *prometheus.HistogramVec {
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "http_request_seconds",
		Help:    "Time to answer a request, by route pattern and status.",
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"route", "status"})
	err := registry.Register(seconds)
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		return known.ExistingCollector.(*prometheus.HistogramVec) //nolint:forcetypeassert // the same description
	}
	if err != nil {
		panic(err) // another metric has the name
	}
	return seconds
}

// Handle serves a route ("POST /v1/payments") for its callers (ForMerchants and the like) with a use case. An answer is
// an Answer, a stored answer, a body, or a value that encodes as a JSON object.
//
// The input is decoded in the last step of the chain and not by go-kit's decoder, because nothing may read a request
// before its identity is verified.
func Handle[Req any, P Reader[Req], Res any](s *Server, route string, callers endpoint.Middleware, f func(context.Context, Req) (Res, error)) {
	use := func(ctx context.Context, _ any) (any, error) {
		req, err := decode[Req, P](From(ctx))
		if err != nil {
			return nil, err
		}
		res, err := f(ctx, req)
		if err != nil {
			return nil, err
		}
		return answerOf(res)
	}
	around := endpoint.Chain(traced(route), measured(route, s.seconds), s.authenticated, bounded, s.reported, callers, idempotent, recovered)
	s.mux.Handle(route, kithttp.NewServer(around(use), kithttp.NopRequestDecoder, encode,
		kithttp.ServerBefore(s.begin(route)), kithttp.ServerErrorEncoder(refuse)))
	s.routes = append(s.routes, route)
}

// Routes lists the routes that the server answers.
func (s *Server) Routes() []string { return s.routes }

// ServeHTTP routes a request and answers an unknown route in the error shape.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ServeMux(s.mux, w, r, r.Header.Get(RequestIDHeader))
}

// ServeMux runs a mux whose own 404 and 405 are answered in the error shape.
func ServeMux(mux *http.ServeMux, w http.ResponseWriter, r *http.Request, requestID string) {
	h, pattern := mux.Handler(r)
	if pattern != "" {
		mux.ServeHTTP(w, r)
		return
	}
	probe := &statusProbe{header: http.Header{}}
	h.ServeHTTP(probe, r)
	if probe.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", probe.header.Get("Allow"))
		WriteError(w, requestID, ErrMethodNotAllowed)
		return
	}
	WriteError(w, requestID, ErrRouteUnknown)
}

type statusProbe struct {
	header http.Header
	status int
}

func (p *statusProbe) Header() http.Header         { return p.header }
func (p *statusProbe) Write(b []byte) (int, error) { return len(b), nil }
func (p *statusProbe) WriteHeader(status int)      { p.status = status }
