package main

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// broker publishes status messages as payments' relay does: 500 at a time, each persistent and confirmed, packed by 50
// (libs/bus, pack.go), each pack signed (libs/bus, seal.go).
type broker struct {
	conn    *amqp.Connection
	channel *amqp.Channel
	keyID   string
	key     ed25519.PrivateKey
}

const (
	relayBatch    = 500
	packMax       = 50
	statusChanged = "payments.status_changed.v1"

	signatureHeader = "x-causeway-signature"
)

func newBroker(url, key string) (*broker, error) {
	id, encoded, _ := strings.Cut(key, ":")
	seed, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errors.New("MESSAGE_KEY is not id:base64 of 32 bytes")
	}
	conn, err := amqp.Dial(url)
	if err != nil {
		return nil, errors.New("connecting to the broker failed") // the error may show the password
	}
	b := &broker{conn: conn, keyID: id, key: ed25519.NewKeyFromSeed(seed)}
	if b.channel, err = conn.Channel(); err == nil {
		err = b.channel.Confirm(false)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening a channel: %w", err), b.close())
	}
	return b, nil
}

func (b *broker) close() error { return b.conn.Close() }

// sign makes the signature header of a message.
func (b *broker) sign(id string, body []byte) string {
	var signed []byte
	for _, text := range []string{"causeway message 1", statusChanged, id} {
		signed = append(binary.AppendUvarint(signed, uint64(len(text))), text...)
	}
	return b.header("1", signed, body)
}

// seal makes the signature header of a pack.
func (b *broker) seal(events batch) string {
	var signed, digests []byte
	for _, text := range []string{"causeway pack 1", statusChanged} {
		signed = append(binary.AppendUvarint(signed, uint64(len(text))), text...)
	}
	for n, id := range events.ids {
		one := sha256.Sum256(append(append(binary.AppendUvarint(nil, uint64(len(id))), id...), events.bodies[n]...))
		digests = append(digests, one[:]...)
	}
	return b.header("2", signed, digests)
}

func (b *broker) header(version string, signed, what []byte) string {
	at := time.Now().Unix()
	signature := ed25519.Sign(b.key, append(binary.AppendVarint(signed, at), what...))
	return fmt.Sprintf("%s.%s.%d.%s", version, b.keyID, at, base64.RawURLEncoding.EncodeToString(signature))
}

// publish returns once the broker has confirmed every message; single ones travel as a relay sends them that finds no
// more.
func (b *broker) publish(ctx context.Context, events batch) error {
	var confirms []*amqp.DeferredConfirmation
	for len(events.ids) > 0 {
		n := min(len(events.ids), packMax)
		message := amqp.Publishing{
			Headers: amqp.Table{signatureHeader: events.signatures[0]}, ContentType: "application/json", DeliveryMode: amqp.Persistent,
			MessageId: events.ids[0], Type: statusChanged, AppId: "payments", Timestamp: time.Now(), Body: events.bodies[0],
		}
		if n > 1 {
			message.Headers, message.ContentType = amqp.Table{"x-causeway-pack": "2", signatureHeader: b.seal(events.part(0, n))}, "application/octet-stream"
			message.MessageId, message.Body = "pack-"+events.ids[0], pack(events.part(0, n))
		}
		confirm, err := b.channel.PublishWithDeferredConfirm("payments", statusChanged, true, false, message)
		if err != nil {
			return fmt.Errorf("publishing: %w", err)
		}
		confirms, events = append(confirms, confirm), events.part(n, len(events.ids))
	}
	for _, confirm := range confirms {
		if acked, err := confirm.WaitContext(ctx); err != nil || !acked {
			return errors.Join(errors.New("a message was not confirmed"), err)
		}
	}
	return nil
}

func pack(events batch) []byte {
	var out []byte
	text := func(s string) { out = append(binary.AppendUvarint(out, uint64(len(s))), s...) }
	for n, id := range events.ids {
		text(id)
		out = binary.AppendUvarint(out, 0) // headers
		out = append(binary.AppendUvarint(out, uint64(len(events.bodies[n]))), events.bodies[n]...)
	}
	return out
}
