// Package payouts sends payouts and asks rails for their outcome.
package payouts

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/refund"
)

// Bounds of the payout worker.
const (
	payoutBatch    = 64
	simulatedSlots = 64 // for payouts of simulated rails, which refuse nobody
	payoutPoll     = 100 * time.Millisecond
	stepActs       = 2 // most calls of the rail in one step: a query that finds no payout, and the send
)

// Store is the table of payouts. The payment's row is locked before the payout's.
type Store interface {
	// DuePayouts claims due payouts of some rails of a mode for a few seconds, so that two replicas do not work on the
	// same one.
	DuePayouts(ctx context.Context, most int, of payout.Rails) ([]payout.Payout, error)
	// UpdatePayout changes a payout together with its payment; the view's Payout is that row.
	UpdatePayout(ctx context.Context, paymentID, payoutID string, f change.Func) error
	// ClaimPayout is UpdatePayout for a payout that may leave: the view says whether it is paused or over a limit.
	ClaimPayout(ctx context.Context, paymentID, payoutID string, f change.Func) error
	// SavePayout writes a payout alone, unless its row has been written since it was read. Then it reports false.
	SavePayout(ctx context.Context, o payout.Payout) (saved bool, err error)
	// Senders are the addresses that sent the money of a payment, and the network that it came on.
	Senders(ctx context.Context, paymentID string) (network string, addresses []string, err error)
	// TellRails keeps the states of the rails at a worker, for operators.
	TellRails(ctx context.Context, worker string, states []provider.RailState) error
}

// Worker sends payouts and asks for their outcome, by the rules of package payout. Every replica may run one, because
// the row, not the worker, prevents a second send.
type Worker struct {
	Options
	corridors *corridors
	id        string // of this worker among the others
	lanes     []lane
}

// lane is some rails of a mode, whose payouts wait for no others. A real rail refuses callers that ask it too much at
// once, and may be slow.
type lane struct {
	of    payout.Rails
	slots int
	pace  *lifecycle.Pace
}

// Options holds the dependencies of a worker.
type Options struct {
	Store     Store
	Providers map[tenant.Mode]provider.Set
	Receivers *receivers.Receivers
	Policy    payment.Policy
	Scans     *admission.Scans
	Screening admission.Screening
	Slots     int // most payouts of real rails in hand, in each mode
	// AskFirst makes the worker ask the rail about every payout before its first send. After a restore a row may be
	// older than its order, and a new row may have the reference of a lost one. A payout that the rail knows is not
	// sent, and neither is one of a withdrawal of live mode that the rail does not know.
	AskFirst bool
	// Crash makes the worker stop at a step as a killed process does: "claimed" before the order leaves, "sent" after
	// it and before the write, "queried" after the query and before the write. Only tests set it.
	Crash   func(step string) bool
	Metrics Metrics
	Now     func() time.Time
	Log     *slog.Logger
}

// New makes a worker.
func New(o Options) *Worker {
	if o.Crash == nil {
		o.Crash = func(string) bool { return false }
	}
	w := &Worker{Options: o, corridors: newCorridors(o.Now, o.Metrics), id: rand.Text()}
	for _, mode := range tenant.Modes() {
		w.lanes = append(w.lanes, lanes(mode, o.Providers[mode].Rails(), o.Slots)...)
	}
	return w
}

// lanes are those of a mode. One is for its real rails and for rails that are not configured any more, the other for
// its simulated rails. A mode with rails of one kind, or with none, has one lane for all.
func lanes(mode tenant.Mode, rails []rail.Provider, slots int) []lane {
	var simulated []string
	for _, r := range rails {
		if r.Caps().Simulated {
			simulated = append(simulated, r.Name())
		}
	}
	all := func(slots int, names ...string) lane {
		return lane{payout.Rails{Mode: mode, Names: names, Others: true}, slots, lifecycle.NewPace(payoutPoll)}
	}
	switch {
	case len(simulated) == 0:
		return []lane{all(slots)}
	case len(simulated) == len(rails):
		return []lane{all(simulatedSlots)}
	}
	return []lane{
		all(slots, simulated...),
		{payout.Rails{Mode: mode, Names: simulated}, simulatedSlots, lifecycle.NewPace(payoutPoll)},
	}
}

