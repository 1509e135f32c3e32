// Package sim is a simulated bank: a rail that moves no money and fails on demand by the magic account numbers of
// docs/api-contract.md#sandbox. It behaves like an outside party: it knows references and accounts, never payments, and
// its statement survives a crash of payments.
package sim

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net/http"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rail"
)

// The magic account numbers.
const (
	AccountNotFound    = "0000000001"
	AccountNameDown    = "0000000002"
	AccountFails       = "0000000003"
	AccountReturns     = "0000000004"
	AccountTimesOut    = "0000000005" // the transfer is made, the answer is lost, a query finds it
	AccountNeverArrive = "0000000006" // the order is lost in transit: not made until the same reference is sent again
)

// Accounts lists the magic account numbers.
func Accounts() []string {
	return []string{AccountNotFound, AccountNameDown, AccountFails, AccountReturns, AccountTimesOut, AccountNeverArrive}
}

// The delays of the simulated bank. Every outcome is final within two seconds.
const (
	settleAfter = 250 * time.Millisecond
	returnAfter = time.Second            // after the success
	againAfter  = 500 * time.Millisecond // after the return
)

// Name is the rail's name in configuration, ledger accounts and payout rows.
const Name = "sim"

// ErrTimeout is the error of a call that the bank does not answer.
var ErrTimeout = errors.New("the simulated bank did not answer in time")

// Rail is the simulated bank. It is safe for concurrent use if its statement is.
type Rail struct {
	statement Statement
	now       func() time.Time
}

var _ rail.Provider = (*Rail)(nil)

// New opens the simulated bank over its statement.
func New(statement Statement, now func() time.Time) *Rail {
	return &Rail{statement: statement, now: now}
}

// Name is "sim".
func (*Rail) Name() string { return Name }

// Caps allows everything in all four currencies, and marks the rail as simulated.
func (*Rail) Caps() rail.Caps { return caps }

var caps = func() rail.Caps {
	const shortest, longest = 1, 50
	c := rail.Caps{Currencies: map[money.Currency]rail.CurrencyCaps{}, Simulated: true, RefMin: shortest, RefMax: longest}
	for _, cur := range money.Currencies() {
		c.Currencies[cur] = rail.CurrencyCaps{Resolves: true}
	}
	return c
}()

// Pays is always true.
func (*Rail) Pays(money.Currency, string) bool { return true }

// Banks lists the known banks. Resolve accepts other codes too.
func (*Rail) Banks(cur money.Currency) []rail.Bank { return rail.KnownBanks(cur) }

// Resolve returns a name for every account, always the same one, except for the two magic numbers.
func (*Rail) Resolve(_ context.Context, cur money.Currency, bankCode, account string) (rail.Account, error) {
	switch account {
	case AccountNotFound:
		return rail.Account{}, rail.ErrNotFound
	case AccountNameDown:
		return rail.Account{}, rail.ErrUnavailable
	}
	return rail.Account{BankName: BankName(cur, bankCode), Number: account, Name: holder(bankCode, account), Verified: true}, nil
}

// BankName is the bank's own name for a known code, else "Test Bank" and the code.
func BankName(cur money.Currency, code string) string {
	if name, ok := rail.AnyBankName(cur, code); ok {
		return name
	}
	return "Test Bank " + code
}

var (
	given  = []string{"Adaeze", "Kwame", "Wanjiru", "Thabo", "Chinedu", "Ama", "Otieno", "Naledi", "Bola", "Kofi", "Achieng", "Sipho", "Zainab", "Efua", "Kamau", "Lerato"}
	family = []string{"Okafor", "Mensah", "Mwangi", "Dlamini", "Adeyemi", "Owusu", "Kiptoo", "Nkosi", "Balogun", "Asante", "Wafula", "Mokoena", "Eze", "Boateng", "Njoroge", "Khumalo"}
)

// holder makes the name of an account's holder from bank and number.
func holder(bankCode, account string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(strings.ToUpper(bankCode) + "/" + account)) // a hash never fails to write
	n := h.Sum64()
	g, f := uint64(len(given)), uint64(len(family))
	return strings.ToUpper(given[n%g] + " " + family[n/g%f])
}

