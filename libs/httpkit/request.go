package httpkit

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/nonce"
	"causeway.internal/libs/tenant"
)

// Request holds what an endpoint may read of the request besides its decoded input. The middlewares of its route fill
// it in.
type Request struct {
	Identity  Identity
	Owner     tenant.Owner // the merchant, key and mode of the identity; zero when it names no merchant
	RequestID string
	Route     string // "POST /v1/payments": the pattern, never the path

	http      *http.Request
	approvals *nonce.Memory         // of changes that operators have approved
	object    []string              // the names of the values in the path
	raw       []byte                // the body
	hash      [32]byte              // SHA-256 of the body
	scope     func(*Request) string // the caller, within whom an Idempotency-Key is unique
	problems  fault.Problems
	reader    context.Context // ends when the caller disconnects, and not with the time of an endpoint
	log       *slog.Logger
}

type requestKey struct{}

// From returns the request of an endpoint's context. It panics outside one, which is a defect.
func From(ctx context.Context) *Request { return ctx.Value(requestKey{}).(*Request) }

// begin puts the request of a route into the context of its endpoint.
func (s *Server) begin(route string) func(context.Context, *http.Request) context.Context {
	object := pathNames(route)
	return func(ctx context.Context, r *http.Request) context.Context {
		return context.WithValue(ctx, requestKey{}, &Request{
			RequestID: r.Header.Get(RequestIDHeader), Route: route, http: r, object: object, log: s.log, approvals: s.approvals,
		})
	}
}

func pathNames(route string) (names []string) {
	for segment := range strings.SplitSeq(route, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			names = append(names, strings.TrimSuffix(name, "}"))
		}
	}
	return names
}

// Key is the request's Idempotency-Key. It is unique within the caller, the route and the object that the path names
// (docs/api-contract.md#idempotency).
func (r *Request) Key() idempotency.Key {
	parts := append(make([]string, 0, 4), r.scope(r), r.Route)
	for _, name := range r.object {
		parts = append(parts, r.http.PathValue(name))
	}
	return idempotency.Key{Scope: idempotency.Scope(parts...), Key: r.http.Header.Get(IdempotencyHeader), Hash: r.hash}
}

// Reader is a request type that fills itself from the input and adds problems there.
type Reader[T any] interface {
	*T
	Read(in *Input)
}

func decode[Req any, P Reader[Req]](r *Request) (req Req, err error) {
	if declared := r.http.Header.Get("Content-Type"); declared != "" && len(r.raw) > 0 && !isJSON(declared) {
		return req, fault.New(fault.UnsupportedMedia, "unsupported_media_type", "Send the body as application/json.")
	}
	if r.http.Method == http.MethodPatch && len(bytes.TrimSpace(r.raw)) == 0 {
		return req, errNotObject // a change of nothing: the fields were lost or forgotten
	}
	in := &Input{request: r.http, raw: r.raw, Problems: r.problems}
	if in.body, err = parseBody(in.raw, &in.Problems); err != nil {
		return req, err
	}
	P(&req).Read(in)
	return req, in.Problems.Err()
}

// readBody reads the body of a request, whole and bounded. The body of a GET is not read.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil, nil
	}
	var buf bytes.Buffer
	if 0 < r.ContentLength && r.ContentLength <= BodyMax { // the gateway has read the body and sets its length
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r.Body, BodyMax+1)); err != nil {
		return nil, fault.New(fault.Invalid, "body_unreadable", "The body could not be read.").Because(err)
	}
	if buf.Len() > BodyMax {
		return nil, fault.New(fault.TooLarge, "body_too_large", "The body is larger than %d bytes.", BodyMax)
	}
	return buf.Bytes(), nil
}

func isJSON(declared string) bool {
	if declared == "application/json" { // the usual value
		return true
	}
	media, _, err := mime.ParseMediaType(declared)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}
