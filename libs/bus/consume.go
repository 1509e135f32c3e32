package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/cenkalti/backoff/v5"
	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
)

const (
	// prefetch is how many messages a consumer holds: the one in its handler and the next.
	prefetch = 2
	// attemptTimeout bounds one run of a handler.
	attemptTimeout = time.Minute
	// drainTimeout is how long running handlers may go on after Run's context has ended.
	drainTimeout = 20 * time.Second
	// closeTimeout bounds the close of the connection.
	closeTimeout = 5 * time.Second
	// panicsMax is how often a message may panic its handler before it is moved to the dead queue.
	panicsMax = 5
	// The waits between the runs of a failing handler.
	retryFirst = 50 * time.Millisecond
	retryMax   = 5 * time.Second
)

// Message is a handler's argument. ID is the same on every delivery. Headers holds the text headers, among them the
// trace context that ctx carries already. Returned is true after an operator's redrive from a dead queue.
type Message struct {
	ID       string
	Name     string
	Body     []byte
	Headers  map[string]string
	Returned bool

	seal  *seal // of its pack; nil if it has a signature of its own
	place int   // in its pack
}

// under returns the message with the span in ctx as its trace context, where that is recorded.
func (m Message) under(ctx context.Context) Message {
	if parent := telemetry.TraceParent(ctx); parent != "" {
		m.Headers = maps.Clone(m.Headers)
		m.Headers[telemetry.TraceHeader] = parent
	}
	return m
}

type handler struct {
	queue    string
	parallel int
	handle   func(ctx context.Context, m Message) error
	all      func(ctx context.Context, pack []Message) []error // nil unless the handler takes packs whole
}

// Handle adds a handler for a queue; call it before Run. At most parallel messages of the queue are in the handler at a
// time; with 1 they come in order. A pack counts as one message, though its messages are in the handler together. After
// a lost connection or a crash the last few are delivered again, in order too.
//
// A nil error acknowledges the message. An error marked by fault.Permanent moves it to the dead queue with the reason.
// After any other error the handler is called again, with growing waits, until it returns one of the two or the process
// stops; the broker does not get the message back meanwhile. The handler's context outlives Run's, so that a started
// run may finish.
func (l *Link) Handle(queue string, parallel int, h func(ctx context.Context, m Message) error) {
	l.add(handler{queue: queue, parallel: parallel, handle: h})
}

// HandleAll is Handle for a handler that takes the messages of a pack in one call, because together they cost little
// more than one. It returns an error for each message, or nil when none failed. It gets the failed ones again one by
// one, or all of them when it panicked or returned another number of errors. A message that travels alone is a pack of
// one.
//
// ctx carries nothing of the messages. The trace context in the headers of a recorded message is that of its own span
// here.
func (l *Link) HandleAll(queue string, parallel int, h func(ctx context.Context, pack []Message) []error) {
	l.add(handler{queue: queue, parallel: parallel, all: h, handle: func(ctx context.Context, m Message) error {
		return errors.Join(h(ctx, []Message{m.under(ctx)})...)
	}})
}

// AllOrNone makes a handler for HandleAll of h, which handles all messages of a pack or none, in one transaction. When
// h fails, h gets the messages again one by one, so that a bad one holds up no other.
func AllOrNone(h func(ctx context.Context, pack []Message) error) func(ctx context.Context, pack []Message) []error {
	return func(ctx context.Context, pack []Message) []error {
		if err := h(ctx, pack); err != nil {
			return slices.Repeat([]error{err}, len(pack))
		}
		return nil
	}
}

func (l *Link) add(h handler) {
	queue := h.queue
	for _, line := range l.lines {
		if line.Queue == queue && line.Consumer == l.service {
			l.handlers = append(l.handlers, h)
			l.metrics.buried.WithLabelValues(queue)
			for _, counter := range []*prometheus.CounterVec{
				l.metrics.consumed, l.metrics.failed, l.metrics.dead, l.metrics.forged, l.metrics.unsigned,
			} {
				counter.WithLabelValues(queue) // starts at 0: an alert cannot see a series appear
			}
			return
		}
	}
	panic(fmt.Sprintf("bus: %s does not consume %s", l.service, queue)) // a mistake in main, seen at its first start
}

