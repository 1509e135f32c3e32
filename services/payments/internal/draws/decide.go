package draws

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/views"
)

const (
	actionApprove = "approve_withdrawal"
	codeRefused   = "refused"
)

// Cancel stops a withdrawal for its merchant. One that is approved fails only if nothing can have been signed for it,
// which wallets decides.
func (a *Draws) Cancel(ctx context.Context, o tenant.Owner, drawID string, k idempotency.Key) (idempotency.Answer, error) {
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	return a.settled(ctx, k)(a.Store.ChangeDraw(ctx, Changing{DrawID: drawID, Owner: &o, Key: k}, func(c Current) (Ruling, error) {
		r, err := a.cancel(c)
		if err != nil {
			return r, err
		}
		r.Answer, err = answer(views.DrawAnswer{Success: true, Withdrawal: views.DrawOf(last(c, r))})
		return r, err
	}))
}

func (a *Draws) cancel(c Current) (Ruling, error) {
	t := refund.Trigger{Name: refund.OnCancel}
	if c.Draw.State == refund.Requested {
		if a.lacks(c.Draw.Mode) {
			return Ruling{}, errRecovery
		}
		t = refund.Trigger{Name: refund.OnRefuse, Failure: wire.RefundCancelled}
	}
	next, _, err := c.Draw.Apply(t, c.Now)
	if err != nil {
		return Ruling{}, errNotCancel
	}
	r := Ruling{Steps: []draw.Draw{next}, Withdrawn: true}
	if t.Name == refund.OnCancel {
		r.Commands = []change.Command{{
			Name: wire.RefundWithdrawnV1, ID: id.New(id.Message, c.Now), Payload: wire.RefundWithdrawn{Order: next.Order(), WithdrawnAt: c.Now},
		}}
	}
	return r, nil
}

// last is the withdrawal after a ruling.
func last(c Current, r Ruling) draw.Draw {
	if len(r.Steps) == 0 {
		return c.Draw
	}
	return r.Steps[len(r.Steps)-1]
}

func answer(body any) (idempotency.Answer, error) {
	text, err := views.Encode(body)
	return idempotency.Answer{Status: change.StatusOK, Body: text}, err
}

// operate runs an operator's decision, and answers with the withdrawal.
func (a *Draws) operate(ctx context.Context, c Changing, rule ChangeRule) (idempotency.Answer, error) {
	k := c.Key
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	return a.settled(ctx, k)(a.Store.ChangeDraw(ctx, c, func(c Current) (Ruling, error) {
		r, err := rule(c)
		if err != nil || r.Refused != nil {
			return r, err
		}
		shown := views.OperatedDraw{Success: true, Withdrawal: views.OperatorsDrawOf(last(c, r))}
		if r.Waits != nil {
			waiting := r.Waits.Waiting(c.Now)
			shown.Approval = &waiting
		}
		r.Answer, err = answer(shown)
		return r, err
	}))
}

// note is the audit entry of an operator's decision.
func note(d refunds.Decision, action string, w draw.Draw) *change.AuditNote {
	return &change.AuditNote{Operator: d.Operator, Action: action, Detail: map[string]any{
		"id": w.ID, "merchantId": w.MerchantID, "crypto": w.Asset, "network": w.Network, "amount": money.Canonical(w.Amount), "reason": d.Reason,
	}}
}

