//go:build integration

package bus

import (
	"context"
	"errors"
	"strconv"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/wire"
)

// answered are lines of which the first has answers.
func answered(isPacked bool) []wire.Route {
	all := lines()
	all[0].Stored, all[0].Packed = wire.StoredBy(all[0].Consumer, all[0].Exchange), isPacked
	back := wire.Route{Name: all[0].Stored, Exchange: all[0].Consumer, Consumer: all[0].Exchange, Answer: true}
	back.Queue = back.Consumer + "." + string(back.Name)
	return append(all, back)
}

// A message is answered once it is handled or buried, alone as in a pack; not while its handler fails, and not if it is
// forged.
func TestAnswers_toProducer(t *testing.T) {
	t.Parallel()
	for name, isPacked := range map[string]bool{"alone": false, "in a pack": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topology := answered(isPacked)
			vhost := mq.New(t, topology...)
			ordersKey, ordersPublic := keyPair("k1", orders, 1)
			billingKey, billingPublic := keyPair("k1", billing, 2)
			dialled := func(service string, key config.Secret) *Link {
				cfg := Config{URL: config.Secret(vhost), Key: key, Trusted: []string{ordersPublic, billingPublic}, Required: true}
				l, err := dial(t.Context(), cfg, service, telemetrytest.ForTest(t), topology)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = l.Close() })
				return l
			}
			producer, consumer := dialled(orders, ordersKey), dialled(billing, billingKey)
			got := make(chan wire.StoredMessage, 100)
			producer.HandleStored(func(_ context.Context, names []string, m wire.Stored) error {
				if len(names) != 1 || names[0] != string(placed) {
					t.Errorf("billing answers about %v, want %s", names, placed)
				}
				for _, one := range m.Messages {
					got <- one
				}
				return nil
			})
			mended, failed := make(chan struct{}), make(chan struct{}, 1000)
			handle := func(id string) error {
				switch id {
				case "2":
					return fault.Permanent(errors.New("poison"))
				case "3":
					select {
					case <-mended:
					default:
						failed <- struct{}{}
						return errors.New("database away")
					}
				}
				return nil
			}
			consumer.HandleAll(queue, 4, func(_ context.Context, pack []Message) []error {
				errs := make([]error, len(pack))
				for n, m := range pack {
					errs[n] = handle(m.ID)
				}
				return errs
			})
			run(t, producer)
			run(t, consumer)
			admin := mq.Open(t, vhost)
			if err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false,
				amqp.Publishing{MessageId: "5", Body: []byte("{}"), Headers: amqp.Table{wire.RowHeader: "5"}}); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the forged message is dead", func() bool { return mq.Depth(t, admin, wire.DeadQueue(queue)) == 1 })
			sent := messages("1", "2", "3", "4")
			for _, m := range sent {
				m.Metadata.Set(wire.RowHeader, m.UUID)
			}
			if err := producer.Publisher().Publish(string(placed), sent...); err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			take := func() {
				one := receive(t, got)
				if seen[one.ID] = true; strconv.FormatInt(one.Row, 10) != one.ID {
					t.Errorf("row %d is answered as message %s", one.Row, one.ID)
				}
			}
			for len(seen) < 3 {
				take()
			}
			receive(t, failed)
			if seen["5"] {
				t.Error("a forged message is answered")
			}
			if seen["3"] {
				t.Error("message 3 is answered while its handler fails")
			}
			close(mended)
			for !seen["3"] {
				take()
			}
		})
	}
}
