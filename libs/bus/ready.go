package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/tick"
	"causeway.internal/libs/wire"
)

// How long the broker's answers are valid: about its consumers, and about the dead queues. A dead queue is asked about
// at the next inspection if this process has just buried a message.
const (
	inspectEvery = time.Second
	deadEvery    = 30 * time.Second
)

// Ready is nil while the link is connected and every queue has its consumers. The connection alone proves little: the
// library only logs a subscription that failed to come back, so the broker is asked for its consumers.
func (l *Link) Ready(ctx context.Context) error {
	if !l.started.Load() {
		return errors.New("consumers have not started")
	}
	if len(l.handlers) == 0 {
		return nil
	}
	if l.conn.Load() == 0 {
		return errors.New("not connected to the broker")
	}
	return l.inspect.consumers(ctx, l.handlers)
}

// consumers reads the number of consumers of each queue. It counts those of other replicas too; the connection's own
// state shows the rest.
func (i *inspector) consumers(ctx context.Context, handlers []handler) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if time.Since(i.asked) < inspectEvery {
		return i.verdict
	}
	i.verdict = i.ask(ctx, handlers)
	i.asked = time.Now()
	if i.verdict != nil && i.conn != nil {
		i.conn.cut()
		_ = i.conn.Close() // the next read opens another
		i.conn = nil
	}
	return i.verdict
}

func (i *inspector) ask(ctx context.Context, handlers []handler) error {
	if i.conn == nil || i.conn.IsClosed() {
		conn, err := i.open(ctx, roleInspect)
		if err != nil {
			return fmt.Errorf("connecting to the broker: %w", err)
		}
		i.conn = conn
	}
	defer context.AfterFunc(ctx, i.conn.cut)()
	channel, err := i.conn.Channel()
	if err != nil {
		return fmt.Errorf("opening a channel: %w", err)
	}
	defer channel.Close() //nolint:errcheck // the question is answered
	var short error
	for _, h := range handlers {
		queue, err := channel.QueueDeclarePassive(h.queue, true, false, false, false, nil)
		if err != nil {
			return fmt.Errorf("inspecting %s: %w", h.queue, err)
		}
		if queue.Consumers < h.parallel && short == nil {
			short = fmt.Errorf("%s has %d of %d consumers", h.queue, queue.Consumers, h.parallel)
		}
		i.metrics.waiting.WithLabelValues(h.queue).Set(float64(queue.Messages))
		i.note(h.queue, func(d *Depth) { d.Messages = queue.Messages })
	}
	i.dead(channel, handlers)
	return short
}

// dead measures the dead queues, which an operator must empty, unless it did lately. A missing one leaves the service
// ready, and ends the channel.
func (i *inspector) dead(channel *amqp.Channel, handlers []handler) {
	if !i.buried.Swap(false) && time.Since(i.askedDead) < deadEvery-measureEvery/2 { // an inspection may come early
		return
	}
	measured := map[string]string{wire.Unrouted: wire.Unrouted}
	for _, h := range handlers {
		measured[h.queue] = wire.DeadQueue(h.queue)
	}
	for label, queue := range measured {
		state, err := channel.QueueDeclarePassive(queue, true, false, false, false, nil)
		if err != nil {
			i.buried.Store(true) // the next inspection tries again
			return
		}
		i.metrics.buried.WithLabelValues(label).Set(float64(state.Messages))
		i.note(label, func(d *Depth) { d.Dead = state.Messages })
	}
	i.askedDead = time.Now()
}

// Depth is how many messages wait in a queue, and how many in its dead queue.
type Depth struct {
	Queue          string
	Messages, Dead int
}

// note remembers a measurement; the caller holds the lock.
func (i *inspector) note(queue string, change func(*Depth)) {
	if i.depths == nil {
		i.depths = map[string]Depth{}
	}
	d := i.depths[queue]
	d.Queue = queue
	change(&d)
	i.depths[queue] = d
}

// Depths lists the queues of the service as they were last measured, by name.
func (l *Link) Depths() []Depth {
	l.inspect.mu.Lock()
	defer l.inspect.mu.Unlock()
	return slices.SortedFunc(maps.Values(l.inspect.depths), func(a, b Depth) int { return strings.Compare(a.Queue, b.Queue) })
}

// measureEvery is the interval of queue measurements, which do not depend on readiness requests.
const measureEvery = 10 * time.Second

// measure updates the depth of the queues, and keeps its connection open, until ctx ends. Readiness shows its failures,
// so the log line is debug.
func (l *Link) measure(ctx context.Context) {
	for {
		bounded, cancel := context.WithTimeout(ctx, measureEvery)
		if err := l.inspect.consumers(bounded, l.handlers); err != nil {
			l.tel.Log.DebugContext(ctx, "queues not measured", "err", err)
		}
		cancel()
		select {
		case <-ctx.Done():
			return
		case <-time.After(tick.Until(measureEvery)):
		}
	}
}
