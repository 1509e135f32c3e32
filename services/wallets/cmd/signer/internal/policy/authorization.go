package policy

import (
	"errors"
	"fmt"
	"time"

	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
)

// Authorized is the authorization that a transaction of the gas station presents, and the index of the deposit address
// that signs it.
type Authorized struct {
	Index uint32
	evmtx.Authorization
}

const (
	// authorizationMost is the longest time for which an authorization is valid.
	authorizationMost = 2 * time.Hour
	domainMost        = 64 // bytes of a name or version
)

// checkAuthorizations checks the contracts that take authorizations.
func (n Network) checkAuthorizations() error {
	evm := n.Tron == nil && n.Solana == nil && n.Bitcoin == nil
	for symbol, a := range n.Assets {
		d := a.Authorization
		if d == nil {
			continue
		}
		if !evm || a.Contract == "" {
			return fmt.Errorf("assets.%s: only a token of an EVM network has an authorization", symbol)
		}
		if d.Name == "" || d.Version == "" || len(d.Name) > domainMost || len(d.Version) > domainMost || d.Gas == 0 || d.Gas > n.MaxGas {
			return errors.New("assets." + symbol + ": authorization needs name, version, and gas of at most maxGas")
		}
	}
	return nil
}

// authorize checks the authorization of a request. terms and limits check destination, contract and amount, which are
// those of the request.
func (n Network) authorize(r intent.Request, tx evmtx.Transaction, deposit evmtx.Account, now time.Time) (*Authorized, *intent.Refusal) {
	a, err := r.Authorized()
	if err != nil {
		return nil, intent.Refuse(intent.Malformed, "%s", err)
	}
	domain, ends := n.Assets[r.Asset].Authorization, time.Unix(int64(a.Before), 0) //nolint:gosec // it was positive as an int64
	switch {
	case domain == nil || domain.Name != a.Domain.Name || domain.Version != a.Domain.Version:
		return nil, intent.Refuse(intent.Asset, "the policy of %s does not name this authorization of %.20q", r.Network, r.Asset)
	case a.From != deposit:
		return nil, intent.Refuse(intent.Address, "%s is not deposit address %d", a.From, r.Index)
	case !ends.After(now) || ends.After(now.Add(authorizationMost)):
		return nil, intent.Refuse(intent.Expiry, "an authorization until %s has ended, or is valid for more than %s", ends.UTC(), authorizationMost)
	case tx.Cost().Cmp(&n.Fund.Most.Int) > 0:
		return nil, intent.Refuse(intent.Fee, "the gas station may pay at most %s for one sweep, not %s", &n.Fund.Most.Int, tx.Cost())
	}
	return &Authorized{Index: r.Index, Authorization: a}, nil
}

// costOf is the most that the gas station pays for a transaction that presents an authorization.
func costOf(r intent.Request, slot string) Paid {
	if r.EVM.Authorization == nil {
		return Paid{}
	}
	tx, err := r.Transaction()
	if err != nil { // Check refuses it
		return Paid{}
	}
	return Paid{slot, tx.Cost()}
}

// authorized adds the authorization to the slot of its transaction. Anybody can present it to the contract once it is
// public, so two authorizations under one nonce of the station count twice.
func authorized(r intent.Request) string {
	if r.EVM.Authorization == nil {
		return ""
	}
	return fmt.Sprintf("/%d/%s", r.Index, r.EVM.Authorization.Nonce)
}
