package intent

import (
	"errors"
	"fmt"

	"causeway.internal/services/wallets/internal/soltx"
)

// Solana are the terms of a transaction on solana. A sweep takes one asset from one or many deposit addresses; the
// request's amount is their sum. A refund has no moves: the station pays the amount.
type Solana struct {
	Station   string       `json:"station"` // pays the fee and receives the rent of closed token accounts
	NonceAt   string       `json:"nonceAt"` // the durable nonce that the transaction uses up
	Nonce     string       `json:"nonce"`
	UnitLimit uint32       `json:"unitLimit"`
	UnitPrice uint64       `json:"unitPrice"` // millionths of a lamport per unit of compute
	Mint      string       `json:"mint,omitempty"`
	Decimals  uint8        `json:"decimals,omitempty"` // of the token
	Moves     []SolanaMove `json:"moves"`
}

// SolanaMove is the share of one deposit address.
type SolanaMove struct {
	Index  uint32 `json:"index"`
	Owner  string `json:"owner"`
	Amount string `json:"amount"`
	Close  bool   `json:"close,omitempty"` // closes the address's token account
}

var errNoSolana = errors.New("the request has no solana terms")

// SolanaTransaction is the transaction that a solana request describes. A token goes to the token account that belongs
// to the request's destination. It checks form only; the signer's policy decides whether it may be signed.
func (r Request) SolanaTransaction() (tx soltx.Transaction, err error) {
	if r.Solana == nil {
		return tx, errNoSolana
	}
	s := r.Solana
	read := func(name, text string) (a soltx.Account) {
		if err == nil {
			if a, err = soltx.ParseAccount(text); err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		}
		return a
	}
	if r.Kind == Refund {
		return tx, errors.New("a refund is no sweep")
	}
	tx = soltx.Transaction{
		Station: read("station", s.Station), NonceAt: read("nonce account", s.NonceAt), Nonce: read("nonce", s.Nonce),
		UnitLimit: s.UnitLimit, UnitPrice: s.UnitPrice, Decimals: s.Decimals, To: read("destination", r.To),
	}
	if s.Mint != "" {
		tx.Mint = read("mint", s.Mint)
	}
	for _, m := range s.Moves {
		amount, bad := Units(m.Amount)
		if err == nil && (bad != nil || !amount.IsUint64()) {
			err = errors.New("the amount of a move is not a whole number of 64 bits")
		}
		if err != nil {
			return tx, err
		}
		tx.Moves = append(tx.Moves, soltx.Move{Owner: read("owner", m.Owner), Amount: amount.Uint64(), Close: m.Close})
	}
	sum, bad := Units(r.Amount)
	if err == nil && (bad != nil || sum.Cmp(tx.Amount()) != 0) {
		err = errors.New("the amount is not the sum of the moves")
	}
	if err == nil && s.Mint != "" {
		tx.To, err = soltx.TokenAccount(tx.To, tx.Mint)
	}
	if err == nil {
		_, err = tx.Message()
	}
	return tx, err
}

// SolanaRefund is the transaction that a refund on solana describes. It checks form only.
func (r Request) SolanaRefund() (tx soltx.Refund, err error) {
	if r.Solana == nil || len(r.Solana.Moves) > 0 {
		return tx, errNoSolana
	}
	s := r.Solana
	mint := s.Mint
	if mint == "" {
		mint = soltx.Account{}.String()
	}
	amount, err := Units(r.Amount)
	if err != nil || !amount.IsUint64() {
		return tx, errors.New("the amount is not a whole number of 64 bits")
	}
	tx = soltx.Refund{UnitLimit: s.UnitLimit, UnitPrice: s.UnitPrice, Decimals: s.Decimals, Amount: amount.Uint64()}
	for _, named := range []struct {
		name, text string
		at         *soltx.Account
	}{
		{"station", s.Station, &tx.Station},
		{"nonce account", s.NonceAt, &tx.NonceAt},
		{"nonce", s.Nonce, &tx.Nonce},
		{"mint", mint, &tx.Mint},
	} {
		if *named.at, err = soltx.ParseAccount(named.text); err != nil {
			return tx, fmt.Errorf("%s: %w", named.name, err)
		}
	}
	if tx.To, err = soltx.ParseOwner(r.To); err != nil {
		return tx, fmt.Errorf("destination: %w", err)
	}
	_, err = tx.Message()
	return tx, err
}

var errOther = errors.New("the signer signed another transaction than the requested one")

// checkNonce checks the nonce account of a signed transaction and its hash.
func (s Signed) checkNonce(from, at string, raw []byte) error {
	switch {
	case at != from || s.From != from:
		return fmt.Errorf("the signer used the nonce account %s instead of %s", at, from)
	case s.TxHash != soltx.Hash(raw):
		return errors.New("the signer's hash differs from the hash of its bytes")
	}
	return nil
}

// checkSolanaRefund is Check for a refund on solana. from is the nonce account.
func (s Signed) checkSolanaRefund(r Request, from string, raw []byte) error {
	want, err := r.SolanaRefund()
	if err != nil {
		return err
	}
	got, err := soltx.ParseRefund(raw)
	if err != nil {
		return err
	}
	if s.ID != r.ID || !got.Equal(want) {
		return errOther
	}
	return s.checkNonce(from, got.NonceAt.String(), raw)
}

// checkSolana is Check for solana. from is the nonce account, whose value the transaction uses up.
func (s Signed) checkSolana(r Request, from string, raw []byte) error {
	want, err := r.SolanaTransaction()
	if err != nil {
		return err
	}
	got, err := soltx.Parse(raw)
	if err != nil {
		return err
	}
	if s.ID != r.ID || !got.Equal(want) {
		return errOther
	}
	return s.checkNonce(from, got.NonceAt.String(), raw)
}
