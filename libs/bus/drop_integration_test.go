//go:build integration && !race

package bus

// This file drops connections. Watermill's AMQP subscriber replaces its `connected` channel without a lock when it
// reconnects, which the race detector reports rightly; nothing is lost by it, as these tests show, so they run without.

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
)

// Connections that drop under load lose nothing: a publisher that repeats what was not confirmed gets everything
// across.
func TestDroppedConnections_loseNothing(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	door, through := newProxy(t, vhost)
	door.open()
	receiver := link(t, through, billing)
	var (
		mu   sync.Mutex
		seen = map[string]int{}
	)
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(seen)
	}
	receiver.Handle(queue, 8, func(_ context.Context, m Message) error {
		mu.Lock()
		defer mu.Unlock()
		seen[m.ID]++
		return nil
	})
	run(t, receiver)

	const senders, size, enough = 4, 20, 12 // the load runs until enough has been dropped under it
	var sent, failures, drops int
	var wait sync.WaitGroup
	stop := make(chan struct{})
	for s := range senders {
		sender := link(t, through, orders)
		wait.Go(func() {
			for b := 0; !closed(stop); b++ {
				var ids []string
				for i := range size {
					ids = append(ids, strconv.Itoa(s)+"/"+strconv.Itoa(b)+"/"+strconv.Itoa(i))
				}
				for sender.Publisher().Publish(string(placed), messages(ids...)...) != nil {
					mu.Lock()
					failures++
					mu.Unlock()
				}
				mu.Lock()
				sent += size
				mu.Unlock()
				<-time.After(5 * time.Millisecond)
			}
		})
	}
	eventually(t, "enough connections were dropped", func() bool {
		<-time.After(100 * time.Millisecond)
		drops += door.cut()
		mu.Lock()
		defer mu.Unlock()
		return drops >= enough && failures > 0
	})
	close(stop)
	wait.Wait()
	eventually(t, "every message has arrived", func() bool { return count() == sent })
	eventually(t, "ready again", func() bool { return receiver.Ready(t.Context()) == nil })
	if n := mq.Depth(t, mq.Open(t, vhost), wire.DeadQueue(queue)); n != 0 {
		t.Errorf("%d messages are dead", n)
	}
	mu.Lock()
	defer mu.Unlock()
	doubles := 0
	for _, n := range seen {
		doubles += n - 1
	}
	t.Logf("%d messages, %d connections dropped, %d batches repeated, %d messages seen again", len(seen), drops, failures, doubles)
}

func closed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// A handler whose connection drops under it finishes; its message comes again, and nothing empty with it.
func TestDroppedConnection_underAHandler(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	entered, release := make(chan struct{}, 100), make(chan struct{})
	var (
		mu  sync.Mutex
		ids []string
	)
	receiver.Handle(queue, 1, func(ctx context.Context, m Message) error {
		entered <- struct{}{}
		<-release
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, m.ID)
		return ctx.Err()
	})
	run(t, receiver)
	publish(t, sender, "1", "2", "3")
	receive(t, entered)
	eventually(t, "a connection is dropped", func() bool { return mq.KillConnections(t, vhost) > 0 })
	close(release)
	eventually(t, "all have been handled", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return slices.Contains(ids, "3")
	})
	mu.Lock()
	defer mu.Unlock()
	var first []string // what was fetched before the drop may be handled before it all comes again
	for _, id := range ids {
		if !slices.Contains(first, id) {
			first = append(first, id)
		}
	}
	if !slices.Equal(first, []string{"1", "2", "3"}) {
		t.Errorf("handled %v", ids)
	}
}

// A queue deleted under its consumers ends their subscriptions; they continue when an administrator has declared it
// again. Some brokers answer the deletion by closing the connection (541), so it has a test here.
func TestConsume_queueDeletedUnderneath(t *testing.T) {
	t.Parallel()
	vhost := mq.New(t, lines()...)
	sender, receiver := link(t, vhost, orders), link(t, vhost, billing)
	got, noticed := make(chan string, 1000), make(chan string, 1000)
	receiver.tel.Log = slog.New(heard{receiver.tel.Log.Handler(), "Failed to prepare consume", noticed})
	receiver.Handle(queue, 2, func(_ context.Context, m Message) error { got <- m.ID; return nil })
	run(t, receiver)
	publish(t, sender, "before")
	receive(t, got)
	if _, err := mq.Open(t, vhost).QueueDelete(queue, false, false, false); err != nil {
		t.Fatal(err)
	}
	// An administrator is slower than the broker, which loses consumers that have not noticed yet when the queue is back.
	for range 10 {
		receive(t, noticed)
	}
	eventually(t, "not ready without the queue", func() bool { return receiver.Ready(t.Context()) != nil })
	mq.Declare(t, vhost, lines()...)
	eventually(t, "messages arrive again", func() bool {
		if sender.Publisher().Publish(string(placed), messages("after")...) != nil {
			return false
		}
		select {
		case id := <-got:
			return id == "after"
		default:
			return false
		}
	})
	eventually(t, "ready", func() bool { return receiver.Ready(t.Context()) == nil })
}

// heard passes on the lines of a log that contain a text.
type heard struct {
	slog.Handler
	text string
	told chan<- string
}

func (h heard) WithAttrs(attrs []slog.Attr) slog.Handler {
	return heard{h.Handler.WithAttrs(attrs), h.text, h.told}
}

func (h heard) Handle(ctx context.Context, r slog.Record) error {
	if strings.Contains(r.Message, h.text) {
		select {
		case h.told <- r.Message:
		default:
		}
	}
	return h.Handler.Handle(ctx, r)
}

// TestConnected: what says that a service has no broker comes back with the broker, also where the service only sends
// and has nothing to send.
func TestConnected(t *testing.T) {
	t.Parallel()
	for _, service := range []string{orders, billing} { // the one sends only, the other receives
		t.Run(service, func(t *testing.T) {
			t.Parallel()
			vhost := mq.New(t, lines()...)
			l := link(t, vhost, service)
			roles := []string{roleInspect}
			if service == billing {
				roles = append(roles, roleConsume)
				l.Handle(queue, 1, func(context.Context, Message) error { return nil })
			}
			run(t, l)
			for range 2 {
				for _, role := range roles {
					eventually(t, role+" is connected", func() bool { return testutil.ToFloat64(l.metrics.connected.WithLabelValues(role)) >= 1 })
				}
				mq.KillConnections(t, vhost)
			}
		})
	}
}

// TestConnected_never: a broker that was never there is missed as well.
func TestConnected_never(t *testing.T) {
	t.Parallel()
	l := link(t, "amqp://guest:guest@"+port.Free(t), orders)
	if n := testutil.CollectAndCount(l.metrics.connected); n != 1 {
		t.Errorf("%d connections are counted", n)
	}
}
