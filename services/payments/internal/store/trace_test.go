//go:build integration

package store_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
)

// traced is the context of a request with a sampled or unsampled trace.
func traced(ctx context.Context, sampled bool) (context.Context, trace.TraceID) {
	id := trace.TraceID{1, 2, 3}
	at := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{4}})
	return trace.ContextWithSpanContext(ctx, at.WithTraceFlags(trace.TraceFlags(0).WithSampled(sampled))), id
}

// A payment's row stores the trace of its create, later changes continue it, and wallets gets it with the address. An
// unsampled create stores no trace.
func TestTrace_isKept(t *testing.T) {
	t.Parallel()
	telemetry.Discard("payments") // sets the propagator
	w := fixture.New(t)
	w.Fill(10)
	recorded, id := traced(t.Context(), true)
	a, err := w.Intake.Create(recorded, fixture.Owner, fixture.Command(), &fault.Problems{}, idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	unrecorded, _ := traced(t.Context(), false)
	b, err := w.Intake.Create(unrecorded, fixture.Owner, fixture.Command(), &fault.Problems{}, idempotency.Key{})
	if err != nil {
		t.Fatal(err)
	}
	with, without := w.Find(fixture.Reference(t, a.Body)).Payment, w.Find(fixture.Reference(t, b.Body)).Payment
	if telemetry.SpanContext(with.Trace).TraceID() != id || without.Trace != "" {
		t.Errorf("kept %q and %q", with.Trace, without.Trace)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE trace IS NULL`); n != 1 {
		t.Errorf("%d rows without a trace", n)
	}

	w.SQL(`DELETE FROM outbox`)
	w.See(with, fixture.Coin{Key: "aa", Amount: "31.25", Version: 1})
	headers := fixture.Ask[string](w, `SELECT headers FROM outbox WHERE name = $1 ORDER BY id LIMIT 1`, string(wire.PaymentStatusChangedV1))
	if !strings.Contains(headers, id.String()) || !strings.Contains(headers, with.ID) || !strings.Contains(headers, with.MerchantID) {
		t.Errorf("headers %s", headers)
	}

	for range 2 {
		if err := w.Store.CleanStock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	var told wire.AddressesUsed
	if err := json.Unmarshal(fixture.Ask[[]byte](w, `SELECT body FROM outbox WHERE name = $1`, string(wire.AddressesUsedV1)), &told); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM outbox WHERE name = $1`, string(wire.AddressesUsedV1)); n != 1 ||
		!slices.Equal(told.Addresses, []wire.UsedAddress{{Mode: tenant.Test, Family: "tron", Address: with.Address, Trace: with.Trace}}) {
		t.Errorf("%d messages: %+v", n, told)
	}
}
