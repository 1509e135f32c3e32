package sweep

import "errors"

// Rival is somebody else's transaction in a final block that took the place of an own one: it used the same nonce, or
// spent one of the same outputs. No form of the own one can land any more. For a sweep it is one that took the money.
type Rival struct {
	Receipt
	Spent []Input // the outputs of the refund or of the sweep that it spends, on a network with outputs
}

// The reasons why a transaction is no rival of an own one.
var (
	ErrUnmined  = errors.New("no block holds the transaction")
	ErrNotFinal = errors.New("the block of the transaction is not final")
	ErrDiffer   = errors.New("the endpoints disagree")
	ErrOwn      = errors.New("it is an own transaction, or does the same")
	ErrBeside   = errors.New("the transaction does not take the place of an own one, nor the money of a sweep")
	ErrAlive    = errors.New("a transaction of the refund may still land")
	ErrThere    = errors.New("the money of the sweep is on the chain")
)

// Same reports whether two endpoints show the same rival.
func (r Rival) Same(as Rival) bool {
	return r.Receipt.Same(as.Receipt) && len(r.Spent) == len(as.Spent)
}
