package policy

import (
	"errors"
	"fmt"
	"math/big"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/trontx"
)

// Tron has the members of a policy that only tron has.
type Tron struct {
	MaxFeeLimit   Units `json:"maxFeeLimit"`   // sun that a token's transfer may burn
	ExpiresWithin int64 `json:"expiresWithin"` // seconds from the signature to the latest expiration
	// ExpiryMargin is the number of seconds that the signer waits after the expiration of a form before it signs the next
	// one for the same purpose. It must exceed the difference between the clocks of the signer and of the chain.
	ExpiryMargin int64 `json:"expiryMargin"`
	Lend         Fund  `json:"lend"` // staked TRX whose energy is lent
	// FormsPerOrder is the number of forms that an order may have, each after the one before has expired. The signer sees
	// no chain, so a hostile wallets could have an order paid that many times.
	FormsPerOrder int `json:"formsPerOrder"`

	treasury  trontx.Account
	contracts map[string]trontx.Account
}

// formsMost bounds formsPerOrder.
const formsMost = 10

func (n *Network) checkTron(listed money.Network) (err error) {
	t := n.Tron
	if t == nil || n.ChainID != 0 || n.MaxFeePerGas.Sign() != 0 || n.MaxGas != 0 {
		return errors.New("needs the member tron, and no terms of EVM networks")
	}
	if t.treasury, err = trontx.ParseAccount(n.Treasury); err != nil {
		return fmt.Errorf("treasury: %w", err)
	}
	const most = int64(Window / time.Second)
	switch {
	case t.treasury == (trontx.Account{}) || n.CountPerHour < 1 || t.MaxFeeLimit.Sign() <= 0:
		return errors.New("needs treasury, tron.maxFeeLimit and countPerHour")
	case t.ExpiresWithin <= 0 || t.ExpiryMargin <= 0 || t.ExpiresWithin > most || t.ExpiryMargin > most-t.ExpiresWithin:
		return errors.New("tron.expiresWithin and tron.expiryMargin must be positive, and an hour at most together")
	}
	t.contracts = map[string]trontx.Account{}
	for symbol, a := range n.Assets {
		if a.RefundPerHour.Sign()+a.WithdrawPerHour.Sign() > 0 && (t.FormsPerOrder < 1 || t.FormsPerOrder > formsMost) {
			return fmt.Errorf("assets.%s: refundPerHour and withdrawPerHour need tron.formsPerOrder of 1 to %d", symbol, formsMost)
		}
		asset, ok := listed.Asset(symbol)
		if !ok || asset.Symbol != symbol || asset.Native != (a.Contract == "") || a.PerHour.Sign() <= 0 {
			return fmt.Errorf("assets.%s: is not listed, or has no limit, or its contract is missing or superfluous", symbol)
		}
		if a.Contract != "" {
			if t.contracts[symbol], err = trontx.ParseAccount(a.Contract); err != nil {
				return fmt.Errorf("assets.%s: contract: %w", symbol, err)
			}
		}
	}
	return nil
}

