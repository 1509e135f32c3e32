package httpkit_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// gone is a reader that went away before anything was written.
type gone struct{ *httptest.ResponseRecorder }

func (gone) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A stream whose reader goes away before its last bytes, or that panics, is not counted as an answer.
func TestStream_cutIsNotCounted(t *testing.T) {
	registry := prometheus.NewRegistry()
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), registry, httpkit.Verifier{Audience: "payments", Keys: [][]byte{newKey}, Now: time.Now})
	httpkit.Handle(s, "GET /v1/stream", httpkit.ForMerchants, func(_ context.Context, r streamRequest) (httpkit.Answer, error) {
		return httpkit.Answer{Status: http.StatusOK, Stream: func(_ context.Context, w io.Writer) error {
			if r.fails {
				panic("a row that no renderer expects")
			}
			_, err := io.WriteString(w, "less than the buffer")
			return err
		}}, nil
	})
	for _, path := range []string{"/v1/stream", "/v1/stream?fails=yes"} {
		i := identity()
		i.Method, i.Path, i.IssuedAt = http.MethodGet, path, time.Now().UnixMilli()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		r.Header.Set(httpkit.IdentityHeader, sign(t, i, newKey))
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("GET %s: the connection was not cut", path)
				}
			}()
			s.ServeHTTP(gone{httptest.NewRecorder()}, r)
		}()
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "http_request_seconds" && len(f.GetMetric()) > 0 {
			t.Errorf("cut streams: got %d series of answers, want none: %v", len(f.GetMetric()), f.GetMetric())
		}
	}
}

type streamRequest struct{ fails bool }

func (r *streamRequest) Read(in *httpkit.Input) { r.fails = in.Query("fails") == "yes" }

// A streamed answer comes whole, or its connection is cut: nobody takes half of it for all.
func TestStream(t *testing.T) {
	s := newServer()
	const lines = 50_000
	httpkit.Handle(s, "GET /v1/stream", httpkit.ForMerchants, func(_ context.Context, r streamRequest) (httpkit.Answer, error) {
		return httpkit.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/csv"}}, Stream: func(ctx context.Context, w io.Writer) error {
			if _, limited := ctx.Deadline(); !limited || httpkit.From(ctx).Route == "" {
				t.Error("the stream has no bound, or no request")
			}
			for n := range lines {
				if r.fails && n == lines/2 {
					return errors.New("the database went away")
				}
				if _, err := io.WriteString(w, "a line of a report\n"); err != nil {
					return err
				}
			}
			return nil
		}}, nil
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for path, whole := range map[string]bool{"/v1/stream": true, "/v1/stream?fails=yes": false} {
		signed, err := httpkit.Identity{
			Subject: httpkit.Merchant, MerchantID: "m", Mode: tenant.Test, Method: http.MethodGet, Path: path, Audience: "payments", RequestID: "req_1", IssuedAt: time.Now().UnixMilli(),
		}.Sign(newKey)
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(httpkit.IdentityHeader, signed)
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if (err == nil) != whole || (strings.Count(string(body), "\n") == lines) != whole || answer.Header.Get("Content-Type") != "text/csv" {
			t.Errorf("%s: %d lines, %v", path, strings.Count(string(body), "\n"), err)
		}
	}
}

// An answer of any size says how long it is, so that it does not travel in chunks.
func TestServer_saysHowLongAnAnswerIs(t *testing.T) {
	s := newServer()
	body := []byte(`{"page":"` + strings.Repeat("x", 50_000) + `"}`)
	httpkit.Handle(s, "GET /v1/page", httpkit.ForMerchants, func(context.Context, streamRequest) ([]byte, error) { return body, nil })
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	signed, err := httpkit.Identity{
		Subject: httpkit.Merchant, MerchantID: "m", Mode: tenant.Test, Method: http.MethodGet, Path: "/v1/page", Audience: "payments", RequestID: "req_1",
		IssuedAt: time.Now().UnixMilli(),
	}.Sign(newKey)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/v1/page", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(httpkit.IdentityHeader, signed)
	answer, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close() //nolint:errcheck // it is only read
	got, err := io.ReadAll(answer.Body)
	if err != nil || string(got) != string(body) || answer.ContentLength != int64(len(body)) || len(answer.TransferEncoding) > 0 {
		t.Errorf("read a page of %d bytes: got %d bytes, length %d, encoding %q, %v", len(body), len(got), answer.ContentLength, answer.TransferEncoding, err)
	}
}
