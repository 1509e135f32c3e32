package withdrawals

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

// The actions of operators on withdrawals, as audit and approvals name them.
const (
	actionApprove = "approve_withdrawal"
	actionRefuse  = "refuse_withdrawal"
)

var (
	errRecovery = fault.New(fault.Unavailable, "withdrawals_paused",
		"Withdrawals are paused until lost data is restored. Try again later.").After(time.Minute).Closed()
	errOtherCurrency = fault.New(fault.Conflict, "settlement_account_currency", "The settlement account is one of another currency.")
)

// Order is the decoded body of POST /v1/withdrawals.
type Order struct {
	Currency  string
	Amount    *decimal.Decimal
	AccountID string
}

func (d Order) check(problems *fault.Problems) error {
	if !money.Currency(d.Currency).Valid() {
		problems.Add("currency", "must be one of NGN, GHS, KES, ZAR")
	}
	switch {
	case d.Amount == nil:
		problems.Add("amount", "is required")
	case !d.Amount.IsPositive() || d.Amount.GreaterThan(money.Max):
		problems.Add("amount", "must be greater than 0")
	case money.Digits(*d.Amount) > money.FiatDigits:
		problems.Add("amount", "must have at most %d decimal places", money.FiatDigits)
	}
	if d.AccountID == "" {
		problems.Add("settlementAccountId", "is required")
	}
	return problems.Err()
}

