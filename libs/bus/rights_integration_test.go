//go:build integration

package bus

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/prometheus/client_golang/prometheus/testutil"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/wire"
)

// signing is a link with message keys: orders signs with k1, billing knows it and takes nothing else.
func signing(t testing.TB, amqpURL, service string) *Link {
	t.Helper()
	private, public := keyPair("k1", orders, 1)
	return configured(t, service, Config{URL: config.Secret(amqpURL), Key: private, Trusted: []string{public}, Required: true, SignPacks: true})
}

func configured(t testing.TB, service string, cfg Config) *Link {
	t.Helper()
	l, err := dial(t.Context(), cfg, service, telemetrytest.ForTest(t), lines())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// operation is something that a broker user may try.
type operation struct {
	name string
	try  func(channel *amqp.Channel) error
}

func published(exchange, key string) func(*amqp.Channel) error {
	return func(channel *amqp.Channel) error {
		if err := channel.Confirm(false); err != nil {
			return err
		}
		closed := channel.NotifyClose(make(chan *amqp.Error, 1)) // before the refusal may come
		sent, err := channel.PublishWithDeferredConfirm(exchange, key, false, false, amqp.Publishing{MessageId: "m", Body: []byte("{}")})
		if err != nil {
			return err
		}
		select {
		case <-sent.Done():
			if sent.Acked() {
				return nil
			}
			return <-closed // the channel's end ends what waits for a confirm too
		case err := <-closed:
			return err
		}
	}
}

// operations lists what is possible with the names of a topology: nothing that a name can be used for is left out.
func operations(d wire.Declarations) []operation {
	var all []operation
	add := func(name string, try func(*amqp.Channel) error) { all = append(all, operation{name, try}) }
	exchanges := []string{"", "amq.topic", "amq.direct", "amq.fanout"}
	for _, e := range d.Exchanges {
		exchanges = append(exchanges, e.Name)
		add("declare exchange "+e.Name+" again", func(c *amqp.Channel) error {
			return c.ExchangeDeclare(e.Name, e.Type, true, false, false, false, e.Arguments)
		})
		add("delete exchange "+e.Name, func(c *amqp.Channel) error { return c.ExchangeDelete(e.Name, true, false) })
	}
	for _, q := range d.Queues {
		add("publish to queue "+q.Name+" through amq.default", published("", q.Name))
		add("consume "+q.Name, func(c *amqp.Channel) error {
			_, err := c.Consume(q.Name, "", false, false, false, false, nil)
			return err
		})
		add("get from "+q.Name, func(c *amqp.Channel) error { _, _, err := c.Get(q.Name, false); return err })
		add("purge "+q.Name, func(c *amqp.Channel) error { _, err := c.QueuePurge(q.Name, false); return err })
		add("delete queue "+q.Name, func(c *amqp.Channel) error { _, err := c.QueueDelete(q.Name, true, true, false); return err })
		add("declare queue "+q.Name+" again", func(c *amqp.Channel) error {
			_, err := c.QueueDeclare(q.Name, true, false, false, false, amqp.Table(q.Arguments))
			return err
		})
	}
	for _, e := range exchanges {
		add("publish to exchange "+nameOf(e), published(e, "any.key"))
		if e == "" {
			continue // the broker itself lets nobody bind to it
		}
		for _, q := range d.Queues {
			add("bind "+q.Name+" to "+e, func(c *amqp.Channel) error { return c.QueueBind(q.Name, "#", e, false, nil) })
			add("unbind "+q.Name+" from "+e, func(c *amqp.Channel) error { return c.QueueUnbind(q.Name, "none", e, nil) })
		}
		for _, to := range exchanges[1:] {
			add("bind exchange "+to+" to "+e, func(c *amqp.Channel) error { return c.ExchangeBind(to, "none", e, false, nil) })
		}
	}
	add("declare a queue of its own", func(c *amqp.Channel) error {
		_, err := c.QueueDeclare("mine", true, false, false, false, nil)
		return err
	})
	add("declare a queue that the broker names", func(c *amqp.Channel) error {
		_, err := c.QueueDeclare("", false, true, true, false, nil)
		return err
	})
	add("declare an exchange of its own", func(c *amqp.Channel) error {
		return c.ExchangeDeclare("mine", "topic", true, false, false, false, nil)
	})
	return all
}

func nameOf(exchange string) string {
	if exchange == "" {
		return "amq.default"
	}
	return exchange
}

// allowed says what a service's user needs: to publish to its own exchanges, and to read its own queues. Binding the
// one to the other is between names of its own; it leads nothing of anybody else's anywhere.
func allowed(service, operation string) bool {
	own := func(prefix string) bool {
		name, ok := strings.CutPrefix(operation, prefix)
		return ok && strings.HasPrefix(name, service+".") && name != wire.Returns(service)
	}
	switch operation {
	case "publish to exchange " + service, "publish to exchange " + wire.Returns(service),
		"bind exchange " + service + " to " + wire.Returns(service), "bind exchange " + wire.Returns(service) + " to " + wire.Returns(service):
		return true
	}
	return own("consume ") || own("get from ") || own("purge ")
}

// Every operation of every service's user on every name of the product's topology: what a service needs works,
// everything else is refused by the broker. The table is printed (-v) as docs show it, of all lines in make test/long.
func TestRights_everyOperationOfEveryUser(t *testing.T) {
	t.Parallel()
	tried := refusedLines()
	vhost := mq.New(t, tried...)
	all := operations(wire.Declare(tried))
	for _, service := range wire.Users() {
		conn, err := amqp.Dial(mq.As(t, vhost, service))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		counts := map[string][2]int{}
		for _, o := range all {
			refused := try(t, conn, o)
			if refused == allowed(service, o.name) {
				t.Errorf("%s, %s: refused %v", service, o.name, refused)
			}
			kind, at := kindOf(service, o.name), 0
			if refused {
				at = 1
			}
			count := counts[kind]
			count[at]++
			counts[kind] = count
		}
		for _, kind := range kinds {
			t.Logf("| %s | %s | %d | %d |", service, kind, counts[kind][0], counts[kind][1])
		}
	}
}

// try reports whether the broker refuses an operation on a channel of its own. A refusal is ACCESS_REFUSED and nothing
// else.
func try(t *testing.T, conn *amqp.Connection, o operation) (refused bool) {
	t.Helper()
	channel, err := conn.Channel()
	if err != nil {
		t.Fatal(err)
	}
	defer channel.Close()
	err = o.try(channel)
	if broker, ok := errors.AsType[*amqp.Error](err); ok && broker.Code == amqp.AccessRefused {
		return true
	}
	if err != nil {
		t.Errorf("try %s: got %v, want success or access refused", o.name, err)
	}
	return false
}

var kinds = []string{
	"publish to its own exchanges", "publish to another exchange", "publish to a queue by amq.default", "read its own queues",
	"read another's queue", "bind or unbind", "declare or delete",
}

func kindOf(service, operation string) string {
	name := operation[strings.LastIndex(operation, " ")+1:]
	own := strings.HasPrefix(name, service+".")
	switch verb, _, _ := strings.Cut(operation, " "); {
	case strings.HasSuffix(operation, "amq.default"):
		return kinds[2]
	case verb == "publish" && (name == service || own):
		return kinds[0]
	case verb == "publish":
		return kinds[1]
	case verb == "bind" || verb == "unbind":
		return kinds[5]
	case verb == "declare" || verb == "delete":
		return kinds[6]
	case own:
		return kinds[3]
	}
	return kinds[4]
}

// With the rights of production a message travels, dies, is listed and put back, and its signature goes with it.
func TestRights_sufficeForTheWholeWay(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := signing(t, mq.As(t, vhost, orders), orders), mq.As(t, vhost, billing)
	consumer := signing(t, receiver, billing)
	got, healed := make(chan Message, 10), make(chan struct{})
	consumer.Handle(queue, 1, func(_ context.Context, m Message) error {
		select {
		case <-healed:
			got <- m
			return nil
		default:
			return fault.Permanent(errors.New("not yet"))
		}
	})
	run(t, consumer)
	publish(t, sender, "1")
	admin := mq.Open(t, vhost)
	eventually(t, "it is dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
	cfg := consumer.config(receiver)
	if dead, err := deadList(t.Context(), cfg, billing, lines(), 10); err != nil || len(dead) != 1 || dead[0].Reason != "not yet" {
		t.Errorf("dead: %+v, %v", dead, err)
	}
	// A list leaves its messages unacknowledged: the broker puts them back after it has closed the list's connection.
	eventually(t, "it is dead again", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
	close(healed)
	if n, err := deadRedrive(t.Context(), cfg, billing, lines(), 10, nil); n != 1 || err != nil {
		t.Fatalf("deadRedrive(one dead message) = %d, %v, want 1 put back", n, err)
	}
	if m := receive(t, got); m.ID != "1" || !m.Returned || m.Name != string(placed) {
		t.Errorf("put back: %+v", m)
	}
	eventually(t, "ready", func() bool { return consumer.Ready(t.Context()) == nil })
}

func (l *Link) config(url string) Config {
	_, public := keyPair("k1", orders, 1)
	return Config{URL: config.Secret(url), Trusted: []string{public}, Required: l.verifier.required}
}

// Forged messages never reach the handler: they lie in the dead queue with the reason, and they are counted. A captured
// message under another id is forged too.
func TestConsume_refusesForgedMessages(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, consumer := signing(t, vhost, orders), signing(t, vhost, billing)
	got := make(chan Message, 10)
	consumer.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m; return nil })
	run(t, consumer)
	publish(t, sender, "genuine")
	captured := receive(t, got)

	headers := amqp.Table{signatureHeader: captured.Headers[signatureHeader]}
	admin := mq.Open(t, vhost)
	for _, forged := range []amqp.Publishing{
		{MessageId: "unsigned", Body: captured.Body},
		{MessageId: "captured", Body: captured.Body, Headers: headers},
		{MessageId: "genuine", Body: []byte(`{"order":"another"}`), Headers: headers},
		{MessageId: "pack", Body: join([]*message.Message{message.NewMessage("inside", captured.Body)}), Headers: amqp.Table{packHeader: packVersion}},
	} {
		forged.DeliveryMode = amqp.Persistent
		if err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false, forged); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "all are dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 4 })
	dead, err := deadList(t.Context(), consumer.config(vhost), billing, lines(), 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dead {
		if !strings.HasPrefix(d.Reason, "the message is not authentic: ") {
			t.Errorf("dead message %s has the reason %q, want that it is not authentic", d.ID, d.Reason)
		}
	}
	if n := testutil.ToFloat64(consumer.metrics.forged.WithLabelValues(queue)); n != 4 {
		t.Errorf("%v counted", n)
	}
	// The captured message itself, as it was, is a second delivery of one id: the handler's inbox knows it.
	if err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false,
		amqp.Publishing{MessageId: captured.ID, Body: captured.Body, Headers: headers}); err != nil {
		t.Fatal(err)
	}
	if m := receive(t, got); m.ID != captured.ID {
		t.Errorf("got %+v", m)
	}
	if n, err := deadRedrive(t.Context(), consumer.config(vhost), billing, lines(), 10, nil); n != 4 || err != nil {
		t.Fatalf("%d put back, %v", n, err)
	}
	eventually(t, "they are refused again", func() bool { return testutil.ToFloat64(consumer.metrics.forged.WithLabelValues(queue)) == 8 })
}

// A rotation loses nothing: the consumer learns the new public key, the producer changes over, the old key goes.
func TestConsume_rotationOfAKey(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	first, firstPublic := keyPair("k1", orders, 1)
	second, secondPublic := keyPair("k2", orders, 2)
	producer := func(key config.Secret) *Link {
		return configured(t, orders, Config{URL: config.Secret(vhost), Key: key, Required: true})
	}
	consume := func(ids []string, trusted ...string) {
		t.Helper()
		l := configured(t, billing, Config{URL: config.Secret(vhost), Trusted: trusted, Required: true})
		got := make(chan string, 10)
		l.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
		stop := run(t, l)
		defer stop()
		for _, want := range ids {
			if id := receive(t, got); id != want {
				t.Errorf("got %s, want %s", id, want)
			}
		}
	}
	publish(t, producer(first), "1")
	publish(t, producer(second), "2")
	consume([]string{"1", "2"}, firstPublic, secondPublic)
	publish(t, producer(second), "3")
	consume([]string{"3"}, secondPublic)
	publish(t, producer(first), "4") // its key is not trusted any more
	publish(t, producer(second), "5")
	consume([]string{"5"}, secondPublic)
	admin := mq.Open(t, vhost)
	eventually(t, "the old key's message is dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
}

// Old and new side by side: a producer that does not sign yet, and a consumer that does not verify yet.
func TestConsume_unsignedAsLongAsNothingIsRequired(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	private, public := keyPair("k1", orders, 1)
	old := configured(t, orders, Config{URL: config.Secret(vhost)})
	fresh := configured(t, orders, Config{URL: config.Secret(vhost), Key: private})
	publish(t, old, "old")
	publish(t, fresh, "new")
	for _, trusted := range [][]string{nil, {public}} {
		l := configured(t, billing, Config{URL: config.Secret(vhost), Trusted: trusted})
		got := make(chan string, 10)
		l.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
		stop := run(t, l)
		if id := receive(t, got); id != "old" {
			t.Errorf("got %s", id)
		}
		if id := receive(t, got); id != "new" {
			t.Errorf("got %s", id)
		}
		stop()
		want := float64(2 - len(trusted))
		if n := testutil.ToFloat64(l.metrics.unsigned.WithLabelValues(queue)); n != want {
			t.Errorf("%d keys: %v counted as unsigned, want %v", len(trusted), n, want)
		}
		publish(t, old, "old")
		publish(t, fresh, "new")
	}
}

// Of a pack the genuine messages are handled and the forged one is refused, whether or not the handler takes packs
// whole.
func TestPack_forgedMessageInside(t *testing.T) {
	t.Parallel()
	for _, whole := range []bool{true, false} {
		t.Run(fmt.Sprint(whole), func(t *testing.T) {
			t.Parallel()
			vhost := mq.New(t, lines()...)
			private, _ := keyPair("k1", orders, 1)
			signs, err := readSigner(private.Reveal())
			if err != nil {
				t.Fatal(err)
			}
			pack := messages("1", "2", "3")
			signs.sign(string(placed), pack)
			pack[1].Metadata = maps.Clone(pack[1].Metadata)
			pack[1].Metadata[signatureHeader] = strings.Join([]string{"1", "k1", "1", base64.RawURLEncoding.EncodeToString(make([]byte, 64))}, ".")
			consumer := signing(t, vhost, billing)
			got := make(chan string, 10)
			if whole {
				consumer.HandleAll(queue, 1, func(_ context.Context, pack []Message) []error {
					for _, m := range pack {
						got <- m.ID
					}
					return nil
				})
			} else {
				consumer.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
			}
			run(t, consumer)
			admin := mq.Open(t, vhost)
			if err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false,
				amqp.Publishing{MessageId: "pack-1", Body: join(pack), Headers: amqp.Table{packHeader: packVersion}}); err != nil {
				t.Fatal(err)
			}
			if one, three := receive(t, got), receive(t, got); one != "1" || three != "3" {
				t.Errorf("handled %s and %s", one, three)
			}
			eventually(t, "the forged one is dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
		})
	}
}
