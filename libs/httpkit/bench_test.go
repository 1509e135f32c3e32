package httpkit_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
)

// BenchmarkServer answers one keyed create, from its identity to its stored answer. It does not count the signing.
func BenchmarkServer(b *testing.B) {
	s := newServer()
	answer := idempotency.Answer{Status: http.StatusCreated, Body: []byte(`{"success":true}`)}
	httpkit.Handle(s, "POST /v1/orders", httpkit.ForMerchants, func(ctx context.Context, _ echoRequest) (idempotency.Answer, error) {
		if !httpkit.From(ctx).Key().Sent() {
			b.Error("the endpoint of POST /v1/orders got no Idempotency-Key, want k1")
		}
		return answer, nil
	})
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		r := post(http.MethodPost, "/v1/orders", thing, "k1")
		header, err := identity().Bind(r, []byte(thing)).Sign(newKey)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set(httpkit.IdentityHeader, header)
		r.Body = io.NopCloser(bytes.NewReader([]byte(thing)))
		w := httptest.NewRecorder()
		b.StartTimer()
		if s.ServeHTTP(w, r); w.Code != http.StatusCreated {
			b.Fatalf("POST /v1/orders = %d %s, want 201", w.Code, w.Body)
		}
	}
}
