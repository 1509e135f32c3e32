package bus

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/wire"
)

const (
	// deliveryLimit counts returns of a message, and so the crashes of its consumers; retries inside the handler do not
	// use it up. Past it the broker itself moves the message to the dead queue.
	deliveryLimit = 100
	// noLimit stands for "never" on the queues that are looked into by get and return: RabbitMQ 4 gives every quorum queue
	// a limit of 20 unless told otherwise, and 3.x knows no word for none.
	noLimit = 1_000_000_000
)

// ErrQueueChanged says that a queue or exchange exists with other arguments than this version declares. Arguments never
// change: a queue that needs others gets a new name (".v2").
var ErrQueueChanged = errors.New("exists with other arguments; give the message a new version instead of changing its queue")

// declare makes everything that the lines need: the producer's exchange with its alternate, the queue, its dead queue
// and the binding. Both sides declare all of it, so that no message is ever published before its queue exists.
func declare(channel *amqp.Channel, lines []wire.Route) error {
	if len(lines) == 0 {
		return nil
	}
	if err := declareUnrouted(channel); err != nil {
		return err
	}
	for _, line := range lines {
		if err := declareLine(channel, line); err != nil {
			return err
		}
	}
	return nil
}

func declareUnrouted(channel *amqp.Channel) error {
	if err := channel.ExchangeDeclare(wire.Unrouted, amqp.ExchangeFanout, true, false, false, false, nil); err != nil {
		return declared("exchange "+wire.Unrouted, err)
	}
	if _, err := channel.QueueDeclare(wire.Unrouted, true, false, false, false, keepArguments()); err != nil {
		return declared("queue "+wire.Unrouted, err)
	}
	return declared("binding of "+wire.Unrouted, channel.QueueBind(wire.Unrouted, "", wire.Unrouted, false, nil))
}

func declareLine(channel *amqp.Channel, line wire.Route) error {
	alternate := amqp.Table{"alternate-exchange": wire.Unrouted}
	if err := channel.ExchangeDeclare(line.Exchange, amqp.ExchangeTopic, true, false, false, false, alternate); err != nil {
		return declared("exchange "+line.Exchange, err)
	}
	dead := wire.DeadQueue(line.Queue)
	if _, err := channel.QueueDeclare(dead, true, false, false, false, keepArguments()); err != nil {
		return declared("queue "+dead, err)
	}
	if _, err := channel.QueueDeclare(line.Queue, true, false, false, false, workArguments(line.Queue)); err != nil {
		return declared("queue "+line.Queue, err)
	}
	return declared("binding of "+line.Queue, channel.QueueBind(line.Queue, string(line.Name), line.Exchange, false, nil))
}

// workArguments: messages that the broker gives up on are moved at least once, which needs reject-publish.
func workArguments(queue string) amqp.Table {
	return amqp.Table{
		"x-queue-type":              "quorum",
		"x-delivery-limit":          int32(deliveryLimit),
		"x-dead-letter-exchange":    "",
		"x-dead-letter-routing-key": wire.DeadQueue(queue),
		"x-dead-letter-strategy":    "at-least-once",
		"x-overflow":                "reject-publish",
	}
}

// keepArguments are those of queues that people look into.
func keepArguments() amqp.Table {
	return amqp.Table{"x-queue-type": "quorum", "x-delivery-limit": int32(noLimit)}
}

func declared(what string, err error) error {
	if err == nil {
		return nil
	}
	if broker, ok := errors.AsType[*amqp.Error](err); ok && broker.Code == amqp.PreconditionFailed {
		return fmt.Errorf("%s %w: %s", what, ErrQueueChanged, broker.Reason)
	}
	return fmt.Errorf("declaring %s: %w", what, err)
}

// builder declares a consumer's lines whenever Watermill subscribes or reconnects. The library only logs a failure on
// reconnect and consumes on; the link remembers one that waiting does not cure, so that readiness tells.
type builder struct{ link *Link }

func (b builder) BuildTopology(channel *amqp.Channel, params wamqp.BuildTopologyParams, _ wamqp.Config, _ watermill.LoggerAdapter) error {
	var lines []wire.Route
	for _, line := range b.link.lines {
		if line.Queue == params.QueueName {
			lines = append(lines, line)
		}
	}
	err := declare(channel, lines)
	b.link.declared(err)
	return err
}

// declared remembers how a declaration ended. A connection that broke in the middle of one is not remembered: after the next
// reconnect the library consumes without declaring again, and nothing would ever take the memory back. What such a failure
// leaves out shows in the number of consumers.
func (l *Link) declared(err error) {
	switch {
	case err == nil:
		l.broken.Store(nil)
	case isFinal(err):
		l.broken.Store(&err)
	}
}

// ExchangeDeclare is for Watermill's own publisher, which the bus does not use.
func (b builder) ExchangeDeclare(*amqp.Channel, string, wamqp.Config) error {
	return errors.New("the bus publishes by its own publisher")
}
