// Package receiver is a merchant's webhook endpoint for tests, benchmarks and chaos runs: it verifies Standard Webhooks
// signatures by its own code, records every delivery, misbehaves on request, and audits deliveries for lost, doubled
// and reordered events. It imports the standard library alone, so that it shares no mistake with the code under test.
package receiver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	maxBody   = 1 << 20
	tolerance = 5 * time.Minute // Standard Webhooks 1.0: how far the timestamp may be off
)

// Delivery is one request that arrived.
type Delivery struct {
	At       time.Time
	Path     string
	ID       string // webhook-id
	Type     string
	Mode     string
	Object   string // kind and identifier of the object the event is about, such as payment/CW-…
	Sequence int64
	Body     []byte // nil under DropBodies
	Header   http.Header
	Attempt  int   // 1 for the first arrival of this id on this path
	Status   int   // of the answer; 0 when nothing readable was sent, or not yet
	Problem  error // why the signature or the body did not verify
}

// OK reports whether the delivery was verified and answered with a 2xx.
func (d Delivery) OK() bool { return d.Problem == nil && d.Status/100 == 2 }

// Options of a Receiver.
type Options struct {
	// Addr is where to listen; empty means a free port of 127.0.0.1.
	Addr string
	// DropBodies keeps no bodies and headers, for runs with millions of deliveries.
	DropBodies bool
}

// Receiver is a running endpoint. Every path is an endpoint of its own.
type Receiver struct {
	opts   Options
	server *http.Server
	listen net.Listener
	served chan struct{}

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced whenever deliveries or answers change
	deliveries []Delivery
	attempts   map[string]int
	arrivals   map[string]int
	secrets    map[string][]string
	check      func(body []byte) error
	faults     map[string]Fault
	closing    context.Context
	close      context.CancelFunc
}

// New starts a receiver; Close stops it.
func New(opts Options) (*Receiver, error) {
	if opts.Addr == "" {
		opts.Addr = "127.0.0.1:0"
	}
	l, err := net.Listen("tcp", opts.Addr)
	if err != nil {
		return nil, fmt.Errorf("listen for webhooks: %w", err)
	}
	r := &Receiver{
		opts: opts, listen: l, served: make(chan struct{}), changed: make(chan struct{}),
		attempts: map[string]int{}, arrivals: map[string]int{}, secrets: map[string][]string{}, faults: map[string]Fault{},
	}
	r.closing, r.close = context.WithCancel(context.Background())
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 30 * time.Second}
	go func() {
		defer close(r.served)
		_ = r.server.Serve(l)
	}()
	return r, nil
}

// Start is New for a test, stopped when the test ends.
func Start(t testing.TB) *Receiver {
	t.Helper()
	r, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// Close ends every hanging answer and stops listening.
func (r *Receiver) Close() {
	r.close()
	_ = r.server.Close()
	<-r.served
}

// URL returns the address of an endpoint, such as URL("/hooks/a").
func (r *Receiver) URL(path string) string { return "http://" + r.listen.Addr().String() + path }

// Secrets sets the whsec_ secrets, any of which verifies, for one path, or with path "" for all paths that have none of
// their own. Without any secret it checks no signatures.
func (r *Receiver) Secrets(path string, secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets[path] = secrets
}

// Check adds a check of every body beside its signature, such as a schema; its error becomes the delivery's Problem.
func (r *Receiver) Check(check func(body []byte) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.check = check
}

// Fault sets how a path misbehaves from the next delivery on; nil makes it answer 200 again.
func (r *Receiver) Fault(path string, f Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults[path], r.arrivals[path] = f, 0
}

// Deliveries returns a copy of what arrived so far, in order of arrival.
func (r *Receiver) Deliveries() []Delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Delivery(nil), r.deliveries...)
}

// Accepted returns the verified deliveries to a path that were answered with a 2xx.
func (r *Receiver) Accepted(path string) []Delivery {
	var out []Delivery
	for _, d := range r.Deliveries() {
		if d.Path == path && d.OK() {
			out = append(out, d)
		}
	}
	return out
}

// Wait blocks until the condition holds for the deliveries so far, checked on every change, or ctx ends.
func (r *Receiver) Wait(ctx context.Context, holds func([]Delivery) bool) error {
	for {
		r.mu.Lock()
		changed, seen := r.changed, append([]Delivery(nil), r.deliveries...)
		r.mu.Unlock()
		if holds(seen) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for webhooks, %d arrived: %w", len(seen), ctx.Err())
		}
	}
}

