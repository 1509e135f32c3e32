package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/wire"
)

const (
	gatherFor    = 100 * time.Millisecond // an answer waits for others
	answersMax   = 20_000                 // that wait for one producer
	answerWithin = 5 * time.Second        // for the broker's confirm, while other messages wait for the publisher
)

// answers tells producers which of their messages are handled, because a broker may lose what it has confirmed
// (docs/architecture.md#outbox). One that gets lost costs a repetition: the producer sends the message again, and it is
// answered again.
type answers struct {
	publisher message.Publisher
	log       *slog.Logger
	producers map[string]*producer // by the names of messages
}

// producer is where the answers about some messages go.
type producer struct {
	name    wire.Name // of answers
	waiting chan wire.StoredMessage
}

// newAnswers makes the answers of a service to the producers of its lines. The line of an answer must be among them.
func newAnswers(publisher message.Publisher, log *slog.Logger, service string, lines []wire.Route) *answers {
	a := &answers{publisher: publisher, log: log, producers: map[string]*producer{}}
	own := map[wire.Name]bool{}
	for _, line := range lines {
		own[line.Name] = line.Exchange == service
	}
	begun := map[wire.Name]*producer{}
	for _, line := range lines {
		if line.Consumer != service || !own[line.Stored] {
			continue
		}
		if begun[line.Stored] == nil {
			begun[line.Stored] = &producer{line.Stored, make(chan wire.StoredMessage, answersMax)}
		}
		a.producers[string(line.Name)] = begun[line.Stored]
	}
	return a
}

// add queues the answer about a message that is handled. It never blocks: beyond the bound the answer is dropped. A
// message of a producer that awaits no answer has no row.
func (a *answers) add(m Message) {
	row, err := strconv.ParseInt(m.Headers[wire.RowHeader], 10, 64)
	p := a.producers[m.Name]
	if err != nil || p == nil {
		return
	}
	select {
	case p.waiting <- wire.StoredMessage{Row: row, ID: m.ID}:
	default:
	}
}

// run publishes until ctx ends, and then what is waiting, as long as the broker takes it. No producer waits for
// another.
func (a *answers) run(ctx context.Context) {
	var all sync.WaitGroup
	begun := map[*producer]bool{} // several names have one producer
	for _, p := range a.producers {
		if !begun[p] {
			begun[p] = true
			all.Go(func() { a.answer(ctx, p) })
		}
	}
	all.Wait()
}

func (a *answers) answer(ctx context.Context, p *producer) {
	for ctx.Err() == nil {
		select {
		case first := <-p.waiting:
			pause(ctx, gatherFor)
			if !a.publish(ctx, p.name, p.gather(first)) {
				return
			}
		case <-ctx.Done():
		}
	}
	for len(p.waiting) > 0 && a.publish(ctx, p.name, p.gather(<-p.waiting)) {
	}
}

// gather takes what is waiting, as much as one message may hold.
func (p *producer) gather(first wire.StoredMessage) []wire.StoredMessage {
	stored := []wire.StoredMessage{first}
	for len(stored) < wire.StoredMax {
		select {
		case next := <-p.waiting:
			stored = append(stored, next)
		default:
			return stored
		}
	}
	return stored
}

// publish tries until the broker has confirmed, or ctx has ended, and reports whether it has.
func (a *answers) publish(ctx context.Context, name wire.Name, stored []wire.StoredMessage) bool {
	body, _ := json.Marshal(wire.Stored{Messages: stored}) // numbers and texts always encode
	m := message.NewMessage(id.New(id.Message, time.Now()), body)
	waits := waits()
	for {
		err := a.send(ctx, name, m)
		if err == nil {
			return true
		}
		a.log.WarnContext(ctx, "answer about handled messages not published", "message", name, "messages", len(stored), "err", err)
		if !pause(ctx, waits.NextBackOff()) {
			return false
		}
	}
}

// send tries once, also after ctx has ended.
func (a *answers) send(ctx context.Context, name wire.Name, m *message.Message) error {
	trying, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerWithin)
	defer cancel()
	m.SetContext(trying)
	return a.publisher.Publish(string(name), m)
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
