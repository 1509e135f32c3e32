// Package otlp is a trace collector for tests: it takes spans over OTLP/HTTP as the services send them, keeps them in
// memory, and draws a trace as a tree.
package otlp

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// maxBody bounds one export; the SDK sends at most 512 spans at a time.
const maxBody = 16 << 20

// Span is one span that arrived.
type Span struct {
	Trace, ID, Parent string // in hex; Parent is empty for a root
	Service, Name     string
	Start, End        time.Time
	Attributes        map[string]string // values as text
	Events            []string          // names and attributes as text
	Links             []string          // traces that it links to
	Failed            bool
}

// Collector is a running collector.
type Collector struct {
	server *httptest.Server

	mu    sync.Mutex
	spans []Span
	news  chan struct{} // closed and replaced when spans arrive
}

// Start runs a collector until the test ends.
func Start(t testing.TB) *Collector {
	t.Helper()
	c := &Collector{news: make(chan struct{})}
	c.server = httptest.NewServer(http.HandlerFunc(c.take))
	t.Cleanup(c.server.Close)
	return c
}

// URL is the value for OTEL_EXPORTER_OTLP_ENDPOINT.
func (c *Collector) URL() string { return c.server.URL }

func (c *Collector) take(w http.ResponseWriter, r *http.Request) {
	export, err := read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range export.GetResourceSpans() {
		service := texts(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				span := Span{
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Service: service, Name: s.GetName(), Attributes: texts(s.GetAttributes()), Failed: s.GetStatus().GetCode() == 2,
					Start: time.Unix(0, int64(s.GetStartTimeUnixNano())), End: time.Unix(0, int64(s.GetEndTimeUnixNano())), //nolint:gosec // times of this century
				}
				for _, e := range s.GetEvents() {
					span.Events = append(span.Events, fmt.Sprint(e.GetName(), texts(e.GetAttributes())))
				}
				for _, l := range s.GetLinks() {
					span.Links = append(span.Links, hex.EncodeToString(l.GetTraceId()))
				}
				c.spans = append(c.spans, span)
			}
		}
	}
	close(c.news)
	c.news = make(chan struct{})
}

func read(r *http.Request) (*collector.ExportTraceServiceRequest, error) {
	body := io.Reader(http.MaxBytesReader(nil, r.Body, maxBody))
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(body)
		if err != nil {
			return nil, fmt.Errorf("unzip an export: %w", err)
		}
		body = io.LimitReader(unzipped, maxBody)
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("read an export: %w", err)
	}
	var export collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &export); err != nil {
		return nil, fmt.Errorf("decode an export: %w", err)
	}
	return &export, nil
}

func texts(attributes []*common.KeyValue) map[string]string {
	all := make(map[string]string, len(attributes))
	for _, a := range attributes {
		switch v := a.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			all[a.GetKey()] = v.StringValue
		default:
			all[a.GetKey()] = a.GetValue().String()
		}
	}
	return all
}

// Spans returns what has arrived so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Await returns the spans once done accepts them; the test fails when that takes longer than within.
func (c *Collector) Await(t testing.TB, within time.Duration, what string, done func([]Span) bool) []Span {
	t.Helper()
	deadline := time.After(within)
	for {
		c.mu.Lock()
		spans, news := slices.Clone(c.spans), c.news
		c.mu.Unlock()
		if done(spans) {
			return spans
		}
		select {
		case <-news:
		case <-deadline:
			t.Fatalf("waiting for %s: %d spans arrived in %s", what, len(spans), within)
		}
	}
}

// Lineage is a span with everything above it, from the root of its trace down.
func Lineage(spans []Span, of Span) (line []Span) {
	byID := make(map[string]Span, len(spans))
	for _, s := range spans {
		byID[s.Trace+s.ID] = s
	}
	for at, known := of, true; known && len(line) < len(spans); at, known = byID[at.Trace+at.Parent] {
		line = append(line, at)
	}
	slices.Reverse(line)
	return line
}

// Tree draws one trace: a line a span, indented below its parent, in the order of their start. keep selects the spans;
// the children of a hidden one take its place.
func Tree(spans []Span, trace string, keep func(Span) bool) string {
	children := map[string][]Span{}
	known := map[string]bool{}
	for _, s := range spans {
		if s.Trace == trace {
			known[s.ID] = true
		}
	}
	for _, s := range spans {
		if s.Trace != trace {
			continue
		}
		parent := s.Parent
		if !known[parent] {
			parent = ""
		}
		children[parent] = append(children[parent], s)
	}
	var b strings.Builder
	var draw func(parent string, depth int)
	draw = func(parent string, depth int) {
		below := children[parent]
		slices.SortFunc(below, func(a, b Span) int { return a.Start.Compare(b.Start) })
		for _, s := range below {
			deeper := depth
			if keep(s) {
				fmt.Fprintf(&b, "%s%s: %s (%s)\n", strings.Repeat("  ", depth), s.Service, s.Name, s.End.Sub(s.Start).Round(10*time.Microsecond))
				deeper++
			}
			draw(s.ID, deeper)
		}
	}
	draw("", 0)
	return b.String()
}