// Wake makes Run look for due payouts at once. It never blocks.
func (w *Worker) Wake() {
	for _, l := range w.lanes {
		l.pace.Wake()
	}
}

// Run works until ctx ends, and then finishes the calls that are on the wire.
func (w *Worker) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, l := range w.lanes {
		all.Go(func() { w.work(ctx, l) })
	}
	all.Wait()
	return nil
}

// work works on the payouts of a lane.
func (w *Worker) work(ctx context.Context, l lane) {
	var busy sync.WaitGroup
	defer busy.Wait()
	slots := make(chan struct{}, l.slots)
	for ctx.Err() == nil {
		room := min(payoutBatch, l.slots-len(slots))
		due, err := w.Store.DuePayouts(ctx, room, l.of)
		if err != nil && ctx.Err() == nil {
			w.Log.WarnContext(ctx, "due payouts not read", "err", err)
		}
		for _, o := range due {
			slots <- struct{}{}
			busy.Go(func() {
				defer func() { <-slots }()
				finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.patience(o)+2*provider.CallTimeout)
				defer cancel()
				finish = telemetry.With(finish, telemetry.PaymentID, o.PaymentID, telemetry.MerchantID, o.MerchantID, "payout_id", o.ID)
				finish, span := telemetry.Continue(finish, o.Trace, "payout", trace.WithAttributes(attribute.String("payment.id", o.PaymentID),
					attribute.String("payout.id", o.ID), attribute.String("payout.rail", o.Rail), attribute.String("payout.state", string(o.State))))
				defer span.End()
				if err := w.Step(finish, o); err != nil {
					w.Log.WarnContext(finish, "payout not moved", "err", err)
				}
			})
		}
		more := slots // the due payouts filled their room, so more may be due
		if len(due) < room {
			more = nil
		}
		l.rest(ctx, l.pace.Pause(len(due) > 0 || err != nil), more)
	}
}

// rest waits until the worker is woken, for the pause at most. Where more may be due, it waits only until half of the
// slots are free.
func (l lane) rest(ctx context.Context, pause time.Duration, more chan struct{}) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	held := 0
	defer func() {
		for range held {
			<-more
		}
	}()
	for held < (l.slots+1)/2 {
		select {
		case <-ctx.Done():
			return
		case <-l.pace.Woken():
			return
		case <-timer.C:
			return
		case more <- struct{}{}:
			held++
		}
	}
}

// patience is how long the answer to an order may take.
func (w *Worker) patience(o payout.Payout) time.Duration {
	if p, ok := w.Providers[o.Mode].Named(o.Rail); ok {
		return max(provider.CallTimeout, p.Caps().Patience)
	}
	return provider.CallTimeout
}

// errCrashed is the error of Step after Crash stopped the worker.
var errCrashed = errors.New("crashed")

// Step does the next action of one payout and writes its result. A crash anywhere in it is safe: after the lease of a
// row in sending has ended, the worker asks about it and never sends it.
func (w *Worker) Step(ctx context.Context, o payout.Payout) error {
	set, ok := w.Providers[o.Mode]
	if !ok {
		return fmt.Errorf("payout %s: mode %s is closed", o.ID, o.Mode)
	}
	over := set.After(o.Rail, o.Currency, o.BankCode)
	if set.Rail, ok = set.Named(o.Rail); !ok { // from here on the set has this one rail
		return fmt.Errorf("payout %s: rail %q of mode %s is not configured", o.ID, o.Rail, o.Mode)
	}
	seen := payout.Observation{Seen: payout.Tick}
	if w.AskFirst && o.Unsent() {
		answer, err := w.query(ctx, set, o)
		if err != nil {
			return err
		}
		if seen = answer; seen.Seen != payout.NoSuchRef {
			// After a failure here the money goes on over the rail that it went over in the lost time, under that order's
			// reference, so that the next rail is asked about it. To give it back would pay it twice.
			_, _, err = w.decide(ctx, set, o, look{seen: seen, over: over})
			return err
		}
	}
	if o.Unsent() && o.AccountName == "" && !ofWithdrawal(o) {
		exists, ready, err := w.name(ctx, set, o)
		if err != nil {
			return err
		}
		if patient := set.NameWait == 0 || w.Now().Before(o.CreatedAt.Add(set.NameWait)); !ready && patient {
			_, _, err := w.decide(ctx, set, o, look{seen: payout.Observation{Seen: payout.NotNow}})
			return err
		}
		if !exists { // nothing has left and nothing will
			seen = payout.Observation{Seen: payout.NoAccount, Reason: "the bank knows no such account"}
		}
	}
	if seen.Seen == payout.Tick && (o.Unsent() || set.Timing.Resendable(o, w.Now())) {
		if held, ok := w.corridors.pass(ctx, set.Rail, o); !ok {
			_, _, err := w.decide(ctx, set, o, look{seen: held})
			return err
		}
	}
	who, err := w.check(ctx, o)
	if err != nil {
		return err
	}
	return w.act(ctx, set, o, look{seen: seen, who: who}, over)
}

