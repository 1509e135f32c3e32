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
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

type receiverView struct {
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankName      string `json:"bankName"`
	NameVerified  bool   `json:"nameVerified"`
}

func receiverOf(r payment.Receiver) receiverView {
	r = r.Masked()
	return receiverView{r.AccountName, r.AccountNumber, r.BankName, r.NameVerified}
}

type accountView struct {
	ID          string         `json:"id"`
	Currency    money.Currency `json:"currency"`
	Receiver    receiverView   `json:"receiver"`
	Status      string         `json:"status"`
	HeldUntil   *string        `json:"heldUntil"`
	CreatedAt   string         `json:"createdAt"`
	ConfirmedAt *string        `json:"confirmedAt"`
}

func accountOf(a withdrawal.Account) accountView {
	v := accountView{
		ID: a.ID, Currency: a.Currency, Receiver: receiverOf(a.Receiver), Status: "unconfirmed", HeldUntil: timestamp.OrNull(a.HeldUntil),
		CreatedAt: timestamp.Text(a.CreatedAt), ConfirmedAt: timestamp.OrNull(a.ConfirmedAt),
	}
	if !a.ConfirmedAt.IsZero() {
		v.Status = "active"
	}
	return v
}

func accountAnswer(status int, a withdrawal.Account) (idempotency.Answer, error) {
	body, err := views.Encode(struct {
		Success bool        `json:"success"`
		Account accountView `json:"settlementAccount"`
	}{true, accountOf(a)})
	return idempotency.Answer{Status: status, Body: body}, err
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
		r.Account = &withdrawal.Account{ID: id.New(id.SettlementAccount, v.Now), Owner: o, Currency: currency, Receiver: named, CreatedAt: v.Now}
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
	answer, err := a.Store.ChangeMoney(ctx, o, currency, k, rule)
	if errors.Is(err, idempotency.ErrTaken) {
		return a.Access.Store.Settled(ctx, k)
	}
	return answer, err
}

// AccountList is the body of GET /v1/settlement-accounts, the oldest first. A merchant has few, so it has no pages.
func (a *Withdrawals) AccountList(ctx context.Context, o tenant.Owner) ([]byte, error) {
	found, err := a.Store.SettlementAccounts(ctx, o)
	if err != nil {
		return nil, err
	}
	out := make([]accountView, 0, len(found))
	for _, one := range found {
		out = append(out, accountOf(one))
	}
	return views.Encode(struct {
		Success  bool          `json:"success"`
		Accounts []accountView `json:"settlementAccounts"`
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
