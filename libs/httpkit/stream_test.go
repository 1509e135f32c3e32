package httpkit_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

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
