package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"math/big"
	"slices"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// solanaRefund judges an approved refund on solana. The signer sees no chain, so it cannot tell the value of a nonce
// account from a recent block hash, under which two forms could land: an order has one form for ever (Spent).
func (p Policy) solanaRefund(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	if to, err := soltx.ParseOwner(r.To); err != nil || to.String() != r.Order.To {
		return Plan{}, intent.Refuse(intent.Destination, "%.60q is not the destination of the order, or belongs to a program", r.To), nil
	}
	tx, err := r.SolanaRefund()
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	station, err := keys.SolanaStation(p.RefundAccount)
	if err != nil {
		return Plan{}, nil, err
	}
	if refusal := n.solanaRefundTerms(r, tx, station); refusal != nil {
		return Plan{}, refusal, nil
	}
	amount := new(big.Int).SetUint64(tx.Amount)
	plan := Plan{From: tx.NonceAt, SolanaRefund: &tx, Spend: Spent(r, tx.NonceAt.String(), amount, h.now)}
	if refusal := n.limits(r, plan.Spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, n.rents(r, plan.Spend, h), nil
}

// solanaRefundTerms checks mint, station, nonce account and fee.
func (n Network) solanaRefundTerms(r intent.Request, tx soltx.Refund, station soltx.Account) *intent.Refusal {
	listed, _ := money.NetworkOf(r.Network)
	asset, _ := listed.Asset(r.Asset)
	decimals := int32(0)
	if !asset.Native {
		decimals = asset.Decimals
	}
	switch pinned := n.Assets[r.Asset].Contract; {
	case r.Solana.Mint != pinned || r.Order.Contract != pinned || int32(tx.Decimals) != decimals:
		return intent.Refuse(intent.Asset, "%.50q with %d decimals is not the mint of %s", r.Solana.Mint, tx.Decimals, r.Asset)
	case tx.Station != station:
		return intent.Refuse(intent.Address, "%s is not the refund station", tx.Station)
	case !slices.Contains(n.Solana.RefundNonces, r.Solana.NonceAt):
		return intent.Refuse(intent.Address, "%.50q is not a nonce account of refunds", r.Solana.NonceAt)
	case tx.Fee().Cmp(&n.Solana.MaxFee.Int) > 0:
		return intent.Refuse(intent.Fee, "%s lamports are more than %s", tx.Fee(), &n.Solana.MaxFee.Int)
	}
	return nil
}

// rents bounds what an hour's refunds may pay for token accounts, whose owners can close them and keep the rent.
func (n Network) rents(r intent.Request, next Spend, h hour) *intent.Refusal {
	if next.Rent == 0 {
		return nil
	}
	sum := new(big.Int).SetUint64(next.Rent)
	for _, s := range h.before {
		if s.Network == r.Network && h.now.Sub(s.At) < Window && s.Slot != next.Slot {
			sum.Add(sum, new(big.Int).SetUint64(s.Rent))
		}
	}
	if most := &n.Solana.RentPerHour.Int; sum.Cmp(most) > 0 {
		return intent.Refuse(intent.Value, "refunds may pay at most %s lamports an hour for token accounts on %s", most, r.Network)
	}
	return nil
}

// solanaForm names the one form that an order may have: its exact message.
func solanaForm(r intent.Request) string {
	tx, err := r.SolanaRefund()
	if err != nil {
		return r.ID
	}
	message, err := tx.Message()
	if err != nil {
		return r.ID
	}
	sum := sha256.Sum256(message)
	return hex.EncodeToString(sum[:])
}
