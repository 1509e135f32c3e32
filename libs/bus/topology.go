package bus

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill"
	wamqp "github.com/ThreeDotsLabs/watermill-amqp/v3/pkg/amqp"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/wire"
)

// look checks that everything that a service uses exists. It declares nothing: a service's user has no right to, and an
// administrator declares the topology (wire.Declare). A producer checks its consumers' queues too, so that no message
// is published before its queue exists.
func look(channel *amqp.Channel, service string, lines []wire.Route) error {
	if len(lines) == 0 {
		return nil
	}
	queues, exchanges := []string{wire.Unrouted}, []string{wire.Unrouted}
	for _, line := range lines {
		queues = append(queues, line.Queue)
		if line.Exchange == service {
			exchanges = append(exchanges, line.Exchange)
		}
		if line.Consumer == service {
			queues, exchanges = append(queues, wire.DeadQueue(line.Queue)), append(exchanges, wire.Returns(service))
		}
	}
	for _, exchange := range exchanges {
		// A passive declaration compares the name alone.
		if err := channel.ExchangeDeclarePassive(exchange, amqp.ExchangeTopic, true, false, false, false, nil); err != nil {
			return missing("exchange "+exchange, err)
		}
	}
	for _, queue := range queues {
		if _, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil); err != nil {
			return missing("queue "+queue, err)
		}
	}
	return nil
}

func missing(what string, err error) error {
	if broker, ok := errors.AsType[*amqp.Error](err); ok && broker.Code == amqp.NotFound {
		return fmt.Errorf("the broker has no %s: declare its topology (docs/deploy.md): %s", what, broker.Reason)
	}
	return fmt.Errorf("checking %s: %w", what, err)
}

// builder checks a consumer's lines whenever Watermill subscribes or reconnects. At a stop it ends the loop that asks.
type builder struct {
	link *Link
	exit *exit
}

func (b builder) BuildTopology(channel *amqp.Channel, params wamqp.BuildTopologyParams, _ wamqp.Config, _ watermill.LoggerAdapter) error {
	b.exit.take()
	var lines []wire.Route
	for _, line := range b.link.lines {
		if line.Queue == params.QueueName {
			lines = append(lines, line)
		}
	}
	return look(channel, b.link.service, lines)
}

// ExchangeDeclare is for Watermill's own publisher, which the bus does not use.
func (b builder) ExchangeDeclare(*amqp.Channel, string, wamqp.Config) error {
	return errors.New("the bus publishes by its own publisher")
}
