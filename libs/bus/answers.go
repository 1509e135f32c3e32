package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/wire"
)

const (
	gatherFor  = 100 * time.Millisecond // an answer waits for others
	answersMax = 20_000                 // that wait
)

// answers tells producers which of their messages are handled, because a broker may lose what it has confirmed
// (docs/architecture.md#outbox). One that gets lost costs a repetition: the producer sends the message again, and it is
// answered again.
type answers struct {
	publisher message.Publisher
	log       *slog.Logger
	names     map[string]wire.Name // of answers, by the names of messages
	waiting   chan answer
}

type answer struct {
	name    wire.Name
	message wire.StoredMessage
}

// newAnswers makes the answers of a service to the producers of its lines. The line of an answer must be among them.
func newAnswers(publisher message.Publisher, log *slog.Logger, service string, lines []wire.Route) *answers {
	a := &answers{publisher: publisher, log: log, names: map[string]wire.Name{}, waiting: make(chan answer, answersMax)}
	own := map[wire.Name]bool{}
	for _, line := range lines {
		own[line.Name] = line.Exchange == service
	}
	for _, line := range lines {
		if line.Consumer == service && own[line.Stored] {
			a.names[string(line.Name)] = line.Stored
		}
	}
	return a
}

// add queues the answer about a message that is handled. It never blocks: beyond the bound the answer is dropped. A
// message of a producer that awaits no answer has no row.
func (a *answers) add(m Message) {
	row, err := strconv.ParseInt(m.Headers[wire.RowHeader], 10, 64)
	name, awaited := a.names[m.Name]
	if err != nil || !awaited {
		return
	}
	select {
	case a.waiting <- answer{name, wire.StoredMessage{Row: row, ID: m.ID}}:
	default:
	}
}

// run publishes until ctx ends, and then what is waiting, as long as the broker takes it.
func (a *answers) run(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case first := <-a.waiting:
			pause(ctx, gatherFor)
			a.publish(ctx, a.gather(first))
		case <-ctx.Done():
		}
	}
	for len(a.waiting) > 0 && a.publish(ctx, a.gather(<-a.waiting)) {
	}
}

// gather takes what is waiting, as much as one message may hold.
func (a *answers) gather(first answer) map[wire.Name][]wire.StoredMessage {
	stored := map[wire.Name][]wire.StoredMessage{first.name: {first.message}}
	for n := 1; n < wire.StoredMax; n++ {
		select {
		case next := <-a.waiting:
			stored[next.name] = append(stored[next.name], next.message)
		default:
			return stored
		}
	}
	return stored
}

// publish tries until the broker has confirmed, or ctx has ended, and reports whether it has.
func (a *answers) publish(ctx context.Context, stored map[wire.Name][]wire.StoredMessage) bool {
	waits := waits()
	for name, messages := range stored {
		body, _ := json.Marshal(wire.Stored{Messages: messages}) // numbers and texts always encode
		m := message.NewMessage(id.New(id.Message, time.Now()), body)
		for err := a.publisher.Publish(string(name), m); err != nil; err = a.publisher.Publish(string(name), m) {
			a.log.WarnContext(ctx, "answer about handled messages not published", "message", name, "messages", len(messages), "err", err)
			if !pause(ctx, waits.NextBackOff()) {
				return false
			}
		}
	}
	return true
}

// pause waits, and reports whether ctx still runs.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// HandleStored adds a handler of the answers about this service's messages; call it before Run. The handler gets the
// names of the messages that the consumer reads: it may answer about no others.
func (l *Link) HandleStored(h func(ctx context.Context, names []string, m wire.Stored) error) {
	for _, line := range l.lines {
		if !line.Answer || line.Consumer != l.service {
			continue
		}
		var names []string
		for _, other := range l.lines {
			if other.Stored == line.Name && other.Exchange == l.service {
				names = append(names, string(other.Name))
			}
		}
		l.Handle(line.Queue, 1, func(ctx context.Context, m Message) error {
			var stored wire.Stored
			if err := json.Unmarshal(m.Body, &stored); err != nil {
				return fault.Permanent(fmt.Errorf("read %s %s: %w", m.Name, m.ID, err))
			}
			return h(ctx, names, stored)
		})
	}
}
