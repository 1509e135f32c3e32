// Package bus carries the messages of libs/wire over RabbitMQ. Consumers are Watermill's AMQP subscribers; the
// publisher uses amqp091 itself because it pipelines its confirms. It is the only package that knows either library:
// both lose messages, hang or loop under their defaults, and a comment at each workaround says why.
//
// The promise to handlers: a message is delivered until its handler has returned nil or a permanent fault, or has
// panicked panicsMax times; it may be delivered more than once. After a fault of the infrastructure the handler is
// called again, with waits, until it succeeds or the process stops. The bus has no database, so handlers must detect
// duplicates (libs/inbox).
package bus

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/config"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/trust"
	"causeway.internal/libs/wire"
)

// Config holds the operator's settings.
type Config struct {
	URL config.Secret `env:"AMQP_URL,required" doc:"RabbitMQ: amqp(s)://user:password@host:port/vhost"`

	CA          config.Secret `env:"AMQP_CA" doc:"certificates of the authorities that RabbitMQ's certificate may come from, in PEM; empty: the system's"`
	TLSRequired bool          `env:"AMQP_TLS_REQUIRED" envDefault:"false" doc:"true refuses an AMQP_URL that is not amqps://; true in production"`

	Key     config.Secret `env:"MESSAGE_KEY" doc:"id:base64(32 bytes), the Ed25519 private key that signs every message this service publishes; empty publishes unsigned (docs/runbooks/keys.md)"`
	Trusted []string      `env:"MESSAGE_PUBLIC_KEYS" doc:"comma separated producer/id:base64(32 bytes), the public keys of the services whose messages this one reads; two of one producer while its key is replaced"`
	// SignPacks is false beside consumers of v0.1.0, which refuse such packs.
	SignPacks bool `env:"SIGN_PACKS" envDefault:"false" doc:"true signs the messages of a pack together, at a fraction of the cost; turn it on once every consumer runs a later release than v0.1.0, which would move them to its dead queues"`
	Required  bool `env:"SIGNED_MESSAGES_ONLY" envDefault:"false" doc:"true refuses messages that carry no signature of a known key; turn it on once every producer signs"`
}

const (
	// connectTimeout bounds TCP, TLS and AMQP handshake of one attempt.
	connectTimeout = 5 * time.Second
	// heartbeat is the interval of signs of life; a peer that is silent for two or three of them is gone.
	heartbeat = 5 * time.Second
	// firstTry is how long Dial waits for a broker before it continues without. RabbitMQ refuses a wrong password after
	// three seconds, so a later answer is no refusal.
	firstTry = 4500 * time.Millisecond
)

// Link is a service's connection to the broker. It connects on first use and again after every failure. While the
// broker is down work is delayed, and the service keeps running.
type Link struct {
	service string
	url     string

	authorities *x509.CertPool // nil for the system's
	lines       []wire.Route   // every line that the service produces or consumes
	tel         *telemetry.Telemetry
	metrics     *metrics

	publisher *Publisher
	signer    *signer
	verifier  *verifier

	handlers []handler
	started  atomic.Bool
	conn     atomic.Int64 // the consumers' open sockets: for a moment after a reconnect, the old one and the new one
	inspect  inspector
}

// Dial prepares the link of a service and tries to reach the broker once. A broker that is down, or lacks its topology,
// is no error: the link connects later, and the service starts without (docs/architecture.md#roles-of-a-process). A
// wrong URL, refused credentials and unreadable message keys are errors, because waiting cures none of them.
func Dial(ctx context.Context, cfg Config, service string, tel *telemetry.Telemetry) (*Link, error) {
	return dial(ctx, cfg, service, tel, wire.Topology())
}

// DialLines is Dial for a broker that has some lines alone, as in the tests of a service that needs no others: each
// queue costs the broker ten milliseconds of a processor.
func DialLines(ctx context.Context, cfg Config, service string, tel *telemetry.Telemetry, lines []wire.Route) (*Link, error) {
	return dial(ctx, cfg, service, tel, lines)
}

