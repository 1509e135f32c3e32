package bus

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
)

// The headers that a dead message carries.
const (
	reasonHeader = "x-dead-reason"
	queueHeader  = "x-dead-queue"
	timeHeader   = "x-dead-time"
)

const (
	// reasonMax bounds the reason of a dead message and headMax the piece of its body that a list shows, in bytes.
	reasonMax = 1000
	headMax   = 200
	// DeadMax bounds how many dead messages of a queue one command reads.
	DeadMax = 10_000
)

// Dead is one message of a dead queue with what an operator needs to decide.
type Dead struct {
	Queue  string    `json:"queue"` // its queue before it was dead
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
	Size   int       `json:"size"` // of the body, in bytes
	Head   string    `json:"head"` // its first bytes
	// Digest distinguishes messages of the same id, since senders choose ids. It covers all that the sender wrote, and
	// so the signature too.
	Digest string `json:"digest"`
}

// DeadList returns up to limit messages of each dead queue of the service and leaves them where they are.
func DeadList(ctx context.Context, cfg Config, service string, limit int) ([]Dead, error) {
	return deadList(ctx, cfg, service, wire.Topology(), limit)
}

func deadList(ctx context.Context, cfg Config, service string, topology []wire.Route, limit int) ([]Dead, error) {
	var dead []Dead
	err := eachDead(ctx, consumer{cfg, service, topology}, limit, func(_ *Link, queue string, d amqp.Delivery) error {
		dead = append(dead, describe(queue, d))
		return nil
	}, nothing)
	return dead, err
}

// DeadRedrive moves dead messages of the service back to their queue: those with the given ids, or all when there is
// none. Each is acknowledged only when the broker has confirmed its copy, so a failure leaves it in both. It returns
// how many were moved; limit bounds how many of each queue are read.
func DeadRedrive(ctx context.Context, cfg Config, service string, limit int, ids ...string) (int, error) {
	return deadRedrive(ctx, cfg, service, wire.Topology(), limit, ids)
}

func deadRedrive(ctx context.Context, cfg Config, service string, topology []wire.Route, limit int, ids []string) (int, error) {
	moved := 0
	err := eachDead(ctx, consumer{cfg, service, topology}, limit, func(l *Link, queue string, d amqp.Delivery) error {
		if len(ids) > 0 && !slices.Contains(ids, d.MessageId) {
			return nil
		}
		if err := redrive(ctx, l, queue, d); err != nil {
			return err
		}
		moved++
		return nil
	}, nothing)
	return moved, err
}

// Choice selects dead messages.
type Choice struct {
	IDs    []string // none: all
	Queue  string   // of this queue alone; "" is all of the service's
	Digest string   // prefix of the digest of each
	Limit  int      // how many of each queue are read
}

// DeadDiscard removes dead messages of the service from their queues for good. Each is removed once keep has stored it,
// so a failure leaves it where it is. It returns the number removed. An id of messages that differ is refused and
// nothing is removed, because a forged message may carry the id of a genuine one.
func DeadDiscard(ctx context.Context, cfg Config, service string, c Choice, keep func(context.Context, Dead, []byte) error) (int, error) {
	return deadDiscard(ctx, cfg, service, wire.Topology(), c, keep)
}

func deadDiscard(ctx context.Context, cfg Config, service string, topology []wire.Route, c Choice,
	keep func(context.Context, Dead, []byte) error,
) (int, error) {
	if c.Queue != "" && !slices.Contains(consumedBy(service, topology), c.Queue) {
		return 0, fmt.Errorf("%s has no queue %q", service, c.Queue)
	}
	gone := 0
	leave := func(dead Dead, d amqp.Delivery) error {
		if err := keep(ctx, dead, d.Body); err != nil {
			return err
		}
		if err := d.Ack(false); err != nil {
			return fmt.Errorf("taking message %s out of its queue: %w", dead.ID, err)
		}
		gone++
		return nil
	}
	var named []amqp.Delivery // messages with one of the ids, until it is clear that no id names two
	var described []Dead
	err := eachDead(ctx, consumer{cfg, service, topology}, c.Limit, func(_ *Link, queue string, d amqp.Delivery) error {
		dead := describe(queue, d)
		switch {
		case c.Queue != "" && queue != c.Queue, !strings.HasPrefix(dead.Digest, c.Digest):
			return nil
		case len(c.IDs) == 0:
			return leave(dead, d)
		case slices.Contains(c.IDs, dead.ID):
			named, described = append(named, d), append(described, dead)
		}
		return nil
	}, func() error {
		if err := unequivocal(described); err != nil {
			return err
		}
		for i, d := range named {
			if err := leave(described[i], d); err != nil {
				return err
			}
		}
		return nil
	})
	return gone, err
}

// unequivocal refuses messages that have the same id and differ.
func unequivocal(dead []Dead) error {
	digests := map[string]string{}
	for _, d := range dead {
		if other, known := digests[d.ID]; known && other != d.Digest {
			return fmt.Errorf("different messages have the id %s: choose one by --digest, which `dead list` shows", d.ID)
		}
		digests[d.ID] = d.Digest
	}
	return nil
}