// Withdraw takes money out of the balance and pays it to an account. Above the bound of a day it waits for two
// operators.
func (a *Withdrawals) Withdraw(ctx context.Context, o tenant.Owner, d Order, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if err := d.check(problems); err != nil {
		return idempotency.Answer{}, err
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	set, open := a.Providers[o.Mode]
	switch {
	case !open:
		return idempotency.Answer{}, change.ErrLiveDisabled
	case a.Recovery && o.Mode == tenant.Live: // the restored database lacks withdrawals that have left
		return idempotency.Answer{}, errRecovery
	}
	currency := money.Currency(d.Currency)
	return a.change(ctx, o, currency, k, func(v View) (r Ruling, err error) {
		if v.Suspended {
			return r, admission.ErrSuspended
		}
		if err := withdrawal.MayAsk(v.Open); err != nil {
			return r, err
		}
		account, err := withdrawal.Find(v.Accounts, d.AccountID)
		if err != nil {
			return r, err
		}
		if err := account.MayPay(v.Now); err != nil {
			return r, err
		}
		if account.Currency != currency {
			return r, errOtherCurrency
		}
		rail, err := a.rail(set, account, *d.Amount)
		if err != nil {
			return r, err
		}
		made, err := withdrawal.Request(withdrawal.Withdrawal{
			ID: id.Placed(id.Withdrawal, a.Shard, v.Now), Owner: o, Currency: currency, Amount: *d.Amount, AccountID: account.ID, Receiver: account.Receiver, Rail: rail,
		}, v.Available, a.waits(o.Mode, currency, v.Recent.Add(*d.Amount)), v.Now)
		if err != nil {
			return r, err
		}
		r.Withdrawal = &made
		r.Answer.Status, r.Answer.Personal = change.StatusCreated, true
		r.Answer.Body, err = views.Encode(views.WithdrawalAnswer{Success: true, Withdrawal: views.WithdrawalOf(made.Withdrawal)})
		return r, err
	})
}

// rail is the rail that pays an account, where it pays the amount.
func (a *Withdrawals) rail(set provider.Set, to withdrawal.Account, amount decimal.Decimal) (string, error) {
	found, ok := set.Paying(to.Currency, to.Receiver.BankCode)
	if !ok {
		return "", provider.Unreachable()
	}
	if err := provider.Narrowed(a.Policy.Limits[to.Currency], found.Caps().Currencies[to.Currency]).InRange("amount", amount); err != nil {
		return "", err
	}
	if a.Policy.Whole[payment.RailCurrency{Rail: found.Name(), Currency: to.Currency}] && !amount.IsInteger() {
		var problems fault.Problems
		problems.Add("amount", "must be a whole number of %s", to.Currency)
		return "", problems.Err()
	}
	return found.Name(), nil
}

// waits reports that a withdrawal takes two operators. sum is what the merchant withdraws in 24 hours with it, so that
// a large one cannot be made as many small ones.
func (a *Withdrawals) waits(mode tenant.Mode, currency money.Currency, sum decimal.Decimal) bool {
	above, bounded := a.SecondAbove[currency]
	return mode == tenant.Live && bounded && sum.GreaterThan(above)
}

// Show is the body of GET /v1/withdrawals/{id}.
func (a *Withdrawals) Show(ctx context.Context, o tenant.Owner, withdrawalID string) ([]byte, error) {
	w, err := a.Store.Withdrawal(ctx, o, withdrawalID)
	if err != nil {
		return nil, err
	}
	return views.Encode(views.WithdrawalAnswer{Success: true, Withdrawal: views.WithdrawalOf(w)})
}

// List is the body of GET /v1/withdrawals, the newest first.
func (a *Withdrawals) List(ctx context.Context, o tenant.Owner, before string, limit int) ([]byte, error) {
	rows, err := a.Store.WithdrawalsOf(ctx, o, before, limit+1)
	if err != nil {
		return nil, err
	}
	return paged(rows, limit, views.WithdrawalOf)
}

// Waiting is the body of GET /v1/admin/withdrawals: those that wait for operators, or the approved ones that have not
// left, the newest first.
func (a *Withdrawals) Waiting(ctx context.Context, approved bool, before string, limit int) ([]byte, error) {
	rows, err := a.Store.WaitingWithdrawals(ctx, approved, before, limit+1)
	if err != nil {
		return nil, err
	}
	return paged(rows, limit, views.OperatorsWithdrawalOf)
}

func paged[T any](rows []withdrawal.Withdrawal, limit int, show func(withdrawal.Withdrawal) T) ([]byte, error) {
	page := views.Pagination{Limit: limit}
	if len(rows) > limit {
		rows = rows[:limit]
		next := views.RowCursor(rows[limit-1].ID)
		page.HasMore, page.NextCursor = true, &next
	}
	out := make([]T, 0, len(rows))
	for _, w := range rows {
		out = append(out, show(w))
	}
	return views.Encode(views.WithdrawalsAnswer[T]{Success: true, Withdrawals: out, Pagination: page})
}

// Decision is the decoded body of an operator's decision on a withdrawal.
type Decision struct{ Operator, Reason string }

// Approve lets a withdrawal leave, with the second of two operators.
func (a *Withdrawals) Approve(ctx context.Context, withdrawalID string, d Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	return a.decide(ctx, withdrawalID, actionApprove, d, problems, k)
}

// Refuse fails a withdrawal that waits or has not left, so that its money is in the balance again. It takes one
// operator, because it only stops.
func (a *Withdrawals) Refuse(ctx context.Context, withdrawalID string, d Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	return a.decide(ctx, withdrawalID, actionRefuse, d, problems, k)
}

func (a *Withdrawals) decide(ctx context.Context, withdrawalID, action string, d Decision, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if d.Reason == "" {
		problems.Add("reason", "is required")
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if !strings.HasPrefix(withdrawalID, id.Withdrawal) {
		return idempotency.Answer{}, withdrawal.ErrNone
	}
	open, err := a.Store.Asked(ctx, withdrawalID)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.Access.Once(ctx, k, func(v change.View, now time.Time) (change.Result, error) {
		if v.Withdrawal == nil {
			return change.Result{}, withdrawal.ErrNone
		}
		return a.ruled(v, action, d, open, now)
	}, func(f change.Func) error { return a.Store.UpdateWithdrawalOnce(ctx, withdrawalID, k, f) })
}

// ruled is the result of a decision on a withdrawal. An approval in live mode takes two operators.
func (a *Withdrawals) ruled(v change.View, action string, d Decision, open *approval.Request, now time.Time) (change.Result, error) {
	w := *v.Withdrawal
	if action == actionRefuse && a.Recovery && w.Owner.Mode == tenant.Live {
		return change.Result{}, errRecovery // it may have been approved in the lost time, and paid
	}
	unsent := v.Payout != nil && v.Payout.Attempt == w.Attempt && v.Payout.Unsent()
	next, err := w.Refuse(unsent, now)
	if action == actionApprove {
		next, err = w.Approve(now)
	}
	if err != nil {
		return change.Result{}, err
	}
	answer := views.OperatedWithdrawal{Success: true}
	r := change.Result{Payment: v.Payment}
	if action == actionRefuse && unsent { // a worker claims it under the same lock
		stopped, _ := a.Providers[w.Owner.Mode].Timing.Next(*v.Payout, payout.Observation{Seen: payout.Withdraw}, now)
		stopped.DoneAt = now
		r.Payout = &stopped
	}
	if action == actionApprove && w.Owner.Mode == tenant.Live {
		order := strings.Join([]string{action, w.ID, string(w.Currency), w.Amount.String(), w.AccountID}, "\x00")
		by := approval.Request{
			Object: w.ID, Version: w.Version, Action: action, Operator: d.Operator, Reason: d.Reason, Digest: a.Blind.Blind(order, "approval/"+w.ID),
		}
		confirmed, err := by.Confirms(open)
		switch {
		case errors.Is(err, approval.ErrOutdated):
			return change.Result{Payment: v.Payment, Withdrawn: true, Refused: err}, nil
		case err != nil:
			return change.Result{}, err
		case !confirmed:
			view := by.Waiting(now)
			r.Approval, answer.Approval, answer.Withdrawal = &by, &view, views.OperatorsWithdrawalOf(w)
			return answered(r, answer)
		}
		d.Reason = open.Joined(d.Reason)
	}
	r.Withdrawal, answer.Withdrawal = &next, views.OperatorsWithdrawalOf(next.Withdrawal)
	r.Audit = &change.AuditNote{Operator: d.Operator, Action: action, Detail: map[string]any{
		"withdrawalId": w.ID, "merchantId": w.Owner.MerchantID, "amount": w.Amount, "currency": w.Currency, "reason": d.Reason,
	}}
	return answered(r, answer)
}

func answered(r change.Result, body any) (change.Result, error) {
	text, err := views.Encode(body)
	r.Answer = &idempotency.Answer{Status: change.StatusOK, Body: text, Personal: true}
	return r, err
}
