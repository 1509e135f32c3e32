package app

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// instant commits at once and leases everything.
type instant struct{ done chan int }

func (instant) Poison(error) bool { return false }

func (instant) Accept(_ context.Context, arrivals []Arrival) ([][]Placed, error) {
	out := make([][]Placed, len(arrivals))
	for n, a := range arrivals {
		out[n] = make([]Placed, len(a.Deliveries))
		for m, leased := range a.Leased {
			if leased {
				out[n][m] = Leased
			}
		}
	}
	return out, nil
}

func (s instant) Record(_ context.Context, results []Result, _ Breaker) ([]Target, error) {
	s.done <- len(results)
	return nil, nil
}

// BenchmarkDelivery is what a delivery costs here, from the intake to the ledger, in packs as they come from the
// broker, with a database and endpoints that take no time. Only the processor's time counts: batches wait for
// company.
func BenchmarkDelivery(b *testing.B) {
	for _, targets := range []int{1, 100} {
		b.Run(fmt.Sprintf("targets=%d", targets), func(b *testing.B) { deliveries(b, targets) })
	}
}

func deliveries(b *testing.B, targets int) {
	const pack = 50
	store := instant{done: make(chan int, 1000)}
	send := sender(func(delivery.Delivery) (delivery.Outcome, error) {
		return delivery.Outcome{At: time.Now(), Class: "ok", Status: 200, Headers: "{}", Excerpt: []byte{}}, nil
	})
	most := Limits{PerTarget: 8, PerHost: 256, Process: 512, Suspect: 64, LaneQueue: 1 << 30, Held: 1 << 30}
	d := NewDispatcher(Options{
		Queue: &queue{}, Sender: send, Ledger: store, Rules: rules, Limits: most, Observer: &silent{}, Now: time.Now, Log: quiet,
	})
	e := &Engine{Members: &members{}, Intake: NewIntake(store, registry{}, d.Lanes(), &silent{}, time.Now, d.Waiting), Dispatcher: d, Log: quiet, Finish: time.Second}
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = e.Run(ctx) })

	packs := make([][]Event, (b.N+pack-1)/pack)
	for n := range packs {
		packs[n] = make([]Event, pack)
		for m := range packs[n] {
			packs[n][m] = Event{
				ID: id.New(id.Event, time.Now()), Type: "payment.pending", MerchantID: "m", Mode: "test", ObjectID: id.New(id.Payment, time.Now()), Sequence: 1,
				CallbackURL: fmt.Sprint("http://127.0.0.1:8080/", (n*pack+m)%targets), Body: make([]byte, 600),
			}
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	before := processor(b)
	for left, ahead := len(packs)*pack, 0; left > 0; {
		if len(packs) > 0 && ahead < 1000 { // as many as a few targets take at a time
			next := packs[0]
			packs, ahead = packs[1:], ahead+pack
			running.Go(func() { e.Intake.Accept(ctx, next) })
			continue
		}
		recorded := <-store.done
		left, ahead = left-recorded, ahead-recorded
	}
	b.ReportMetric(float64(processor(b)-before)/float64(b.N), "cpu-ns/op") //nolint:forbidigo // a figure of the benchmark, not money
	b.StopTimer()
	stop()
	running.Wait()
}

// processor is the processor's time that this process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
