package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tick"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

const (
	claimMax       = 200
	claimPerTarget = 32
	claimEvery     = 200 * time.Millisecond
	sweepEvery     = time.Second
	sweepOn        = 250 * time.Millisecond // where a look did not reach the end
	postpone       = 5 * time.Second        // when this process could not make an attempt
	postponeMost   = 5 * time.Minute
	reconcileEvery = 5 * time.Second
	watchEvery     = 500 * time.Millisecond
	waitMax        = 5 * time.Second // docs/api-contract.md#webhooks: how long a first attempt waits for its predecessor's
)

// Dispatcher claims what is due and runs it through the lanes.
type Dispatcher struct {
	queue    Queue
	sender   Sender
	observer Observer
	recorder *Recorder
	lanes    *Lanes
	log      *slog.Logger
	spare    *telemetry.Sparing // of attempts that failed: one target's outage fails them all
	claims   *lifecycle.Pace
	lines    *lines
	until    atomic.Int64 // unix nanoseconds until which somebody may wait
	now      func() time.Time
}

// Options are the parts and settings of a dispatcher.
type Options struct {
	Queue    Queue
	Sender   Sender
	Ledger   Ledger
	Rules    Rules
	Limits   Limits
	Observer Observer
	Now      func() time.Time
	Log      *slog.Logger
}

// NewDispatcher makes a dispatcher with lanes and a recorder of its own.
func NewDispatcher(o Options) *Dispatcher {
	d := &Dispatcher{
		queue: o.Queue, sender: o.Sender, observer: o.Observer, log: o.Log, spare: telemetry.NewSparing(o.Log, o.Now), now: o.Now,
		claims: lifecycle.NewPace(claimEvery), lines: newLines(),
	}
	d.lanes = NewLanes(o.Limits, d.attempt, d.claims.Wake, o.Now)
	d.recorder = newRecorder(o.Ledger, o.Rules, o.Observer, Follow{First: d.attempted, Targets: d.targets}, o.Now, o.Log)
	return d
}

// Lanes returns the lanes, for the intake's fast path.
func (d *Dispatcher) Lanes() *Lanes { return d.lanes }

// Waiting says that committed deliveries of these lines wait for their predecessor, whose first attempt may have been
// recorded just before.
func (d *Dispatcher) Waiting(lines []Line) {
	d.someWait()
	d.lines.add(lines)
}

// attempted says that first attempts in these lines were recorded. While nothing is known to wait, nobody asks.
func (d *Dispatcher) attempted(lines []Line) {
	if d.now().UnixNano() < d.until.Load() {
		d.lines.add(lines)
	}
}

func (d *Dispatcher) someWait() { d.until.Store(d.now().Add(waitMax + time.Second).UnixNano()) }

func kick(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// attempt makes one attempt and hands the result on. It runs on a lane's goroutine, which stays taken until the result
// has a place in the recorder's queue: so a database that is away slows the sending down instead of piling up results.
func (d *Dispatcher) attempt(ctx context.Context, job delivery.Delivery) delivery.Symptom {
	outcome, err := d.sender.Send(ctx, job)
	switch {
	case errors.Is(err, ErrStopped): // the lease is given back when the process ends
	case err != nil:
		d.log.WarnContext(about(ctx, job), "attempt not made", "err", err)
		delay := postpone
		if errors.Is(err, ErrUnopened) {
			delay = keyWait(d.now().Sub(job.AcceptedAt))
			d.observer.Unopened()
		}
		d.recorder.Postpone(job, delay)
	default:
		if outcome.Connect > 0 {
			d.lanes.Found(job.URL, outcome.Remote)
		}
		d.recorder.Add(job, outcome)
		symptom := delivery.SymptomOf(outcome)
		d.tell(ctx, job, outcome, symptom)
		return symptom
	}
	return delivery.Unknown
}

// keyWait is how long a delivery of some age waits for the key of its event: as long as it has waited, within bounds.
// A key may be away for days, and each wait is a write.
func keyWait(age time.Duration) time.Duration { return min(max(age, postpone), postponeMost) }

// tell writes a line about an attempt. Of one that went well it is not even put together unless somebody reads it.
func (d *Dispatcher) tell(ctx context.Context, job delivery.Delivery, o delivery.Outcome, symptom delivery.Symptom) {
	well := symptom == delivery.Well
	if well && !d.log.Enabled(ctx, slog.LevelDebug) {
		return
	}
	told := []any{"type", job.Type, "attempt", job.Attempts + 1, "class", o.Class, "status", o.Status, "seconds", telemetry.Seconds(o.Total)}
	if well {
		d.log.DebugContext(about(ctx, job), "webhook attempt", told...)
	} else {
		d.spare.Log(about(ctx, job), slog.LevelInfo, o.Class, "webhook attempt", told...)
	}
}

// about is ctx for log lines about a delivery.
func about(ctx context.Context, job delivery.Delivery) context.Context {
	payment := ""
	if strings.HasPrefix(job.ObjectID, id.Payment) {
		payment = job.ObjectID
	}
	return telemetry.With(telemetry.At(ctx, job.Trace), telemetry.PaymentID, payment, telemetry.MerchantID, job.MerchantID,
		"delivery_id", job.ID, "event_id", job.EventID)
}

// targets parks the lanes of targets whose breaker has opened and frees those of targets that are well again. Leased
// deliveries that have not begun go back to the table, to wait for the probe.
func (d *Dispatcher) targets(all []Target) {
	var back []string
	for _, t := range all {
		if t.Open {
			for _, job := range d.lanes.Park(t.Name) {
				back = append(back, job.ID)
			}
		} else {
			d.lanes.Unpark(t.Name)
			d.claims.Wake()
		}
	}
	if len(back) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	if err := d.queue.Release(ctx, back); err != nil {
		d.log.Warn("deliveries of failing target not released", "err", err) // Reconcile gives it back
	}
}

// Watch looks after the lanes until ctx ends. It asks nobody, so that a database that is slow keeps no hung target
// among the quick ones.
func (d *Dispatcher) Watch(ctx context.Context) error {
	for d.sleep(ctx, watchEvery) {
		d.lanes.Watch()
	}
	return nil
}

// Tend frees targets whose breaker was closed, until ctx ends.
func (d *Dispatcher) Tend(ctx context.Context) error {
	for d.sleep(ctx, watchEvery) {
		bounded, cancel := context.WithTimeout(ctx, recordTimeout)
		d.unpark(bounded)
		cancel()
	}
	return nil
}

// unpark lets targets back onto the fast path whose breaker was closed, whichever process made the probe.
func (d *Dispatcher) unpark(ctx context.Context) {
	parked := d.lanes.Parked()
	if len(parked) == 0 {
		return
	}
	well, err := d.queue.Well(ctx, parked)
	if err != nil && ctx.Err() == nil {
		d.log.WarnContext(ctx, "open breakers not maintained", "err", err)
	}
	for _, target := range well {
		d.lanes.Unpark(target)
	}
}

// Wake makes Run claim at once. It never blocks.
func (d *Dispatcher) Wake() { d.claims.Wake() }

// Run claims until ctx ends.
func (d *Dispatcher) Run(ctx context.Context) error {
	for {
		more, err := d.claimOnce(ctx)
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "due deliveries not claimed", "err", err)
			more = false
		}
		if more {
			continue
		}
		if !d.claims.Wait(ctx, err != nil) {
			return nil
		}
	}
}