// Await is Wait for a test: after the deadline it fails the test and names the condition.
func (r *Receiver) Await(t testing.TB, within time.Duration, what string, holds func([]Delivery) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	if err := r.Wait(ctx, holds); err != nil {
		for _, d := range r.Deliveries() {
			t.Logf("%s %s attempt %d %s %s seq %d -> %d %v",
				d.At.Format("05.000"), d.Path, d.Attempt, d.Type, d.Object, d.Sequence, d.Status, d.Problem)
		}
		t.Fatalf("await %s: %v", what, err)
	}
}

// AwaitAccepted waits until a path accepted n different events.
func (r *Receiver) AwaitAccepted(t testing.TB, within time.Duration, path string, n int) {
	t.Helper()
	r.Await(t, within, fmt.Sprintf("%d accepted events on %s", n, path), func(all []Delivery) bool {
		ids := map[string]bool{}
		for _, d := range all {
			if d.Path == path && d.OK() {
				ids[d.ID] = true
			}
		}
		return len(ids) >= n
	})
}

func (r *Receiver) serve(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
	if err != nil {
		return // the sender disconnected: nothing was delivered
	}
	index, arrival, fault := r.record(req, body)
	seen := &statusWriter{ResponseWriter: w}
	if fault == nil || !fault(Call{W: seen, R: req, Arrival: arrival, Closing: r.closing}) {
		seen.WriteHeader(http.StatusOK)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.deliveries[index].Status = seen.status
	r.signal()
}

func (r *Receiver) record(req *http.Request, body []byte) (index, arrival int, fault Fault) {
	d := Delivery{At: time.Now(), Path: req.URL.Path, ID: req.Header.Get("Webhook-Id")}
	d.Problem = errors.Join(d.read(body), r.verify(req, body, d.At))
	if !r.opts.DropBodies {
		d.Body, d.Header = body, req.Header.Clone()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := d.Path + "\x00" + d.ID
	r.attempts[key]++
	r.arrivals[d.Path]++
	d.Attempt = r.attempts[key]
	r.deliveries = append(r.deliveries, d)
	r.signal()
	return len(r.deliveries) - 1, r.arrivals[d.Path], r.faults[d.Path]
}

func (r *Receiver) signal() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// read parses the envelope: {"id","type","mode","data":{"<kind>":{"sequence",…}}}.
func (d *Delivery) read(body []byte) error {
	var envelope struct {
		ID   string `json:"id"`
		Type string `json:"type"`
		Mode string `json:"mode"`
		Data map[string]struct {
			ID        any    `json:"id"`
			Reference string `json:"reference"`
			ReportID  string `json:"reportId"`
			Sequence  int64  `json:"sequence"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return fmt.Errorf("body: %w", err)
	}
	d.Type, d.Mode = envelope.Type, envelope.Mode
	for kind, object := range envelope.Data {
		name := object.Reference
		if name == "" {
			name = object.ReportID
		}
		if name == "" {
			name = fmt.Sprint(object.ID)
		}
		d.Object, d.Sequence = kind+"/"+name, object.Sequence
	}
	if envelope.ID != d.ID {
		return fmt.Errorf("webhook-id %q is not the body's id %q", d.ID, envelope.ID)
	}
	return nil
}

func (r *Receiver) verify(req *http.Request, body []byte, now time.Time) error {
	r.mu.Lock()
	secrets := r.secrets[req.URL.Path]
	if len(secrets) == 0 {
		secrets = r.secrets[""]
	}
	check := r.check
	r.mu.Unlock()
	var problem error
	if check != nil {
		problem = check(body)
	}
	if len(secrets) == 0 {
		return problem
	}
	return errors.Join(problem, Verify(secrets, req.Header, body, now))
}

// Verify checks a Standard Webhooks 1.0 signature against any of the whsec_ secrets.
func Verify(secrets []string, h http.Header, body []byte, now time.Time) error {
	id, stamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	if id == "" || stamp == "" {
		return errors.New("webhook-id or webhook-timestamp is missing")
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("webhook-timestamp: %w", err)
	}
	if off := now.Sub(time.Unix(seconds, 0)).Abs(); off > tolerance {
		return fmt.Errorf("webhook-timestamp is off by %v", off)
	}
	for _, secret := range secrets {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err != nil {
			return fmt.Errorf("secret of the receiver: %w", err)
		}
		mac := hmac.New(sha256.New, key)
		_, _ = fmt.Fprintf(mac, "%s.%s.%s", id, stamp, body)
		want := mac.Sum(nil)
		for _, part := range strings.Fields(h.Get("Webhook-Signature")) {
			version, encoded, _ := strings.Cut(part, ",")
			got, err := base64.StdEncoding.DecodeString(encoded)
			if version == "v1" && err == nil && hmac.Equal(got, want) {
				return nil
			}
		}
	}
	return errors.New("no signature matches")
}

// statusWriter remembers the first final status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(code int) {
	if w.status == 0 && code >= 200 {
		w.status = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
