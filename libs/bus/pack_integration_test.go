//go:build integration

package bus

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/testkit/mq"
)

// packed is link over a line whose messages may travel together, signed together.
func packed(t *testing.T, amqpURL, service string) *Link {
	t.Helper()
	topology := lines()
	topology[0].Packed = true
	private, public := keyPair("k1", orders, 1)
	cfg := Config{URL: config.Secret(amqpURL), Key: private, Trusted: []string{public}, Required: true, SignPacks: true}
	l, err := dial(t.Context(), cfg, service, telemetrytest.ForTest(t), topology)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func ids(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = strconv.Itoa(i)
	}
	return all
}

// Messages that are published together are few for the broker and all of them for the handler, in order where it asks
// for that.
func TestPack_travelsTogether(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := packed(t, vhost, orders), packed(t, vhost, billing)
	want := ids(2*packMax + 1)
	publish(t, sender, want...)
	admin := mq.Open(t, vhost)
	eventually(t, "three messages are in the queue", func() bool { return mq.Depth(t, admin, queue) == 3 })
	got := make(chan string, len(want))
	receiver.Handle(queue, 1, func(_ context.Context, m Message) error {
		if string(m.Body) != `{"order":"`+m.ID+`"}` || m.Name != string(placed) {
			t.Errorf("got %+v", m)
		}
		got <- m.ID
		return nil
	})
	stop := run(t, receiver)
	for _, id := range want {
		if next := receive(t, got); next != id {
			t.Fatalf("got %s, want %s", next, id)
		}
	}
	stop()
	eventually(t, "the queue is empty", func() bool { return mq.Depth(t, admin, queue) == 0 })
}

// A handler of a parallel line has all of a pack at a time: they share its commit.
func TestPack_isHandledTogether(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := packed(t, vhost, orders), packed(t, vhost, billing)
	publish(t, sender, ids(packMax)...)
	entered, release := make(chan struct{}, packMax), make(chan struct{})
	receiver.Handle(queue, 2, func(context.Context, Message) error {
		entered <- struct{}{}
		<-release
		return nil
	})
	stop := run(t, receiver)
	for range packMax {
		receive(t, entered)
	}
	close(release)
	stop()
	if n := mq.Depth(t, mq.Open(t, vhost), queue); n != 0 {
		t.Errorf("%d messages are left", n)
	}
}

// The poison of a pack is buried alone, and a fault that passes holds up nothing but the pack's acknowledgement.
func TestPack_poisonIsAlone(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := packed(t, vhost, orders), packed(t, vhost, billing)
	publish(t, sender, "good", "bad", "late")
	got, again := make(chan string, 10), make(chan struct{}, 1)
	again <- struct{}{}
	receiver.Handle(queue, 4, func(_ context.Context, m Message) error {
		switch {
		case m.ID == "bad":
			return fault.Permanent(errors.New("no such field"))
		case m.ID == "late" && len(again) > 0:
			<-again
			return errors.New("database is away")
		}
		got <- m.ID
		return nil
	})
	stop := run(t, receiver)
	arrived := []string{receive(t, got), receive(t, got)}
	slices.Sort(arrived)
	if !slices.Equal(arrived, []string{"good", "late"}) {
		t.Errorf("handled %v", arrived)
	}
	admin := mq.Open(t, vhost)
	eventually(t, "the poison is dead", func() bool { return mq.Depth(t, admin, queue+".dead") == 1 })
	eventually(t, "the pack is acknowledged", func() bool { return mq.Depth(t, admin, queue) == 0 })
	dead, err := deadList(t.Context(), Config{URL: config.Secret(vhost)}, billing, lines(), 10)
	if err != nil || len(dead) != 1 || dead[0].ID != "bad" || dead[0].Head != `{"order":"bad"}` {
		t.Errorf("dead: %+v, %v", dead, err)
	}
	stop()
	cured := packed(t, vhost, billing)
	cured.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	run(t, cured)
	if n, err := deadRedrive(t.Context(), Config{URL: config.Secret(vhost)}, billing, lines(), 10, nil); n != 1 || err != nil {
		t.Fatalf("put back %d, %v, want the poison", n, err)
	}
	if id := receive(t, got); id != "bad" { // the signature of its pack still proves it
		t.Errorf("handled %s after the redrive, want the poison", id)
	}
}

