package telemetry

import (
	"context"
	"log/slog"
	"slices"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Names of the ids in log lines. A payment appears by its id, pay_…, and never by its reference, which is a bearer
// secret.
const (
	RequestID  = "request_id"
	MerchantID = "merchant_id"
	PaymentID  = "payment_id"
)

// carried are the ids that cross the broker: a consumer's lines have them without reading the message. The list is
// short because every message carries it.
var carried = []string{RequestID, MerchantID, PaymentID}

type idsKey struct{}

// With returns a context whose log lines carry ids beside the trace: names and values in turn, as in slog. Empty values
// are omitted, and a name that is present gets the new value.
func With(ctx context.Context, ids ...string) context.Context {
	before := idsOf(ctx)
	all := make([]slog.Attr, 0, len(before)+len(ids)/2)
	all = append(all, before...)
	for i := 0; i+1 < len(ids); i += 2 {
		if ids[i+1] == "" {
			continue
		}
		a := slog.String(ids[i], ids[i+1])
		if at := slices.IndexFunc(all, func(b slog.Attr) bool { return b.Key == a.Key }); at >= 0 {
			all[at] = a
		} else {
			all = append(all, a)
		}
	}
	return context.WithValue(ctx, idsKey{}, all)
}

func idsOf(ctx context.Context) []slog.Attr {
	all, _ := ctx.Value(idsKey{}).([]slog.Attr)
	return all
}

// Inject writes the ids of ctx that cross the broker into a message's headers.
func Inject(ctx context.Context, headers map[string]string) {
	for _, a := range idsOf(ctx) {
		if slices.Contains(carried, a.Key) {
			headers[a.Key] = a.Value.String()
		}
	}
}

// Extract is With for the ids in a message's headers.
func Extract(ctx context.Context, headers map[string]string) context.Context {
	ids := make([]string, 0, 2*len(carried))
	for _, name := range carried {
		if value := headers[name]; value != "" && len(value) <= idMax {
			ids = append(ids, name, value)
		}
	}
	if len(ids) == 0 {
		return ctx
	}
	return With(ctx, ids...)
}

// idMax bounds one id that comes from a message.
const idMax = 128

// TraceHeader is the one header of W3C trace context that is kept: 55 characters.
const TraceHeader = "traceparent"

// TraceParent is the text of the span in ctx for Continue, to be stored in a row for as long as the row lives. It is
// empty for a trace that is not recorded, so that such rows need no space.
func TraceParent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[TraceHeader]
}

// Continue starts a span in the trace that a row has stored. ctx may be in another trace, such as that of an operator's
// request or of a chain's scan: then each of the two links to the other. Without a readable stored trace, ctx stays as
// it is and the span is none.
func Continue(ctx context.Context, kept, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return start(ctx, SpanContext(kept), name, options)
}

// Inside starts a span below the one in ctx. If that is not recorded, ctx stays as it is and the span is none.
func Inside(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	return start(ctx, trace.SpanContextFromContext(ctx), name, options)
}

func start(ctx context.Context, origin trace.SpanContext, name string, options []trace.SpanStartOption) (context.Context, trace.Span) {
	if !origin.IsSampled() {
		return ctx, noop.Span{}
	}
	cause := trace.SpanFromContext(ctx)
	switch at := cause.SpanContext(); {
	case at.TraceID() == origin.TraceID(): // the trace continues
	case at.IsValid():
		ctx, options = trace.ContextWithRemoteSpanContext(ctx, origin), append(options, trace.WithLinks(trace.Link{SpanContext: at}))
	default:
		ctx = trace.ContextWithRemoteSpanContext(ctx, origin)
	}
	ctx, span := otel.Tracer("causeway.internal/libs/telemetry").Start(ctx, name, options...)
	if at := cause.SpanContext(); at.IsSampled() && at.TraceID() != origin.TraceID() {
		cause.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, span
}

// At returns a context whose log lines are in a stored trace, if there is one.
func At(ctx context.Context, kept string) context.Context {
	if origin := SpanContext(kept); origin.IsValid() {
		return trace.ContextWithRemoteSpanContext(ctx, origin)
	}
	return ctx
}

// SpanContext parses the text of TraceParent; any other text is no span.
func SpanContext(kept string) trace.SpanContext {
	if kept == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{TraceHeader: kept})
	return trace.SpanContextFromContext(ctx)
}
