package sweeper

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// authorizationValid is the time for which an authorization is valid, from the newest block on. A raised fee renews it.
const authorizationValid = time.Hour

// errDomain says that the signer's policy and the chain name different contracts of a token.
var errDomain = errors.New("its contract has another domain than the signer's policy says")

// planAuthorized plans a sweep that the gas station sends with an authorization of the deposit address. All
// authorizations of a sweep have one nonce, of which the contract takes one.
func (s evm) planAuthorized(ctx context.Context, w sweep.Sweep, price sweep.Price, market sweep.Market) error {
	domain := s.cfg.Authorized[w.Asset]
	contract, err := evmtx.ParseAccount(w.Contract)
	if err != nil {
		return err
	}
	separator, err := s.chain.Separator(ctx, w.Contract)
	if err != nil {
		return err
	}
	want := evmtx.Domain{Name: domain.Name, Version: domain.Version, ChainID: s.cfg.ChainID, Contract: contract}
	if separator != want.Separator() {
		return errDomain
	}
	price.Gas += domain.Gas + domain.Gas/2*uint64(w.Failed) //nolint:gosec // a few at most; too little gas may be the reason
	has, err := s.chain.Coins(ctx, s.cfg.Station)
	if err != nil {
		return err
	}
	if has.Cmp(price.Most()) < 0 {
		s.log.ErrorContext(ctx, "gas station empty", "address", s.cfg.Station, "has", has, "wanted", price.Most())
		return errShort
	}
	t := sweepOf(w, w.Amount, price)
	t.from, t.authorization = s.cfg.Station, authorizationOf(w, domain, validUntil(market))
	if t.since, err = s.store.Final(ctx, s.cfg.Network); err != nil {
		return err
	}
	t.since = max(t.since, 1)
	return s.planned(ctx, w, t)
}

func authorizationOf(w sweep.Sweep, d intent.Domain, before int64) *intent.Authorization {
	nonce := intent.AuthorizationNonce(w.ID)
	return &intent.Authorization{Owner: w.Address, Name: d.Name, Version: d.Version, Nonce: hex.EncodeToString(nonce[:]), Before: before}
}

// errPresented says that a sweep has arrived by a transaction of another party, which is not final yet.
var errPresented = errors.New("another party has presented its authorization, in a block that is not final")

// presented finds the foreign transaction that has presented the authorization of a sweep, and stores it in the place
// of an own one. The money is at the treasury then, and the own transaction has ended without effect.
func (s evm) presented(ctx context.Context, w sweep.Sweep) (bool, error) {
	if w.Authorized == 0 {
		return false, nil
	}
	use := sweep.Authorization{Contract: w.Contract, Owner: w.Address, Nonce: intent.AuthorizationNonce(w.ID)}
	taken, err := s.chain.Taken(ctx, use.Contract, use.Owner, use.Nonce)
	if err != nil || !taken {
		return false, err
	}
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return false, err
	}
	by, found, err := s.chain.Presented(ctx, use, w.Authorized, final)
	if err != nil {
		return false, err
	}
	if !found {
		return false, errPresented
	}
	s.log.WarnContext(ctx, "authorization presented by another party", "sweep", w.ID, "tx", by.TxHash, "sender", by.Sender)
	o := sweep.Outgoing{
		ID: s.newID(), Kind: intent.Sweep, Sweep: w, From: w.Authorized, Sender: by.Sender, Nonce: by.Nonce, Presented: true, State: sweep.Broadcast, Version: 1,
	}
	r := intent.Request{
		ID: sweep.RequestID(o.ID, 1), Kind: intent.Sweep, Network: w.Network, Account: w.Account, Index: w.Index, Asset: w.Asset,
		Amount: w.Amount.String(), To: w.Treasury,
		EVM: &intent.EVM{ChainID: s.cfg.ChainID, Contract: w.Contract, Nonce: by.Nonce, Authorization: authorizationOf(w, s.cfg.Authorized[w.Asset], 0)},
	}
	o.Attempts = []sweep.Attempt{{Number: 1, Request: r, TxHash: by.TxHash, Sent: true}}
	if err = s.store.Present(ctx, o); errors.Is(err, ErrStale) { // it must show: the sweep would stay unbooked
		err = fmt.Errorf("the transaction %s that presented its authorization is not stored beside another one", by.TxHash)
	}
	return true, err
}

// watch looks for a foreign transaction that has presented the authorization of a blocked sweep. An operator releases
// the sweep only once its authorization has ended unused.
func (s evm) watch(ctx context.Context, w sweep.Sweep) error {
	market, err := s.chain.Market(ctx)
	if err != nil {
		return err
	}
	presented, err := s.presented(ctx, w)
	if errors.Is(err, errPresented) {
		return nil
	}
	if err != nil || presented {
		return err
	}
	return s.store.Unused(ctx, w, market.At)
}

func validUntil(market sweep.Market) int64 { return market.At.Add(authorizationValid).Unix() }

// authorizedUntil renews the authorization of a transaction.
func authorizedUntil(terms intent.EVM, market sweep.Market) *intent.EVM {
	a := *terms.Authorization
	a.Before, terms.Authorization = validUntil(market), &a
	return &terms
}
