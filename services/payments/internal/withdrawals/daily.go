package withdrawals

import (
	"context"
	"errors"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/withdrawal"
)

// Due is a daily settlement that has not been done today.
type Due struct {
	Owner    tenant.Owner
	Currency money.Currency
}

// dailyBatch is the number of settlements that one call of SettleDue does.
const dailyBatch = 100

// ErrSettledToday says that another process has done a settlement first.
var ErrSettledToday = errors.New("the day has been settled")

// Daily is the decoded wish for a daily settlement.
type Daily struct {
	Currency  string
	AccountID string
	Minimum   *decimal.Decimal
}

func (d Daily) check(at string, problems *fault.Problems) {
	if !money.Currency(d.Currency).Valid() {
		problems.Add(at+".currency", "must be one of NGN, GHS, KES, ZAR")
	}
	if d.AccountID == "" {
		problems.Add(at+".settlementAccountId", "is required")
	}
	switch {
	case d.Minimum == nil:
		problems.Add(at+".minimum", "is required")
	case d.Minimum.IsNegative() || d.Minimum.GreaterThan(money.Max) || money.Digits(*d.Minimum) > money.FiatDigits:
		problems.Add(at+".minimum", "must be an amount of at most %d decimal places", money.FiatDigits)
	}
}

// SettleDue does the daily settlements that have not been done today, each in a transaction of its own. The row of the
// day makes each of them happen once, however many processes call it.
func (a *Withdrawals) SettleDue(ctx context.Context) error {
	due, err := a.Store.DueSettlements(ctx, dailyBatch)
	if err != nil {
		return err
	}
	var failures []error
	for _, d := range due {
		set, open := a.Providers[d.Owner.Mode]
		if !open || a.Recovery && d.Owner.Mode == tenant.Live {
			continue
		}
		_, err := a.Store.ChangeMoney(ctx, d.Owner, d.Currency, idempotency.Key{}, func(v View) (Ruling, error) {
			return a.settle(set, d, v)
		})
		if err != nil && !errors.Is(err, ErrSettledToday) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// settle is one daily settlement. Where the account cannot be paid, or there is too little, it waits for the next day.
func (a *Withdrawals) settle(set provider.Set, d Due, v View) (Ruling, error) {
	done := Ruling{Day: &withdrawal.Day{Currency: d.Currency, Day: v.Now.UTC().Truncate(24 * time.Hour)}}
	plan, ok := v.Settings.Scheduled(d.Currency)
	if !ok {
		return Ruling{}, nil
	}
	account, err := withdrawal.Find(v.Accounts, plan.AccountID)
	if err != nil || account.MayPay(v.Now) != nil {
		return done, nil //nolint:nilerr // the next day looks again
	}
	found, ok := set.Paying(d.Currency, account.Receiver.BankCode)
	if !ok {
		return done, nil
	}
	bounds := provider.Narrowed(a.Policy.Limits[d.Currency], found.Caps().Currencies[d.Currency])
	amount := plan.Amount(v.Available, bounds.Max, a.Policy.Whole[payment.RailCurrency{Rail: found.Name(), Currency: d.Currency}])
	if amount.IsZero() || amount.LessThan(bounds.Min) {
		return done, nil
	}
	owner := d.Owner
	owner.KeyID = plan.KeyID
	made, err := withdrawal.Request(withdrawal.Withdrawal{
		ID: id.New(id.Withdrawal, v.Now), Owner: owner, Currency: d.Currency, Amount: amount, AccountID: account.ID, Receiver: account.Receiver,
		Rail: found.Name(),
	}, v.Available, a.waits(owner.Mode, d.Currency, v.Recent.Add(amount)), v.Now)
	if err != nil {
		return Ruling{}, err
	}
	done.Withdrawal, done.Day.WithdrawalID = &made, made.ID
	return done, nil
}
