package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/payment"
)

// Screener says whether money of some addresses may be taken, and sent on. It is asked at each deposit and again before
// each payout, never under a lock. An error means that nobody can say: then nothing moves (fail closed).
// The network is that of the addresses: some let a transfer name no sender.
type Screener interface {
	Screen(ctx context.Context, mode payment.Mode, network string, addresses []string) (Verdict, error)
}

// Verdict is a decision with what it rests on, as it is kept.
type Verdict struct {
	Hit    bool
	Reason string // stable code of what was found, or of why nothing could be; "" when simply clear
	Lists  string // names and versions of what was asked
}

// Screening is the verdict as a payment keeps it.
func (v Verdict) Screening() payment.Screening {
	if v.Hit {
		return payment.Hit
	}
	return payment.Clear
}

// The stages at which senders are screened.
const (
	AtDeposit = "deposit"
	AtPayout  = "payout"
	AtRefund  = "refund"
)

// Screened is a decision to be kept.
type Screened struct {
	Stage     string
	Deposit   string // key of the one transfer that it is about, "" for all of a payment
	Verdict   Verdict
	Addresses []string
}

// alertUnscreened is told while senders cannot be screened.
const alertUnscreened = "screening_unavailable"

// screen asks, and gives the empty verdict of a payment while nobody can say.
func (a *App) screen(ctx context.Context, mode payment.Mode, network string, addresses []string) (Verdict, payment.Screening) {
	if a.Screener == nil {
		return Verdict{}, payment.Unscreened
	}
	v, err := a.Screener.Screen(ctx, mode, network, addresses)
	if err != nil {
		a.Log.WarnContext(ctx, "senders not screened", "code", alertUnscreened, "err", err)
		return Verdict{}, payment.Unscreened
	}
	return v, v.Screening()
}

// judged adds to a change what is known of the senders after it.
func (a *App) judged(v View, r Result, now time.Time) (Result, error) {
	p := r.Payment
	v.Payment, v.Rows = p, payment.Marked(v.Rows, r.Facts)
	verdict := a.Policy.Verdict(p, v.Rows)
	first := verdict == payment.Clear && p.Screening == payment.Unscreened
	hit := verdict == payment.Hit && p.Screening != payment.Hit && p.Screening != payment.Overruled
	if !a.Policy.Screen || (!first && !hit) {
		return r, nil
	}
	next, err := a.fund(v, payment.Screened{Verdict: verdict, Rows: v.Rows}, now)
	if err != nil {
		return Result{}, err
	}
	r.Payment, r.Facts = next.Payment, append(r.Facts, next.Facts...)
	return r, nil
}

// Unscreened is a transfer whose senders nobody could say anything about.
type Unscreened struct {
	PaymentID string
	Mode      payment.Mode
	Network   string
	Deposit   string
	Senders   []string
}

// Screenings finds them.
type Screenings interface {
	Unscreened(ctx context.Context, most int) ([]Unscreened, error)
}

// rescreenBatch bounds one look of Rescreen.
const rescreenBatch = 100

// Rescreen asks again about senders whom nobody could say anything about when their money came.
func (a *App) Rescreen(ctx context.Context, s Screenings) error {
	waiting, err := s.Unscreened(ctx, rescreenBatch)
	if err != nil {
		return err
	}
	var failed error
	for _, u := range waiting {
		v, screening := a.screen(ctx, u.Mode, u.Network, u.Senders)
		if screening == payment.Unscreened {
			return errors.Join(failed, fmt.Errorf("%s: %d transfers wait", alertUnscreened, len(waiting)))
		}
		err := a.Payments.Update(ctx, u.PaymentID, func(view View, now time.Time) (Result, error) {
			for i := range view.Rows {
				if view.Rows[i].Key == u.Deposit {
					view.Rows[i].Screening = screening
				}
			}
			r, err := a.deposits(view, now)
			r.Verdicts = map[string]payment.Screening{u.Deposit: screening}
			r.Screened = append(r.Screened, Screened{AtDeposit, u.Deposit, v, u.Senders})
			return r, err
		})
		failed = errors.Join(failed, err)
	}
	return failed
}

var errScreenDown = fault.New(fault.Unavailable, alertUnscreened, "Addresses cannot be checked right now. Try again shortly.").After(5 * time.Second)