// tron is Check for tron.
func (p Policy) tron(n Network, r intent.Request, keys Keys, before []Spend, now time.Time) (Plan, *intent.Refusal, error) {
	if r.Tron.Follows != "" {
		return Plan{}, intent.Refuse(intent.Malformed, "only a refund follows an earlier form"), nil
	}
	deposit, err := keys.TronAccount(p.Account, r.Index)
	if err != nil {
		return Plan{}, nil, err
	}
	plan, from := Plan{Account: p.Account, Index: r.Index}, deposit
	if r.Kind != intent.Sweep {
		plan.Account, plan.Index = p.GasAccount, 0
		if from, err = keys.TronAccount(p.GasAccount, 0); err != nil {
			return Plan{}, nil, err
		}
	}
	tx, err := r.TronTransaction(from)
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	plan.From, plan.Tron = from, &tx
	amount, _ := intent.Units(r.Amount) // TronTransaction has read it already
	if refusal := n.tronTerms(r, tx, amount, deposit); refusal != nil {
		return Plan{}, refusal, nil
	}
	plan.Spend = Spent(r, from.String(), amount, now)
	if refusal := n.Tron.expiry(r, plan.Spend, before, now); refusal != nil {
		return Plan{}, refusal, nil
	}
	if refusal := n.limits(r, plan.Spend, before, now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, nil, nil
}

// tronTerms checks destination, asset and fee.
func (n Network) tronTerms(r intent.Request, tx trontx.Transaction, amount *big.Int, deposit trontx.Account) *intent.Refusal {
	a, listed := n.Assets[r.Asset]
	to, err := trontx.ParseAccount(r.To)
	switch {
	case err != nil:
		return intent.Refuse(intent.Malformed, "%s", err)
	case r.Kind == intent.Sweep && to != n.Tron.treasury:
		return intent.Refuse(intent.Destination, "%s is not the treasury of %s", to, r.Network)
	case r.Kind != intent.Sweep && to != deposit:
		return intent.Refuse(intent.Destination, "%s is not deposit address %d", to, r.Index)
	case r.Kind != intent.Sweep && (r.Tron.Contract != "" || !native(r.Network, r.Asset)):
		return intent.Refuse(intent.Asset, "the gas station gives only TRX and energy")
	case r.Kind == intent.Fund && amount.Cmp(&n.Fund.Most.Int) > 0:
		return intent.Refuse(intent.Value, "%s is more than one funding may give", amount)
	case r.Kind == intent.Delegate && amount.Cmp(&n.Tron.Lend.Most.Int) > 0:
		return intent.Refuse(intent.Value, "the energy of %s is more than may be lent at once", amount)
	case r.Kind == intent.Sweep && !listed:
		return intent.Refuse(intent.Asset, "%.20q is not in the policy of %s", r.Asset, r.Network)
	case r.Kind == intent.Sweep && (a.Contract == "") != (r.Tron.Contract == ""):
		return intent.Refuse(intent.Asset, "%s has another contract", r.Asset)
	case r.Kind == intent.Sweep && a.Contract != "" && tx.To != n.Tron.contracts[r.Asset]:
		return intent.Refuse(intent.Asset, "%s is not the contract of %s", tx.To, r.Asset)
	}
	return n.tronFee(r, tx)
}

// tronFee checks the fee limit.
func (n Network) tronFee(r intent.Request, tx trontx.Transaction) *intent.Refusal {
	switch {
	case big.NewInt(tx.FeeLimit).Cmp(&n.Tron.MaxFeeLimit.Int) > 0:
		return intent.Refuse(intent.Fee, "a fee limit of %d is above %s", tx.FeeLimit, &n.Tron.MaxFeeLimit.Int)
	case (r.Tron.Contract == "") != (tx.FeeLimit == 0) || tx.FeeLimit < 0:
		return intent.Refuse(intent.Malformed, "a token's transfer has a fee limit, and nothing else has one")
	}
	return nil
}

// expiry refuses a form that lives too long, and a form whose predecessor for the same purpose may still land. Tron has
// no nonce that only one of two transactions can use up; their expirations must keep them apart.
func (t *Tron) expiry(r intent.Request, next Spend, before []Spend, now time.Time) *intent.Refusal {
	latest := now.Add(time.Duration(t.ExpiresWithin) * time.Second)
	if next.Expires.After(latest) || !next.Expires.After(now) {
		return intent.Refuse(intent.Expiry, "the expiration %s is past, or after %s", next.Expires.UTC(), latest.UTC())
	}
	for _, s := range before {
		dead := s.Expires.Add(time.Duration(t.ExpiryMargin) * time.Second)
		if s.Network == r.Network && s.Purpose == next.Purpose && !now.After(dead) {
			return intent.Refuse(intent.Expiry, "a transaction for the same purpose may land until %s", dead.UTC())
		}
	}
	return nil
}
