// Package intent is the language between wallets and the signer: it describes what wallets asks the signer to sign, in
// terms that the signer can judge. An intent names the sender, the destination and the conditions of a transfer. The
// signer builds the bytes itself, so that it never signs content that it does not understand. The package is pure and
// holds no key.
//
// Each family of networks has terms of its own; a new family adds a member.
package intent

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"causeway.internal/libs/order"
	"causeway.internal/services/wallets/internal/evmtx"
)

// Kind says what an intent is for.
type Kind string

// The kinds.
const (
	// Sweep moves an asset from a deposit address to the treasury that the signer has pinned.
	Sweep Kind = "sweep"
	// Fund moves the network's own coin from the gas station to a deposit address, which needs it to send a token.
	Fund Kind = "fund"
	// Refund moves an asset from the refund station to the address of an approved order.
	Refund Kind = "refund"
)

// Request asks for one signature. Its id makes it idempotent: the same id with the same content gives the same bytes,
// and with other content a refusal.
type Request struct {
	ID      string   `json:"id"`
	Kind    Kind     `json:"kind"`
	Network string   `json:"network"`
	Account uint32   `json:"account"` // of the deposit address that is swept or funded
	Index   uint32   `json:"index"`   // 0 where each deposit address has its own in the terms
	Asset   string   `json:"asset"`
	Amount  string   `json:"amount"` // base units, decimal digits
	To      string   `json:"to"`
	EVM     *EVM     `json:"evm,omitempty"`
	Tron    *Tron    `json:"tron,omitempty"`
	Solana  *Solana  `json:"solana,omitempty"`
	Bitcoin *Bitcoin `json:"bitcoin,omitempty"`
	Order   *Ordered `json:"order,omitempty"` // of a refund alone
}

// Ordered is an approved order, whose signatures the signer verifies.
type Ordered = order.Approved

// EVM are the terms of a transaction of the EVM family.
type EVM struct {
	ChainID  uint64 `json:"chainId"`
	Contract string `json:"contract,omitempty"` // of the token; empty for the network's own coin
	Nonce    uint64 `json:"nonce"`
	Gas      uint64 `json:"gas"`
	MaxFee   string `json:"maxFee"` // wei per gas
	Tip      string `json:"tip"`
	// Authorization is set in a sweep that the gas station sends for the deposit address.
	Authorization *Authorization `json:"authorization,omitempty"`
}

// Signed answers a request.
type Signed struct {
	ID     string `json:"id"`
	From   string `json:"from"`
	TxHash string `json:"txHash"`
	Raw    string `json:"raw"` // hexadecimal, without 0x
}

// Bytes are the signed bytes.
func (s Signed) Bytes() ([]byte, error) { return hex.DecodeString(s.Raw) }

// Refusal is the signer's refusal of a request. It is final for an unchanged request, except for the hourly limits and
// the kill switch.
type Refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// The codes of refusals.
const (
	Malformed   = "malformed"
	Reused      = "id_reused"
	Stopped     = "stopped" // by the kill switch
	Network     = "network"
	Address     = "address" // account or index outside of what the signer serves
	Destination = "destination"
	Asset       = "asset"
	ChainID     = "chain_id"
	Fee         = "fee"
	Value       = "value"
	Count       = "count"
	Order       = "order"       // the transfer is not what its order says, or the order is not approved
	OrderSpent  = "order_spent" // another transaction was signed for the same order
	OrderAge    = "order_age"   // the order is older than the log, which may have lost that it was carried out
	Forms       = "forms"       // every form that an order may have was signed
	Dust        = "dust"        // an output that nodes do not pass on
)

// Passing reports whether the same request may be accepted later.
func (r *Refusal) Passing() bool {
	return r.Code == Stopped || r.Code == Value || r.Code == Count || r.Code == Expiry
}

// Error implements error.
func (r *Refusal) Error() string { return "the signer refuses (" + r.Code + "): " + r.Message }

// Refuse makes a refusal.
func Refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

const (
	// IDMost bounds the id of a request in bytes.
	IDMost = 80
	// digitsMost is the number of digits of the largest 256-bit number.
	digitsMost = 78
)

