package attempt

import (
	"net/http"
	"net/netip"
	"testing"
	"time"

	"causeway.internal/libs/outbound"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// BenchmarkHeader makes and signs the headers of an ordinary event.
func BenchmarkHeader(b *testing.B) {
	key, err := delivery.KeyOf(delivery.NewSecret())
	if err != nil {
		b.Fatal(err)
	}
	d := delivery.Delivery{EventID: "evt_06fv8m1jq5r7t2c9k3x4n8w1ya", Body: make([]byte, 600)}
	keys, at := []*delivery.Key{key}, time.Now()
	b.ReportAllocs()
	for b.Loop() {
		header(keys, d, at)
	}
}

// BenchmarkOutcome puts an ordinary answer into the terms of package delivery.
func BenchmarkOutcome(b *testing.B) {
	s := New(nil, nil, nil, nil, nil, time.Now)
	res := outbound.Result{
		Class: outbound.OK, Status: 200, Remote: netip.MustParseAddrPort("127.0.0.1:8080"),
		Header: http.Header{"Date": {"Wed, 01 Apr 2026 12:01:00 GMT"}, "Content-Type": {"text/plain; charset=utf-8"}},
	}
	b.ReportAllocs()
	for b.Loop() {
		s.outcome(delivery.Delivery{}, res, time.Time{}, 1)
	}
}
