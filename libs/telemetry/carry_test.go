package telemetry_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/telemetry"
)

// recording installs a provider that keeps every span until the test ends.
func recording(t *testing.T) (trace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	kept, before := tracetest.NewSpanRecorder(), otel.GetTracerProvider()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(kept))
	otel.SetTracerProvider(provider)
	t.Cleanup(func() { otel.SetTracerProvider(before) })
	return provider.Tracer("test"), kept
}

func TestWith_linesCarryIDs(t *testing.T) {
	var out bytes.Buffer
	tel := telemetry.To(&out, "payments")
	ctx := telemetry.With(t.Context(), telemetry.RequestID, "req_1", telemetry.MerchantID, "acme", telemetry.PaymentID, "")
	inner := telemetry.With(ctx, telemetry.MerchantID, "zebra", telemetry.PaymentID, "pay_1")
	tel.Log.InfoContext(inner, "inner", telemetry.PaymentID, "pay_2")
	tel.Log.InfoContext(ctx, "outer")

	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for n, want := range []map[string]any{
		{"request_id": "req_1", "merchant_id": "zebra", "payment_id": "pay_2"}, // the line's own id wins, once
		{"request_id": "req_1", "merchant_id": "acme", "payment_id": nil},
	} {
		var line map[string]any
		if err := json.Unmarshal([]byte(lines[n]), &line); err != nil {
			t.Fatal(err)
		}
		for name, value := range want {
			if line[name] != value {
				t.Errorf("line %d: %s is %v, want %v", n, name, line[name], value)
			}
		}
		if strings.Count(lines[n], "payment_id") > 1 {
			t.Errorf("a name twice: %s", lines[n])
		}
	}
}

func TestInject_crossesTheBroker(t *testing.T) {
	headers := map[string]string{}
	telemetry.Inject(telemetry.With(t.Context(), telemetry.RequestID, "req_1", telemetry.PaymentID, "pay_1", "delivery_id", "dlv_1"), headers)
	if len(headers) != 2 || headers["request_id"] != "req_1" || headers["payment_id"] != "pay_1" {
		t.Errorf("headers %v", headers)
	}
	headers["merchant_id"] = strings.Repeat("x", 129) // nobody's id is so long
	back := map[string]string{}
	telemetry.Inject(telemetry.Extract(t.Context(), headers), back)
	if len(back) != 2 || back["request_id"] != "req_1" || back["payment_id"] != "pay_1" {
		t.Errorf("came back as %v", back)
	}
}

// A story that was kept in a row goes on in its own trace, whatever finds it, and the two traces point at each other.
func TestContinue(t *testing.T) {
	tracer, kept := recording(t)
	create, first := tracer.Start(t.Context(), "create")
	row := telemetry.TraceParent(create)
	if len(row) != 55 {
		t.Fatalf("kept %q", row)
	}
	first.End()

	inside, span := telemetry.Continue(create, row, "same trace")
	span.End()
	_, span = telemetry.Continue(t.Context(), row, "no trace before")
	span.End()
	other, scan := tracer.Start(t.Context(), "another trace")
	_, span = telemetry.Continue(other, row, "from another trace")
	span.End()
	scan.End()

	origin := trace.SpanContextFromContext(create)
	if at := trace.SpanContextFromContext(inside); at.TraceID() != origin.TraceID() || at.SpanID() == origin.SpanID() {
		t.Errorf("went on as %v", at)
	}
	spans := map[string]sdktrace.ReadOnlySpan{}
	for _, s := range kept.Ended() {
		spans[s.Name()] = s
	}
	for _, name := range []string{"same trace", "no trace before", "from another trace"} {
		if s := spans[name]; s.Parent().SpanID() != origin.SpanID() || s.SpanContext().TraceID() != origin.TraceID() {
			t.Errorf("%s: parent %v", name, s.Parent())
		}
	}
	there, here := spans["another trace"], spans["from another trace"]
	if len(there.Links()) != 1 || there.Links()[0].SpanContext.SpanID() != here.SpanContext().SpanID() ||
		len(here.Links()) != 1 || here.Links()[0].SpanContext.SpanID() != there.SpanContext().SpanID() {
		t.Errorf("links %v and %v", there.Links(), here.Links())
	}
}

// An unrecorded trace leaves nothing behind, and an unreadable one is no trace.
func TestContinue_withoutATrace(t *testing.T) {
	_, kept := recording(t)
	if row := telemetry.TraceParent(t.Context()); row != "" {
		t.Errorf("no span is kept as %q", row)
	}
	unsampled, span := telemetry.Discard("payments").Tracer.Start(t.Context(), "create")
	if row := telemetry.TraceParent(unsampled); row != "" || !span.SpanContext().IsValid() {
		t.Errorf("a span that is not recorded is kept as %q", row)
	}
	for _, row := range []string{
		"", "nonsense", strings.Repeat("0", 55), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more\x00",
	} {
		ctx, span := telemetry.Continue(unsampled, row, "change")
		span.End()
		if !trace.SpanContextFromContext(ctx).Equal(trace.SpanContextFromContext(unsampled)) {
			t.Errorf("%q changed the context", row)
		}
	}
	if n := len(kept.Ended()); n != 0 {
		t.Errorf("%d spans", n)
	}
	if telemetry.SpanContext("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Error("a trace parent was not read")
	}
}
