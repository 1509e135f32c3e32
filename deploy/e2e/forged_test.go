//go:build integration

package e2e

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/stack"
	"causeway.internal/libs/wire"
)

// TestForgedDeposit: with the broker password of any service, the producer's and the consumer's own among them, a
// forged deposit moves nothing: the broker refuses it, or payments does.
func TestForgedDeposit(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	made := create(t, c, transfer(nil))
	ref := made.Text(t, "payment.reference")
	hash := "0x" + strings.Repeat(unique("")[1:], 6)[:64]
	now := time.Now().UTC()
	body := wire.DepositChanged{
		Key: "ethereum:" + hash + ":0", Version: 1, Mode: tenant.Test, Family: money.EVM, Network: "ethereum",
		Address: made.Text(t, "payment.depositAddress"), Asset: "USDT", TxHash: hash, State: wire.Confirmed, BlockHeight: 1, BlockHash: hash,
		BlockTime: now, Amount: "1000000000000", Depth: 1000, Head: 1000, Finalized: true, FirstSeenAt: now,
	}
	queue := wire.Payments + "." + string(wire.DepositChangedV1)
	for _, user := range wire.Users() {
		f := forger{t, s, user}
		f.send(wire.Wallets, string(wire.DepositChangedV1), wire.DepositChangedV1, body, user == wire.Wallets)
		f.send("", queue, wire.DepositChangedV1, body, false)
		f.send(wire.Returns(wire.Payments), queue, wire.DepositChangedV1, body, user == wire.Payments)
	}
	buried(t, s, wire.Payments, queue, 2)
	if a := get(t, c, ref); a.Text(t, "payment.status") != "pending" || a.Number(t, "payment.receivedAmount").Sign() != 0 {
		t.Errorf("after forged deposits: %s", a.Body)
	}
	deposit(t, c, ref, nil)
	settled := awaitStatus(t, c, ref, "settled")
	if settled.Number(t, "payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 || settled.Len(t, "payment.transfers") != 1 {
		t.Errorf("settled: %s", settled.Body)
	}
}

// TestForgedStatus: neither does a forged status message reach a merchant.
func TestForgedStatus(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	hook, path := hooks(t, s.WebhookSecret)
	forged := unique("evt")
	event := func(kind, object string) wire.StatusChanged {
		return wire.StatusChanged{
			EventID: forged, Type: kind, MerchantID: "local", Mode: tenant.Test, ObjectID: object, Sequence: 1, CallbackURL: hook.URL(path),
			OccurredAt: time.Now().UTC(), Body: []byte(`{"id":"` + forged + `","type":"` + kind + `"}`),
		}
	}
	settled := event("payment.settled", "pay_forged")
	for _, user := range wire.Users() {
		f := forger{t, s, user}
		f.send(wire.Payments, string(wire.PaymentStatusChangedV1), wire.PaymentStatusChangedV1, settled, user == wire.Payments)
		f.send("", wire.IntakeQueue, wire.PaymentStatusChangedV1, settled, false)
		f.send(wire.Returns(wire.Dispatcher), wire.IntakeQueue, wire.PaymentStatusChangedV1, settled, user == wire.Dispatcher)
		f.send(wire.Reports, string(wire.ReportStatusChangedV1), wire.PaymentStatusChangedV1, settled, user == wire.Reports)
		f.send(wire.Reports, string(wire.ReportStatusChangedV1), wire.ReportStatusChangedV1, event("report.created", "RPT-AAAAAA"), user == wire.Reports)
	}
	buried(t, s, wire.Dispatcher, wire.IntakeQueue, 4)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitCallbacks(t, hook, path, "payment.settled")
	for _, d := range hook.Deliveries() {
		if d.ID == forged {
			t.Errorf("the merchant received a forged event: %+v", d)
		}
	}
}

// TestGiftStaysUnread: no service's user leads the messages of another exchange to itself, or reads another's queue.
func TestGiftStaysUnread(t *testing.T) {
	t.Parallel()
	s := stack.Shared(t)
	for _, user := range wire.Users() {
		for name, try := range map[string]func(*amqp.Channel) error{
			"declares a queue": func(c *amqp.Channel) error {
				_, err := c.QueueDeclare("", false, true, true, false, nil)
				return err
			},
			"binds its own queue": func(c *amqp.Channel) error {
				return c.QueueBind(user+"."+string(wire.DepositChangedV1), "#", wire.Payments, false, nil)
			},
			"binds its own exchange": func(c *amqp.Channel) error {
				return c.ExchangeBind(wire.Returns(user), "#", wire.Payments, false, nil)
			},
			"reads what nobody takes": func(c *amqp.Channel) error { _, _, err := c.Get(wire.Unrouted, false); return err },
		} {
			channel := forger{t, s, user}.channel()
			if err := try(channel); !accessRefused(err) {
				t.Errorf("user %s %s: got %v, want access refused", user, name, err)
			}
		}
	}
}

// forger holds the broker password of a service, and nothing else of it.
type forger struct {
	t    *testing.T
	s    *stack.Stack
	user string
}

func (f forger) channel() *amqp.Channel {
	f.t.Helper()
	conn, err := amqp.Dial(f.s.Brokers[f.user])
	if err != nil {
		f.t.Fatalf("connect to the broker as %s: %v", f.user, err)
	}
	f.t.Cleanup(func() { _ = conn.Close() })
	channel, err := conn.Channel()
	if err != nil {
		f.t.Fatal(err)
	}
	return channel
}

// send publishes a message and says whether the broker should let it through.
func (f forger) send(exchange, key string, name wire.Name, payload any, through bool) {
	f.t.Helper()
	body, err := json.Marshal(payload)
	if err != nil {
		f.t.Fatal(err)
	}
	channel := f.channel()
	if err := channel.Confirm(false); err != nil {
		f.t.Fatal(err)
	}
	closed := channel.NotifyClose(make(chan *amqp.Error, 1))
	sent, err := channel.PublishWithDeferredConfirm(exchange, key, true, false, amqp.Publishing{
		MessageId: unique("msg-forged"), Type: string(name), AppId: wire.Wallets, DeliveryMode: amqp.Persistent, Body: body,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	select {
	case <-sent.Done():
		if !through {
			f.t.Errorf("%s may publish to %q with key %s", f.user, exchange, key)
		}
	case err := <-closed:
		if through || !accessRefused(err) {
			f.t.Errorf("%s may not publish to %q with key %s: %v", f.user, exchange, key, err)
		}
	}
}

func accessRefused(err error) bool {
	var broker *amqp.Error
	return errors.As(err, &broker) && broker.Code == amqp.AccessRefused
}

// buried waits until so many forged messages lie in the dead queue with their reason, and takes them out.
func buried(t *testing.T, s *stack.Stack, consumer, queue string, n int) {
	t.Helper()
	channel := forger{t, s, consumer}.channel()
	api.Eventually(t, settle, "forged messages to be buried", func() bool {
		d, ok, err := channel.Get(wire.DeadQueue(queue), false)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return n == 0
		}
		reason, _ := d.Headers["x-dead-reason"].(string)
		if !strings.HasPrefix(d.MessageId, "msg-forged") || reason != "the message is not authentic: the signature is missing" {
			t.Errorf("dead in %s: %s, %s", queue, d.MessageId, reason)
			return true
		}
		n--
		return d.Ack(false) == nil && n == 0
	})
}
