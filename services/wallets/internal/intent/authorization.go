package intent

import (
	"encoding/hex"
	"errors"
	"fmt"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/evmtx"
)

// Authorization are the terms of the authorization (EIP-3009) that a deposit address signs, so that the gas station can
// send a sweep for it. Amount and destination are those of the request.
type Authorization struct {
	Owner   string `json:"owner"` // the deposit address
	Name    string `json:"name"`  // of the contract in EIP-712, with its version
	Version string `json:"version"`
	Nonce   string `json:"nonce"`  // 32 bytes in hexadecimal digits; all authorizations of a sweep have the same
	Before  int64  `json:"before"` // seconds since 1970 from which no block may hold it
}

// Domain is a token's contract that takes authorizations, as the signer's policy names it.
type Domain struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Gas     uint64 `json:"gas"` // most gas that an authorized transfer takes beyond a plain one
}

// AuthorizationNonce is the nonce of every authorization of a sweep: the contract takes one of them at most.
func AuthorizationNonce(sweep string) [32]byte {
	return address.Keccak256([]byte("causeway sweep " + sweep))
}

// Authorized is the authorization of an EVM request. It checks form only.
func (r Request) Authorized() (a evmtx.Authorization, err error) {
	if r.EVM == nil || r.EVM.Authorization == nil {
		return a, errors.New("the request has no authorization")
	}
	t := r.EVM.Authorization
	from, fromErr := evmtx.ParseAccount(t.Owner)
	to, toErr := evmtx.ParseAccount(r.To)
	contract, contractErr := evmtx.ParseAccount(r.EVM.Contract)
	amount, amountErr := Units(r.Amount)
	nonce, nonceErr := hex.DecodeString(t.Nonce)
	if err := errors.Join(fromErr, toErr, contractErr, amountErr, nonceErr); err != nil {
		return a, fmt.Errorf("authorization: %w", err)
	}
	if len(nonce) != len(a.Nonce) || t.Before <= 0 {
		return a, errors.New("authorization: want a nonce of 32 bytes and a time at which it ends")
	}
	return evmtx.Authorization{
		Domain: evmtx.Domain{Name: t.Name, Version: t.Version, ChainID: r.EVM.ChainID, Contract: contract},
		From:   from, To: to, Value: amount, Before: uint64(t.Before), Nonce: [32]byte(nonce),
	}, nil
}

// presents checks that call data presents the authorization of the request.
func (r Request) presents(data []byte) error {
	a, err := r.Authorized()
	if err != nil {
		return err
	}
	return a.Presents(data)
}

// Owner is the deposit address that a token's transfer moves money from, when it is not the sender; else "".
func (r Request) Owner() string {
	if r.EVM == nil || r.EVM.Authorization == nil {
		return ""
	}
	return r.EVM.Authorization.Owner
}
