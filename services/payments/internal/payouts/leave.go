package payouts

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// The least and the most that a payout waits which may not leave now.
const (
	laterLeast = 2 * time.Second
	laterMost  = 30 * time.Second
)

// later is when a payout that may not leave now is looked at again: after a twentieth of its age. A new one leaves soon
// after a pause of seconds. Thousands that wait for days, as those of a suspended merchant, keep no lane busy.
func later(o payout.Payout, now time.Time) time.Time {
	return now.Add(min(max(now.Sub(o.CreatedAt)/20, laterLeast), laterMost))
}

// alertLimit is the log code of a payout above a limit that was lowered after its payment.
const alertLimit = "payout_over_limit"

// leave says whether a payout that is due may leave.
type leave int

// It may leave; it may not leave now; it may never leave, because its payment is held and has withdrawn it.
const (
	leaveNow leave = iota
	leaveLater
	leaveHeld
)

// senders are the addresses that a payout's money came from, and the verdict on them.
type senders struct {
	asked     bool
	addresses []string
	verdict   change.Verdict
	screening payment.Screening
}

// check screens the senders of a payout that has not left, before its row is locked.
func (w *Worker) check(ctx context.Context, o payout.Payout) (who senders, err error) {
	if !w.Policy.Screen || o.State != payout.Created || ofWithdrawal(o) {
		return senders{}, nil
	}
	who.asked = true
	var network string
	if network, who.addresses, err = w.Store.Senders(ctx, o.PaymentID); err != nil {
		return senders{}, err
	}
	who.verdict, who.screening = w.Screening.Ask(ctx, o.Mode, network, who.addresses)
	return who, nil
}

// mayLeave checks, under the payment's lock, whether a due payout may leave: an operator's pause, a network that is not
// followed, and the senders of its money. It returns the payment with the verdict on the senders.
func (w *Worker) mayLeave(ctx context.Context, v change.View, who senders, now time.Time) (p payment.Payment, facts []payment.Fact, notes []change.Screened, may leave, err error) {
	p = v.Payment
	if v.Paused {
		return p, nil, nil, leaveLater, nil
	}
	if !w.Scans.Rests(v) {
		return p, nil, nil, leaveLater, nil
	}
	most := w.Policy.PayoutLimit(p.Currency) // it may be lower than when the payment was made or converted
	if v.OverLimit || decimal.Max(p.FiatAmount, p.PayoutAmount()).GreaterThan(most) {
		w.Log.WarnContext(ctx, "payout held back: limit exceeded", "code", alertLimit)
		return p, nil, nil, leaveLater, nil
	}
	if !w.Policy.Screen || v.Payout.State != payout.Created {
		return p, nil, nil, leaveNow, nil
	}
	if !who.asked || who.screening == payment.Unscreened || !covers(who.addresses, payment.Senders(v.Rows)) {
		return p, nil, nil, leaveLater, nil
	}
	notes = []change.Screened{{Stage: change.AtPayout, Verdict: who.verdict, Addresses: who.addresses}}
	hit := who.screening == payment.Hit && p.Screening != payment.Overruled
	if !hit && p.Screening.Cleared() {
		return p, nil, notes, leaveNow, nil
	}
	verdict := payment.Clear
	if hit {
		verdict, may = payment.Hit, leaveHeld
	}
	p, facts, err = w.Policy.Apply(p, payment.Screened{Verdict: verdict, Rows: v.Rows}, now)
	return p, facts, notes, may, err
}

// covers reports whether every address was screened.
func covers(asked, addresses []string) bool {
	return !slices.ContainsFunc(addresses, func(a string) bool { return !slices.Contains(asked, a) })
}
