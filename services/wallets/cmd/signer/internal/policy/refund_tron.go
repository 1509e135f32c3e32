package policy

import (
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/trontx"
)

// tronRefund judges an approved refund on tron. No nonce keeps two of its forms apart, so the next one is signed only
// when the one before has expired by the signer's clock, too.
func (p Policy) tronRefund(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	station, err := keys.TronAccount(p.RefundAccount, 0)
	if err != nil {
		return Plan{}, nil, err
	}
	tx, err := r.TronTransaction(station)
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	if refusal := n.tronRefundTerms(r, tx); refusal != nil {
		return Plan{}, refusal, nil
	}
	amount, _ := intent.Units(r.Amount) // TronTransaction has read it already
	plan := Plan{Account: p.RefundAccount, From: station, Tron: &tx, Spend: Spent(r, station.String(), amount, h.now)}
	if refusal := n.Tron.expiry(r, plan.Spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	if refusal := n.limits(r, plan.Spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, nil, nil
}

// tronRefundTerms compares the destination and the contract with the order and the policy, and checks the fee.
func (n Network) tronRefundTerms(r intent.Request, tx trontx.Transaction) *intent.Refusal {
	to, err := trontx.ParseAccount(r.To)
	ordered, orderErr := trontx.ParseAccount(r.Order.To)
	switch {
	case err != nil || orderErr != nil || to != ordered:
		return intent.Refuse(intent.Destination, "%.60q is not the destination of the order", r.To)
	case to == (trontx.Account{}):
		return intent.Refuse(intent.Destination, "the zero address belongs to nobody")
	}
	if n.Assets[r.Asset].Contract != "" {
		contract, err := trontx.ParseAccount(r.Order.Contract)
		if pinned := n.Tron.contracts[r.Asset]; err != nil || tx.To != pinned || contract != pinned {
			return intent.Refuse(intent.Asset, "%s is not the contract of %s", tx.To, r.Asset)
		}
	}
	return n.tronFee(r, tx)
}
