package bus

import (
	"context"
	"fmt"
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
	// DeadMax bounds how many dead messages of a queue one command looks at.
	DeadMax = 10_000
)

// Dead is one message of a dead queue, as a person needs it to decide.
type Dead struct {
	Queue  string    `json:"queue"` // the queue that it died in
	ID     string    `json:"id"`
	Name   string    `json:"name"`
	Reason string    `json:"reason"`
	Time   time.Time `json:"time"`
	Size   int       `json:"size"` // of the body, in bytes
	Head   string    `json:"head"` // its first bytes
}

// DeadList returns up to limit messages of each dead queue of the service and leaves them where they are.
func DeadList(ctx context.Context, cfg Config, service string, limit int) ([]Dead, error) {
	return deadList(ctx, cfg, service, wire.Topology(), limit)
}

func deadList(ctx context.Context, cfg Config, service string, topology []wire.Route, limit int) ([]Dead, error) {
	var dead []Dead
	err := eachDead(ctx, cfg, service, topology, limit, func(_ *Link, queue string, d amqp.Delivery) error {
		dead = append(dead, describe(queue, d))
		return nil
	})
	return dead, err
}

// DeadRedrive moves dead messages of the service back to the queue they died in: those with the given ids, or all when
// there is none. Each is acknowledged only when the broker has confirmed its copy, so a failure leaves it in both. It
// returns how many were moved; limit bounds how many of each queue are looked at.
func DeadRedrive(ctx context.Context, cfg Config, service string, limit int, ids ...string) (int, error) {
	return deadRedrive(ctx, cfg, service, wire.Topology(), limit, ids)
}

func deadRedrive(ctx context.Context, cfg Config, service string, topology []wire.Route, limit int, ids []string) (int, error) {
	moved := 0
	err := eachDead(ctx, cfg, service, topology, limit, func(l *Link, queue string, d amqp.Delivery) error {
		if len(ids) > 0 && !slices.Contains(ids, d.MessageId) {
			return nil
		}
		if err := redrive(ctx, l, queue, d); err != nil {
			return err
		}
		moved++
		return nil
	})
	return moved, err
}

// DeadDiscard takes dead messages of the service out of their queues for good: those with the given ids, or all when there is
// none. Each leaves once keep has it, so a failure leaves it where it is. It returns how many are gone; limit bounds how many
// of each queue are looked at.
func DeadDiscard(ctx context.Context, cfg Config, service string, limit int, keep func(context.Context, Dead, []byte) error, ids ...string) (int, error) {
	return deadDiscard(ctx, cfg, service, wire.Topology(), limit, keep, ids)
}

func deadDiscard(ctx context.Context, cfg Config, service string, topology []wire.Route, limit int,
	keep func(context.Context, Dead, []byte) error, ids []string,
) (int, error) {
	gone := 0
	err := eachDead(ctx, cfg, service, topology, limit, func(_ *Link, queue string, d amqp.Delivery) error {
		if len(ids) > 0 && !slices.Contains(ids, d.MessageId) {
			return nil
		}
		if err := keep(ctx, describe(queue, d), d.Body); err != nil {
			return err
		}
		if err := d.Ack(false); err != nil {
			return fmt.Errorf("taking message %s out of its queue: %w", d.MessageId, err)
		}
		gone++
		return nil
	})
	return gone, err
}

// eachDead shows f every message of the service's dead queues, at most limit of each queue, over one connection. What f
// does not acknowledge returns to its queue when the connection closes.
func eachDead(ctx context.Context, cfg Config, service string, topology []wire.Route, limit int,
	f func(l *Link, queue string, d amqp.Delivery) error,
) error {
	if limit < 1 || limit > DeadMax {
		return fmt.Errorf("limit must be 1 to %d", DeadMax)
	}
	l, err := dial(ctx, cfg, service, telemetry.Discard(service), topology)
	if err != nil {
		return err
	}
	defer l.Close()
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
	for _, queue := range consumedBy(service, l.lines) {
		if err := lookInto(channel, queue, limit, func(d amqp.Delivery) error { return f(l, queue, d) }); err != nil {
			return err
		}
	}
	return nil
}

// lookInto takes each message once: those that are there at the start, so that one which dies again meanwhile does not
// go in circles.
func lookInto(channel *amqp.Channel, queue string, limit int, f func(amqp.Delivery) error) error {
	state, err := channel.QueueDeclarePassive(wire.DeadQueue(queue), true, false, false, false, nil)
	if err != nil {
		return fmt.Errorf("looking at %s: %w", wire.DeadQueue(queue), err)
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
	dead := Dead{Queue: queue, ID: d.MessageId, Name: d.Type, Size: len(d.Body), Head: clip(string(d.Body), headMax), Time: d.Timestamp.UTC()}
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
