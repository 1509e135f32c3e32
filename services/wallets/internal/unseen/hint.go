// Package unseen looks for coin that the scan of an EVM network cannot see where no endpoint traces: coin that
// contracts send. A payer may name the paying transaction. It is inspected for its effect on the one address and
// becomes a deposit only when nothing else explains that effect. In addition the balances of all addresses are compared
// with the books, slowly and in turn, so that an operator learns of coin that nobody named. The package reaches chains
// and database through small interfaces.
package unseen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/chain"
)

// Hint is a transaction that may have paid an address.
type Hint struct {
	Mode    tenant.Mode
	Network string
	Address string
	Key     []byte
	TxHash  string
	Ordinal int // of the deposit that it may become
	Tries   int
	Waited  time.Duration
}

// State is the state of a hint.
type State string

// The states of a hint.
const (
	Waiting  State = "waiting"  // to be inspected, now or again
	Credited State = "credited" // a deposit whose block is not final yet
	Final    State = "final"    // a final deposit
	Nothing  State = "nothing"  // the transaction brought nothing that the scan did not see
	Unclear  State = "unclear"  // a sum remains that cannot be attributed: for an operator
)

// Verdict is the result of inspecting a hint.
type Verdict struct {
	State  State
	Reason string
	Amount *big.Int // of a credit, or the remaining sum of an unclear one
}

// Judge decides the meaning of an effect. known is the rest of the block's coin on record for the address as sent by
// contracts. Judge guesses nothing: an effect that is not clearly of this one transaction goes to an operator.
func Judge(e chain.Effect, known *big.Int) Verdict {
	if e.Amount == nil {
		e.Amount = new(big.Int)
	}
	left := new(big.Int).Sub(e.Amount, known)
	switch {
	case e.Failed:
		return Verdict{Nothing, "the transaction failed", new(big.Int)}
	case e.Plain:
		return Verdict{Nothing, "the transaction is a plain transfer, which the scan sees by itself", new(big.Int)}
	case e.Ours:
		return Verdict{Nothing, "the address itself sent the transaction", new(big.Int)}
	case left.Sign() == 0:
		return Verdict{Nothing, "the transaction brought the address nothing that is not on record", left}
	case left.Sign() < 0:
		return Verdict{Unclear, "the address has less than is on record", left}
	case known.Sign() != 0:
		return Verdict{Unclear, "another transaction of the block has been credited to the address", left}
	case e.Doubt != "":
		return Verdict{Unclear, e.Doubt, left}
	}
	return Verdict{Credited, "", left}
}

// ErrLater means that a hint cannot be judged yet: its block is not scanned, or differs from the scanned one, or the
// verdict is not a credit and the block is not final.
var ErrLater = errors.New("the block must be scanned or final first")

// Hints keeps hints. Each method is one transaction.
type Hints interface {
	// FollowHints updates credited hints: final, or to be inspected again when their block left the chain.
	FollowHints(ctx context.Context) error
	DueHints(ctx context.Context, networks []string, most int) ([]Hint, error)
	// TakeHint judges an effect while the scan is locked and writes the result; ErrLater writes nothing.
	TakeHint(ctx context.Context, h Hint, e chain.Effect) (Verdict, error)
	DeferHint(ctx context.Context, h Hint, wait time.Duration, reason string) error
	EndHint(ctx context.Context, h Hint, v Verdict) error
}

// Chain is the network of a hint. The EVM driver implements it.
type Chain interface {
	chain.Looker
	Balance(ctx context.Context, of string, height int64) (*big.Int, error)
}

// Bounds of the inspections.
const (
	hintsMost = 20               // in one round
	waitFirst = 5 * time.Second  // between two inspections of one hint
	waitMost  = 10 * time.Minute // doubling up to here
	waitAll   = 24 * time.Hour   // after which a hint ends
)

// Looker inspects hints.
type Looker struct {
	store    Hints
	chains   map[string]Chain
	networks []string
	log      *slog.Logger
	counted  func(network string, s State)
}

// NewLooker makes a looker for the networks of chains. It calls counted with every verdict.
func NewLooker(store Hints, chains map[string]Chain, log *slog.Logger, counted func(network string, s State)) *Looker {
	l := &Looker{store: store, chains: chains, log: log, counted: counted}
	for name := range chains {
		l.networks = append(l.networks, name)
	}
	return l
}

// Round inspects the due hints, one after the other.
func (l *Looker) Round(ctx context.Context) error {
	if err := l.store.FollowHints(ctx); err != nil {
		return err
	}
	due, err := l.store.DueHints(ctx, l.networks, hintsMost)
	if err != nil {
		return err
	}
	var problems []error
	for _, h := range due {
		if err := l.look(ctx, h); err != nil {
			problems = append(problems, fmt.Errorf("transaction %s: %w", h.TxHash, err))
		}
	}
	return errors.Join(problems...)
}

func (l *Looker) look(ctx context.Context, h Hint) error {
	v, err := l.judge(ctx, h)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil:
		l.log.InfoContext(ctx, "named transaction inspected", "network", h.Network, "tx", h.TxHash, "state", v.State, "reason", v.Reason)
		l.counted(h.Network, v.State)
		return nil
	case h.Waited < waitAll:
		if !errors.Is(err, ErrLater) && !errors.Is(err, chain.ErrNoTransaction) {
			l.log.WarnContext(ctx, "named transaction not inspected yet", "network", h.Network, "tx", h.TxHash, "err", err)
		}
		return l.store.DeferHint(ctx, h, min(waitFirst<<min(h.Tries, 10), waitMost), err.Error())
	}
	given := Verdict{State: Unclear, Reason: err.Error(), Amount: new(big.Int)}
	if errors.Is(err, chain.ErrNoTransaction) {
		given.State = Nothing
	}
	l.counted(h.Network, given.State)
	return l.store.EndHint(ctx, h, given)
}

func (l *Looker) judge(ctx context.Context, h Hint) (Verdict, error) {
	e, err := l.chains[h.Network].Effect(ctx, h.TxHash, h.Key)
	if err != nil {
		return Verdict{}, err
	}
	return l.store.TakeHint(ctx, h, e)
}
