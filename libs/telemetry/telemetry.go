// Package telemetry gives a process its logger, its metrics registry and its tracer, and the handler of the operations
// port. Everything is handed on as a value: nothing here registers with Prometheus' default registry. The two globals
// that OpenTelemetry's libraries read, the provider and the propagator, are set by Start alone.
package telemetry

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/version"
)

// Config holds the operator's settings.
type Config struct {
	LogLevel     string  `env:"LOG_LEVEL" envDefault:"info" doc:"least level that is logged: debug, info, warn or error"`
	OTLPEndpoint string  `env:"OTEL_EXPORTER_OTLP_ENDPOINT" doc:"base URL of an OTLP/HTTP collector for traces; empty means traces are not exported"`
	TraceRatio   float64 `env:"OTEL_TRACES_SAMPLER_ARG" envDefault:"1" doc:"share of traces that are exported, 0 to 1; a caller's decision is followed"`
}

// Telemetry is a process's logger, metrics and tracer.
type Telemetry struct {
	Service  string
	Log      *slog.Logger
	Registry *prometheus.Registry
	Tracer   trace.Tracer

	provider *sdktrace.TracerProvider
}

// Start builds the telemetry of a service and installs the global tracer provider and propagator. Logs go to standard
// error as JSON; the standard logger is silenced. Without an endpoint trace ids exist for the logs alone; no span is
// recorded or exported.
func Start(ctx context.Context, service string, cfg Config) (*Telemetry, error) {
	log, err := newLogger(os.Stderr, service, cfg.LogLevel)
	if err != nil {
		return nil, err
	}
	provider, err := newProvider(ctx, service, cfg)
	if err != nil {
		return nil, err
	}
	silence(log)
	otel.SetTracerProvider(provider)
	otel.SetTextMapPropagator(Propagator())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("traces not exported", "err", err) }))
	return assemble(service, log, provider), nil
}

// Discard is telemetry without output, for short commands and for benchmarks. It changes no global.
func Discard(service string) *Telemetry {
	return To(io.Discard, service)
}

// To is telemetry that logs to w and exports nothing. It sets the global propagator, because trace context crosses the
// broker in tests too, and no other global.
func To(w io.Writer, service string) *Telemetry {
	log, err := newLogger(w, service, "debug")
	if err != nil {
		panic(err) // "debug" is a level
	}
	otel.SetTextMapPropagator(Propagator())
	return assemble(service, log, sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())))
}

// Propagator carries W3C trace context and baggage. Package otel's default carries nothing.
func Propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

func assemble(service string, log *slog.Logger, provider *sdktrace.TracerProvider) *Telemetry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(service),
	)
	return &Telemetry{
		Service: service, Log: log, Registry: registry,
		Tracer: provider.Tracer("causeway.internal/" + service), provider: provider,
	}
}

func newProvider(ctx context.Context, service string, cfg Config) (*sdktrace.TracerProvider, error) {
	if cfg.OTLPEndpoint == "" {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample())), nil
	}
	// The endpoint is a base URL, as the OpenTelemetry specification has it; the exporter takes the full path.
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimRight(cfg.OTLPEndpoint, "/")+"/v1/traces"))
	if err != nil {
		return nil, fmt.Errorf("opening the trace exporter: %w", err)
	}
	attributes := resource.NewSchemaless(
		attribute.String("service.namespace", "causeway"),
		attribute.String("service.name", service),
		attribute.String("service.version", version.Read().Version),
	)
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(attributes),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(cfg.TraceRatio))),
	), nil
}

// flushTimeout bounds Flush: an unavailable collector must not delay the end of a process.
const flushTimeout = 3 * time.Second

// Flush sends the buffered spans and stops the tracer at the end of a process, when its context has ended.
func (t *Telemetry) Flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil {
		t.Log.Warn("traces not flushed", "err", err)
	}
}

func buildInfo(service string) prometheus.Collector {
	build := version.Read()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "build_info",
		Help:        "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"service": service, "version": build.Version, "revision": build.Revision, "goversion": build.Go},
	}, func() float64 { return 1 })
}
