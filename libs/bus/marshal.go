package bus

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
)

// The metadata keys that carry a delivery's name, and its return from a dead queue, to the handler's wrapper; no header
// may look like them.
const (
	nameKey     = "\x00name"
	returnedKey = "\x00returned"
)

// DeliveryCount is the header in which RabbitMQ counts how often a message went back to its quorum queue; handlers see
// it as text.
const DeliveryCount = "x-delivery-count"

// marshaler turns deliveries into Watermill messages. It never fails on the content of a delivery: the library answers
// an error with nack and requeue, and its own marshaler fails on every header that is not a string, so the integer that
// RabbitMQ itself adds on redelivery would loop the message for ever.
type marshaler struct {
	origins *origins
	returns string // the exchange through which this service puts messages back
}

// origins maps a message to its channel, for which Watermill's message has no field.
type origins struct{ channels sync.Map }

func (o *origins) put(m *message.Message, d amqp.Delivery) { o.channels.Store(m, d.Acknowledger) }

// take returns the message's channel and forgets it.
func (o *origins) take(m *message.Message) io.Closer {
	channel, _ := o.channels.LoadAndDelete(m)
	return channel.(io.Closer) // Unmarshal stores it for every message; the library's only acknowledger is its channel
}

// Unmarshal fails only for the empty delivery that the library reads from a consumer whose channel is closed. Its nack
// cannot be sent, and so the library subscribes again.
func (c marshaler) Unmarshal(d amqp.Delivery) (*message.Message, error) {
	if d.Acknowledger == nil {
		return nil, errors.New("the consumer's channel is closed")
	}
	m := message.NewMessage(d.MessageId, d.Body)
	m.Metadata = make(message.Metadata, len(d.Headers)+1)
	for key, value := range d.Headers {
		if text, ok := value.(string); ok && utf8.ValidString(text) {
			m.Metadata[key] = text
		}
	}
	if count, ok := d.Headers[DeliveryCount]; ok {
		m.Metadata[DeliveryCount] = fmt.Sprint(count)
	}
	// A message from a producer's exchange gets the name under which the broker has routed it, because its sender may
	// write any type. A message that was put back was routed by the name of its queue.
	m.Metadata[nameKey] = d.RoutingKey
	if d.Exchange == "" || d.Exchange == c.returns {
		m.Metadata[returnedKey] = "true"
		if d.Type != "" {
			m.Metadata[nameKey] = d.Type
		}
	}
	c.origins.put(m, d)
	return m, nil
}

// Marshal is for Watermill's own publisher, which the bus does not use.
func (marshaler) Marshal(*message.Message) (amqp.Publishing, error) {
	return amqp.Publishing{}, errors.New("the bus publishes by its own publisher")
}
