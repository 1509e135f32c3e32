//go:build integration

package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus/testutil"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/goleak"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// link dials for one test and closes at its end.
func link(t testing.TB, amqpURL, service string) *Link {
	t.Helper()
	return linkTo(t, amqpURL, service, telemetrytest.ForTest(t))
}

// linkTo is link with a telemetry of the test's.
func linkTo(t testing.TB, amqpURL, service string, tel *telemetry.Telemetry) *Link {
	t.Helper()
	l, err := dial(t.Context(), Config{URL: config.Secret(amqpURL)}, service, tel, lines())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// run starts consuming and returns a function that stops it and waits.
func run(t testing.TB, l *Link) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

func publish(t *testing.T, l *Link, ids ...string) {
	t.Helper()
	if err := l.Publisher().Publish(string(placed), messages(ids...)...); err != nil {
		t.Fatal(err)
	}
}

func messages(ids ...string) []*message.Message {
	all := make([]*message.Message, len(ids))
	for i, id := range ids {
		all[i] = message.NewMessage(id, []byte(`{"order":"`+id+`"}`))
	}
	return all
}

// patience is how long a test waits for the broker: the machine may be busy.
const patience = 2 * time.Minute

// receive waits for the next value; a test that would hang fails instead.
func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatalf("wait for a message: got none within %s", patience)
		panic("unreachable")
	}
}

// eventually polls a condition of the broker, which tells nobody when it changes.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if holds() {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
	t.Fatalf("not within %s: %s", patience, what)
}

func TestPublish_arrivesWhole(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	got := make(chan Message, 1)
	traced := make(chan trace.TraceID, 1)
	receiver.Handle(queue, 1, func(ctx context.Context, m Message) error {
		traced <- trace.SpanContextFromContext(ctx).TraceID()
		got <- m
		return nil
	})
	run(t, receiver)

	ctx, span := sender.tel.Tracer.Start(t.Context(), "create")
	defer span.End()
	m := message.NewMessage("msg_1", []byte(`{"order":"1"}`))
	m.Metadata.Set("x-request-id", "req_7")
	otel.GetTextMapPropagator().Inject(ctx, propagation.MapCarrier(m.Metadata))
	if err := sender.Publisher().Publish(string(placed), m); err != nil {
		t.Fatal(err)
	}

	if id := receive(t, traced); id != span.SpanContext().TraceID() {
		t.Errorf("the handler's trace is %s, the sender's %s", id, span.SpanContext().TraceID())
	}
	arrived := receive(t, got)
	if arrived.ID != "msg_1" || arrived.Name != string(placed) || string(arrived.Body) != `{"order":"1"}` || arrived.Headers["x-request-id"] != "req_7" {
		t.Errorf("arrived: %+v", arrived)
	}
}

func TestPublish_manyAtOnceKeepTheirOrder(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	const count = 2500 // more than two batches
	var ids []string
	for i := range count {
		ids = append(ids, strconv.Itoa(i))
	}
	got := make(chan string, count)
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	publish(t, sender, ids...)
	run(t, receiver)
	for _, want := range ids {
		if id := receive(t, got); id != want {
			t.Fatalf("got %s, want %s", id, want)
		}
	}
}

func TestPublish_refusals(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	if err := sender.Publisher().Publish("orders.unheard_of.v1", messages("1")...); err == nil {
		t.Error("an unknown name was published")
	}
	if err := receiver.Publisher().Publish(string(placed), messages("1")...); err == nil {
		t.Error("a consumer published its producer's message")
	}
	if err := sender.Publisher().Publish(string(placed), messages("")...); err == nil {
		t.Error("a message without id was published")
	}
	if err := sender.Publisher().Close(); err != nil {
		t.Error(err)
	}
	if err := sender.Publisher().Publish(string(placed), messages("1")...); !errors.Is(err, ErrClosed) {
		t.Errorf("publishing after close: %v", err)
	}
}

