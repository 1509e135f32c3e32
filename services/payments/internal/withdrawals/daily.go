package withdrawals

import (
	"context"
	"errors"
	"fmt"
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

// dailyBatch is the number of settlements that SettleDue reads at a time.
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
// day makes each of them happen once, however many processes call it. One that fails is put off and holds up no other.
func (a *Withdrawals) SettleDue(ctx context.Context) error {
	var first error
	failed := 0
	for last := (Due{}); ; {
		due, err := a.Store.DueSettlements(ctx, a.openModes(), last, dailyBatch)
		if err != nil {
			return err
		}
		for _, d := range due {
			if err := a.settleOne(ctx, d); err != nil {
				if ctx.Err() != nil {
					return err
				}
				if failed++; first == nil {
					first = err
				}
			}
		}
		if len(due) < dailyBatch {
			break
		}
		last = due[len(due)-1]
	}
	if first != nil {
		return fmt.Errorf("%d daily settlements failed, the first with: %w", failed, first)
	}
	return nil
}

// openModes are the modes in which money leaves now.
func (a *Withdrawals) openModes() (open []tenant.Mode) {
	for mode := range a.Providers {
		if !a.Recovery || mode != tenant.Live {
			open = append(open, mode)
		}
	}
	return open
}

func (a *Withdrawals) settleOne(ctx context.Context, d Due) error {
	_, err := a.Store.ChangeMoney(ctx, d.Owner, d.Currency, idempotency.Key{}, func(v View) (Ruling, error) {
		return a.settle(a.Providers[d.Owner.Mode], d, v)
	})
	if err == nil || errors.Is(err, ErrSettledToday) {
		return nil
	}
	return errors.Join(fmt.Errorf("daily settlement of merchant %s: %w", d.Owner.MerchantID, err), a.Store.PutOffSettlement(ctx, d))
}

// settle is one daily settlement. Where the account cannot be paid, there is too little, or too many withdrawals have
// not ended, it waits for the next day. That of a suspended merchant waits for its resumption.
func (a *Withdrawals) settle(set provider.Set, d Due, v View) (Ruling, error) {
	done := Ruling{Day: &withdrawal.Day{Currency: d.Currency, Day: v.Now.UTC().Truncate(24 * time.Hour)}}
	plan, ok := v.Settings.Scheduled(d.Currency)
	if !ok || v.Suspended {
		return Ruling{}, nil
	}
	account, err := withdrawal.Find(v.Accounts, plan.AccountID)
	if err != nil || account.MayPay(v.Now) != nil || withdrawal.MayAsk(v.Open) != nil {
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
	// Yesterday's settlement was often made less than 24 hours ago, because a day is settled as soon as it begins or its
	// money is there. It was bounded itself and does not count, so that a healthy one a day never waits.
	waits := a.waits(owner.Mode, d.Currency, v.RecentOther.Add(amount))
	made, err := withdrawal.Request(withdrawal.Withdrawal{
		ID: id.Placed(id.Withdrawal, a.Shard, v.Now), Owner: owner, Currency: d.Currency, Amount: amount, AccountID: account.ID, Receiver: account.Receiver,
		Rail: found.Name(),
	}, v.Available, waits, v.Now)
	if err != nil {
		return Ruling{}, err
	}
	done.Withdrawal, done.Day.WithdrawalID = &made, made.ID
	return done, nil
}