// Run consumes until ctx ends. Then it takes no new message, lets running handlers finish, returns unfinished messages
// to the broker and returns. It waits for an unavailable broker, at the start and later; it returns an error only for
// faults that waiting does not cure.
func (l *Link) Run(ctx context.Context) error {
	defer l.started.Store(false)
	if len(l.handlers) == 0 {
		l.started.Store(true)
		l.measure(ctx) // shows whether the broker is up, also while nothing is published
		return nil
	}
	err := l.consume(ctx)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (l *Link) consume(ctx context.Context) error {
	hard, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	stop, end := context.WithCancel(ctx)
	defer end()
	origins, exit := &origins{}, &exit{stop: stop}
	subscriber, err := l.subscriber(ctx, origins, exit)
	if err != nil {
		return err
	}
	work := &work{link: l, stop: stop, hard: hard, origins: origins, answers: newAnswers(l.publisher, l.tel.Log, l.service, l.lines)}
	finish := work.answer(ctx)
	err = l.subscribe(stop, subscriber, work)
	exit.open.Store(true)
	if err == nil {
		l.started.Store(true)
		l.tel.Log.Info("consumers started", "queues", l.queues())
		work.wait.Go(func() { l.measure(stop) })
		<-ctx.Done()
		l.started.Store(false)
	}
	end()
	timer := time.AfterFunc(drainTimeout, kill)
	defer timer.Stop()
	work.wait.Wait()
	finish()
	l.closeSubscriber(subscriber)
	return err
}

// answer starts the answers to producers. The returned function waits until those that wait are published too.
func (w *work) answer(ctx context.Context) (finish func()) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.answers.run(ctx)
	}()
	return func() {
		end()
		<-done
	}
}

func (l *Link) queues() []string {
	names := make([]string, len(l.handlers))
	for i, h := range l.handlers {
		names[i] = h.queue
	}
	return names
}

// subscriber connects. It waits until the broker is up and has everything that the service uses.
func (l *Link) subscriber(ctx context.Context, origins *origins, exit *exit) (*wamqp.Subscriber, error) {
	return l.persist(ctx, "broker connection failed", func() (*wamqp.Subscriber, error) {
		if err := l.lookOnce(ctx); err != nil {
			return nil, err
		}
		return wamqp.NewSubscriber(l.watermill(origins, exit), logger{l.tel.Log})
	})
}

// persist tries until it succeeds, ctx ends or the error is final.
func (l *Link) persist(ctx context.Context, what string, try func() (*wamqp.Subscriber, error)) (*wamqp.Subscriber, error) {
	return backoff.Retry(ctx, func() (*wamqp.Subscriber, error) {
		s, err := try()
		switch {
		case isFinal(err):
			return nil, backoff.Permanent(err)
		case err != nil:
			l.tel.Log.Warn(what, "err", err)
		}
		return s, err
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0))
}

func waits() *backoff.ExponentialBackOff {
	waits := backoff.NewExponentialBackOff()
	waits.InitialInterval, waits.MaxInterval = retryFirst, retryMax
	return waits
}

// watermill is the subscriber's configuration. It reconnects quickly, because a queue without consumers is an outage.
func (l *Link) watermill(origins *origins, exit *exit) wamqp.Config {
	settings := l.settings(roleConsume, func(network, addr string) (net.Conn, error) {
		return l.socket(context.Background(), roleConsume, network, addr)
	})
	same := func(topic string) string { return topic }
	return wamqp.Config{
		Connection: wamqp.ConnectionConfig{AmqpURI: l.url, AmqpConfig: &settings, Reconnect: &wamqp.ReconnectConfig{
			BackoffInitialInterval: retryFirst, BackoffRandomizationFactor: 0.5, BackoffMultiplier: 1.5, BackoffMaxInterval: 2 * time.Second,
		}},
		Marshaler:       marshaler{origins, wire.Returns(l.service)},
		Exchange:        wamqp.ExchangeConfig{GenerateName: same},
		Queue:           wamqp.QueueConfig{GenerateName: same},
		QueueBind:       wamqp.QueueBindConfig{GenerateRoutingKey: same},
		Consume:         wamqp.ConsumeConfig{Qos: wamqp.QosConfig{PrefetchCount: prefetch}},
		TopologyBuilder: builder{l, exit},
	}
}