// A message that no queue takes must never count as delivered: with the binding gone it is kept in `unrouted`, with
// that gone too publishing is an error until an administrator has declared everything again.
func TestPublish_unroutable(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender := link(t, vhost, orders)
	publish(t, sender, "1")
	admin := mq.Open(t, vhost)

	if err := admin.QueueUnbind(queue, string(placed), orders, nil); err != nil {
		t.Fatal(err)
	}
	publish(t, sender, "2")
	eventually(t, "the message is kept in unrouted", func() bool { return mq.Depth(t, admin, wire.Unrouted) == 1 })

	if _, err := admin.QueueDelete(wire.Unrouted, false, false, false); err != nil {
		t.Fatal(err)
	}
	err := sender.Publisher().Publish(string(placed), messages("3")...)
	if err == nil || !strings.Contains(err.Error(), "message 3 reached no queue") {
		t.Fatalf("unroutable publish: %v", err)
	}
	if err := sender.Publisher().Publish(string(placed), messages("3")...); err == nil || !strings.Contains(err.Error(), "no queue "+wire.Unrouted) {
		t.Fatalf("publishing without the topology: %v", err)
	}
	mq.Declare(t, vhost, lines()...)
	publish(t, sender, "3")
	eventually(t, "the queue is bound again", func() bool { return mq.Depth(t, admin, queue) == 2 })
}

// RabbitMQ adds an integer header to every redelivery, on which Watermill's own marshaler loops for ever.
func TestConsume_redeliveryWithIntegerHeaders(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	receiver := link(t, vhost, billing)
	admin := mq.Open(t, vhost)
	err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false, amqp.Publishing{
		MessageId: "1", Body: []byte("{}"), DeliveryMode: amqp.Persistent,
		Headers: amqp.Table{"n": int32(7), "list": []any{"a", int64(1)}, "nested": amqp.Table{"a": "b"}, "raw": []byte{1}, "text": "kept"},
	})
	if err != nil {
		t.Fatal(err)
	}
	var d amqp.Delivery
	eventually(t, "the message can be fetched", func() bool {
		var ok bool
		d, ok, err = admin.Get(queue, false)
		return ok && err == nil
	})
	if err := d.Nack(false, true); err != nil {
		t.Fatal(err)
	}
	got := make(chan Message, 1)
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m; return nil })
	run(t, receiver)
	m := receive(t, got)
	if m.Headers[DeliveryCount] != "1" || m.Headers["text"] != "kept" || m.Name != string(placed) || len(m.Headers) != 2 {
		t.Errorf("arrived: %+v", m)
	}
}

func TestConsume_asManyInFlightAsAsked(t *testing.T) {
	t.Parallel()
	for _, parallel := range []int{1, 4, 64} {
		t.Run(strconv.Itoa(parallel), func(t *testing.T) {
			t.Parallel()
			vhost := mq.New(t, lines()...)
			sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
			var inFlight, most atomic.Int64
			entered, release := make(chan struct{}, 1000), make(chan struct{})
			receiver.Handle(queue, parallel, func(context.Context, Message) error {
				now := inFlight.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				entered <- struct{}{}
				<-release
				inFlight.Add(-1)
				return nil
			})
			run(t, receiver)
			var ids []string
			for i := range 3 * parallel {
				ids = append(ids, strconv.Itoa(i))
			}
			publish(t, sender, ids...)
			for range parallel { // a group commit: the handlers wait until so many are in
				receive(t, entered)
			}
			close(release)
			for range 2 * parallel {
				receive(t, entered)
			}
			if most.Load() != int64(parallel) {
				t.Errorf("%d in flight, want %d", most.Load(), parallel)
			}
		})
	}
}

