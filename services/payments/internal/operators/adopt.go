package operators

import (
	"context"
	"slices"
	"time"

	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/views"
)

// The refusals of an adoption.
var (
	errAttributed = fault.New(fault.Conflict, "deposit_attributed",
		"The address of this deposit belongs to a payment of a merchant. Decide on that payment.")
	errNotFinal = fault.New(fault.Conflict, "deposit_not_final",
		"This deposit is not booked: it has too few confirmations, or its chain has taken it back.")
	errLapsed = fault.New(fault.Conflict, "money_unclaimed", "Money on this address is booked as unclaimed. Return it first.")
	errAsked  = fault.New(fault.Conflict, "approval_open",
		"An operator has asked to book this deposit as unclaimed. That request ends after a day.")
)

// AdoptOrder is the decoded body of POST /v1/admin/deposits/adopt.
type AdoptOrder struct {
	Mode             tenant.Mode
	Deposit          string // key of the deposit
	Operator, Reason string
}

// Stray is an address with money of no payment, as the rule of an adoption sees it under its lock. Payment is that of
// an address that has one.
type Stray struct {
	Now      time.Time
	Mode     tenant.Mode
	Family   money.Family
	Address  string
	Payment  payment.Payment
	Deposits []StrayDeposit    // all of the address
	Open     *approval.Request // to book the deposit of the order as unclaimed
}

// Adoption is the result of a rule: the payment of the address. Deposit is the one of the order; Facts, Operator and
// Reason are those of a new payment.
type Adoption struct {
	Payment                   payment.Payment
	Facts                     []payment.Fact
	Operator, Deposit, Reason string
	Answer                    idempotency.Answer
}

// AdoptRule decides on an adoption.
type AdoptRule func(Stray) (Adoption, error)

func (o AdoptOrder) check(problems *fault.Problems) {
	if o.Deposit == "" {
		problems.Add("deposit", "is required")
	}
	if !o.Mode.Valid() {
		problems.Add("mode", "must be one of live, test")
	}
	if o.Reason == "" {
		problems.Add("reason", "is required")
	}
}

// Adopt gives the address of a stray deposit a payment, so that its money can be refunded. It takes one operator: the
// money stays, and a refund of it takes two.
func (a *Operators) Adopt(ctx context.Context, o AdoptOrder, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	o.check(problems)
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	answer, err := a.Store.Adopt(ctx, o.Mode, o.Deposit, k, func(s Stray) (Adoption, error) { return a.ruleAdoption(o, s) })
	return a.onceMore(ctx, k, answer, err)
}

func (a *Operators) ruleAdoption(o AdoptOrder, s Stray) (Adoption, error) {
	if s.Payment.ID != "" {
		if s.Payment.Type != payment.Stray {
			return Adoption{}, errAttributed
		}
		return adopted(Adoption{Payment: s.Payment, Deposit: o.Deposit}, s, change.StatusOK)
	}
	var rows []payment.Deposit
	for _, d := range s.Deposits {
		rows = append(rows, d.Deposit)
	}
	i := slices.IndexFunc(rows, func(d payment.Deposit) bool { return d.Key == o.Deposit })
	switch {
	case i < 0:
		return Adoption{}, ErrNoSuchDeposit
	case slices.ContainsFunc(rows, func(d payment.Deposit) bool { return d.Refunded.IsPositive() }):
		return Adoption{}, errLapsed
	case s.Open != nil:
		return Adoption{}, errAsked
	case rows[i].Booked == "":
		return Adoption{}, errNotFinal
	}
	draft := payment.Payment{ID: id.Placed(id.Payment, a.Shard, s.Now), Mode: s.Mode, Address: s.Address, Quote: quote.Quote{Network: rows[i].Network}, NetworkName: rows[i].Network}
	draft.Reference = draft.ID // it has not the form of a reference, so no route by reference finds the payment
	p, facts, err := a.Policy.Apply(payment.Payment{}, payment.Adopt{Draft: draft, Rows: rows}, s.Now)
	if err != nil {
		return Adoption{}, err
	}
	for i, d := range payment.Marked(rows, facts) {
		s.Deposits[i].Deposit = d
	}
	return adopted(Adoption{Payment: p, Facts: facts, Operator: o.Operator, Deposit: o.Deposit, Reason: o.Reason}, s, change.StatusCreated)
}

type adoptedAnswer struct {
	Success   bool        `json:"success"`
	PaymentID string      `json:"paymentId"`
	Deposits  []strayView `json:"deposits"`
	Total     int         `json:"total"`
}

// adoptedMost bounds the deposits that an answer to an adoption shows: anybody can send more to an address.
const adoptedMost = 100

// adopted adds the answer to an adoption.
func adopted(r Adoption, s Stray, status int) (Adoption, error) {
	out := adoptedAnswer{Success: true, PaymentID: r.Payment.ID, Deposits: []strayView{}, Total: len(s.Deposits)}
	named := func(d StrayDeposit) bool { return d.Deposit.Key == r.Deposit }
	if i := slices.IndexFunc(s.Deposits, named); i >= 0 {
		out.Deposits = append(out.Deposits, strayOf(s.Deposits[i]))
	}
	for _, d := range s.Deposits {
		if len(out.Deposits) < adoptedMost && !named(d) {
			out.Deposits = append(out.Deposits, strayOf(d))
		}
	}
	body, err := views.Encode(out)
	r.Answer = idempotency.Answer{Status: status, Body: body}
	return r, err
}
