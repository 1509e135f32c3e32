package policy

import (
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
)

// evmRefund judges an approved refund on a network of the EVM family.
func (p Policy) evmRefund(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	tx, err := r.Transaction()
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	if refusal := n.evmRefundTerms(r, tx); refusal != nil {
		return Plan{}, refusal, nil
	}
	station, err := keys.Account(p.RefundAccount, 0)
	if err != nil {
		return Plan{}, nil, err
	}
	amount, _ := intent.Units(r.Amount) // Transaction has read it already
	plan := Plan{Account: p.RefundAccount, From: station, Transaction: tx, Spend: Spent(r, station.String(), amount, h.now)}
	if refusal := n.limits(r, plan.Spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, nil, nil
}

// evmRefundTerms compares the destination and the contract with the order and the policy, and checks chain and fee.
func (n Network) evmRefundTerms(r intent.Request, tx evmtx.Transaction) *intent.Refusal {
	to, err := evmtx.ParseAccount(r.To)
	ordered, orderErr := evmtx.ParseAccount(r.Order.To)
	switch {
	case err != nil || orderErr != nil || to != ordered:
		return intent.Refuse(intent.Destination, "%.60q is not the destination of the order", r.To)
	case to == (evmtx.Account{}):
		return intent.Refuse(intent.Destination, "the zero address belongs to nobody")
	}
	if a := n.Assets[r.Asset]; a.Contract != "" {
		contract, err := evmtx.ParseAccount(r.Order.Contract)
		if err != nil || tx.To != a.contract || contract != a.contract {
			return intent.Refuse(intent.Asset, "%s is not the contract of %s", tx.To, r.Asset)
		}
	}
	return n.evmBounds(r, tx)
}
