package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// broker publishes status messages as payments' relay does: 500 at a time, each persistent and confirmed, packed by 50
// (libs/bus, pack.go).
type broker struct {
	conn    *amqp.Connection
	channel *amqp.Channel
}

const (
	relayBatch    = 500
	packMax       = 50
	statusChanged = "payments.status_changed.v1"
)

func newBroker(url string) (*broker, error) {
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, errors.New("connecting to the broker failed") // the error may show the password
	}
	b := &broker{conn: conn}
	if b.channel, err = conn.Channel(); err == nil {
		err = b.channel.Confirm(false)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening a channel: %w", err), b.close())
	}
	return b, nil
}

func (b *broker) close() error { return b.conn.Close() }

// publish returns once the broker has confirmed every message; single ones travel as a relay sends them that finds no
// more.
func (b *broker) publish(ctx context.Context, ids []string, bodies [][]byte) error {
	var confirms []*amqp.DeferredConfirmation
	for len(ids) > 0 {
		n := min(len(ids), packMax)
		message := amqp.Publishing{
			Headers: amqp.Table{}, ContentType: "application/json", DeliveryMode: amqp.Persistent,
			MessageId: ids[0], Type: statusChanged, AppId: "payments", Timestamp: time.Now(), Body: bodies[0],
		}
		if n > 1 {
			message.Headers["x-causeway-pack"], message.ContentType = "1", "application/octet-stream"
			message.MessageId, message.Body = "pack-"+ids[0], pack(ids[:n], bodies[:n])
		}
		confirm, err := b.channel.PublishWithDeferredConfirm("payments", statusChanged, true, false, message)
		if err != nil {
			return fmt.Errorf("publishing: %w", err)
		}
		confirms, ids, bodies = append(confirms, confirm), ids[n:], bodies[n:]
	}
	for _, confirm := range confirms {
		if acked, err := confirm.WaitContext(ctx); err != nil || !acked {
			return errors.Join(errors.New("a message was not confirmed"), err)
		}
	}
	return nil
}

func pack(ids []string, bodies [][]byte) []byte {
	var out []byte
	for n, id := range ids {
		out = append(binary.AppendUvarint(out, uint64(len(id))), id...)
		out = binary.AppendUvarint(out, 0) // no headers
		out = append(binary.AppendUvarint(out, uint64(len(bodies[n]))), bodies[n]...)
	}
	return out
}
