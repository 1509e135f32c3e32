package policy

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"time"

	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/intent"
)

// Orders pins the public keys that approve orders, each as the base64 of its 32 bytes. wallets has neither private key.
type Orders struct {
	Automatic string `json:"automatic"`
	Operator  string `json:"operator"`
	// After is the earliest approval of an order that the signer carries out although its log does not have the order;
	// without it, the log's beginning. Until UntimedUntil the signer also accepts such orders without a time.
	After        time.Time `json:"after"`
	UntimedUntil time.Time `json:"untimedUntil"`

	keys map[order.Approval]ed25519.PublicKey
}

// checkOrders reads the pinned keys. Each account has one purpose, and each approval a key of its own.
func (p *Policy) checkOrders() (err error) {
	if p.Orders == nil {
		if p.RefundAccount != 0 {
			return errors.New("refundAccount needs the keys of orders")
		}
		return nil
	}
	if p.RefundAccount == p.Account || p.RefundAccount == p.GasAccount || p.RefundAccount >= derivation.MaxIndex {
		return errors.New("refundAccount must be a number below 2^31, and differ from account and gasAccount")
	}
	p.Orders.keys = map[order.Approval]ed25519.PublicKey{}
	for approval, text := range map[order.Approval]string{order.Automatic: p.Orders.Automatic, order.Operator: p.Orders.Operator} {
		if p.Orders.keys[approval], err = intent.ParseBatchKey(text); err != nil {
			return fmt.Errorf("orders.%s %w", approval, err)
		}
	}
	if p.Orders.keys[order.Automatic].Equal(p.Orders.keys[order.Operator]) {
		return errors.New("orders: the two keys must differ")
	}
	return nil
}

// caps are the limits of the orders of one kind: of all orders, and of the orders that no operator has approved.
type caps struct{ most, automatic Units }

// ordered are the limits of the orders of a kind.
func (a Asset) ordered(k order.Kind) caps {
	if k == order.Withdrawal {
		return caps{a.WithdrawPerHour, a.AutomaticWithdrawPerHour}
	}
	return caps{a.RefundPerHour, a.AutomaticPerHour}
}

// checkRefunds checks the limits of refunds and withdrawals, which need the keys of orders.
func (n *Network) checkRefunds(ordered bool) error {
	for symbol, a := range n.Assets {
		for kind, names := range map[order.Kind][2]string{
			order.Refund: {"refundPerHour", "automaticPerHour"}, order.Withdrawal: {"withdrawPerHour", "automaticWithdrawPerHour"},
		} {
			c := a.ordered(kind)
			switch some := c.most.Sign() > 0; {
			case c.automatic.Cmp(&c.most.Int) > 0:
				return fmt.Errorf("assets.%s: %s is above %s", symbol, names[1], names[0])
			case some && !ordered:
				return fmt.Errorf("assets.%s: %s needs the keys of orders", symbol, names[0])
			case some && !slices.Contains(n.kinds(), intent.Refund):
				return fmt.Errorf("assets.%s: the signer carries out no orders on this network", symbol)
			}
		}
	}
	return nil
}

// refund judges a refund or withdrawal: the order is approved by a pinned key, and the transfer is what the order says.
func (p Policy) refund(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	if refusal := p.approved(r); refusal != nil {
		return Plan{}, refusal, nil
	}
	if refusal := n.refunded(r); refusal != nil {
		return Plan{}, refusal, nil
	}
	switch {
	case n.Solana != nil:
		return p.solanaRefund(n, r, keys, h)
	case n.Tron != nil:
		return p.tronRefund(n, r, keys, h)
	case n.Bitcoin != nil:
		return p.bitcoinRefund(n, r, keys, h)
	}
	return p.evmRefund(n, r, keys, h)
}

// refunded checks that the policy refunds or withdraws an asset, and that request and order both name the coin, or both
// a contract.
func (n Network) refunded(r intent.Request) *intent.Refusal {
	a, listed := n.Assets[r.Asset]
	contract := r.Contract()
	if r.Solana != nil {
		contract = r.Solana.Mint
	}
	most := a.ordered(r.Order.Kind).most
	switch {
	case !listed || most.Sign() == 0:
		return intent.Refuse(intent.Asset, "%.20q is sent for no %s on %s", r.Asset, r.Order.Kind, r.Network)
	case (a.Contract == "") != (contract == "") || (a.Contract == "") != (r.Order.Contract == ""):
		return intent.Refuse(intent.Asset, "%s has another contract", r.Asset)
	}
	return nil
}

// approved verifies the order of a request, and compares the fields that all families share.
func (p Policy) approved(r intent.Request) *intent.Refusal {
	if p.Orders == nil {
		return intent.Refuse(intent.Order, "the policy has no keys of orders")
	}
	o := r.Order
	if err := o.Verify(p.Orders.keys[o.Approval]); err != nil {
		return intent.Refuse(intent.Order, "%s", err)
	}
	for _, c := range []struct {
		field string
		agree bool
	}{
		{"mode", o.Mode == tenant.Mode(p.Mode)},
		{"network", o.Network == r.Network},
		{"asset", o.Asset == r.Asset},
		{"amount", o.Amount == r.Amount},
	} {
		if !c.agree {
			return intent.Refuse(intent.Order, "the %s is not that of the order", c.field)
		}
	}
	return nil
}

// automatic bounds the amount of an hour's orders of a kind that no operator has approved.
func (n Network) automatic(r intent.Request, next Spend, same []Spend) *intent.Refusal {
	if next.Approval != order.Automatic {
		return nil
	}
	unseen := slices.DeleteFunc(slices.Clone(same), func(s Spend) bool { return s.Approval != order.Automatic })
	if most := n.Assets[r.Asset].ordered(next.For).automatic; total(unseen).Cmp(&most.Int) > 0 {
		return intent.Refuse(intent.Value, "more than %s of %s an hour on %s without an operator", &most.Int, r.Asset, r.Network)
	}
	return nil
}
