package policy

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
)

// Bitcoin bounds the fee of a transaction on bitcoin, in satoshi.
type Bitcoin struct {
	MaxFeeRate int64 `json:"maxFeeRate"` // for each virtual byte
	MaxFee     int64 `json:"maxFee"`     // of the whole transaction

	script []byte // of the treasury
}

// Collection is an accepted transaction on bitcoin.
type Collection struct {
	btctx.Transaction
	Scripts [][]byte // of the outputs that it spends, each proved by its previous transaction
	Indices []uint32 // of the keys that they belong to, in the account of the plan
}

// fee refuses a fee above the limits.
func (b Bitcoin) fee(tx btctx.Transaction) *intent.Refusal {
	if most := min(b.MaxFee, b.MaxFeeRate*tx.Size()); tx.Fee() > most {
		return intent.Refuse(intent.Fee, "a fee of %d for %d virtual bytes is more than %d", tx.Fee(), tx.Size(), most)
	}
	return nil
}

// String names the set of inputs, which takes the place of a sender.
func (c Collection) String() string { return c.Slot() }

// Net is the net of the bitcoin treasury, which gives the form of deposit addresses; without a treasury, the main net.
func (p Policy) Net() address.Net {
	for _, n := range p.Networks {
		if n.Bitcoin == nil {
			continue
		}
		for _, net := range []address.Net{address.Mainnet, address.Testnet, address.Regtest} {
			if _, err := address.Parse(money.Bitcoin, net, n.Treasury); err == nil {
				return net
			}
		}
	}
	return address.Mainnet
}

func (n *Network) checkBitcoin(listed money.Network) (err error) {
	if n.Bitcoin.script, err = btctx.Treasury(n.Treasury); err != nil {
		return fmt.Errorf("treasury: %w", err)
	}
	if n.Bitcoin.MaxFeeRate < 1 || n.Bitcoin.MaxFee < 1 || n.CountPerHour < 1 {
		return errors.New("needs treasury, bitcoin.maxFeeRate, bitcoin.maxFee and countPerHour")
	}
	coin := listed.Coin().Symbol
	limit, ok := n.Assets[coin]
	if !ok || len(n.Assets) != 1 || limit.Contract != "" || limit.PerHour.Sign() <= 0 {
		return fmt.Errorf("assets: needs %s with its limit, and nothing else", coin)
	}
	if n.ChainID != 0 || n.MaxGas != 0 || n.MaxFeePerGas.Sign() != 0 || n.Fund.Most.Sign() != 0 || n.Fund.PerHour.Sign() != 0 {
		return errors.New("has members of another family")
	}
	return nil
}

// bitcoin judges a transaction on bitcoin: its inputs are outputs of this seed's deposit addresses, its only
// output is the treasury's, and its fee, which follows from proved values alone, is within the limits.
func (p Policy) bitcoin(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	if r.Index != 0 {
		return Plan{}, intent.Refuse(intent.Malformed, "want an index for each input instead of one"), nil
	}
	if r.Bitcoin.Station != "" || r.Bitcoin.Change != 0 {
		return Plan{}, intent.Refuse(intent.Malformed, "a sweep leaves no change"), nil
	}
	tx, err := r.Collection()
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	_, listed := n.Assets[r.Asset]
	switch {
	case !bytes.Equal(tx.To, n.Bitcoin.script):
		return Plan{}, intent.Refuse(intent.Destination, "%.100s is not the treasury of %s", r.To, r.Network), nil
	case !listed:
		return Plan{}, intent.Refuse(intent.Asset, "%.20q is not in the policy of %s", r.Asset, r.Network), nil
	}
	if refusal := n.Bitcoin.fee(tx); refusal != nil {
		return Plan{}, refusal, nil
	}
	scripts, err := tx.Scripts(r.Bitcoin.PSBT)
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	c := &Collection{Transaction: tx, Scripts: scripts}
	plan := Plan{Account: p.Account, From: c, Bitcoin: c}
	for i, in := range r.Bitcoin.Inputs {
		if in.Index >= p.IndexBelow {
			return Plan{}, intent.Refuse(intent.Address, "index %d is not served", in.Index), nil
		}
		hash, err := keys.Witness(p.Account, in.Index)
		if err != nil {
			return Plan{}, nil, err
		}
		if !bytes.Equal(scripts[i], btctx.Script(hash)) {
			return Plan{}, intent.Refuse(intent.Address, "output %s:%d is not of deposit address %d", in.TxID, in.Vout, in.Index), nil
		}
		c.Indices = append(c.Indices, in.Index)
	}
	plan.Spend = Spent(r, c.String(), big.NewInt(tx.Value), h.now)
	if refusal := n.limits(r, plan.Spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return plan, nil, nil
}
