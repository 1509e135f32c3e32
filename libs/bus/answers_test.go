package bus

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"causeway.internal/libs/wire"
)

// replies is a publisher that keeps what it was given, and fails as often as it is asked to.
type replies struct {
	mu    sync.Mutex
	fails int
	down  string // a topic that nobody confirms
	sizes map[string][]int
	rows  map[string]int
	more  chan struct{}
}

func newReplies(fails int) *replies {
	return &replies{fails: fails, sizes: map[string][]int{}, rows: map[string]int{}, more: make(chan struct{}, 1000)}
}

func (p *replies) Publish(topic string, messages ...*message.Message) error {
	if topic == p.down {
		<-messages[0].Context().Done()
		return messages[0].Context().Err()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails--; p.fails >= 0 {
		return errors.New("broker away")
	}
	for _, m := range messages {
		var stored wire.Stored
		if err := json.Unmarshal(m.Payload, &stored); err != nil {
			return err
		}
		p.sizes[topic] = append(p.sizes[topic], len(stored.Messages))
		for _, one := range stored.Messages {
			if one.ID != "msg_"+strconv.FormatInt(one.Row, 10) {
				return errors.New("row and message do not belong together")
			}
			p.rows[topic]++
		}
	}
	p.more <- struct{}{}
	return nil
}

func (p *replies) Close() error { return nil }

func numbered(name wire.Name, row int) Message {
	return Message{Name: string(name), ID: "msg_" + strconv.Itoa(row), Headers: map[string]string{wire.RowHeader: strconv.Itoa(row)}}
}

// Answers go to the producer of each message, a bounded number at a time, also after the broker was away.
func TestAnswers(t *testing.T) {
	p := newReplies(2)
	a := newAnswers(p, slog.New(slog.DiscardHandler), wire.Payments, linesOf(wire.Payments, wire.Topology()))
	const deposits = wire.StoredMax + 100
	for row := range deposits {
		a.add(numbered(wire.DepositChangedV1, row))
	}
	a.add(numbered(wire.FraudSignalV1, 7))
	a.add(Message{Name: string(wire.DepositChangedV1), ID: "msg_0"}) // of a producer that awaits no answer
	a.add(numbered(wire.StoredBy(wire.Wallets, wire.Payments), 9))   // an answer has none
	a.add(numbered(wire.SimulateDepositV1, 9))                       // payments does not read it
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run(ctx)
	}()
	for range 3 {
		<-p.more
	}
	a.add(numbered(wire.FraudSignalV1, 8))
	cancel() // what is waiting then is published too
	<-done
	want := map[wire.Name]int{wire.StoredBy(wire.Payments, wire.Wallets): deposits, wire.StoredBy(wire.Payments, wire.Reports): 2}
	for name, messages := range want {
		if got := p.rows[string(name)]; got != messages {
			t.Errorf("%s: %d messages are answered, want %d", name, got, messages)
		}
		for _, size := range p.sizes[string(name)] {
			if size > wire.StoredMax {
				t.Errorf("%s: an answer names %d messages, the limit is %d", name, size, wire.StoredMax)
			}
		}
	}
	if len(p.rows) != len(want) {
		t.Errorf("answer to %d producers: got answers %v", len(want), p.rows)
	}
}

// Answers to one producer that the broker does not confirm hold up no others, and leave the publisher to other messages
// again after a few seconds.
func TestAnswers_oneProducerHoldsUpNoOther(t *testing.T) {
	producers := map[wire.Name]wire.Name{wire.DepositChangedV1: wire.StoredBy(wire.Payments, wire.Wallets), wire.FraudSignalV1: wire.StoredBy(wire.Payments, wire.Reports)}
	for down, topic := range producers {
		t.Run(string(down), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newReplies(0)
				p.down = string(topic)
				a := newAnswers(p, slog.New(slog.DiscardHandler), wire.Payments, linesOf(wire.Payments, wire.Topology()))
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					a.run(ctx)
				}()
				began := time.Now()
				for row := range 3 {
					for name := range producers {
						a.add(numbered(name, row))
					}
					<-p.more
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("three answers to a producer that takes them took %s", took)
				}
				cancel()
				<-done
				if took := time.Since(began); took > 2*answerWithin {
					t.Errorf("a stop with an answer that is not confirmed took %s", took)
				}
			})
		})
	}
}

// A consumer whose answers cannot leave works all the same.
func TestAnswers_bounded(t *testing.T) {
	a := newAnswers(newReplies(0), slog.New(slog.DiscardHandler), wire.Payments, linesOf(wire.Payments, wire.Topology()))
	for row := range 2 * answersMax {
		a.add(numbered(wire.DepositChangedV1, row))
	}
	if got := len(a.producers[string(wire.DepositChangedV1)].waiting); got != answersMax {
		t.Errorf("keep %d answers: %d are waiting, the limit is %d", 2*answersMax, got, answersMax)
	}
}

// A consumer that stops while the broker is away tries once, and leaves the rest to repetitions.
func TestAnswers_stopWithoutBroker(t *testing.T) {
	const many = 1000
	p := newReplies(many)
	a := newAnswers(p, slog.New(slog.DiscardHandler), wire.Payments, linesOf(wire.Payments, wire.Topology()))
	for row := range 4 * wire.StoredMax {
		a.add(numbered(wire.DepositChangedV1, row))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a.run(ctx)
	if tries := many - p.fails; tries != 1 {
		t.Errorf("stop with %d answers and no broker: %d tries, want 1", 4*wire.StoredMax, tries)
	}
}
