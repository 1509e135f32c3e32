package quote

import (
	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Convert splits a sum of crypto that differs from the quote into payout and fee. due is the quoted amount, in the same
// unit as sum: both are amounts of crypto, or, at a rate below the quoted one, due is worth at the quoted rate and sum
// is worth at the lower one. With
//
//	G  = payout + fee of the quote, in fiat
//	g  = G × sum ÷ due, rounded down to the minor unit
//	f  = the fee of g by the quote's own schedule: charged from fiat, the fee of a payment of g; charged from
//	     crypto, the fee of the payment whose amount and fee add up to g (like a crypto-first quote); rounded up, at
//	     most g
//	p  = g − f
//
// the payout is p, and the fee is g − payout. Two bounds prevent that a step between two fees pays more for a smaller
// sum: a sum of at most due pays at most the quoted payout, and a larger sum pays at least that. Hence
//
//   - payout + fee = g exactly, and neither is negative; the fee is never more than g;
//   - at sum = due the result is the quote;
//   - g and f never fall when the sum grows; where the fee steps up, the payout falls by at most the step, and never
//     across the quoted payout.
func (q Quote) Convert(sum, due decimal.Decimal) (payout, fee decimal.Decimal) {
	gross := Share(q.PayoutAmount.Add(q.Charge.Fiat), sum, due)
	fee = decimal.Min(q.Fees.feeOf(gross, q.ChargeFrom), gross)
	payout = gross.Sub(fee)
	if sum.GreaterThan(due) {
		payout = decimal.Max(payout, q.PayoutAmount)
	} else {
		payout = decimal.Min(payout, q.PayoutAmount)
	}
	return payout, gross.Sub(payout)
}

// feeOf is the fee that is part of a gross amount.
func (s Schedule) feeOf(gross decimal.Decimal, from ChargeFrom) decimal.Decimal {
	if from == Crypto && gross.IsPositive() && gross.LessThanOrEqual(money.Max) {
		_, fee := s.net(gross)
		return fee
	}
	return s.Fee(gross)
}