func dial(ctx context.Context, cfg Config, service string, tel *telemetry.Telemetry, topology []wire.Route) (*Link, error) {
	url := cfg.URL.Reveal()
	uri, err := amqp.ParseURI(url)
	if err != nil {
		return nil, errors.New("AMQP_URL is not an AMQP URL") // the parser's error would show the password
	}
	if cfg.TLSRequired && uri.Scheme != "amqps" {
		return nil, errors.New("AMQP_TLS_REQUIRED is true and AMQP_URL does not begin with amqps://")
	}
	authorities, err := trust.Authorities(cfg.CA.Reveal())
	if err != nil {
		return nil, fmt.Errorf("AMQP_CA: %w", err)
	}
	lines := linesOf(service, topology)
	signer, verifier, err := readKeys(cfg, service, lines)
	if err != nil {
		return nil, err
	}
	l := &Link{service: service, url: url, authorities: authorities, lines: lines, tel: tel, metrics: newMetrics(tel.Registry), signer: signer, verifier: verifier}
	l.publisher = newPublisher(l)
	l.inspect.open, l.inspect.metrics = l.open, l.metrics

	ctx, cancel := context.WithTimeout(ctx, firstTry)
	defer cancel()
	switch err := l.lookOnce(ctx); {
	case isFinal(err), errors.Is(err, amqp.ErrCredentials), trust.Refused(err): // the start shows an operator's mistake at once
		return nil, err
	case err != nil:
		tel.Log.Warn("broker not usable, continuing without", "err", err)
	}
	return l, nil
}

// linesOf lists the lines of the topology that a service uses.
func linesOf(service string, topology []wire.Route) []wire.Route {
	var lines []wire.Route
	for _, line := range topology {
		if line.Exchange == service || line.Consumer == service {
			lines = append(lines, line)
		}
	}
	return lines
}

// lookOnce checks everything that the service uses over a connection of its own.
func (l *Link) lookOnce(ctx context.Context) error {
	conn, err := l.open(ctx, roleInspect)
	if err != nil {
		return err
	}
	defer conn.end()
	channel, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("opening a channel: %w", err)
	}
	return look(channel, l.service, l.lines)
}

// Publisher returns the link's publisher; a link has one.
func (l *Link) Publisher() *Publisher { return l.publisher }

// Close closes the connections outside Run: those of the publisher and of the readiness check.
func (l *Link) Close() error {
	l.inspect.close()
	return l.publisher.Close()
}

// metrics are the bus's instruments; queue and message names are a closed set, so labels stay few.
type metrics struct {
	consumed  *prometheus.CounterVec
	failed    *prometheus.CounterVec
	dead      *prometheus.CounterVec
	forged    *prometheus.CounterVec
	unsigned  *prometheus.CounterVec
	waiting   *prometheus.GaugeVec
	buried    *prometheus.GaugeVec
	seconds   *prometheus.HistogramVec
	published *prometheus.CounterVec
	refused   prometheus.Counter
	connected *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	queue := []string{"queue"}
	m := &metrics{
		consumed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bus_consumed_total", Help: "Messages whose handler succeeded.",
		}, queue),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bus_failed_total", Help: "Handler runs that failed and are tried again.",
		}, queue),
		dead: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bus_dead_total", Help: "Messages moved to the dead queue.",
		}, queue),
		forged: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bus_forged_total", Help: "Messages refused because they carry no valid signature of their producer.",
		}, queue),
		unsigned: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bus_unsigned_total", Help: "Messages taken without a signature of a known key, because SIGNED_MESSAGES_ONLY is off.",
		}, queue),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bus_queue_messages", Help: "Messages that wait in a queue for their handler, when the broker was last asked.",
		}, queue),
		buried: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bus_dead_messages", Help: "Messages in the dead queue of a queue, moved there by its consumer or by the broker, and in the queue of unroutable messages.",
		}, queue),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "bus_handler_seconds", Help: "Time of one handler run.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, queue),
		published: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "bus_published_total", Help: "Messages that the broker has confirmed.",
		}, []string{"message"}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "bus_publish_errors_total", Help: "Batches that were not confirmed and will be published again.",
		}),
		connected: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "bus_connected", Help: "Open connections: usually 1, for a moment 2 after a reconnect. The next message opens the one that publishes; the others open at once.",
		}, []string{"connection"}),
	}
	registry.MustRegister(m.consumed, m.failed, m.dead, m.forged, m.unsigned, m.waiting, m.buried, m.seconds, m.published, m.refused, m.connected)
	return m
}

// inspector queries the broker's queues over a connection of its own, which never publishes and so is never blocked by
// a memory alarm.
type inspector struct {
	open    func(ctx context.Context, role string) (*connection, error)
	metrics *metrics

	buried atomic.Bool // this process has buried a message since the dead queues were measured

	mu        sync.Mutex
	conn      *connection
	asked     time.Time
	askedDead time.Time
	verdict   error
	depths    map[string]Depth // of the queues when they were last measured
}

func (i *inspector) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.conn != nil {
		i.conn.end()
		i.conn = nil
	}
}