// Units reads a number of base units: decimal digits only, at most 256 bits.
func Units(text string) (*big.Int, error) {
	n, ok := new(big.Int).SetString(text, 10)
	if !ok || len(text) > digitsMost || strings.TrimLeft(text, "0123456789") != "" || n.BitLen() > 256 {
		return nil, fmt.Errorf("%.90q is not a whole number of 256 bits", text)
	}
	return n, nil
}

// Fingerprint is the content of a request in one canonical form, to compare it with an earlier request of the same id.
// The time of an approval is no part of it: a signer or a payments of the release before does not know that.
func (r Request) Fingerprint() (string, error) {
	r = r.Terms()
	if r.Order != nil {
		r.Order = &Ordered{Order: r.Order.Order, Signature: r.Order.Signature}
	}
	b, err := json.Marshal(r)
	return string(b), err
}

// Contract is the token's contract, "" when the network's own coin or energy moves.
func (r Request) Contract() string {
	switch {
	case r.EVM != nil:
		return r.EVM.Contract
	case r.Tron != nil:
		return r.Tron.Contract
	}
	return ""
}

// ErrNoTerms says that a request has no terms of the EVM family.
var ErrNoTerms = errors.New("the request has no EVM terms")

// Transaction is the transaction that an EVM request describes: a plain transfer of the coin, or a call of the token's
// transfer. The call that presents an authorization has no data before that is signed. Transaction checks form only;
// the signer's policy decides whether it may be signed.
func (r Request) Transaction() (evmtx.Transaction, error) {
	if r.EVM == nil {
		return evmtx.Transaction{}, ErrNoTerms
	}
	amount, err := Units(r.Amount)
	if err != nil || amount.Sign() == 0 {
		return evmtx.Transaction{}, errors.New("the amount must be a positive whole number")
	}
	maxFee, feeErr := Units(r.EVM.MaxFee)
	tip, tipErr := Units(r.EVM.Tip)
	to, toErr := evmtx.ParseAccount(r.To)
	if err := errors.Join(feeErr, tipErr, toErr); err != nil {
		return evmtx.Transaction{}, err
	}
	if tip.Cmp(maxFee) > 0 {
		return evmtx.Transaction{}, errors.New("the tip is above the whole fee")
	}
	tx := evmtx.Transaction{ChainID: r.EVM.ChainID, Nonce: r.EVM.Nonce, Tip: tip, MaxFee: maxFee, Gas: r.EVM.Gas, To: to, Value: amount}
	if r.EVM.Contract == "" {
		return tx, nil
	}
	contract, err := evmtx.ParseAccount(r.EVM.Contract)
	if err != nil {
		return evmtx.Transaction{}, fmt.Errorf("contract: %w", err)
	}
	tx.To, tx.Value = contract, new(big.Int)
	if r.EVM.Authorization == nil {
		tx.Data = evmtx.TransferCall(to, amount)
	}
	return tx, nil
}

// Check compares the signer's answer with the request: the bytes must be the request's transaction, signed by the
// expected address, with the named hash. It returns the bytes.
func (s Signed) Check(r Request, from string) ([]byte, error) {
	if r.Bitcoin != nil {
		return s.checkCollection(r, from)
	}
	raw, err := s.Bytes()
	if err != nil {
		return nil, fmt.Errorf("decoding the signer's bytes: %w", err)
	}
	switch {
	case r.Tron != nil:
		return raw, s.checkTron(r, from, raw)
	case r.Solana != nil && r.Kind == Refund:
		return raw, s.checkSolanaRefund(r, from, raw)
	case r.Solana != nil:
		return raw, s.checkSolana(r, from, raw)
	}
	want, err := r.Transaction()
	if err != nil {
		return nil, err
	}
	got, sender, err := evmtx.Parse(raw)
	if err == nil && r.EVM.Authorization != nil {
		want.Data = got.Data
		err = r.presents(got.Data)
	}
	switch hash := evmtx.Hash(raw); {
	case err != nil:
		return nil, err
	case s.ID != r.ID || !got.Equal(want):
		return nil, errors.New("the signer signed another transaction than the requested one")
	case sender.String() != from || s.From != from:
		return nil, fmt.Errorf("the signer signed for %s instead of %s", sender, from)
	case s.TxHash != "0x"+hex.EncodeToString(hash[:]):
		return nil, errors.New("the signer's hash differs from the hash of its bytes")
	}
	return raw, nil
}
