package intent

import (
	"errors"
	"fmt"

	"causeway.internal/services/wallets/internal/btctx"
)

// Bitcoin are the terms of a transaction that sweeps the outputs of many deposit addresses to the treasury, or that
// refunds a payer from outputs of the refund station. The amount of the request is what the treasury or the payer
// receives; the rest of the inputs is the change of a refund, and the fee.
type Bitcoin struct {
	Inputs []Output `json:"inputs"`
	// Station receives the change of a refund. A sweep has neither.
	Station string `json:"station,omitempty"`
	Change  int64  `json:"change,omitempty"` // satoshi
	// PSBT (BIP-174, base64) holds the previous transaction of every input, which proves its value. It adds nothing to
	// the terms, since the inputs name these transactions by their hashes.
	PSBT string `json:"psbt,omitempty"`
}

// Output is an output of a deposit address, or of the refund station.
type Output struct {
	TxID  string `json:"txid"`
	Vout  uint32 `json:"vout"`
	Value int64  `json:"value"` // satoshi
	Index uint32 `json:"index"` // of the deposit address; 0 for the station
}

// Terms is the request without the proofs of its terms: what makes it the same request, and what a log keeps.
func (r Request) Terms() Request {
	if r.Bitcoin != nil {
		bare := *r.Bitcoin
		bare.PSBT = ""
		r.Bitcoin = &bare
	}
	return r
}

// Collection is the transaction that a bitcoin request describes. It checks form only.
func (r Request) Collection() (btctx.Transaction, error) {
	if r.Bitcoin == nil {
		return btctx.Transaction{}, errors.New("the request has no bitcoin terms")
	}
	amount, err := Units(r.Amount)
	if err != nil || !amount.IsInt64() {
		return btctx.Transaction{}, errors.New("the amount must be a positive whole number of satoshi")
	}
	tx := btctx.Transaction{Value: amount.Int64(), Inputs: make([]btctx.Input, len(r.Bitcoin.Inputs))}
	if tx.To, err = btctx.Treasury(r.To); err != nil {
		return btctx.Transaction{}, err
	}
	if tx.Change = r.Bitcoin.Change; r.Bitcoin.Station != "" {
		if tx.Back, err = btctx.Treasury(r.Bitcoin.Station); err != nil {
			return btctx.Transaction{}, err
		}
	}
	for i, in := range r.Bitcoin.Inputs {
		point, err := btctx.Point(in.TxID, in.Vout)
		if err != nil {
			return btctx.Transaction{}, err
		}
		tx.Inputs[i] = btctx.Input{Point: point, Value: in.Value}
	}
	return tx, tx.Check()
}

// checkCollection is Check for bitcoin, where the set of inputs takes the place of the sender. The signatures are
// checked against the scripts of the outputs that it spends.
func (s Signed) checkCollection(r Request, from string) ([]byte, error) {
	raw, err := s.Bytes()
	if err != nil {
		return nil, fmt.Errorf("decoding the signer's bytes: %w", err)
	}
	tx, err := r.Collection()
	if err != nil {
		return nil, err
	}
	scripts, err := tx.Scripts(r.Bitcoin.PSBT)
	if err != nil {
		return nil, err
	}
	id, err := tx.Verify(raw, scripts)
	switch {
	case err != nil:
		return nil, err
	case s.ID != r.ID || s.TxHash != id || s.From != from || tx.Slot() != from:
		return nil, errors.New("the signer's answer names another request or transaction")
	}
	return raw, nil
}
