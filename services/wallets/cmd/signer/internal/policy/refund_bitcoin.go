package policy

import (
	"bytes"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
)

// bitcoinRefund judges the transfer of an approved order on bitcoin: it spends outputs of the refund station alone,
// pays the order's amount to the order's address, and returns the rest but the fee to the station.
func (p Policy) bitcoinRefund(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	tx, err := r.Collection()
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	hash, err := keys.Witness(p.RefundAccount, 0)
	if err != nil {
		return Plan{}, nil, err
	}
	station := btctx.Script(hash)
	if refusal := p.bitcoinRefundTerms(n, r, tx, station); refusal != nil {
		return Plan{}, refusal, nil
	}
	scripts, err := tx.Scripts(r.Bitcoin.PSBT)
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	for i, in := range r.Bitcoin.Inputs {
		if in.Index != 0 || !bytes.Equal(scripts[i], station) {
			return Plan{}, intent.Refuse(intent.Address, "output %s:%d is not of the refund station", in.TxID, in.Vout), nil
		}
	}
	c := &Collection{Transaction: tx, Scripts: scripts, Indices: make([]uint32, len(scripts))}
	plan := Plan{Account: p.RefundAccount, From: c, Bitcoin: c, Spend: Spent(r, c.String(), big.NewInt(tx.Value), h.now)}
	if refusal := n.limits(r, plan.Spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, nil, nil
}

// bitcoinRefundTerms compares the outputs of a refund with its order and the station, and checks the fee.
func (p Policy) bitcoinRefundTerms(n Network, r intent.Request, tx btctx.Transaction, station []byte) *intent.Refusal {
	ordered, err := btctx.Payee(p.Net(), r.Order.To)
	switch {
	case err != nil:
		return intent.Refuse(intent.Destination, "the destination of the order: %s", err)
	case !bytes.Equal(tx.To, ordered):
		return intent.Refuse(intent.Destination, "%.100q is not the destination of the order", r.To)
	case tx.Change > 0 && !bytes.Equal(tx.Back, station):
		return intent.Refuse(intent.Destination, "%.100q is not the refund station, which receives the change", r.Bitcoin.Station)
	case tx.Value < address.Dust(tx.To) || tx.Change > 0 && tx.Change < address.Dust(tx.Back):
		return intent.Refuse(intent.Dust, "nodes do not pass on an output of %d or change of %d", tx.Value, tx.Change)
	}
	return n.Bitcoin.fee(tx)
}
