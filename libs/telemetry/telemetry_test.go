package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"causeway.internal/libs/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	h.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	body, err := io.ReadAll(recorder.Body)
	if err != nil {
		t.Fatal(err)
	}
	return recorder.Code, string(body)
}

func TestOps(t *testing.T) {
	tel := telemetry.Discard("payments")
	fine := telemetry.Check{Name: "database", Ready: func(context.Context) error { return nil }}
	broken := telemetry.Check{Name: "consumers", Ready: func(context.Context) error { return errors.New("not connected") }}

	if code, body := get(t, tel.Ops(fine), "/healthz"); code != 200 || !strings.Contains(body, `"service":"payments"`) {
		t.Errorf("healthz: %d %s", code, body)
	}
	if code, body := get(t, tel.Ops(fine), "/readyz"); code != 200 || !strings.Contains(body, `"database":"ok"`) {
		t.Errorf("ready: %d %s", code, body)
	}
	code, body := get(t, tel.Ops(fine, broken), "/readyz")
	if code != 503 || !strings.Contains(body, `"consumers":"not connected"`) || !strings.Contains(body, `"database":"ok"`) {
		t.Errorf("not ready: %d %s", code, body)
	}
	if code, body := get(t, tel.Ops(), "/metrics"); code != 200 || !regexp.MustCompile(`build_info{goversion="go1[^"]+",revision="[^"]+",service="payments",version="[^"]+"} 1`).MatchString(body) || !strings.Contains(body, "go_goroutines") {
		t.Errorf("metrics: %d %.300s", code, body)
	}
	for path, want := range map[string]string{"/debug/pprof/": "goroutine", "/debug/pprof/heap?debug=1": "heap profile"} {
		if code, body := get(t, tel.Ops(), path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("get %s: got %d %.300s, want 200 with %s", path, code, body, want)
		}
	}
	if code, _ := get(t, tel.Ops(), "/debug/pprof/cmdline"); code != 404 {
		t.Errorf("the command line: %d", code)
	}
	if code, _ := get(t, tel.Ops(), "/"); code != 404 {
		t.Errorf("unknown path: %d", code)
	}
}

func TestOps_aCheckThatHangsIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		hung := telemetry.Check{Name: "database", Ready: func(context.Context) error { <-release; return nil }}
		began := time.Now()
		code, body := get(t, telemetry.Discard("payments").Ops(hung), "/readyz")
		if code != 503 || !strings.Contains(body, "no answer in time") || time.Since(began) != 2*time.Second {
			t.Errorf("%d %s after %s", code, body, time.Since(began))
		}
		close(release)
	})
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 2_617_110 * time.Microsecond: "2.61711", 1500: "1e-06", -90 * time.Second: "-90", 31 * 24 * time.Hour: "2.6784e+06",
	} {
		if got := fmt.Sprint(telemetry.Seconds(d)); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

func TestLog_carriesTheTrace(t *testing.T) {
	var out bytes.Buffer
	tel := telemetry.To(&out, "payments")
	ctx, span := tel.Tracer.Start(t.Context(), "create")
	defer span.End()
	tel.Log.With("a", 1).WithGroup("g").InfoContext(ctx, "hello", "b", 2)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	if line["service"] != "payments" || !strings.HasSuffix(line["time"].(string), "Z") {
		t.Errorf("line: %v", line)
	}
	if !strings.Contains(out.String(), span.SpanContext().TraceID().String()) {
		t.Errorf("no trace id: %s", out.String())
	}
}

func TestPropagator_carriesTraceContext(t *testing.T) {
	tel := telemetry.Discard("payments")
	ctx, span := tel.Tracer.Start(t.Context(), "create")
	defer span.End()
	carrier := propagation.MapCarrier{}
	otel.GetTextMapPropagator().Inject(ctx, carrier)
	back := trace.SpanContextFromContext(otel.GetTextMapPropagator().Extract(t.Context(), carrier))
	if back.TraceID() != span.SpanContext().TraceID() {
		t.Errorf("carried %v as %v", span.SpanContext().TraceID(), carrier)
	}
}

func TestStart_refusesAnUnknownLevel(t *testing.T) {
	if _, err := telemetry.Start(t.Context(), "payments", telemetry.Config{LogLevel: "loud"}); err == nil {
		t.Error("no error")
	}
}

func TestStart_exportsOnlyWithAnEndpoint(t *testing.T) {
	received := make(chan string, 16)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { received <- r.URL.Path }))
	defer collector.Close()
	tel, err := telemetry.Start(t.Context(), "payments", telemetry.Config{OTLPEndpoint: collector.URL, TraceRatio: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, span := tel.Tracer.Start(t.Context(), "create")
	span.End()
	tel.Flush(t.Context())
	if path := <-received; path != "/v1/traces" {
		t.Errorf("exported to %s", path)
	}

	quiet, err := telemetry.Start(t.Context(), "payments", telemetry.Config{})
	if err != nil {
		t.Fatal(err)
	}
	_, span = quiet.Tracer.Start(t.Context(), "create")
	if span.IsRecording() || !span.SpanContext().IsValid() {
		t.Errorf("recording %v, valid %v", span.IsRecording(), span.SpanContext().IsValid())
	}
	span.End()
	quiet.Flush(t.Context())
}

// No gift's reference is in a line, whatever its caller or an error writes.
func TestLog_coversGifts(t *testing.T) {
	var out bytes.Buffer
	const gift = "CW-G7KQ2M9XHTB4N"
	tel := telemetry.To(&out, "payments")
	var nobody *url.Error
	err := fmt.Errorf("ask: %w", &url.Error{Op: "Get", URL: "https://rail.example/transfer/" + strings.ToLower(gift) + "-1", Err: io.EOF})
	tel.Log.With("path", "/claim/"+gift).WithGroup("of").Warn("no "+gift, "err", err, "none", error(nobody), "kept", "CW-XE3DB8WQTUGW", "n", 5)
	line := out.String()
	if strings.Contains(strings.ToUpper(line), gift[4:]) {
		t.Errorf("a line holds the gift: %s", line)
	}
	for _, want := range []string{`"msg":"no CW-****"`, `rail.example/transfer/CW-****-1`, `"path":"/claim/CW-****"`, `"kept":"CW-XE3DB8WQTUGW"`, `"n":5`} {
		if !strings.Contains(line, want) {
			t.Errorf("%s is not in %s", want, line)
		}
	}
}
