package telemetry

import (
	"context"
	"fmt"
	"io"
	stdlog "log"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/id"
	"causeway.internal/libs/timestamp"
)

func newLogger(w io.Writer, service, level string) (*slog.Logger, error) {
	var least slog.Level
	if level != "" {
		if err := least.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("LOG_LEVEL: %w", err)
		}
	}
	handler := slog.NewJSONHandler(w, &slog.HandlerOptions{Level: least, ReplaceAttr: asWritten})
	return slog.New(withTrace{handler}).With("service", service), nil
}

// asWritten writes times as the API writes them, UTC with milliseconds, and masks the references of gifts. No line
// should hold one, but the errors of other libraries may.
func asWritten(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.TimeKey {
		return slog.String(slog.TimeKey, timestamp.Text(a.Value.Time()))
	}
	switch v := a.Value.Any().(type) {
	case string:
		a.Value = slog.StringValue(id.HideGifts(v))
	case error:
		a.Value = slog.StringValue(id.HideGifts(fmt.Sprint(v)))
	}
	return a
}

// withTrace adds the ids of the span in the context and those of With to every record. A line that has one of them
// itself keeps its own.
type withTrace struct{ slog.Handler }

func (h withTrace) Handle(ctx context.Context, record slog.Record) error {
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	if ids := idsOf(ctx); len(ids) > 0 {
		own := map[string]bool{}
		record.Attrs(func(a slog.Attr) bool {
			own[a.Key] = true
			return true
		})
		for _, a := range ids {
			if !own[a.Key] {
				record.AddAttrs(a)
			}
		}
	}
	return h.Handler.Handle(ctx, record)
}

func (h withTrace) WithAttrs(attrs []slog.Attr) slog.Handler {
	return withTrace{h.Handler.WithAttrs(attrs)}
}

func (h withTrace) WithGroup(name string) slog.Handler { return withTrace{h.Handler.WithGroup(name)} }

// Seconds is a duration for a log line: whole microseconds in the shortest form. time.Duration.Seconds adds two floats,
// which shows in the sixteenth digit and looks like an account number.
func Seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// silence drops the text of package log's standard logger, and writes a line that counts its lines. net/http's client
// logs bytes that a peer sent unasked, and a peer may send back what it was sent: events with their tokens.
func silence(log *slog.Logger) {
	stdlog.SetOutput(silent{NewSparing(log, time.Now)})
}

type silent struct{ log *Sparing }

// Write implements io.Writer.
func (s silent) Write(line []byte) (int, error) {
	s.log.Log(context.Background(), slog.LevelWarn, "library", "line of a library dropped")
	return len(line), nil
}