// A handler that runs when the process stops finishes and its message is not delivered again.
func TestRun_drains(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	entered, release := make(chan struct{}), make(chan struct{})
	finished := make(chan error, 1)
	receiver.Handle(queue, 1, func(ctx context.Context, _ Message) error {
		close(entered)
		<-release
		finished <- ctx.Err()
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- receiver.Run(ctx) }()
	publish(t, sender, "1")
	receive(t, entered)
	cancel()
	eventually(t, "the link is not ready while it drains", func() bool { return receiver.Ready(t.Context()) != nil })
	select {
	case err := <-done:
		t.Fatalf("run returned before its handler: %v", err)
	default:
	}
	close(release)
	if err := receive(t, finished); err != nil {
		t.Errorf("the handler's context ended under it: %v", err)
	}
	if err := receive(t, done); err != nil {
		t.Error(err)
	}
	admin := mq.Open(t, vhost)
	if n := mq.Depth(t, admin, queue); n != 0 {
		t.Errorf("%d messages came back", n)
	}
	if n := mq.Depth(t, admin, wire.DeadQueue(queue)); n != 0 {
		t.Errorf("%d messages are dead", n)
	}
}

// A consumer that stops subscribes to nothing again: it would take messages from the replicas that stay, and the stop
// would last until every subscription had ended by chance.
func TestRun_stopsAtOnce(t *testing.T) {
	t.Parallel()
	const parallel = 30
	log := &telemetrytest.Log{}
	l := linkTo(t, mq.New(t, lines()...), billing, telemetry.To(log, "test"))
	l.Handle(queue, parallel, func(context.Context, Message) error { return nil })
	stop := run(t, l)
	eventually(t, "every subscription consumes", func() bool { return l.Ready(t.Context()) == nil })
	stop()
	for event, want := range map[string]int{"Starting consuming": parallel, "Stopped consuming": parallel} {
		if got := strings.Count(log.String(), event); got != want {
			t.Errorf("%s, stop included: got %d times, want %d", event, got, want)
		}
	}
}

// A consumer that is stopped while it starts makes no further subscriptions.
func TestRun_stopsWhileStarting(t *testing.T) {
	t.Parallel()
	const parallel = 200
	ctx, end := context.WithCancel(t.Context())
	defer end()
	log := &telemetrytest.Log{}
	first := writer(func(line []byte) (int, error) {
		if bytes.Contains(line, []byte("Starting consuming")) {
			end()
		}
		return log.Write(line)
	})
	l := linkTo(t, mq.New(t, lines()...), billing, telemetry.To(first, "test"))
	l.Handle(queue, parallel, func(context.Context, Message) error { return nil })
	if err := l.Run(ctx); err != nil {
		t.Errorf("run: %v, want no error", err)
	}
	if got := strings.Count(log.String(), "Stopped consuming"); got == 0 || got >= parallel/2 {
		t.Errorf("subscriptions of a consumer that is stopped at its first: got %d of %d, want a few", got, parallel)
	}
}

// writer is a function as an io.Writer.
type writer func([]byte) (int, error)

func (w writer) Write(line []byte) (int, error) { return w(line) }

// A handler that fails when the process stops gives its message back, whole, for the next process.
func TestRun_givesBackWhatIsUnfinished(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, first, second := link(t, vhost, orders), link(t, vhost, billing), link(t, vhost, billing)
	failed := make(chan struct{}, 1000)
	first.Handle(queue, 1, func(context.Context, Message) error {
		failed <- struct{}{}
		return errors.New("database is away")
	})
	stop := run(t, first)
	publish(t, sender, "1", "2", "3")
	receive(t, failed)
	receive(t, failed)
	stop()
	got := make(chan string, 3)
	second.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	run(t, second)
	if order := []string{receive(t, got), receive(t, got), receive(t, got)}; !slices.Equal(order, []string{"1", "2", "3"}) {
		t.Errorf("order %v", order)
	}
}

// An infrastructure fault is retried in place: no nack, no dead letter, and the order holds.
func TestConsume_transientFaultsWaitInPlace(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	var tries atomic.Int64
	type seen struct{ id, count string }
	got := make(chan seen, 3)
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error {
		if tries.Add(1) <= 5 {
			return errors.New("database is away")
		}
		got <- seen{m.ID, m.Headers[DeliveryCount]}
		return nil
	})
	run(t, receiver)
	publish(t, sender, "1", "2", "3")
	for _, want := range []string{"1", "2", "3"} {
		if s := receive(t, got); s.id != want || s.count != "" {
			t.Errorf("got %+v, want %s, never redelivered", s, want)
		}
	}
	if n := mq.Depth(t, mq.Open(t, vhost), wire.DeadQueue(queue)); n != 0 {
		t.Errorf("%d messages are dead", n)
	}
}

