// Package withdrawals holds the use cases of a merchant's own money (docs/api-contract.md#balances).
package withdrawals

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

// Store is the tables of merchants' money.
type Store interface {
	// Balances are a merchant's balances, one for each currency.
	Balances(ctx context.Context, o tenant.Owner) ([]withdrawal.Balance, error)
	// MerchantSettings are a merchant's choices.
	MerchantSettings(ctx context.Context, o tenant.Owner) (withdrawal.Settings, error)
	// DueSettlements lists daily settlements of these modes that have not been done today, those that follow after.
	DueSettlements(ctx context.Context, modes []tenant.Mode, after Due, most int) ([]Due, error)
	// PutOffSettlement lets one that failed be due again later, and later each time that it fails within a day.
	PutOffSettlement(ctx context.Context, d Due) error
	// SettlementAccounts are a merchant's accounts, the oldest first, without the deleted ones.
	SettlementAccounts(ctx context.Context, o tenant.Owner) ([]withdrawal.Account, error)
	// ChangeMoney writes the ruling of a rule under the merchant's lock, and its answer under the key.
	// With a currency it locks the balance too.
	ChangeMoney(ctx context.Context, o tenant.Owner, currency money.Currency, k idempotency.Key, rule Rule) (idempotency.Answer, error)
	// Withdrawal is a merchant's withdrawal.
	Withdrawal(ctx context.Context, o tenant.Owner, withdrawalID string) (withdrawal.Withdrawal, error)
	// WithdrawalsOf lists a merchant's withdrawals, the newest first.
	WithdrawalsOf(ctx context.Context, o tenant.Owner, before string, most int) ([]withdrawal.Withdrawal, error)
	// WaitingWithdrawals lists those that wait for operators, or the approved ones that have not left, the newest first.
	WaitingWithdrawals(ctx context.Context, approved bool, before string, most int) ([]withdrawal.Withdrawal, error)
	// UpdateWithdrawalOnce changes a withdrawal and stores the answer under the key.
	UpdateWithdrawalOnce(ctx context.Context, withdrawalID string, k idempotency.Key, f change.Func) error
	// Asked is the open request of an operator about a withdrawal, nil without one.
	Asked(ctx context.Context, withdrawalID string) (*approval.Request, error)
}

// View is a merchant's money in one mode, as one transaction sees it under the merchant's lock.
type View struct {
	Now      time.Time // of the database
	Settings withdrawal.Settings
	Accounts []withdrawal.Account // not deleted, the oldest first

	// Of the currency that is asked for.
	Available   decimal.Decimal
	Recent      decimal.Decimal // what was withdrawn in the last 24 hours, or waits since
	RecentOther decimal.Decimal // the same without the daily settlements of earlier days

	// Read where a currency is asked for.
	Open      int  // withdrawals of every currency that have not ended
	Suspended bool // the merchant
}

// Ruling is the result of a rule.
type Ruling struct {
	Settings   *withdrawal.Settings // changed
	Day        *withdrawal.Day      // settled; ErrSettledToday where it was before
	Account    *withdrawal.Account  // new or changed
	Withdrawal *withdrawal.Change   // new
	Answer     idempotency.Answer
}

// Rule decides on a change of a merchant's money. It must not wait for anything.
type Rule func(View) (Ruling, error)

// Withdrawals holds the use cases.
type Withdrawals struct {
	Store       Store
	Access      *access.Payments
	Receivers   *receivers.Receivers
	Providers   map[tenant.Mode]provider.Set
	Policy      payment.Policy
	Blind       *keyring.Ring                      // hashes requests of operators
	SecondAbove map[money.Currency]decimal.Decimal // a live withdrawal waits for two operators where those of 24 hours are more
	AccountHold time.Duration                      // no live money leaves to an account this long after its confirmation
	Shard       shard.Code
	Recovery    bool // the database was restored, and lacks withdrawals that have left
	NoCredit    bool // an earlier release runs beside this one and credits no payment, so nobody chooses it
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
	MerchantPayments string      `json:"merchantPayments"`
	Daily            []dailyView `json:"daily"`
}

type dailyView struct {
	Currency  money.Currency `json:"currency"`
	AccountID string         `json:"settlementAccountId"`
	Minimum   money.Number   `json:"minimum"`
}

func settingsAnswer(s withdrawal.Settings) ([]byte, error) {
	v := settingsView{settledBySelf, make([]dailyView, 0, len(s.Daily))}
	for _, d := range s.Daily {
		v.Daily = append(v.Daily, dailyView{d.Currency, d.AccountID, money.N(d.Minimum)})
	}
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
	DailySent        bool
	Daily            []Daily // replaces all daily settlements, where it was sent
}

func (w Wish) check(problems *fault.Problems) error {
	switch w.MerchantPayments {
	case "", settledBySelf, settledToBalance:
	default:
		problems.Add("merchantPayments", "must be one of self, balance")
	}
	seen := map[string]bool{}
	for i, d := range w.Daily {
		at := "daily[" + strconv.Itoa(i) + "]"
		if d.check(at, problems); seen[d.Currency] {
			problems.Add(at+".currency", "must not be named twice")
		}
		seen[d.Currency] = true
	}
	return problems.Err()
}

var errNoCredit = fault.New(fault.Unavailable, "balance_unavailable",
	"Payments cannot be credited to balances during an upgrade. Try again later.").After(10 * time.Minute).Closed()

// ChangeSettings changes a merchant's choices. A payment that exists keeps the choice with which it was made.
func (a *Withdrawals) ChangeSettings(ctx context.Context, o tenant.Owner, w Wish, problems *fault.Problems) ([]byte, error) {
	if err := w.check(problems); err != nil {
		return nil, err
	}
	answer, err := a.Store.ChangeMoney(ctx, o, "", idempotency.Key{}, func(v View) (r Ruling, err error) {
		s := v.Settings
		if w.MerchantPayments == settledToBalance && !s.ToBalance && a.NoCredit {
			return r, errNoCredit
		}
		if w.MerchantPayments != "" {
			s.ToBalance = w.MerchantPayments == settledToBalance
		}
		if w.DailySent {
			s.Daily = nil
		}
		for _, d := range w.Daily {
			account, err := withdrawal.Find(v.Accounts, d.AccountID)
			if err != nil {
				return r, err
			}
			if account.Currency != money.Currency(d.Currency) {
				return r, errOtherCurrency
			}
			s.Daily = append(s.Daily, withdrawal.Schedule{Currency: account.Currency, AccountID: account.ID, Minimum: *d.Minimum, KeyID: o.KeyID})
		}
		slices.SortFunc(s.Daily, func(a, b withdrawal.Schedule) int { return strings.Compare(string(a.Currency), string(b.Currency)) })
		r.Settings = &s
		r.Answer.Body, err = settingsAnswer(s)
		return r, err
	})
	return answer.Body, err
}
