package withdrawals

import (
	"context"
	"errors"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

func accountAnswer(status int, a withdrawal.Account) (idempotency.Answer, error) {
	body, err := views.Encode(struct {
		Success bool                        `json:"success"`
		Account views.SettlementAccountView `json:"settlementAccount"`
	}{true, views.SettlementAccountOf(a)})
	return idempotency.Answer{Status: status, Body: body, Personal: true}, err
}

// Proposal is the decoded body of POST /v1/settlement-accounts.
type Proposal struct {
	Currency string
	Receiver *payment.ReceiverInput
}

// AddAccount keeps a bank account under the name that its bank gives, for the second step to confirm.
func (a *Withdrawals) AddAccount(ctx context.Context, o tenant.Owner, p Proposal, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	currency := money.Currency(p.Currency)
	if !currency.Valid() {
		problems.Add("currency", "must be one of NGN, GHS, KES, ZAR")
		currency = ""
	}
	receiver := payment.CheckReceiver(p.Receiver, o.Mode, currency, problems)
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	named, err := a.Receivers.Named(ctx, payment.Payment{Mode: o.Mode, Currency: currency}, receiver)
	if err != nil {
		return idempotency.Answer{}, err
	}
	return a.change(ctx, o, "", k, func(v View) (r Ruling, err error) {
		if err := withdrawal.MayAdd(v.Accounts); err != nil {
			return r, err
		}
		r.Account = &withdrawal.Account{ID: id.Placed(id.SettlementAccount, a.Shard, v.Now), Owner: o, Currency: currency, Receiver: named, CreatedAt: v.Now}
		r.Answer, err = accountAnswer(change.StatusCreated, *r.Account)
		return r, err
	})
}

// ConfirmAccount is the second step: the number of the account again, with a permission of its own.
func (a *Withdrawals) ConfirmAccount(ctx context.Context, o tenant.Owner, accountID, number string, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if number == "" {
		problems.Add("accountNumber", "is required")
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	return a.change(ctx, o, "", k, func(v View) (r Ruling, err error) {
		found, err := withdrawal.Find(v.Accounts, accountID)
		if err != nil {
			return r, err
		}
		if found, err = found.Confirm(strings.TrimSpace(number), o.KeyID, a.AccountHold, v.Now); err != nil {
			return r, err
		}
		r.Account = &found
		r.Answer, err = accountAnswer(change.StatusOK, found)
		return r, err
	})
}

// DeleteAccount ends an account. No withdrawal goes to it any more.
func (a *Withdrawals) DeleteAccount(ctx context.Context, o tenant.Owner, accountID string) ([]byte, error) {
	answer, err := a.Store.ChangeMoney(ctx, o, "", idempotency.Key{}, func(v View) (r Ruling, err error) {
		found, err := withdrawal.Find(v.Accounts, accountID)
		if err != nil {
			return r, err
		}
		found.DeletedAt = v.Now
		r.Account = &found
		r.Answer.Body, err = views.Encode(struct {
			Success bool   `json:"success"`
			ID      string `json:"id"`
			Deleted bool   `json:"deleted"`
		}{true, found.ID, true})
		return r, err
	})
	return answer.Body, err
}

// change is Store.ChangeMoney, with the stored answer where another request has taken the key meanwhile.
func (a *Withdrawals) change(ctx context.Context, o tenant.Owner, currency money.Currency, k idempotency.Key, rule Rule) (idempotency.Answer, error) {
	var given idempotency.Answer
	_, err := a.Store.ChangeMoney(ctx, o, currency, k, func(v View) (Ruling, error) {
		r, err := rule(v)
		// A request waits here for another one with its key, which may have taken the money. The stored refusal collides
		// with that one's answer, so that the caller gets that.
		if kept, ok := a.Access.Refused(ctx, k, err); ok {
			r, err = Ruling{Answer: kept}, nil
		}
		given, r.Answer = r.Answer, a.Access.Kept(k, r.Answer)
		return r, err
	})
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Access.Settled(ctx, k)
	}
	return given, err
}

// AccountList is the body of GET /v1/settlement-accounts, the oldest first. A merchant has few, so it has no pages.
func (a *Withdrawals) AccountList(ctx context.Context, o tenant.Owner) ([]byte, error) {
	found, err := a.Store.SettlementAccounts(ctx, o)
	if err != nil {
		return nil, err
	}
	out := make([]views.SettlementAccountView, 0, len(found))
	for _, one := range found {
		out = append(out, views.SettlementAccountOf(one))
	}
	return views.Encode(struct {
		Success  bool                          `json:"success"`
		Accounts []views.SettlementAccountView `json:"settlementAccounts"`
	}{true, out})
}

// ShowAccount is the body of GET /v1/settlement-accounts/{id}.
func (a *Withdrawals) ShowAccount(ctx context.Context, o tenant.Owner, accountID string) ([]byte, error) {
	all, err := a.Store.SettlementAccounts(ctx, o)
	if err != nil {
		return nil, err
	}
	found, err := withdrawal.Find(all, accountID)
	if err != nil {
		return nil, err
	}
	answer, err := accountAnswer(change.StatusOK, found)
	return answer.Body, err
}