// act carries out the steps of the rules until they wait. over is the rail that takes over after a failure that the
// first rail confirms (R9).
func (w *Worker) act(ctx context.Context, set provider.Set, o payout.Payout, l look, over string) error {
	for acts := 0; ; acts++ {
		l.claims = acts < stepActs
		row, step, err := w.decide(ctx, set, o, l)
		if err != nil {
			return err
		}
		o = row
		confirmed := false
		switch step {
		case payout.Send:
			if l.seen, err = w.send(ctx, set, row); err == nil {
				l.seen, confirmed, err = w.confirm(ctx, set, row, l.seen)
			}
		case payout.Query:
			if acts == stepActs {
				return nil // the row is due again
			}
			l.seen, err = w.query(ctx, set, row)
			confirmed = true
		case payout.Wait, payout.Done:
			return nil
		}
		if err != nil {
			return err
		}
		if l.over = ""; confirmed {
			l.over = over
		}
	}
}

// confirm asks the rail about a send that it called failed, because a failed payout is paid again. A refused order that
// the rail does not know is confirmed; an unclear answer is not.
func (w *Worker) confirm(ctx context.Context, set provider.Set, o payout.Payout, said payout.Observation) (seen payout.Observation, confirmed bool, err error) {
	if said.Seen != payout.Refused && said.Seen != payout.Failure {
		return said, false, nil
	}
	asked, err := w.query(ctx, set, o)
	switch {
	case err != nil:
		return said, false, err
	case asked.Seen == payout.NoSuchRef:
		return said, said.Seen == payout.Refused, nil
	case asked.Seen == payout.Unsure && said.Seen == payout.Failure:
		return said, false, nil
	}
	return asked, true, nil
}

// look is one observation of a payout, with the inputs of the decision about it.
type look struct {
	seen   payout.Observation
	who    senders
	claims bool   // a step of Send may be claimed
	over   string // the rail that takes over if this is a failure
}

