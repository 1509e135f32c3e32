package policy

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/soltx"
)

// SolanaPlan is an accepted request of solana: the transaction, and the indices of the deposit addresses that sign it
// beside the station.
type SolanaPlan struct {
	Indices     []uint32
	Transaction soltx.Transaction
}

// Solana has the members of a policy that only solana has.
type Solana struct {
	MaxFee Units    `json:"maxFee"` // most lamports of one transaction
	Nonces []string `json:"nonces"` // the nonce accounts of the station

	// RefundNonces are the nonce accounts of the refund station; without one there are no refunds. RentPerHour is the most
	// lamports of an hour that refunds pay for token accounts. Each refund of a token counts: the signer sees no chain.
	RefundNonces []string `json:"refundNonces"`
	RentPerHour  Units    `json:"rentPerHour"`
}

func (n *Network) checkSolana(listed money.Network) error {
	treasury, err := soltx.ParseOwner(n.Treasury)
	if err != nil {
		return fmt.Errorf("treasury: %w", err)
	}
	s := n.Solana
	if s == nil || treasury.String() != n.Treasury || n.CountPerHour < 1 {
		return errors.New("needs treasury, countPerHour and the member solana")
	}
	if s.MaxFee.Sign() <= 0 || len(s.Nonces) == 0 {
		return errors.New("needs solana.maxFee and solana.nonces")
	}
	if n.Tron != nil || n.ChainID != 0 || n.MaxGas != 0 || n.MaxFeePerGas.Sign() != 0 || n.Fund.Most.Sign() != 0 || n.Fund.PerHour.Sign() != 0 {
		return errors.New("has no chainId, maxGas, maxFeePerGas, fund or tron")
	}
	for i, text := range slices.Concat(s.Nonces, s.RefundNonces) {
		if a, err := soltx.ParseAccount(text); err != nil || a == treasury || a.String() != text || i >= len(s.Nonces) && slices.Contains(s.Nonces, text) {
			return fmt.Errorf("solana.nonces, refundNonces: %.50q is not the address of a nonce account, or has two stations", text)
		}
	}
	for symbol, a := range n.Assets {
		asset, ok := listed.Asset(symbol)
		if !ok || asset.Symbol != symbol || asset.Native != (a.Contract == "") || a.PerHour.Sign() <= 0 {
			return fmt.Errorf("assets.%s: is not listed, or has no limit, or its contract is missing or superfluous", symbol)
		}
		if a.Contract == "" {
			continue
		}
		if mint, err := soltx.ParseAccount(a.Contract); err != nil || mint.String() != a.Contract || mint == (soltx.Account{}) {
			return fmt.Errorf("assets.%s: contract: %.50q is not the address of a mint", symbol, a.Contract)
		}
	}
	return nil
}

// hour is the input of the hourly limits: the earlier signatures, and the time.
type hour struct {
	before []Spend
	now    time.Time
}

// solana is Check for solana.
func (p Policy) solana(n Network, r intent.Request, keys Keys, h hour) (Plan, *intent.Refusal, error) {
	tx, err := r.SolanaTransaction()
	if err != nil {
		return Plan{}, intent.Refuse(intent.Malformed, "%s", err), nil
	}
	station, err := keys.SolanaStation(p.GasAccount)
	if err != nil {
		return Plan{}, nil, err
	}
	if refusal := n.solanaTerms(r, tx, station); refusal != nil {
		return Plan{}, refusal, nil
	}
	plan := SolanaPlan{Transaction: tx}
	for _, m := range r.Solana.Moves {
		if m.Index >= p.IndexBelow {
			return Plan{}, intent.Refuse(intent.Address, "index %d is not served", m.Index), nil
		}
		owner, err := keys.Solana(m.Index)
		if err != nil {
			return Plan{}, nil, err
		}
		if owner.String() != m.Owner {
			return Plan{}, intent.Refuse(intent.Address, "%s is not deposit address %d", m.Owner, m.Index), nil
		}
		plan.Indices = append(plan.Indices, m.Index)
	}
	spend := Spent(r, r.Solana.NonceAt, tx.Amount(), h.now)
	if refusal := n.limits(r, spend, h.before, h.now); refusal != nil {
		return Plan{}, refusal, nil
	}
	return Plan{From: tx.NonceAt, Solana: &plan, Spend: spend}, nil, nil
}

// solanaTerms checks destination, mint, station, nonce account and fee. The transaction closes token accounts in favour
// of its station alone (package soltx).
func (n Network) solanaTerms(r intent.Request, tx soltx.Transaction, station soltx.Account) *intent.Refusal {
	listed, _ := money.NetworkOf(r.Network)
	asset, _ := listed.Asset(r.Asset)
	pinned, ok := n.Assets[r.Asset]
	decimals := int32(0)
	if !asset.Native {
		decimals = asset.Decimals
	}
	switch {
	case r.Account != 0 || r.Index != 0:
		return intent.Refuse(intent.Malformed, "only the moves of a sweep of solana have an index")
	case r.To != n.Treasury:
		return intent.Refuse(intent.Destination, "%.50q is not the treasury of %s", r.To, r.Network)
	case !ok:
		return intent.Refuse(intent.Asset, "%.20q is not in the policy of %s", r.Asset, r.Network)
	case r.Solana.Mint != pinned.Contract || int32(tx.Decimals) != decimals:
		return intent.Refuse(intent.Asset, "%.50q with %d decimals is not the mint of %s", r.Solana.Mint, tx.Decimals, r.Asset)
	case tx.Station != station:
		return intent.Refuse(intent.Address, "%s is not the station", tx.Station)
	case !slices.Contains(n.Solana.Nonces, r.Solana.NonceAt):
		return intent.Refuse(intent.Address, "%.50q is not a nonce account of the policy", r.Solana.NonceAt)
	case tx.Fee().Cmp(&n.Solana.MaxFee.Int) > 0:
		return intent.Refuse(intent.Fee, "%s lamports are more than %s", tx.Fee(), &n.Solana.MaxFee.Int)
	}
	return nil
}