// exit is the way out of Watermill's loops at a stop. A loop whose context has ended chooses at random between its end
// and another subscription, so that of thirty loops some subscribe again half a dozen times, and take messages from the
// replicas that stay. Before that choice a loop checks its topology, and there it is ended.
type exit struct {
	stop context.Context
	open atomic.Bool // set once all have subscribed; until then the check may run on the goroutine that subscribes
}

// take ends the calling goroutine, after its deferred calls, if it is a loop of Watermill and the process stops.
func (e *exit) take() {
	if e.open.Load() && e.stop.Err() != nil {
		runtime.Goexit()
	}
}

// subscribe starts every handler. One Watermill subscription has one message in flight whatever the prefetch, so a
// queue gets as many subscriptions as its handler may run in parallel.
func (l *Link) subscribe(ctx context.Context, subscriber *wamqp.Subscriber, work *work) error {
	for _, h := range l.handlers {
		for range h.parallel {
			if ctx.Err() != nil {
				return ctx.Err() // the library would subscribe all the same
			}
			messages, err := l.subscribeOne(ctx, subscriber, h.queue)
			if err != nil {
				return err
			}
			work.wait.Go(func() { work.consume(h, messages) })
		}
	}
	return nil
}

// subscribeOne retries when the connection drops between connecting and subscribing.
func (l *Link) subscribeOne(ctx context.Context, subscriber *wamqp.Subscriber, queue string) (<-chan *message.Message, error) {
	return backoff.Retry(ctx, func() (<-chan *message.Message, error) {
		return subscriber.Subscribe(ctx, queue)
	}, backoff.WithBackOff(waits()), backoff.WithMaxElapsedTime(0))
}

// closeSubscriber ends the subscriptions; unacknowledged messages return to their queue.
func (l *Link) closeSubscriber(subscriber *wamqp.Subscriber) {
	done := make(chan error, 1)
	go func() { done <- subscriber.Close() }()
	select {
	case err := <-done:
		if err != nil {
			l.tel.Log.Warn("consumers not closed", "err", err)
		}
	case <-time.After(closeTimeout):
		l.tel.Log.Warn("consumers not closed in time, abandoned")
	}
}

// work is one Run: stop ends the taking of new messages, hard ends running handlers too.
type work struct {
	link    *Link
	stop    context.Context
	hard    context.Context
	origins *origins
	answers *answers
	wait    sync.WaitGroup
}

// consume handles the messages of one subscription. It returns when the subscription has ended, or with a message that
// it leaves unanswered because the process stops. It closes that message's channel, so that the broker returns it and
// the one fetched behind it in order; after Watermill's nack the later one would overtake.
func (w *work) consume(h handler, messages <-chan *message.Message) {
	for m := range messages {
		channel := w.origins.take(m)
		if w.stop.Err() != nil || !w.take(h, unpack(m)) {
			if err := channel.Close(); err != nil {
				w.link.tel.Log.Debug("channel not closed", "err", err) // the connection is gone, and so is the message
			}
			return
		}
		m.Ack()
	}
}

// take finishes a message, or all that it carries.
func (w *work) take(h handler, msg Message) bool {
	if msg.Headers[packHeader] != "" {
		return w.finishPack(h, msg)
	}
	return w.finish(h, msg)
}

// finish runs the handler until the message is done; false means that the process stops first.
func (w *work) finish(h handler, msg Message) bool {
	ctx := telemetry.Extract(otel.GetTextMapPropagator().Extract(w.hard, propagation.MapCarrier(msg.Headers)), msg.Headers)
	answer := w.answers.add
	if err := w.link.authentic(h.queue, msg); err != nil {
		w.link.metrics.forged.WithLabelValues(h.queue).Inc()
		h.handle = func(context.Context, Message) error { return err }
		answer = func(Message) {} // or a forgery would delete the producer's own message
	}
	waits, panics := waits(), 0
	for attempt := 1; ; attempt++ {
		err := w.attempt(ctx, h, msg)
		if err == nil {
			w.link.metrics.consumed.WithLabelValues(h.queue).Inc()
			answer(msg)
			return true
		}
		if p, ok := errors.AsType[panicked](err); ok {
			if panics++; panics >= panicsMax {
				err = fault.Permanent(p)
			}
		}
		if fault.IsPermanent(err) {
			if err = w.link.bury(ctx, h.queue, msg, err); err == nil {
				answer(msg)
				return true
			}
		}
		w.link.metrics.failed.WithLabelValues(h.queue).Inc()
		if attempt&(attempt-1) == 0 { // the 1st, 2nd, 4th, 8th … time: an outage must not fill the disk
			w.link.tel.Log.WarnContext(ctx, "handler failed, retrying", "queue", h.queue, "message", msg.Name, "id", msg.ID, "attempt", attempt, "err", err)
		}
		select {
		case <-w.stop.Done():
			return false
		case <-time.After(waits.NextBackOff()):
		}
	}
}