func TestConsume_poisonGoesToTheDeadQueueAndComesBack(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	cfg := Config{URL: config.Secret(vhost)}
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	var cured atomic.Bool
	got := make(chan Message, 10)
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error {
		switch {
		case cured.Load(), m.ID == "good":
			got <- m
			return nil
		case m.ID == "panics":
			panic("index out of range")
		default:
			return fault.Permanent(errors.New("no such field: amuont"))
		}
	})
	run(t, receiver)
	m := message.NewMessage("bad", []byte(`{"amuont":1}`))
	m.Metadata.Set("x-request-id", "req_7")
	if err := sender.Publisher().Publish(string(placed), m); err != nil {
		t.Fatal(err)
	}
	publish(t, sender, "panics", "good")
	if m := receive(t, got); m.ID != "good" {
		t.Fatalf("got %s", m.ID)
	}

	admin := mq.Open(t, vhost)
	eventually(t, "two messages are dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 2 })
	eventually(t, "the gauge shows them", func() bool {
		return receiver.Ready(t.Context()) == nil && testutil.ToFloat64(receiver.metrics.buried.WithLabelValues(queue)) == 2
	})
	for range 2 { // looking changes nothing
		dead, err := deadList(t.Context(), cfg, billing, lines(), 10)
		if err != nil {
			t.Fatal(err)
		}
		if len(dead) != 2 || dead[0].ID != "bad" || dead[0].Reason != "no such field: amuont" || dead[0].Queue != queue || dead[0].Name != string(placed) ||
			dead[0].Head != `{"amuont":1}` || dead[0].Size != 12 || time.Since(dead[0].Time) > time.Minute ||
			dead[1].ID != "panics" || dead[1].Reason != "panic: index out of range" {
			t.Fatalf("dead: %+v", dead)
		}
		eventually(t, "both are back", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 2 })
	}
	if dead, err := deadList(t.Context(), cfg, billing, lines(), 1); err != nil || len(dead) != 1 {
		t.Errorf("limit 1: %v, %v", dead, err)
	}

	cured.Store(true)
	eventually(t, "both are back", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 2 })
	if n, err := deadRedrive(t.Context(), cfg, billing, lines(), DeadMax, []string{"bad"}); n != 1 || err != nil {
		t.Fatalf("redrive one: %d, %v", n, err)
	}
	if m := receive(t, got); m.ID != "bad" || m.Headers["x-request-id"] != "req_7" || m.Headers[reasonHeader] != "" || m.Name != string(placed) {
		t.Errorf("redriven: %+v", m)
	}
	eventually(t, "one is left", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
	if n, err := deadRedrive(t.Context(), cfg, billing, lines(), DeadMax, nil); n != 1 || err != nil {
		t.Fatalf("redrive all: %d, %v", n, err)
	}
	if m := receive(t, got); m.ID != "panics" {
		t.Errorf("redriven: %+v", m)
	}
	if n := mq.Depth(t, admin, wire.DeadQueue(queue)); n != 0 {
		t.Errorf("%d messages are still dead", n)
	}
}

