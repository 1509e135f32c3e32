package payment

import (
	"slices"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/refund"
)

var errReorged = fault.New(fault.Conflict, "deposit_reorged", "The deposit behind the payment has been reorged away")

// Offer is the payout of an operator's accept. Plain is the payout of an accept without an amount, at most the quoted
// payout. Most is the worth of all the money, which an accept must name. Neither exceeds the currency's maximum.
type Offer struct{ Plain, Most decimal.Decimal }

// Offer returns the payout that accept would make now. ok is false when accept would be refused.
func (pol Policy) Offer(p Payment, rows []Deposit, refunds []refund.Refund) (o Offer, ok bool) {
	c := change{pol: pol, p: p, rows: rows, refunds: refunds}
	if p.Status() != StatusNeedsReview {
		return Offer{}, false
	}
	plain, full, err := c.offer()
	if err != nil {
		return Offer{}, false
	}
	o = Offer{plain.Payout, plain.Payout}
	if full.Payout.LessThanOrEqual(pol.PayoutLimit(p.Currency)) {
		o.Most = full.Payout
	}
	return o, true
}

// offer returns the two conversions that accept can make, or the reason why it can make none.
func (c *change) offer() (plain, full Credit, err error) {
	switch {
	case c.p.Receiver.Forgotten():
		return plain, full, fault.New(fault.Conflict, "receiver_forgotten", "The receiver has been erased; refund the money")
	case c.p.Payout == PayoutFailed || c.p.Payout == PayoutReturned:
		const text = "The money was accepted already; retry the payout or refund it"
		return plain, full, fault.New(fault.Conflict, "payout_not_made", text)
	case c.p.Credit.Frozen && c.p.Reorged:
		return plain, full, errReorged
	case c.refunding():
		return plain, full, errRefundBegun
	case c.reserved():
		return plain, full, errRefundOpen
	case !c.p.Credit.Frozen:
		full = c.worth(c.acceptable())
	case !slices.ContainsFunc(c.rows, func(d Deposit) bool { return d.Counted.IsPositive() && !c.deep(d) }):
		full = c.p.Credit
	default: // a converted transfer lost its depth without being lost: a deeper snapshot or its loss follows
	}
	if !full.Payout.IsPositive() {
		const text = "The payment has no confirmed money of the quoted asset"
		return plain, full, fault.New(fault.Conflict, "nothing_confirmed", text)
	}
	plain = full
	if q := c.p.Quote; full.Payout.GreaterThan(q.PayoutAmount) {
		plain.Crypto, plain.Payout, plain.Fee = c.due(), q.PayoutAmount, q.Charge.Fiat
	}
	if plain.Payout.GreaterThan(c.pol.PayoutLimit(c.p.Currency)) {
		return plain, full, c.aboveMaximum()
	}
	return plain, full, nil
}

func (c *change) aboveMaximum() error {
	most := c.pol.PayoutLimit(c.p.Currency).StringFixed(money.FiatDigits)
	return fault.New(fault.Conflict, "above_maximum", "No payout may be above %s %s; refund the money", most, c.p.Currency)
}

// acceptable is the sum that accept converts: every transfer that is deep enough, whenever it arrived.
func (c *change) acceptable() (sum decimal.Decimal) {
	counts := c.counts(c.deep)
	for _, d := range c.rows {
		if counts(d) {
			sum = sum.Add(d.Amount)
		}
	}
	return sum
}

// accept continues with the received money. Money that it does not convert stays owed to the payer.
func (c *change) accept(t Accept) error {
	plain, full, err := c.offer()
	if err != nil {
		return err
	}
	credit := plain
	switch within := full.Payout.LessThanOrEqual(c.pol.PayoutLimit(c.p.Currency)); {
	case t.Payout.IsZero(), t.Payout.Equal(plain.Payout):
	case within && t.Payout.Equal(full.Payout):
		credit = full
	default:
		now := plain.Payout.StringFixed(money.FiatDigits)
		if within && full.Payout.GreaterThan(plain.Payout) {
			now += " or " + full.Payout.StringFixed(money.FiatDigits)
		}
		return fault.New(fault.Conflict, "payout_amount_differs", "Accepting would pay %s %s now", now, c.p.Currency)
	}
	if c.p.Credit.Frozen && credit.Payout.Equal(c.p.Credit.Payout) {
		c.release()
		c.goOn()
		return nil
	}
	c.sum()
	if c.p.Credit.Frozen { // money that was converted beyond the quote is owed to the payer again
		c.unfreeze()
	}
	c.release()
	c.book()
	c.p.Underpaid = credit.Crypto.LessThan(c.floor())
	c.freeze(credit, c.counts(c.deep))
	return nil
}