func nothing() error { return nil }

// consumer is a service as the broker knows it.
type consumer struct {
	cfg      Config
	service  string
	topology []wire.Route
}

// eachDead calls f for every message of the service's dead queues, at most limit of each queue, over one connection,
// and then calls end. A message that neither acknowledges returns to its queue when the connection closes.
func eachDead(ctx context.Context, at consumer, limit int, f func(l *Link, queue string, d amqp.Delivery) error, end func() error) error {
	if limit < 1 || limit > DeadMax {
		return fmt.Errorf("limit must be 1 to %d", DeadMax)
	}
	l, err := dial(ctx, at.cfg, at.service, telemetry.Discard(at.service), at.topology)
	if err != nil {
		return err
	}
	defer l.Close() //nolint:errcheck // the command ends
	conn, err := l.open(ctx, roleInspect)
	if err != nil {
		return fmt.Errorf("connecting to the broker: %w", err)
	}
	defer conn.end()
	defer context.AfterFunc(ctx, conn.cut)()
	channel, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("opening a channel: %w", err)
	}
	if err := look(channel, l.service, l.lines); err != nil {
		return err
	}
	for _, queue := range consumedBy(at.service, l.lines) {
		if err := lookInto(channel, queue, limit, func(d amqp.Delivery) error { return f(l, queue, d) }); err != nil {
			return err
		}
	}
	return end()
}

// lookInto reads each message that is there at the start once, so that one that dies again meanwhile does not go in
// circles.
func lookInto(channel *amqp.Channel, queue string, limit int, f func(amqp.Delivery) error) error {
	state, err := channel.QueueDeclarePassive(wire.DeadQueue(queue), true, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("inspecting %s: %w", wire.DeadQueue(queue), err)
	}
	for range min(limit, state.Messages) {
		d, ok, err := channel.Get(wire.DeadQueue(queue), false)
		if err != nil {
			return fmt.Errorf("reading %s: %w", wire.DeadQueue(queue), err)
		}
		if !ok {
			return nil
		}
		if err := f(d); err != nil {
			return err
		}
	}
	return nil
}

// consumedBy lists the queues of a service, each once.
func consumedBy(service string, lines []wire.Route) []string {
	var queues []string
	for _, line := range lines {
		if line.Consumer == service && !slices.Contains(queues, line.Queue) {
			queues = append(queues, line.Queue)
		}
	}
	return queues
}

func describe(queue string, d amqp.Delivery) Dead {
	dead := Dead{Queue: queue, ID: d.MessageId, Name: d.Type, Size: len(d.Body), Head: clip(string(d.Body), headMax), Time: d.Timestamp.UTC(), Digest: digest(d)}
	if reason, ok := d.Headers[reasonHeader].(string); ok {
		dead.Reason = reason
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(d.Headers[timeHeader])); err == nil {
			dead.Time = at
		}
		return dead
	}
	// The broker moved it by itself, past the delivery limit.
	deaths, _ := d.Headers["x-death"].([]any)
	if len(deaths) > 0 {
		if death, ok := deaths[0].(amqp.Table); ok {
			dead.Reason = fmt.Sprintf("moved by the broker: %v", death["reason"])
			if at, ok := death["time"].(time.Time); ok {
				dead.Time = at.UTC()
			}
		}
	}
	return dead
}

// digest covers what the sender wrote, each part with its length before it.
func digest(d amqp.Delivery) string {
	headers, sum := withoutDeath(d.Headers), sha256.New()
	parts := []string{d.MessageId, d.Type, d.AppId, d.ContentType, string(d.Body)}
	for _, key := range slices.Sorted(maps.Keys(headers)) {
		parts = append(parts, key, fmt.Sprint(headers[key]))
	}
	for _, part := range parts {
		fmt.Fprintf(sum, "%d %s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

func redrive(ctx context.Context, l *Link, queue string, d amqp.Delivery) error {
	err := l.publisher.send(ctx, wire.Returns(l.service), queue, []amqp.Publishing{{
		Headers: withoutDeath(d.Headers), ContentType: d.ContentType, DeliveryMode: amqp.Persistent,
		MessageId: d.MessageId, Type: d.Type, AppId: d.AppId, Timestamp: d.Timestamp, Body: d.Body,
	}})
	if err != nil {
		return fmt.Errorf("publishing message %s again: %w", d.MessageId, err)
	}
	return d.Ack(false)
}

// withoutDeath keeps the headers that the message was published with.
func withoutDeath(headers amqp.Table) amqp.Table {
	kept := make(amqp.Table, len(headers))
	for key, value := range headers {
		if text, ok := value.(string); ok && !strings.HasPrefix(key, "x-dead-") && !strings.HasPrefix(key, "x-first-death-") && !strings.HasPrefix(key, "x-last-death-") {
			kept[key] = text
		}
	}
	return kept
}

// clip cuts a text at a whole character and makes it printable.
func clip(s string, most int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