// decide applies the rules to an observation under the payment's lock, and writes the row and the payment. The same
// transaction turns a step of Send into the claim: the payment agrees, and the row is sending with a lease, before the
// first byte leaves. Without claims a row to be sent stays due. A payment may refuse a second send, because its deposit
// was reorganised away or a person holds it; then the worker asks for the outcome of the first send instead.
//
// A query that is due changes nothing, and an answer without an outcome changes the row alone. So neither takes the
// payment's lock, unless somebody else has written the row since the worker read it. A row that somebody made due in
// that time stays due after an answer without an outcome.
func (w *Worker) decide(ctx context.Context, set provider.Set, o payout.Payout, l look) (row payout.Payout, step payout.Step, err error) {
	now := o.ReadAt.Add(time.Since(o.ReadHere)) // by the database's clock, because it says when the row is due
	if l.seen.Seen == payout.Tick && set.Timing.Asks(o, now) {
		return o, payout.Query, nil
	}
	if next, step, ok := set.Timing.Alone(o, l.seen, now); ok {
		if saved, err := w.Store.SavePayout(ctx, next); err != nil || saved {
			return next, step, err
		}
	}
	update := w.Store.UpdatePayout
	if l.claims = l.claims && (l.seen.Seen == payout.Tick || l.seen.Seen == payout.NoSuchRef); l.claims { // only these lead to a send
		update = w.Store.ClaimPayout
	}
	outcome := payout.None
	err = update(ctx, o.PaymentID, o.ID, func(v change.View, now time.Time) (change.Result, error) {
		if v.Payout == nil {
			return change.Result{}, fmt.Errorf("payout %s not found", o.ID)
		}
		next, d := set.Timing.Next(*v.Payout, l.seen, now)
		answered := l.seen.Seen != payout.Tick && d.Step != payout.Send && (d.Outcome == payout.None || d.Outcome == payout.IsPaid)
		if at := v.Payout.NextAt; answered && at.After(o.NextAt) && !at.After(now) { // a hint came meanwhile
			next.NextAt = at
		}
		about := d.Alert
		unasked := w.AskFirst && v.Payout.Unsent() && l.seen.Seen != payout.NoSuchRef
		if d.Step == payout.Send && (!l.claims || unasked) {
			next.NextAt, d.Step = now, payout.Wait
		}
		if v.Withdrawal != nil {
			if d.Step == payout.Send {
				if next, d, err = w.withdraw(ctx, set, v, next, about, now); err != nil {
					return change.Result{}, err
				}
			}
			row, step, outcome = next, d.Step, d.Outcome
			after := v.Withdrawal.After(d.Outcome, next, l.over, now)
			return alerted(change.Result{Payment: v.Payment, Payout: &row, Withdrawal: &after, Alerts: after.Alerts}, about), nil
		}
		p, facts, notes := v.Payment, []payment.Fact(nil), []change.Screened(nil)
		if d.Step == payout.Send {
			var may leave
			if p, facts, notes, may, err = w.mayLeave(ctx, v, l.who, now); err != nil {
				return change.Result{}, err
			}
			switch may {
			case leaveHeld: // the payment has withdrawn the row
				row, step = *v.Payout, payout.Done
				return change.Result{Payment: p, Facts: facts, Screened: notes}, nil
			case leaveLater:
				next.NextAt, d = later(next, now), payout.Decision{Step: payout.Wait, Alert: d.Alert}
			case leaveNow:
				next, d = w.claim(set, p, next, now)
			}
		}
		row, step = next, d.Step
		r := alerted(change.Result{Payment: p, Payout: &row, Facts: facts, Screened: notes}, about)
		trigger := TriggerOf(d.Outcome, next, l.over, v.Refunds)
		outcome = d.Outcome
		if trigger == nil {
			return r, nil
		}
		p, facts, err := w.Policy.Apply(p, trigger, now)
		if err != nil {
			return change.Result{}, fmt.Errorf("payment %s, payout %s: outcome %s not applied: %w", v.Payment.ID, o.ID, d.Outcome, err)
		}
		r.Payment, r.Facts = p, append(r.Facts, facts...)
		return r, nil
	})
	if err == nil && outcome != payout.None && w.Metrics.Outcome != nil {
		w.Metrics.Outcome(o.Rail, o.Currency, string(outcome))
	}
	return row, step, err
}

// claim turns a step of Send into the claim, where the payment agrees to it.
func (w *Worker) claim(set provider.Set, p payment.Payment, row payout.Payout, now time.Time) (payout.Payout, payout.Decision) {
	claimed, d := set.Timing.Next(row, payout.Observation{Seen: payout.Claimed}, now)
	_, _, err := w.Policy.Apply(p, payment.Sending{Attempt: claimed.Attempt}, now)
	if notDue(err) && row.State == payout.Unknown {
		return set.Timing.Next(row, payout.Observation{Seen: payout.Hint}, now)
	}
	return claimed, d
}

// notDue reports a payment's refusal to let a payout leave.
func notDue(err error) bool {
	f, ok := errors.AsType[*fault.Error](err)
	return ok && f.Code == payment.CodePayoutNotDue
}