// Send accepts one order. A reference that is on the statement is a duplicate, whatever the order contains.
func (r *Rail) Send(ctx context.Context, o rail.Order) (rail.Status, error) {
	var ordered Outcome
	if o.AccountNumber == AccountNeverArrive || o.AccountNumber == AccountTimesOut { // others do what was ordered when they are recorded
		var err error
		if ordered, err = r.statement.Ordered(ctx, o.Ref); err != nil {
			return rail.Status{}, fmt.Errorf("read the simulated bank's orders: %w", err)
		}
	}
	if ordered == "" && o.AccountNumber == AccountNeverArrive && !o.Resend {
		return rail.Status{}, ErrTimeout
	}
	now := r.now()
	t := Transfer{
		Ref: o.Ref, Currency: o.Currency, Amount: o.Amount, BankCode: o.BankCode, AccountNumber: o.AccountNumber,
		AccountName: o.AccountName, Outcome: outcome(o.AccountNumber), At: now, DoneAt: now.Add(settleAfter),
	}
	recorded, fresh, err := r.statement.Record(ctx, t)
	switch {
	case err != nil:
		return rail.Status{}, fmt.Errorf("write the simulated bank's statement: %w", err)
	case !fresh:
		return rail.Status{}, rail.ErrDuplicate
	case recorded.Outcome == Timeout, ordered == "" && o.AccountNumber == AccountTimesOut:
		return rail.Status{}, ErrTimeout
	}
	return status(recorded, now), nil
}

// outcome is the outcome of the account's number, used when none was ordered for the reference.
func outcome(account string) Outcome {
	switch account {
	case AccountFails:
		return Fail
	case AccountReturns:
		return Return
	}
	return Succeed
}

// Query looks up a reference on the statement.
func (r *Rail) Query(ctx context.Context, _ money.Currency, ref string) (rail.Status, error) {
	t, ok, err := r.statement.Lookup(ctx, ref)
	switch {
	case err != nil:
		return rail.Status{}, fmt.Errorf("read the simulated bank's statement: %w", err)
	case !ok:
		return rail.Status{}, rail.ErrNoSuchRef
	case t.Outcome == Timeout:
		return rail.Status{}, ErrTimeout
	}
	return status(t, r.now()), nil
}

func status(t Transfer, now time.Time) rail.Status {
	s := rail.Status{Ref: t.Ref, State: rail.Pending, Amount: t.Amount, Currency: t.Currency, RailID: "sim_" + t.Ref, At: t.At}
	if now.Before(t.DoneAt) {
		return s
	}
	s.At = t.DoneAt
	switch t.Outcome {
	case Fail:
		s.State, s.Reason = rail.Failed, "The receiving bank declined the transfer"
	case Return:
		back := t.DoneAt.Add(returnAfter)
		if now.Before(back) {
			s.State, s.Again = rail.Succeeded, back.Sub(now)+againAfter
		} else {
			s.State, s.Reason, s.At = rail.Returned, "The receiving bank sent the money back", back
		}
	case Succeed:
		s.State = rail.Succeeded
	case Timeout:
	}
	return s
}

// SetOutcome orders the outcome of a payout, before or after it was sent: POST /v1/sandbox/payouts/:id/outcome. For a
// transfer whose outcome is known, it can only return a success; anything else is a 409.
func (r *Rail) SetOutcome(ctx context.Context, ref string, o Outcome) error {
	if !o.Valid() {
		return fault.New(fault.Invalid, "validation_failed", "outcome: must be one of succeed, fail, return, timeout")
	}
	err := r.statement.Order(ctx, ref, o, func(t *Transfer) error { return reorder(t, o, r.now()) })
	if err != nil {
		return fmt.Errorf("order an outcome at the simulated bank: %w", err)
	}
	return nil
}

// reorder gives a transfer on the statement another outcome.
func reorder(t *Transfer, o Outcome, now time.Time) error {
	doneAt := now.Add(settleAfter)
	switch state := status(*t, now).State; {
	case state == rail.Succeeded && o == Return:
		doneAt = now.Add(-returnAfter)
	case state == rail.Succeeded && o == Succeed:
		return nil
	case state != rail.Pending:
		return fault.New(fault.Conflict, "payout_concluded", "The payout has its outcome already")
	}
	t.Outcome, t.DoneAt = o, doneAt
	return nil
}

// Balance is always sufficient.
func (*Rail) Balance(context.Context, money.Currency) (decimal.Decimal, error) {
	return money.Max, nil
}

// ParseWebhook refuses: the simulated bank sends no webhooks.
func (*Rail) ParseWebhook(http.Header, []byte) (rail.Event, error) {
	return rail.Event{}, rail.ErrUnsupported
}
