package bus

import (
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/wire"
)

// The topology of these tests: orders sends placed to billing.
const (
	placed  = wire.Name("orders.placed.v1")
	orders  = "orders"
	billing = "billing"
	queue   = "billing.orders.placed.v1"
)

func lines() []wire.Route {
	return []wire.Route{{Name: placed, Exchange: orders, Consumer: billing, Queue: queue}}
}

// nobody is a fake of a channel.
type nobody struct{}

func (nobody) Ack(uint64, bool) error        { return nil }
func (nobody) Nack(uint64, bool, bool) error { return nil }
func (nobody) Reject(uint64, bool) error     { return nil }
func (nobody) Close() error                  { return nil }

// Where TLS is required, a plain URL is refused, and so is an authority that is none; neither error shows the password.
func TestDial_requiresTLS(t *testing.T) {
	for want, cfg := range map[string]Config{
		"AMQP_TLS_REQUIRED": {URL: "amqp://u:hunter2@127.0.0.1:1/v", TLSRequired: true},
		"AMQP_CA":           {URL: "amqps://u:hunter2@127.0.0.1:1/v", TLSRequired: true, CA: "no certificate"},
	} {
		_, err := dial(t.Context(), cfg, orders, telemetrytest.ForTest(t), lines())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("dial: got %v, want an error that names %s and no password", err, want)
		}
	}
}

func TestUnmarshal_acceptsEveryHeader(t *testing.T) {
	m, err := marshaler{origins: &origins{}}.Unmarshal(amqp.Delivery{
		Acknowledger: nobody{}, MessageId: "1", Type: "orders.placed.v1", RoutingKey: "elsewhere", Body: []byte("{}"),
		Headers: amqp.Table{
			"text": "kept", "number": int64(3), "list": []any{1}, "table": amqp.Table{}, "broken": "\xff", "none": nil, DeliveryCount: int64(7),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := Message{ID: "1", Name: "orders.placed.v1", Body: []byte("{}"), Headers: map[string]string{"text": "kept", DeliveryCount: "7"}, Returned: true}
	if diff := cmp.Diff(want, unpack(m), cmpopts.IgnoreUnexported(Message{})); diff != "" {
		t.Errorf("unpack a message (-want +got):\n%s", diff)
	}
}

// The type is what the sender wrote; the routing key is what the broker let it use.
func TestUnmarshal_namesByRoutingKey(t *testing.T) {
	for _, c := range []struct {
		delivery amqp.Delivery
		name     string
		returned bool
	}{
		{amqp.Delivery{Exchange: orders, RoutingKey: "orders.placed.v1"}, "orders.placed.v1", false},
		{amqp.Delivery{Exchange: orders, RoutingKey: "orders.placed.v1", Type: "payments.status_changed.v1"}, "orders.placed.v1", false},
		{amqp.Delivery{Exchange: wire.Returns(billing), RoutingKey: queue, Type: "orders.placed.v1"}, "orders.placed.v1", true},
		{amqp.Delivery{Exchange: wire.Returns(orders), RoutingKey: queue, Type: "orders.placed.v1"}, queue, false},
	} {
		c.delivery.Acknowledger = nobody{}
		m, err := marshaler{&origins{}, wire.Returns(billing)}.Unmarshal(c.delivery)
		if got := unpack(m); err != nil || got.Name != c.name || got.Returned != c.returned {
			t.Errorf("read a delivery of %s %s: got %+v, %v, want "+c.name, c.delivery.Exchange, c.delivery.Type, got, err)
		}
	}
}

// The library reads empty deliveries from a consumer whose channel is gone; none may reach a handler.
func TestUnmarshal_refusesWhatNoBrokerSent(t *testing.T) {
	if _, err := (marshaler{origins: &origins{}}).Unmarshal(amqp.Delivery{}); err == nil {
		t.Error("an empty delivery became a message")
	}
}

func TestLinesOf(t *testing.T) {
	topology := []wire.Route{
		{Name: "a", Exchange: wire.Payments, Consumer: wire.Wallets},
		{Name: "b", Exchange: wire.Wallets, Consumer: wire.Payments},
		{Name: "c", Exchange: wire.Payments, Consumer: wire.Dispatcher},
	}
	for service, want := range map[string]string{wire.Payments: "abc", wire.Wallets: "ab", wire.Dispatcher: "c", "gateway": ""} {
		got := ""
		for _, line := range linesOf(service, topology) {
			got += string(line.Name)
		}
		if got != want {
			t.Errorf("list the lines that %s uses: got %q, want %q", service, got, want)
		}
	}
}

func TestConsumedBy_namesEachQueueOnce(t *testing.T) {
	if got := consumedBy(wire.Dispatcher, wire.Topology()); len(got) != 1 || got[0] != wire.IntakeQueue {
		t.Errorf("the dispatcher consumes %v", got)
	}
}

func TestWithoutDeath_keepsWhatWasPublished(t *testing.T) {
	got := withoutDeath(amqp.Table{
		"traceparent": "00-1", reasonHeader: "bad", timeHeader: "now", queueHeader: "q", "x-death": []any{}, "x-first-death-queue": "q", "x-delivery-count": int64(3),
	})
	if diff := cmp.Diff(amqp.Table{"traceparent": "00-1"}, got); diff != "" {
		t.Errorf("take the death's headers away (-want +got):\n%s", diff)
	}
}

func TestClip(t *testing.T) {
	for in, want := range map[string]string{"short": "short", "ääää": "ää", "a\xffb": "a?b", strings.Repeat("x", 9): "xxxxx"} {
		if got := clip(in, 5); got != want {
			t.Errorf("clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestDial_neverShowsThePassword(t *testing.T) {
	for _, raw := range []string{"http://u:hunter2@h/", "amqp://u:hunter2@h:port/", "\x00hunter2"} {
		_, err := Dial(t.Context(), Config{URL: config.Secret(raw)}, wire.Payments, telemetrytest.ForTest(t))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("dial a bad URL: got %v, want an error without the password", err)
		}
	}
}

func TestDeadVerbs_refuseWhatIsUnclear(t *testing.T) {
	program := command.Program{Name: wire.Payments, Verbs: DeadVerbs(wire.Payments)}
	environ := map[string]string{"AMQP_URL": "amqp://u:p@127.0.0.1:1/"}
	for _, line := range []string{"dead", "dead empty", "dead redrive", "dead redrive --all id", "dead list --limit 0", "dead list --limit 10001", "dead list id"} {
		var out strings.Builder
		if err := program.Run(t.Context(), command.Input{Args: strings.Fields(line), Environ: environ, Out: &out}); err == nil {
			t.Errorf("%s was accepted: %s", line, out.String())
		}
	}
}

// The library may close the socket of a lost connection only after it has opened the next one.
func TestSocket_oldOneClosedAfterTheNewOneOpened(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	l := &Link{metrics: newMetrics(prometheus.NewRegistry())}
	open := func() net.Conn {
		conn, err := l.socket(t.Context(), roleConsume, "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	old, fresh := open(), open()
	for range 2 { // closing twice counts once
		_ = old.Close()
	}
	if n := l.conn.Load(); n != 1 {
		t.Errorf("%d connections stand, want 1", n)
	}
	_ = fresh.Close()
	if n := l.conn.Load(); n != 0 {
		t.Errorf("%d connections stand, want none", n)
	}
}
