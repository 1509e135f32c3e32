package bus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp "github.com/rabbitmq/amqp091-go"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
)

// A pack is one message of the broker that carries several messages of libs/wire, on lines that allow it (wire.Route):
// messages that wait in the outbox together travel together. A broker message has the same cost for any content, and a
// burst of status changes is most of its content.
//
// The body of a pack is, for each message, its id, the number of its headers, their keys and values, and its body;
// every text is preceded by its length, and numbers are unsigned varints. A header marks packs: "1" where each message
// has a signature of its own, "2" where another header has one for all (seal). A consumer that does not know a version
// moves the pack to its dead queue whole, from where a later release takes it.
const (
	packHeader  = "x-causeway-pack"
	packVersion = "1"
	packSealed  = "2"
	packMax     = 50       // messages
	packBytes   = 64 << 10 // of a pack with more than one message
)

// Bounds of what a message of a pack has beside its body, so that it can be moved to the dead queue alone.
const (
	textMost    = 255      // bytes of an id or of a header's key, as in AMQP
	headersMost = 16 << 10 // bytes of all its headers
)

// pack signs messages and joins them in their order; a single one stays as it is.
func (p *Publisher) pack(topic string, messages []*message.Message) []amqp.Publishing {
	var out []amqp.Publishing
	for len(messages) > 0 {
		n, size := 1, len(messages[0].Payload)
		for n < min(len(messages), packMax) && size+len(messages[n].Payload) <= packBytes {
			size += len(messages[n].Payload)
			n++
		}
		together := n > 1 && p.link.signer != nil && p.link.signer.packs
		if !together {
			p.link.signer.sign(topic, messages[:n])
		}
		if n == 1 {
			out = append(out, p.publishing(topic, messages[0]))
		} else {
			whole := message.NewMessage("pack-"+messages[0].UUID, nil)
			whole.Metadata.Set(packHeader, packVersion)
			if together {
				whole.Metadata.Set(packHeader, packSealed)
				for _, m := range messages[:n] { // an earlier try may have signed it alone
					delete(m.Metadata, signatureHeader)
				}
				whole.Metadata.Set(signatureHeader, p.link.signer.seal(topic, messages[:n]))
			}
			whole.Payload = join(messages[:n])
			one := p.publishing(topic, whole)
			one.ContentType = "application/octet-stream"
			out = append(out, one)
		}
		messages = messages[n:]
	}
	return out
}

func join(messages []*message.Message) []byte {
	size := 0
	for _, m := range messages {
		size += len(m.UUID) + len(m.Payload) + 128
	}
	body := make([]byte, 0, size)
	add := func(text string) { body = append(binary.AppendUvarint(body, uint64(len(text))), text...) }
	for _, m := range messages {
		add(m.UUID)
		body = binary.AppendUvarint(body, uint64(len(m.Metadata)))
		for key, value := range m.Metadata {
			add(key)
			add(value)
		}
		body = append(binary.AppendUvarint(body, uint64(len(m.Payload))), m.Payload...)
	}
	return body
}

var errPack = errors.New("the pack of messages cannot be read")

// split is the inverse of join. The bodies share the memory of the pack's.
func split(pack Message) (messages []Message, err error) {
	version := pack.Headers[packHeader]
	if version != packVersion && version != packSealed {
		return nil, fmt.Errorf("%w: version %q", errPack, version)
	}
	rest := pack.Body
	number := func() uint64 {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n > uint64(len(pack.Body)) {
			err = errPack
			return 0
		}
		rest = rest[size:]
		return n
	}
	text := func() []byte {
		n := number()
		if n > uint64(len(rest)) {
			err = errPack
			return nil
		}
		t := rest[:n:n]
		rest = rest[n:]
		return t
	}
	for len(rest) > 0 && err == nil {
		if len(messages) == packMax {
			return nil, errPack
		}
		m := Message{ID: string(text()), Name: pack.Name, Returned: pack.Returned}
		headers := number()
		m.Headers = make(map[string]string, min(headers, packMax))
		size := 0
		for n := uint64(0); n < headers && err == nil; n++ {
			key, value := string(text()), text()
			if size += len(key) + len(value); len(key) > textMost || size > headersMost {
				return nil, errPack
			}
			m.Headers[key] = string(value)
		}
		if len(m.ID) > textMost {
			return nil, errPack
		}
		if count, ok := pack.Headers[DeliveryCount]; ok {
			m.Headers[DeliveryCount] = count
		}
		m.Body = text()
		messages = append(messages, m)
	}
	if err == nil && len(messages) == 0 {
		err = errPack
	}
	if version == packSealed && err == nil {
		header := pack.Headers[signatureHeader]
		if len(header) > sealMost { // each of its messages would take it along
			return nil, errPack
		}
		sealedBy(header, messages)
	}
	return messages, err
}

