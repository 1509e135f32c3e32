package deposits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// judged adds the verdict on the senders to a change.
func (a *Deposits) judged(v change.View, r change.Result, now time.Time) (change.Result, error) {
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
		return change.Result{}, err
	}
	r.Payment, r.Facts = next.Payment, append(r.Facts, next.Facts...)
	return r, nil
}

// Unscreened is a transfer whose screening failed.
type Unscreened struct {
	PaymentID string
	Mode      tenant.Mode
	Network   string
	Deposit   string
	Senders   []string
}

// waits reports that a row is that of the transfer, and that it still waits for a verdict on these senders.
func (u Unscreened) waits(d payment.Deposit) bool {
	return d.Key == u.Deposit && d.Screening == payment.Unscreened && slices.Equal(d.Senders, u.Senders)
}

// rescreenBatch bounds the transfers of one call of Rescreen.
const rescreenBatch = 100

// Rescreen screens again the senders whose screening failed when their money came.
func (a *Deposits) Rescreen(ctx context.Context) error {
	waiting, err := a.Store.Unscreened(ctx, rescreenBatch)
	if err != nil {
		return err
	}
	var failed error
	for _, u := range waiting {
		v, screening := a.Screening.Ask(ctx, u.Mode, u.Network, u.Senders)
		if screening == payment.Unscreened {
			return errors.Join(failed, fmt.Errorf("%s: %d transfers unscreened", admission.AlertUnscreened, len(waiting)))
		}
		err := a.Store.Update(ctx, u.PaymentID, func(view change.View, now time.Time) (change.Result, error) {
			i := slices.IndexFunc(view.Rows, u.waits)
			if i < 0 { // a newer snapshot has been screened, or names senders that nobody has asked about
				return change.Result{Payment: view.Payment}, nil
			}
			view.Rows = slices.Clone(view.Rows) // the function may run again
			view.Rows[i].Screening = screening
			r, err := a.deposits(view, now)
			r.Screened = append(r.Screened, change.Screened{Stage: change.AtDeposit, Deposit: u.Deposit, Verdict: v, Addresses: u.Senders})
			return r, err
		})
		failed = errors.Join(failed, err)
	}
	return failed
}