// A pack that cannot be read goes to the dead queue whole, and one that a stop interrupts comes back whole.
func TestPack_brokenOrUnfinished(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, first, second := packed(t, vhost, orders), packed(t, vhost, billing), packed(t, vhost, billing)
	publish(t, sender, "1", "2")
	admin := mq.Open(t, vhost)
	failed := make(chan struct{}, 1000)
	first.Handle(queue, 1, func(_ context.Context, m Message) error {
		if m.ID == "1" {
			return nil
		}
		failed <- struct{}{}
		return errors.New("database is away")
	})
	stop := run(t, first)
	receive(t, failed)
	stop()
	if err := admin.PublishWithContext(t.Context(), orders, string(placed), true, false, amqp.Publishing{
		MessageId: "broken", Body: []byte("\xff\xff"), DeliveryMode: amqp.Persistent, Headers: amqp.Table{packHeader: packVersion},
	}); err != nil {
		t.Fatal(err)
	}
	got := make(chan string, 10)
	second.Handle(queue, 1, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	run(t, second)
	if a, b := receive(t, got), receive(t, got); a != "1" || b != "2" {
		t.Errorf("came again: %s, %s", a, b)
	}
	eventually(t, "the broken one is dead", func() bool { return mq.Depth(t, admin, queue+".dead") == 1 })
}

// A handler that takes a pack whole or not at all gets the messages one by one when it fails, and the bad one is buried
// alone.
func TestAllOrNone(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := packed(t, vhost, orders), packed(t, vhost, billing)
	publish(t, sender, "good", "bad", "better")
	calls, done := make(chan string, 20), make(chan string, 20)
	receiver.HandleAll(queue, 1, AllOrNone(func(_ context.Context, pack []Message) error {
		var ids []string
		for _, m := range pack {
			ids = append(ids, m.ID)
		}
		calls <- strings.Join(ids, " ")
		if slices.Contains(ids, "bad") {
			return fault.Permanent(errors.New("no such field"))
		}
		done <- strings.Join(ids, " ")
		return nil
	}))
	run(t, receiver)
	for _, want := range []string{"good bad better", "good", "bad", "better"} {
		if got := receive(t, calls); got != want {
			t.Errorf("called with %q, want %q", got, want)
		}
	}
	for _, want := range []string{"good", "better"} {
		if got := receive(t, done); got != want {
			t.Errorf("handled %q, want %q", got, want)
		}
	}
	admin := mq.Open(t, vhost)
	eventually(t, "the bad one alone is dead", func() bool { return mq.Depth(t, admin, queue+".dead") == 1 && mq.Depth(t, admin, queue) == 0 })
}

// A handler of packs has each in one call; what it failed on, and all of a pack that it panicked on, it gets again one
// by one, and poison is buried alone.
func TestHandleAll(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := packed(t, vhost, orders), packed(t, vhost, billing)
	publish(t, sender, "good", "bad", "late")
	calls := make(chan []string, 20)
	late := false
	receiver.HandleAll(queue, 1, func(_ context.Context, pack []Message) []error {
		var got []string
		errs := make([]error, len(pack))
		for n, m := range pack {
			got = append(got, m.ID)
			switch {
			case m.ID == "bad":
				errs[n] = fault.Permanent(errors.New("no such field"))
			case m.ID == "late" && !late:
				late = true
				errs[n] = errors.New("database is away")
			case m.ID == "panic" && len(pack) > 1:
				panic("at the whole pack")
			}
		}
		calls <- got
		if got[0] == "short" && len(pack) > 1 {
			return errs[:1]
		}
		if errors.Join(errs...) == nil {
			return nil
		}
		return errs
	})
	run(t, receiver)
	want := func(ids ...string) {
		t.Helper()
		if got := receive(t, calls); !slices.Equal(got, ids) {
			t.Errorf("called with %v, want %v", got, ids)
		}
	}
	want("good", "bad", "late")
	want("bad")
	want("late")
	admin := mq.Open(t, vhost)
	eventually(t, "the poison is dead", func() bool { return mq.Depth(t, admin, queue+".dead") == 1 })
	publish(t, sender, "alone")
	want("alone")
	publish(t, sender, "panic", "beside")
	want("panic")
	want("beside")
	publish(t, sender, "short", "untold")
	want("short", "untold")
	want("short") // it is not known which of them was meant
	want("untold")
	eventually(t, "everything is acknowledged", func() bool { return mq.Depth(t, admin, queue) == 0 })
}
