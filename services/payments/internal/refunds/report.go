package refunds

import (
	"context"
	"errors"
	"fmt"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/refund"
)

// Reports applies the reports of wallets to refunds.
type Reports struct {
	Policy payment.Policy
	// Report changes the payment of a refund by a message, once.
	Report func(ctx context.Context, messageID, refundID string, f change.Func) error
}

// Changed applies one report. It drops an old one, and raises an alert for one that the refund's state refuses.
func (a Reports) Changed(ctx context.Context, messageID string, m wire.RefundChanged) error {
	trigger, err := TriggerOf(m)
	if err != nil {
		return fault.Permanent(fmt.Errorf("report about refund %.80q: %w", m.RefundID, err))
	}
	err = a.Report(ctx, messageID, m.RefundID, func(v change.View, now time.Time) (change.Result, error) {
		r, ok := find(v, m.RefundID)
		if !ok {
			return change.Result{}, change.ErrNoRefund
		}
		if err := About(r, m); err != nil {
			return change.Result{}, fault.Permanent(err)
		}
		out, err := change.Applied(a.Policy.Apply(v.Payment, payment.ChangeRefund{Refund: r, Trigger: trigger, Rows: v.Rows, Refunds: v.Refunds}, now))
		if fault.Is(err, refund.CodeNotOpen) {
			const text = "wallets reports a refund as %s that is %s: %s"
			contradicted := payment.Alert{Code: alert.RefundContradicted, Text: fmt.Sprintf(text, m.State, r.State, r.ID)}
			return change.Result{Payment: v.Payment, Alerts: []payment.Alert{contradicted}}, nil
		}
		if err == nil && len(out.Facts) > 0 && r.Cancelled == refund.CancelRequested && kept(out).Cancelled == refund.CancelTooLate {
			out.Alerts = append(out.Alerts, payment.Alert{Code: alert.RefundNotCancelled, Text: "the cancellation came too late, so the refund goes on: " + r.ID})
		}
		return out, err
	})
	if errors.Is(err, change.ErrNoRefund) {
		return fault.Permanent(fmt.Errorf("report about refund %.80q: %w", m.RefundID, err))
	}
	return err
}

// About refuses a report that does not fit the refund that it names.
func About(r refund.Refund, m wire.RefundChanged) error {
	n, _ := money.NetworkOf(r.Network)
	asset, _ := n.Asset(r.Asset)
	if amount := asset.ToUnits(r.Amount).String(); m.Mode != r.Mode || m.Network != r.Network || m.Amount != amount {
		return fmt.Errorf("report of %.80q on %s %s about refund %s of %s on %s %s", m.Amount, m.Mode, m.Network, r.ID, amount, r.Mode, r.Network)
	}
	return nil
}

// TriggerOf is what a report does to its refund.
func TriggerOf(m wire.RefundChanged) (t refund.Trigger, err error) {
	n, known := money.NetworkOf(m.Network)
	if !known || m.Version <= 0 {
		return t, fmt.Errorf("version %d on network %.20q", m.Version, m.Network)
	}
	if t.Fee, err = change.BaseUnits(n.Coin(), m.Fee); err != nil {
		return t, err
	}
	t.TxHash, t.Told, t.Kept = m.TxHash, m.Version, m.Reason == wire.RefundNotCancelled
	switch m.State {
	case wire.RefundSigning:
		t.Name = refund.OnTaken
	case wire.RefundSent:
		t.Name = refund.OnBroadcast
	case wire.RefundConfirmed:
		t.Name = refund.OnFinal
	case wire.RefundFailed:
		t.Name, t.Failure = refund.OnFailed, m.Reason
	default:
		return t, fmt.Errorf("unknown state %.20q", m.State)
	}
	return t, nil
}
