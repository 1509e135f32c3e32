package bus

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/wire"
)

const (
	// publishTimeout bounds one batch, connecting included.
	publishTimeout = 15 * time.Second
	// batchMax bounds how many publishes wait for their confirms at a time; a larger call is split into batches.
	batchMax = 1000
)

// Publisher is a Watermill publisher whose nil error means that the broker has stored every message in its queue. It
// sends a whole batch and then waits for the confirms. After any error it opens a fresh connection and checks the
// topology first; the caller publishes the batch again, so a message may be sent twice. Many goroutines may use it;
// they take turns.
type Publisher struct {
	link *Link

	mu      sync.Mutex
	conn    *connection
	channel *amqp.Channel
	returns chan amqp.Return
	closed  bool
}

var _ message.Publisher = (*Publisher)(nil)

// ErrClosed is returned by a publisher after Close.
var ErrClosed = errors.New("the publisher is closed")

func newPublisher(l *Link) *Publisher {
	return &Publisher{link: l}
}

// Publish sends messages under a name of libs/wire that the service produces. Any other name is an error, and so are a
// message without id and one that no queue takes. The first message's context may end the wait.
func (p *Publisher) Publish(topic string, messages ...*message.Message) error {
	line, err := p.lineOf(topic)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.UUID == "" {
			return fmt.Errorf("publishing %s: a message has no id", topic)
		}
	}
	for len(messages) > 0 {
		batch := messages[:min(len(messages), batchMax)]
		if err := p.send(messages[0].Context(), line.Exchange, topic, p.publishings(line, batch)); err != nil {
			return fmt.Errorf("publishing %s: %w", topic, err)
		}
		p.link.metrics.published.WithLabelValues(topic).Add(float64(len(batch)))
		messages = messages[len(batch):]
	}
	return nil
}

func (p *Publisher) lineOf(topic string) (wire.Route, error) {
	for _, line := range p.link.lines {
		if string(line.Name) == topic && line.Exchange == p.link.service {
			return line, nil
		}
	}
	return wire.Route{}, fmt.Errorf("publishing %q: %s does not produce such a message", topic, p.link.service)
}

// publishings signs messages and packs them where their line allows it.
func (p *Publisher) publishings(line wire.Route, messages []*message.Message) []amqp.Publishing {
	if line.Packed {
		return p.pack(string(line.Name), messages)
	}
	p.link.signer.sign(string(line.Name), messages)
	out := make([]amqp.Publishing, len(messages))
	for i, m := range messages {
		out[i] = p.publishing(string(line.Name), m)
	}
	return out
}

func (p *Publisher) publishing(topic string, m *message.Message) amqp.Publishing {
	headers := make(amqp.Table, len(m.Metadata))
	for key, value := range m.Metadata {
		headers[key] = value
	}
	return amqp.Publishing{
		Headers: headers, ContentType: "application/json", DeliveryMode: amqp.Persistent,
		MessageId: m.UUID, Type: topic, AppId: p.link.service, Timestamp: time.Now(), Body: m.Payload,
	}
}

// send publishes one batch and waits for its confirms.
func (p *Publisher) send(ctx context.Context, exchange, key string, batch []amqp.Publishing) error {
	ctx, cancel := context.WithTimeoutCause(ctx, publishTimeout, fmt.Errorf("not confirmed within %s", publishTimeout))
	defer cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	err := p.connect(ctx)
	if err == nil {
		err = p.transmit(ctx, exchange, key, batch)
	}
	if err != nil {
		p.link.metrics.refused.Inc()
		p.reset()
	}
	return err
}

// connect ensures a confirming channel, and checks everything that the service uses.
func (p *Publisher) connect(ctx context.Context) error {
	if p.channel != nil && !p.channel.IsClosed() {
		return nil
	}
	p.reset()
	conn, err := p.link.open(ctx, rolePublish)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer context.AfterFunc(ctx, conn.cut)()
	p.conn = conn
	channel, err := conn.Channel()
	if err != nil {
		return fmt.Errorf("opening a channel: %w", err)
	}
	if err := look(channel, p.link.service, p.link.lines); err != nil {
		return err
	}
	if err := channel.Confirm(false); err != nil {
		return fmt.Errorf("enabling confirms: %w", err)
	}
	// Every return arrives before the confirm of its message and there are at most batchMax of them, so the library's
	// reader never blocks on this channel.
	p.returns = channel.NotifyReturn(make(chan amqp.Return, batchMax))
	p.channel = channel
	return nil
}

// transmit writes the batch and reads the answers. It cuts the socket when its time has passed, because the library's
// writes know no deadline.
func (p *Publisher) transmit(ctx context.Context, exchange, key string, batch []amqp.Publishing) error {
	defer context.AfterFunc(ctx, p.conn.cut)()
	confirms := make([]*amqp.DeferredConfirmation, len(batch))
	for i := range batch {
		confirm, err := p.channel.PublishWithDeferredConfirm(exchange, key, true, false, batch[i])
		if err != nil {
			return cause(ctx, fmt.Errorf("sending: %w", err))
		}
		confirms[i] = confirm
	}
	for i, confirm := range confirms {
		acked, err := confirm.WaitContext(ctx)
		if err != nil || !acked {
			return cause(ctx, fmt.Errorf("message %s was not confirmed", batch[i].MessageId))
		}
	}
	select {
	case returned := <-p.returns:
		return fmt.Errorf("message %s reached no queue: %s", returned.MessageId, returned.ReplyText)
	default:
		return nil
	}
}

// cause adds the timeout to an error when the time ran out.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", err, context.Cause(ctx))
	}
	return err
}

// reset drops the connection; the next batch opens another.
func (p *Publisher) reset() {
	if p.conn != nil {
		p.conn.cut()
		_ = p.conn.Close() // frees the library's memory; the socket is closed already
	}
	p.conn, p.channel, p.returns = nil, nil, nil
}

// Close ends the connection after the batch in flight. Publishing afterwards is an error.
func (p *Publisher) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conn != nil {
		p.conn.end()
	}
	p.conn, p.channel, p.closed = nil, nil, true
	return nil
}
