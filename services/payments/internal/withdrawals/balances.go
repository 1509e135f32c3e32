// Package withdrawals holds the use cases of a merchant's own money (docs/api-contract.md#balances).
package withdrawals

import (
	"context"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

// Store is the tables of merchants' money.
type Store interface {
	// Balances are a merchant's balances, one for each currency.
	Balances(ctx context.Context, o tenant.Owner) ([]withdrawal.Balance, error)
	// MerchantSettings are a merchant's choices.
	MerchantSettings(ctx context.Context, o tenant.Owner) (withdrawal.Settings, error)
	// ChangeMerchantSettings changes them under a lock. The owner's key is kept as the one that changed them.
	ChangeMerchantSettings(ctx context.Context, o tenant.Owner, f func(*withdrawal.Settings)) (withdrawal.Settings, error)
}

// Withdrawals holds the use cases.
type Withdrawals struct {
	Store Store
}

type balanceView struct {
	Currency  money.Currency `json:"currency"`
	Available money.Number   `json:"available"`
	Pending   money.Number   `json:"pending"`
}

// Balances is the part of GET /v1/balances that payments answers; the gateway adds it to that of wallets.
func (a *Withdrawals) Balances(ctx context.Context, o tenant.Owner) ([]byte, error) {
	found, err := a.Store.Balances(ctx, o)
	if err != nil {
		return nil, err
	}
	out := make([]balanceView, 0, len(found))
	for _, b := range found {
		out = append(out, balanceView{b.Currency, money.N(b.Available), money.N(b.Pending)})
	}
	return views.Encode(struct {
		Success bool          `json:"success"`
		Fiat    []balanceView `json:"fiat"`
	}{true, out})
}

// The ways in which payments of type merchant without a receiver are settled.
const (
	settledBySelf    = "self"
	settledToBalance = "balance"
)

type settingsView struct {
	MerchantPayments string `json:"merchantPayments"`
}

func settingsAnswer(s withdrawal.Settings) ([]byte, error) {
	v := settingsView{settledBySelf}
	if s.ToBalance {
		v.MerchantPayments = settledToBalance
	}
	return views.Encode(struct {
		Success  bool         `json:"success"`
		Settings settingsView `json:"settings"`
	}{true, v})
}

// Settings is the body of GET /v1/settlement-settings.
func (a *Withdrawals) Settings(ctx context.Context, o tenant.Owner) ([]byte, error) {
	s, err := a.Store.MerchantSettings(ctx, o)
	if err != nil {
		return nil, err
	}
	return settingsAnswer(s)
}

// Wish is the decoded body of PATCH /v1/settlement-settings.
type Wish struct {
	MerchantPayments string // "" changes nothing
}

// ChangeSettings changes a merchant's choices. A payment that exists keeps the choice with which it was made.
func (a *Withdrawals) ChangeSettings(ctx context.Context, o tenant.Owner, w Wish, problems *fault.Problems) ([]byte, error) {
	switch w.MerchantPayments {
	case "", settledBySelf, settledToBalance:
	default:
		problems.Add("merchantPayments", "must be one of self, balance")
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	s, err := a.Store.ChangeMerchantSettings(ctx, o, func(s *withdrawal.Settings) {
		if w.MerchantPayments != "" {
			s.ToBalance = w.MerchantPayments == settledToBalance
		}
	})
	if err != nil {
		return nil, err
	}
	return settingsAnswer(s)
}
