// Package destination judges addresses to which crypto may leave: each has the form of its network, belongs to nobody
// but the payer, and is on no list.
package destination

import (
	"context"
	"errors"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

var errNoFamily = fault.New(fault.Conflict, "network_unknown", "The payment has no network yet, so no address can be checked for it.")

// Checker judges addresses.
type Checker struct {
	Access    *access.Payments
	Screening admission.Screening
	Policy    payment.Policy
}

// Judged is an address with the answers that need other tables, which nobody asks under a payment's lock.
type Judged struct {
	Address  string
	Screened []change.Screened // the decision of the screener, to be kept with the change
	ours     bool
}

// Judge looks an address up. An empty one is refused; so is every one while the screener fails.
func (c Checker) Judge(ctx context.Context, mode tenant.Mode, to string, problems *fault.Problems) (Judged, error) {
	if to == "" {
		problems.Add("address", "is required")
	}
	if err := problems.Err(); err != nil {
		return Judged{}, err
	}
	j := Judged{Address: to}
	var err error
	if j.ours, err = c.Access.Ours(ctx, to); err != nil || !c.Policy.Screen {
		return j, err
	}
	verdict, screening := c.Screening.Ask(ctx, mode, "", []string{to})
	if screening == payment.Unscreened {
		return Judged{}, admission.ErrScreenDown
	}
	j.Screened = []change.Screened{{Stage: change.AtRefund, Verdict: verdict, Addresses: []string{to}}}
	return j, nil
}

// Fits refuses an address that has not the form of the payment's network.
func (c Checker) Fits(p payment.Payment, j Judged) error {
	n, ok := money.NetworkOf(p.Quote.Network)
	if !ok {
		return errNoFamily
	}
	var wrong fault.Problems
	if err := address.CheckOwner(n.Family, c.Policy.Net(p), j.Address); errors.Is(err, address.ErrShape) {
		wrong.Add("address", "is no address of the payment's network")
	} else if err != nil {
		wrong.Add("address", "%s", err.Error())
	}
	return wrong.Err()
}

// Usable refuses an address of this service, and a listed one. listed says that the decision of the screener is the
// reason, and is to be kept although the request fails.
func (j Judged) Usable() (listed bool, err error) {
	var wrong fault.Problems
	switch {
	case j.ours:
		wrong.Add("address", "belongs to this service, not to the payer")
	case len(j.Screened) > 0 && j.Screened[0].Verdict.Hit:
		listed = true
		wrong.Add("address", "cannot be used")
	}
	return listed, wrong.Err()
}

// Change is a payment's change by a trigger that names the judged address. A decision of the screener is kept, also
// where it refuses the address.
func (c Checker) Change(v change.View, j Judged, t payment.Trigger, now time.Time) (change.Result, error) {
	if err := c.Fits(v.Payment, j); err != nil {
		return change.Result{}, err
	}
	switch listed, err := j.Usable(); {
	case listed:
		return change.Result{Payment: v.Payment, Screened: j.Screened, Refused: err}, nil
	case err != nil:
		return change.Result{}, err
	}
	r, err := change.Applied(c.Policy.Apply(v.Payment, t, now))
	r.Screened = j.Screened
	return r, err
}

// Confirm is the confirmation of an address, in the spelling of the payer's proposal where that is the same address. A
// stray payment takes an address that nobody has proposed.
func Confirm(v change.View, to string) payment.Trigger {
	p := v.Payment
	if p.Type == payment.Stray {
		return payment.SetRefundAddress{Address: to, Rows: v.Rows, Refunds: v.Refunds}
	}
	n, ok := money.NetworkOf(p.Quote.Network)
	if ok && address.Canonical(n.Family, p.RefundAddressProposed) == address.Canonical(n.Family, to) {
		to = p.RefundAddressProposed
	}
	return payment.ConfirmRefundAddress{Address: to, Rows: v.Rows, Refunds: v.Refunds}
}