// The dead queues are measured every half a minute, because each question costs the broker as much as a message.
func TestReady_measuresDeadQueuesSeldom(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	receiver := link(t, vhost, billing)
	receiver.Handle(queue, 1, func(context.Context, Message) error { return nil })
	run(t, receiver)
	inspection := func() float64 {
		t.Helper()
		receiver.inspect.mu.Lock()
		receiver.inspect.asked = time.Time{}
		receiver.inspect.mu.Unlock()
		if err := receiver.Ready(t.Context()); err != nil {
			t.Errorf("Ready: %v, want no error", err)
		}
		return testutil.ToFloat64(receiver.metrics.buried.WithLabelValues(queue))
	}
	eventually(t, "the consumer runs", func() bool { return receiver.Ready(t.Context()) == nil })
	if got := inspection(); got != 0 {
		t.Errorf("the gauge of dead messages is %g, want 0", got)
	}
	admin := mq.Open(t, vhost) // as the broker does after many deliveries
	if err := admin.PublishWithContext(t.Context(), "", wire.DeadQueue(queue), true, false, amqp.Publishing{Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a message is dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
	if got := inspection(); got != 0 {
		t.Errorf("the gauge of dead messages is %g at the next inspection, want 0: it was measured within half a minute", got)
	}
	receiver.inspect.mu.Lock()
	receiver.inspect.askedDead = time.Now().Add(-deadEvery)
	receiver.inspect.mu.Unlock()
	if got := inspection(); got != 1 {
		t.Errorf("the gauge of dead messages is %g half a minute later, want 1", got)
	}
}

// buried has a consumer bury messages, and tells when so many are dead.
func buried(t *testing.T, sent ...*message.Message) (cfg Config, dead func(n int) func() bool) {
	t.Helper()
	vhost := mq.New(t, lines()...)
	cfg = Config{URL: config.Secret(vhost)}
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	receiver.Handle(queue, 1, func(context.Context, Message) error { return fault.Permanent(errors.New("unreadable")) })
	run(t, receiver)
	if err := sender.Publisher().Publish(string(placed), sent...); err != nil {
		t.Fatal(err)
	}
	admin := mq.Open(t, vhost)
	dead = func(n int) func() bool { return func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == n } }
	eventually(t, "all messages are dead", dead(len(sent)))
	return cfg, dead
}

// A dead message that is discarded leaves once it is kept, and not before.
func TestDeadDiscard_keepsFirst(t *testing.T) {
	t.Parallel()
	cfg, dead := buried(t, messages("one", "two")...)
	var kept []string
	keep := func(err error) func(context.Context, Dead, []byte) error {
		return func(_ context.Context, d Dead, _ []byte) error {
			kept = append(kept, d.ID+" "+d.Reason)
			return err
		}
	}
	two := Choice{IDs: []string{"two"}, Limit: DeadMax}
	if n, err := deadDiscard(t.Context(), cfg, billing, lines(), two, keep(errors.New("no database"))); n != 0 || err == nil {
		t.Errorf("what could not be kept: %d, %v", n, err)
	}
	eventually(t, "both are still dead", dead(2))
	if n, err := deadDiscard(t.Context(), cfg, billing, lines(), two, keep(nil)); n != 1 || err != nil {
		t.Errorf("one: %d, %v", n, err)
	}
	eventually(t, "one is left", dead(1))
	if n, err := deadDiscard(t.Context(), cfg, billing, lines(), Choice{Limit: DeadMax}, keep(nil)); n != 1 || err != nil {
		t.Errorf("all: %d, %v", n, err)
	}
	eventually(t, "none is left", dead(0))
	if want := []string{"two unreadable", "two unreadable", "one unreadable"}; !slices.Equal(kept, want) {
		t.Errorf("kept: %q", kept)
	}
}

// Senders choose ids, so a forged message may have the id of a genuine one, and even its body: none leaves by the id
// alone.
func TestDeadDiscard_sparesAnother(t *testing.T) {
	t.Parallel()
	genuine, forged, unsigned := message.NewMessage("one", []byte("{}")), message.NewMessage("one", []byte("[]")), message.NewMessage("one", []byte("{}"))
	genuine.Metadata.Set("x-request-id", "req_1")
	cfg, dead := buried(t, genuine, forged, unsigned)
	list, err := deadList(t.Context(), cfg, billing, lines(), DeadMax)
	if err != nil || len(list) != 3 || list[0].Digest == list[1].Digest || list[0].Digest == list[2].Digest {
		t.Fatalf("list the dead messages: got %+v, %v, want 3 of different digests", list, err)
	}
	var kept []string
	keep := func(_ context.Context, d Dead, body []byte) error {
		kept = append(kept, string(body)+d.Digest)
		return nil
	}
	for _, c := range []Choice{
		{IDs: []string{"one"}, Limit: DeadMax},
		{IDs: []string{"one"}, Queue: queue, Limit: DeadMax},
		{IDs: []string{"one"}, Queue: "another", Limit: DeadMax},
		{Queue: "another", Limit: DeadMax},
		{IDs: []string{"one"}, Digest: "x", Limit: DeadMax}, // no message's
	} {
		eventually(t, "three messages are dead", dead(3))
		if n, err := deadDiscard(t.Context(), cfg, billing, lines(), c, keep); n != 0 || (err == nil) != (c.Digest == "x") {
			t.Errorf("discard %+v: got %d, %v, want none", c, n, err)
		}
	}
	for i, d := range list[1:] {
		eventually(t, "those that were spared are back", dead(3-i))
		c := Choice{IDs: []string{"one"}, Queue: queue, Digest: d.Digest[:12], Limit: DeadMax}
		if n, err := deadDiscard(t.Context(), cfg, billing, lines(), c, keep); n != 1 || err != nil {
			t.Errorf("discard %+v: got %d, %v, want 1", c, n, err)
		}
	}
	eventually(t, "the genuine one is left", dead(1))
	if want := []string{"[]" + list[1].Digest, "{}" + list[2].Digest}; !slices.Equal(kept, want) {
		t.Errorf("kept: %q, want %q", kept, want)
	}
}

// A message whose consumers crash again and again is moved by the broker itself, and the list says so.
func TestDeadList_showsWhatTheBrokerMoved(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender := link(t, vhost, orders)
	publish(t, sender, "crashes")
	admin := mq.Open(t, vhost)
	for range 100 + 1 { // the queue's limit
		var d amqp.Delivery
		eventually(t, "the message is there", func() bool {
			var ok bool
			var err error
			d, ok, err = admin.Get(queue, false)
			return ok && err == nil
		})
		if err := d.Nack(false, true); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the broker moved it", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
	dead, err := deadList(t.Context(), Config{URL: config.Secret(vhost)}, billing, lines(), 10)
	if err != nil || len(dead) != 1 || dead[0].ID != "crashes" || dead[0].Reason != "moved by the broker: delivery_limit" {
		t.Errorf("dead: %+v, %v", dead, err)
	}
}

func TestConsume_messageWithoutIdIsPoison(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	receiver := link(t, vhost, billing)
	receiver.Handle(queue, 1, func(context.Context, Message) error { t.Error("handled"); return nil })
	run(t, receiver)
	admin := mq.Open(t, vhost)
	if err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false, amqp.Publishing{Body: []byte("hello")}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
}

// A service that comes before the topology waits for it.
func TestDial_waitsForTheTopology(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, wire.Route{Name: "other.thing.v1", Exchange: "other", Consumer: billing, Queue: "billing.other.thing.v1"})
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	got := make(chan string, 1)
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	run(t, receiver)
	if err := sender.Publisher().Publish(string(placed), messages("1")...); err == nil || !strings.Contains(err.Error(), "declare its topology") {
		t.Errorf("publish: %v", err)
	}
	mq.Declare(t, vhost, lines()...)
	publish(t, sender, "1")
	if id := receive(t, got); id != "1" {
		t.Errorf("got %s", id)
	}
}

func TestDial_refusesWhatWaitingDoesNotCure(t *testing.T) {
	t.Parallel()
	wrong, err := url.Parse(mq.New(t, lines()...))
	if err != nil {
		t.Fatal(err)
	}
	wrong.User = url.UserPassword("guest", "hunter2")
	for _, raw := range []string{wrong.String(), "http://user:hunter2@127.0.0.1/", "amqp://user:hunter2@127.0.0.1:x/"} {
		_, err := dial(t.Context(), Config{URL: config.Secret(raw)}, billing, telemetrytest.ForTest(t), lines())
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("dial: %v", err)
		}
	}
}

