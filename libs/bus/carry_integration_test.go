//go:build integration

package bus

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/cpu"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
)

// carriedBody is as long as an ordinary status message's.
var carriedBody = []byte(`{"note":"` + strings.Repeat("x", 700) + `"}`)

// BenchmarkCarry counts messages a second from one service to another through one quorum queue. outbox: rows of a
// table, relayed in packs, of which four are consumed at a time; the messages of a pack are written to the inbox in one
// transaction. alone: the same on a line without packs, sixteen at a time, each message in a transaction of its own.
// raw: the same messages by the AMQP library alone, five hundred in flight at either end, each confirmed and each
// acknowledged.
func BenchmarkCarry(b *testing.B) {
	b.Run("outbox", func(b *testing.B) { carryOutbox(b, true, 4) })
	b.Run("alone", func(b *testing.B) { carryOutbox(b, false, 16) })
	b.Run("raw", carryRaw)
}

// carried counts and tells when all have come.
type carried struct {
	left atomic.Int64
	done chan struct{}
}

func carry(n int) *carried {
	c := &carried{done: make(chan struct{})}
	c.left.Store(int64(n))
	return c
}

func (c *carried) one() {
	if c.left.Add(-1) == 0 {
		close(c.done)
	}
}

func (c *carried) wait(b *testing.B, spent time.Duration) {
	b.Helper()
	select {
	case <-c.done:
	case <-time.After(5 * time.Minute):
		b.Fatalf("%d messages have not come", c.left.Load())
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	cpu.Report(b, spent)
}

func carryOutbox(b *testing.B, packs bool, parallel int) {
	tables := fstest.MapFS{
		"00001_outbox.sql": {Data: []byte("-- +goose Up\n" + outbox.Schema + "\n-- +goose StatementBegin\n" + outbox.WakeSchema + "\n-- +goose StatementEnd\n" +
			outbox.StoredSchema + "CREATE INDEX " + outbox.NamesIndex + outbox.NewestSchema + outbox.InlineSchema)},
		"00002_inbox.sql": {Data: []byte("-- +goose Up\n" + inbox.Schema)},
	}
	cfg := pg.Config(b, tables)
	pool := pg.Open(b, cfg, tables)
	to := carry(b.N)
	url := mq.New(b, lines()...)
	consumer := quiet(b, url, billing)
	consumer.HandleAll(queue, parallel, func(ctx context.Context, pack []Message) []error {
		ids := make([]string, len(pack))
		for n, m := range pack {
			ids[n] = m.ID
		}
		var fresh map[string]bool
		err := postgres.Tx(ctx, pool, func(tx pgx.Tx) (err error) {
			fresh, err = inbox.FreshOf(ctx, tx, ids)
			return err
		})
		if err != nil {
			return slices.Repeat([]error{err}, len(pack))
		}
		for range fresh {
			to.one()
		}
		return nil
	})
	run(b, consumer)
	relaying, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	producer := quiet(b, url, orders)
	producer.lines[0].Packed = packs
	relay := outbox.NewRelay(cfg, producer.Publisher(), telemetrytest.ForTest(b))
	go func() { ended <- relay.Run(relaying) }()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	tx, err := pool.Begin(b.Context())
	if err == nil {
		_, err = tx.Exec(b.Context(), `INSERT INTO outbox (name, message_id, headers, body) SELECT $1, 'msg_' || md5(n::text), '{}', $2 FROM generate_series(1, $3::int) AS n`,
			string(placed), carriedBody, b.N)
	}
	if err != nil {
		b.Fatal(err)
	}
	spent := cpu.Spent()
	b.ResetTimer()
	if err := tx.Commit(b.Context()); err != nil {
		b.Fatal(err)
	}
	relay.Wake()
	to.wait(b, spent)
}

// quiet is a link that signs and verifies as in production, and whose log nobody reads, as little as that of a service
// at its usual level.
func quiet(b *testing.B, url, service string) *Link {
	b.Helper()
	l := signing(b, url, service)
	l.tel.Log = slog.New(slog.DiscardHandler)
	return l
}

func carryRaw(b *testing.B) {
	const window = 500
	url := mq.New(b, lines()...)
	out, in := mq.Open(b, url), mq.Open(b, url)
	if err := out.Confirm(false); err != nil {
		b.Fatal(err)
	}
	if err := in.Qos(window, 0, false); err != nil {
		b.Fatal(err)
	}
	deliveries, err := in.ConsumeWithContext(b.Context(), queue, "", false, false, false, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	to := carry(b.N)
	go func() {
		for d := range deliveries {
			if err := d.Ack(false); err != nil {
				return // the benchmark waits in vain and says so
			}
			to.one()
		}
	}()
	spent := cpu.Spent()
	b.ResetTimer()
	flying := make([]*amqp.DeferredConfirmation, 0, window)
	for n := range b.N {
		if len(flying) == window {
			confirmed(b, flying)
			flying = flying[:0]
		}
		confirm, err := out.PublishWithDeferredConfirm(orders, string(placed), true, false, amqp.Publishing{
			ContentType: "application/json", DeliveryMode: amqp.Persistent, MessageId: fmt.Sprint("msg_", n), Type: string(placed), Body: carriedBody,
		})
		if err != nil {
			b.Fatal(err)
		}
		flying = append(flying, confirm)
	}
	confirmed(b, flying)
	to.wait(b, spent)
}

func confirmed(b *testing.B, flying []*amqp.DeferredConfirmation) {
	b.Helper()
	for _, confirm := range flying {
		if acked, err := confirm.WaitContext(b.Context()); err != nil || !acked {
			b.Fatalf("not confirmed: %v", err)
		}
	}
}