// Approve approves a withdrawal that waits; in live mode it takes two operators at any amount.
func (a *Draws) Approve(ctx context.Context, drawID string, d refunds.Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := reasoned(d, problems); err != nil {
		return idempotency.Answer{}, err
	}
	w, err := a.Store.AnyDraw(ctx, drawID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	to, err := a.judge(ctx, w.Mode, w.Network, w.Address)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.operate(ctx, Changing{DrawID: drawID, Key: k, Spends: true}, func(c Current) (Ruling, error) { return a.approveBy(c, d, to) })
}

func (a *Draws) approveBy(c Current, d refunds.Decision, to place) (Ruling, error) {
	w := c.Draw
	var out Ruling
	if err := a.approve(&out, w, refund.ByOperator, c.Now); err != nil {
		return Ruling{}, err
	}
	if !c.Listed {
		return Ruling{}, errRemoved
	}
	if err := a.may(tenant.Owner{MerchantID: w.MerchantID, Mode: w.Mode}, quote.Pair{Network: w.Network, Crypto: w.Asset}, to); err != nil {
		return Ruling{}, err
	}
	if err := a.within(w, c.Spent); err != nil {
		return Ruling{}, err
	}
	if w.Mode == tenant.Live {
		by := a.asks(w, d)
		confirmed, err := by.Confirms(c.Open)
		switch {
		case errors.Is(err, approval.ErrOutdated):
			return Ruling{Withdrawn: true, Refused: err}, nil
		case err != nil:
			return Ruling{}, err
		case !confirmed:
			return Ruling{Waits: &by, Audit: note(d, "withdrawals.asked", w)}, nil
		}
		d.Reason = c.Open.Joined(d.Reason)
	}
	out.Withdrawn, out.Audit = true, note(d, "withdrawals.approved", w)
	return out, nil
}

// asks is an operator's approval of a withdrawal.
func (a *Draws) asks(w draw.Draw, d refunds.Decision) approval.Request {
	order := strings.Join([]string{actionApprove, w.ID, w.Network, w.Asset, w.Amount.String(), w.Address}, "\x00")
	return approval.Request{
		Object: w.ID, Version: w.Version, Action: actionApprove, Operator: d.Operator, Reason: d.Reason, Digest: a.Blind.Blind(order, "approval/"+w.ID),
	}
}

func reasoned(d refunds.Decision, problems *fault.Problems) error {
	if d.Reason == "" {
		problems.Add("reason", "is required")
	}
	return problems.Err()
}

// Refuse fails a withdrawal that waits for operators.
func (a *Draws) Refuse(ctx context.Context, drawID string, d refunds.Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := reasoned(d, problems); err != nil {
		return idempotency.Answer{}, err
	}
	return a.operate(ctx, Changing{DrawID: drawID, Key: k}, func(c Current) (Ruling, error) {
		if c.Draw.State == refund.Requested && a.lacks(c.Draw.Mode) {
			return Ruling{}, errRecovery
		}
		next, _, err := c.Draw.Apply(refund.Trigger{Name: refund.OnRefuse, Failure: codeRefused}, c.Now)
		if err != nil {
			return Ruling{}, errDecided
		}
		return Ruling{Steps: []draw.Draw{next}, Withdrawn: true, Audit: note(d, "withdrawals.refused", next)}, nil
	})
}

// Stop cancels a withdrawal for an operator, as its merchant can.
func (a *Draws) Stop(ctx context.Context, drawID string, d refunds.Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := reasoned(d, problems); err != nil {
		return idempotency.Answer{}, err
	}
	return a.operate(ctx, Changing{DrawID: drawID, Key: k}, func(c Current) (Ruling, error) {
		r, err := a.cancel(c)
		r.Audit = note(d, "withdrawals.cancelled", c.Draw)
		return r, err
	})
}

// Waiting is the body of GET /v1/admin/wallets/withdrawals.
func (a *Draws) Waiting(ctx context.Context, before string, limit int) ([]byte, error) {
	rows, err := a.Store.WaitingDraws(ctx, before, limit+1)
	if err != nil {
		return nil, err
	}
	rows, p := views.PageOf(rows, limit, func(w draw.Draw) string { return w.ID })
	out := make([]views.OperatorsDraw, 0, len(rows))
	for _, w := range rows {
		out = append(out, views.OperatorsDrawOf(w))
	}
	return views.Encode(views.WaitingDraws{Success: true, Withdrawals: out, Pagination: p})
}

// Changed applies a report of wallets. It drops an old one, and raises an alert for one that the state refuses.
func Changed(ctx context.Context, s Store, messageID string, m wire.RefundChanged) error {
	trigger, err := refunds.TriggerOf(m)
	if err != nil {
		return fault.Permanent(fmt.Errorf("report about withdrawal %.80q: %w", m.RefundID, err))
	}
	_, err = s.ChangeDraw(ctx, Changing{DrawID: m.RefundID, MessageID: messageID}, func(c Current) (Ruling, error) {
		if err := refunds.About(c.Draw.Refund, m); err != nil {
			return Ruling{}, fault.Permanent(err)
		}
		next, _, err := c.Draw.Apply(trigger, c.Now)
		if fault.Is(err, refund.CodeNotOpen) {
			text := fmt.Sprintf("wallets reports a withdrawal as %s that is %s: %s", m.State, c.Draw.State, c.Draw.ID)
			return Ruling{Alerts: []payment.Alert{{Code: alert.WithdrawalContradicted, Text: text}}}, nil
		}
		if err != nil || next.Version == c.Draw.Version {
			return Ruling{}, err
		}
		return Ruling{Steps: []draw.Draw{next}}, nil
	})
	if errors.Is(err, ErrNotFound) {
		return fault.Permanent(fmt.Errorf("report about withdrawal %.80q: %w", m.RefundID, err))
	}
	return err
}