// proxy is a TCP proxy that can be shut, for a broker that is away.
type proxy struct {
	t        *testing.T
	addr     string
	target   string
	listener net.Listener

	pass  sync.RWMutex // write-locked while the traffic stalls
	mu    sync.Mutex
	pairs []net.Conn
	wait  sync.WaitGroup
}

// newProxy reserves a port on which nothing listens until open.
func newProxy(t *testing.T, amqpURL string) (g *proxy, through string) {
	t.Helper()
	parsed, err := url.Parse(amqpURL)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g = &proxy{t: t, addr: listener.Addr().String(), target: parsed.Host}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.shut)
	parsed.Host = g.addr
	return g, parsed.String()
}

func (g *proxy) open() {
	g.t.Helper()
	listener, err := net.Listen("tcp", g.addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.listener = listener
	g.wait.Go(func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", g.target)
			if err != nil {
				_ = in.Close()
				continue
			}
			g.mu.Lock()
			g.pairs = append(g.pairs, in, out)
			g.mu.Unlock()
			g.wait.Go(func() { g.carry(out, in) })
			g.wait.Go(func() { g.carry(in, out) })
		}
	})
}

// carry copies until either side ends, and holds what it has read while the proxy stalls.
func (g *proxy) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	for buffer := make([]byte, 4096); ; {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		g.pass.RLock()
		_, err = to.Write(buffer[:n])
		g.pass.RUnlock()
		if err != nil {
			return
		}
	}
}