// panicked is a handler's panic as an error; its text goes to the log and, if it persists, into the dead queue.
type panicked struct {
	value any
	stack []byte
}

func (p panicked) Error() string { return fmt.Sprintf("panic: %v", p.value) }

// attempt is one run of the handler, in a span that continues the message's trace.
func (w *work) attempt(ctx context.Context, h handler, m Message) (err error) {
	if m.ID == "" {
		return fault.Permanent(errors.New("the message has no id"))
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	ctx, span := w.span(ctx, h, m)
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			caught := panicked{p, debug.Stack()}
			w.link.tel.Log.ErrorContext(ctx, "handler panicked", "queue", h.queue, "id", m.ID, "panic", fmt.Sprint(p), "stack", string(caught.stack))
			err = caught
		}
		if err != nil {
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
		w.link.metrics.seconds.WithLabelValues(h.queue).Observe(time.Since(began).Seconds())
	}()
	return h.handle(ctx, m)
}

func (w *work) span(ctx context.Context, h handler, m Message) (context.Context, trace.Span) {
	return w.link.tel.Tracer.Start(ctx, "consume "+m.Name, trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(attribute.String("messaging.system", "rabbitmq"), attribute.String("messaging.destination.name", h.queue)))
}

func unpack(m *message.Message) Message {
	headers := make(map[string]string, len(m.Metadata))
	for key, value := range m.Metadata {
		if !strings.HasPrefix(key, "\x00") && key != wamqp.MetadataRedeliveredKey {
			headers[key] = value
		}
	}
	return Message{ID: m.UUID, Name: m.Metadata[nameKey], Body: m.Payload, Headers: headers, Returned: m.Metadata[returnedKey] != ""}
}

// keptMost bounds the headers of a dead message, which have to fit a frame of the broker with the reason beside them.
const keptMost = 64 << 10

// kept are the headers with which a message goes to the dead queue. The product writes no more than fit. Of more, only
// those are kept that a redrive needs.
func kept(all map[string]string) amqp.Table {
	size := 0
	for key, value := range all {
		size += len(key) + len(value)
	}
	headers := make(amqp.Table, len(all)+3)
	for key, value := range all {
		ours := key == signatureHeader || key == packHeader || key == wire.RowHeader || key == telemetry.TraceHeader
		if key != DeliveryCount && (size <= keptMost || ours && len(value) <= signatureMost) {
			headers[key] = value
		}
	}
	return headers
}

// bury publishes a message to the dead queue and returns once the broker has confirmed it. The original is acknowledged
// after that, so a crash between the two leaves it in both and never in none.
func (l *Link) bury(ctx context.Context, queue string, m Message, reason error) error {
	headers := kept(m.Headers)
	if m.seal != nil {
		headers[signatureHeader] = m.seal.alone(m.place)
	}
	headers[reasonHeader] = clip(reason.Error(), reasonMax)
	headers[queueHeader] = queue
	headers[timeHeader] = time.Now().UTC().Format(time.RFC3339)
	err := l.publisher.send(ctx, wire.Returns(l.service), wire.DeadQueue(queue), []amqp.Publishing{{
		Headers: headers, ContentType: "application/json", DeliveryMode: amqp.Persistent,
		MessageId: m.ID, Type: m.Name, AppId: l.service, Timestamp: time.Now(), Body: m.Body,
	}})
	if err != nil {
		return fmt.Errorf("moving a message to the dead queue: %w", err)
	}
	l.metrics.dead.WithLabelValues(queue).Inc()
	l.inspect.buried.Store(true)
	l.tel.Log.ErrorContext(ctx, "message moved to the dead queue", "queue", queue, "message", m.Name, "id", m.ID, "reason", reason)
	return nil
}