// finishPack is finish for every message of a pack, in parallel unless the handler wants them in order or takes them
// together. Each has its own retries and its own way to the dead queue; the pack is done when all of them are. If the
// process stops before that, all of them are delivered again.
func (w *work) finishPack(h handler, pack Message) bool {
	messages, err := split(pack)
	if err != nil {
		poison := fault.Permanent(err)
		h.handle = func(context.Context, Message) error { return poison }
		return w.finish(h, pack)
	}
	if h.all != nil {
		messages = w.together(h, messages)
	}
	if h.parallel == 1 {
		for _, m := range messages {
			if !w.finish(h, m) {
				return false
			}
		}
		return true
	}
	var wait sync.WaitGroup
	var left atomic.Bool
	for _, m := range messages {
		wait.Go(func() {
			if !w.finish(h, m) {
				left.Store(true)
			}
		})
	}
	wait.Wait()
	return !left.Load()
}

// together runs the handler once for all messages and returns those that it has not finished.
func (w *work) together(h handler, messages []Message) (left []Message) {
	whole := len(messages)
	messages, left = w.genuine(h.queue, messages)
	if len(messages) == 0 {
		return left
	}
	ctx, cancel := context.WithTimeout(w.hard, attemptTimeout)
	defer cancel()
	own, end := w.traced(ctx, h, messages)
	began := time.Now()
	var errs []error
	defer func() {
		if p := recover(); p != nil {
			w.link.tel.Log.ErrorContext(ctx, "handler panicked", "queue", h.queue, "messages", len(messages), "id", messages[0].ID,
				"panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			errs = slices.Repeat([]error{panicked{value: p}}, len(messages))
		}
		end(errs)
		for n, m := range messages {
			if errs != nil && errs[n] != nil {
				left = append(left, m)
				continue
			}
			w.answers.add(m)
		}
		w.link.metrics.seconds.WithLabelValues(h.queue).Observe(time.Since(began).Seconds())
		w.link.metrics.consumed.WithLabelValues(h.queue).Add(float64(whole - len(left)))
	}()
	errs = h.all(ctx, own)
	if errs != nil && len(errs) != len(messages) {
		panic(fmt.Sprintf("the handler answered with %d errors for %d messages", len(errs), len(messages)))
	}
	return left
}

// genuine separates the messages that a handler may see from the invalid ones.
func (w *work) genuine(queue string, messages []Message) (good, bad []Message) {
	good = slices.DeleteFunc(slices.Clone(messages), func(m Message) bool {
		poison := m.ID == "" || w.link.authentic(queue, m) != nil
		if poison {
			bad = append(bad, m)
		}
		return poison
	})
	return good, bad
}

// traced starts the consumer's span of every message that is recorded and puts it into the message's headers.
func (w *work) traced(ctx context.Context, h handler, messages []Message) (own []Message, end func(errs []error)) {
	own, spans := slices.Clone(messages), map[int]trace.Span{}
	for n, m := range messages {
		origin := telemetry.SpanContext(m.Headers[telemetry.TraceHeader])
		if !origin.IsSampled() {
			continue
		}
		at, span := w.span(trace.ContextWithRemoteSpanContext(ctx, origin), h, m)
		own[n], spans[n] = m.under(at), span
	}
	return own, func(errs []error) {
		for n, span := range spans {
			if errs != nil && errs[n] != nil {
				span.SetStatus(codes.Error, errs[n].Error())
			}
			span.End()
		}
	}
}