// claimOnce leases what there is room for and reports whether more may be due at once.
func (d *Dispatcher) claimOnce(ctx context.Context) (more bool, err error) {
	full, room := d.lanes.Full()
	limit := min(room, claimMax)
	if limit == 0 {
		return false, nil // finish kicks when there is room
	}
	jobs, err := d.queue.Claim(ctx, full, limit, claimPerTarget)
	if err != nil {
		return false, fmt.Errorf("claim: %w", err)
	}
	var surplus []string
	for _, job := range jobs {
		if d.lanes.Admit(job) {
			d.lanes.Push(job)
		} else {
			surplus = append(surplus, job.ID)
		}
	}
	if len(surplus) > 0 {
		if err := d.queue.Release(context.WithoutCancel(ctx), surplus); err != nil {
			return false, fmt.Errorf("give %d deliveries back: %w", len(surplus), err)
		}
	}
	return len(jobs) > len(surplus) && ctx.Err() == nil, nil
}

// Advance frees what waits in lines that have moved on, until ctx ends. A delivery is committed before its line is
// looked at, and so is a first attempt, so one of the two looks sees both.
func (d *Dispatcher) Advance(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-d.lines.some:
		}
		freed, err := d.queue.Advance(ctx, d.lines.take())
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "lines of deliveries not advanced", "err", err) // Sweep finds what waits there
		}
		if freed > 0 {
			d.claims.Wake()
		}
	}
}

// Sweep frees waiting deliveries whose predecessor has been attempted, until ctx ends: those of processes that died
// between the two, and of lines that found no room. A look that does not reach the end is continued soon, so that many
// that wait for a target that hangs hide no other's.
func (d *Dispatcher) Sweep(ctx context.Context) error {
	var place Place
	for {
		look, err := d.queue.Unblock(ctx, place)
		if err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "waiting deliveries not freed", "err", err)
		}
		if look.Waits {
			d.someWait() // other processes' deliveries may wait for an attempt of this one
		}
		if look.Freed > 0 {
			d.claims.Wake()
		}
		every := sweepEvery
		if place = look.Next; place != (Place{}) {
			every = sweepOn
		}
		if !d.sleep(ctx, every) {
			return nil
		}
	}
}

// Reconcile gives back leases that the table knows and this process does not, until ctx ends: those of a commit whose
// answer was lost with the connection, and those that waited in a lane for too long.
func (d *Dispatcher) Reconcile(ctx context.Context) error {
	for d.sleep(ctx, reconcileEvery) {
		if err := d.reconcile(ctx); err != nil && ctx.Err() == nil {
			d.log.WarnContext(ctx, "leases not reconciled", "err", err)
		}
	}
	return nil
}

func (d *Dispatcher) reconcile(ctx context.Context) error {
	old, err := d.queue.Old(ctx)
	if err != nil {
		return fmt.Errorf("list leases: %w", err)
	}
	lost := make(map[string]bool, len(old))
	for _, id := range old {
		lost[id] = true
	}
	// A delivery goes from its lane to the recorder without a gap, so it must be looked for in this order.
	d.lanes.Strike(lost)
	d.recorder.Strike(lost)
	strays := slices.DeleteFunc(old, func(id string) bool { return !lost[id] })
	if len(strays) == 0 {
		return nil
	}
	d.log.WarnContext(ctx, "stray leases found", "deliveries", len(strays))
	if err := d.queue.Release(ctx, strays); err != nil {
		return fmt.Errorf("give %d leases back: %w", len(strays), err)
	}
	d.claims.Wake()
	return nil
}

// sleep waits for the next whole interval, with the other loops of the process.
func (d *Dispatcher) sleep(ctx context.Context, interval time.Duration) bool {
	return pause(ctx, tick.Until(interval)) && ctx.Err() == nil
}