func alerted(r change.Result, code alert.Code) change.Result {
	if code != 0 {
		r.Alerts = append(r.Alerts, payment.Alert{Code: code, Text: "payout " + r.Payout.ID + " is " + string(r.Payout.State)})
	}
	return r
}

// TriggerOf is the payment's trigger for an outcome of its payout.
func TriggerOf(outcome payout.Outcome, o payout.Payout, over string, refunds []refund.Refund) payment.Trigger {
	switch outcome {
	case payout.IsSending:
		return payment.Sending{Attempt: o.Attempt}
	case payout.IsUnknown:
		return payment.Unknown{Attempt: o.Attempt}
	case payout.IsPaid:
		return payment.Succeeded{Attempt: o.Attempt, Fee: o.Fee, Refunds: refunds}
	case payout.IsFailed:
		return payment.Failed{Attempt: o.Attempt, Over: over}
	case payout.IsReturned:
		return payment.Returned{Attempt: o.Attempt}
	case payout.None:
	}
	return nil
}

func (w *Worker) send(ctx context.Context, set provider.Set, o payout.Payout) (payout.Observation, error) {
	if w.Crash("claimed") {
		return payout.Observation{}, errCrashed
	}
	// A call never outlives its lease, because an operator may conclude the payout once it ends. A process that was
	// paused after its claim sends nothing.
	left := min(w.patience(o), o.LeaseUntil.Sub(w.Now()))
	if left <= 0 {
		return payout.Observation{Seen: payout.Unsure, Sends: o.Sends}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	ctx, span := telemetry.Inside(ctx, "payout send", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	status, err := set.Rail.Send(ctx, rail.Order{
		Ref: o.Reference, Amount: o.Amount, Currency: o.Currency, BankCode: o.BankCode,
		AccountNumber: o.AccountNumber, AccountName: o.AccountName, Narration: "Causeway " + o.Reference, Resend: o.Sends > 1,
	})
	if w.Crash("sent") {
		return payout.Observation{}, errCrashed
	}
	seen := rail.Sent(status, err)
	seen.Sends = o.Sends
	w.corridors.sent(set.Rail, o, seen.Seen)
	return seen, nil
}

func (w *Worker) query(ctx context.Context, set provider.Set, o payout.Payout) (payout.Observation, error) {
	ctx, cancel := context.WithTimeout(ctx, provider.CallTimeout)
	defer cancel()
	ctx, span := telemetry.Inside(ctx, "payout query", trace.WithSpanKind(trace.SpanKindClient))
	defer span.End()
	status, err := set.Rail.Query(ctx, o.Currency, o.Reference)
	if w.Crash("queried") {
		return payout.Observation{}, errCrashed
	}
	seen := rail.Queried(status, err)
	if seen.Sends = o.Sends; o.Sends == 0 {
		seen.Sends = payout.BeforeFirst
	}
	return seen, nil // another worker may have sent before the answer came
}

// name resolves the receiver of a payout whose name service was down at create, before anything leaves
// (docs/api-contract.md#receivers), and stores the name with payment and payout. ready is false while the service is
// still down: then the payout waits. A corridor without names goes on without one.
func (w *Worker) name(ctx context.Context, set provider.Set, o payout.Payout) (exists, ready bool, err error) {
	asked := payment.Receiver{BankCode: o.BankCode, AccountNumber: o.AccountNumber}
	named, ok, err := w.Receivers.Complete(ctx, o.Mode, o.Currency, asked)
	if errors.Is(err, rail.ErrNotFound) {
		return false, true, nil
	}
	if err != nil || !ok {
		return true, false, err
	}
	return true, true, w.Store.UpdatePayout(ctx, o.PaymentID, o.ID, func(v change.View, now time.Time) (change.Result, error) {
		r, err := change.Applied(w.Policy.Apply(v.Payment, payment.Named{Receiver: named}, now))
		if err == nil && v.Payout != nil && v.Payout.State == payout.Created {
			next := *v.Payout
			next.AccountName, next.BankName = named.AccountName, named.BankName
			r.Payout = &next
		}
		return r, err
	})
}