// cut drops every connection and returns how many there were.
func (g *proxy) cut() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	dropped := len(g.pairs) / 2
	for _, c := range g.pairs {
		_ = c.Close()
	}
	g.pairs = nil
	return dropped
}

func (g *proxy) shut() {
	if g.listener != nil {
		_ = g.listener.Close()
	}
	g.cut()
	g.wait.Wait()
}

func TestStart_withoutABroker(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	door, through := newProxy(t, vhost)
	began := time.Now()
	receiver, sender := link(t, through, billing), link(t, through, orders)
	if took := time.Since(began); took > 2*firstTry+time.Second {
		t.Errorf("dialling nothing took %s", took)
	}
	got := make(chan string, 1)
	receiver.Handle(queue, 2, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	run(t, receiver)
	if err := sender.Publisher().Publish(string(placed), messages("1")...); err == nil {
		t.Fatal("published to nothing")
	}
	if err := receiver.Ready(t.Context()); err == nil {
		t.Error("ready without a broker")
	}
	door.open()
	eventually(t, "publishing works", func() bool {
		return sender.Publisher().Publish(string(placed), messages("1")...) == nil
	})
	if id := receive(t, got); id != "1" {
		t.Errorf("got %s", id)
	}
	eventually(t, "ready", func() bool { return receiver.Ready(t.Context()) == nil })
}

// A broker that takes bytes and answers nothing, as under a memory alarm, holds nobody longer than the deadline, even
// when the socket's buffers are full.
func TestPublish_brokerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	door, through := newProxy(t, vhost)
	door.open()
	sender := link(t, through, orders)
	publish(t, sender, "1")

	door.pass.Lock()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	var batch []*message.Message
	for i := range 100 {
		batch = append(batch, message.NewMessageWithContext(ctx, strconv.Itoa(i), make([]byte, 256<<10)))
	}
	began := time.Now()
	err := sender.Publisher().Publish(string(placed), batch...)
	if err == nil || time.Since(began) > 5*time.Second {
		t.Errorf("publish: %v after %s", err, time.Since(began))
	}
	door.pass.Unlock()
	publish(t, sender, "2")
	admin := mq.Open(t, vhost)
	eventually(t, "both are there", func() bool { return mq.Depth(t, admin, queue) >= 2 })
}

func TestReady_needsEveryConsumer(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	receiver := link(t, vhost, billing)
	receiver.Handle(queue, 3, func(context.Context, Message) error { return nil })
	if err := receiver.Ready(t.Context()); err == nil {
		t.Error("ready before it ran")
	}
	stop := run(t, receiver)
	eventually(t, "ready", func() bool { return receiver.Ready(t.Context()) == nil })
	stop()
	if err := receiver.Ready(t.Context()); err == nil {
		t.Error("ready after it stopped")
	}
}

func TestHandle_panicsOnAQueueOfSomebodyElse(t *testing.T) {
	t.Parallel()
	l := link(t, mq.New(t, lines()...), orders)
	defer func() {
		if p := recover(); !strings.Contains(fmt.Sprint(p), "does not consume") {
			t.Errorf("recovered %v", p)
		}
	}()
	l.Handle(queue, 1, func(context.Context, Message) error { return nil })
}
