package sweeper

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/lookup"
	"causeway.internal/services/wallets/internal/sweep"
)

// Rivals is a chain that shows at every endpoint that another transaction took the place of an own one, or the money of
// a sweep.
type Rivals interface {
	Chain
	Rival(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error)
	// Lost gets a sweep as a transaction of its address that spends all outputs of its deposits.
	Lost(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error)
}

// Judge decides for an operator whether the signed transaction of a refund can still land on a network, and whether the
// money of a sweep is gone. It believes nothing that one endpoint alone says: the payer would be paid twice.
type Judge struct {
	Network string
	Chain   Rivals
	Store   RefundStore
	Log     *slog.Logger
	// Paid finds what a transaction brought to the address of the refund, as every host shows it.
	Paid func(ctx context.Context, hash, address string) (lookup.Finding, error)
}

// Rival proves that a foreign transaction, which the operator names, is final and that no form of the refund can land
// beside it.
func (j Judge) Rival(ctx context.Context, o sweep.Outgoing, hash string) (r sweep.Rival, err error) {
	if err := j.signed(ctx, o); err != nil {
		return r, err
	}
	if r, err = j.foreign(ctx, o, hash, j.Chain.Rival); err != nil {
		return r, err
	}
	_, err = j.expired(ctx, o)
	return r, err
}

// Lost proves that a foreign transaction, which the operator names, is final and has taken the money of a sweep. o has
// the hashes of all forms that were signed for the address of the sweep.
func (j Judge) Lost(ctx context.Context, o sweep.Outgoing, hash string) (sweep.Rival, error) {
	return j.foreign(ctx, o, hash, j.Chain.Lost)
}

// foreign is the part of a proof that holds for every foreign transaction: it is no own one, and pays nothing to the
// destination.
func (j Judge) foreign(
	ctx context.Context, o sweep.Outgoing, hash string,
	prove func(ctx context.Context, o sweep.Outgoing, hash string, final chain.Header) (sweep.Rival, error),
) (r sweep.Rival, err error) {
	for _, own := range o.Signed() {
		if strings.EqualFold(own, hash) {
			return r, fmt.Errorf("%w: the signer has signed %s for it", sweep.ErrOwn, hash)
		}
	}
	final, known, err := j.Store.FinalBlock(ctx, j.Network)
	if err != nil {
		return r, err
	}
	if !known {
		return r, fmt.Errorf("%w: the scan of %s keeps no final block", sweep.ErrNotFinal, j.Network)
	}
	if r, err = prove(ctx, o, hash, final); err != nil {
		return r, err
	}
	if _, proves := j.Chain.(Bitcoin); proves { // its block proves what it pays
		return r, nil
	}
	// It may be a form that this database has forgotten, or a payment by hand.
	paid, err := j.Paid(ctx, hash, o.Sweep.Treasury)
	switch {
	case err != nil:
		return r, fmt.Errorf("what %s brought to %s: %w", hash, o.Sweep.Treasury, err)
	case len(paid.Sums) > 0:
		return r, fmt.Errorf("%w: it pays %s", sweep.ErrOwn, o.Sweep.Treasury)
	case paid.State != wire.TransferFinal:
		return r, fmt.Errorf("%w at every endpoint", sweep.ErrNotFinal)
	}
	return r, nil
}

// Expired proves that every form of a refund on tron has expired and that the final blocks hold none of them. It
// returns the final block that shows it.
func (j Judge) Expired(ctx context.Context, o sweep.Outgoing) (r sweep.Rival, err error) {
	if err := j.signed(ctx, o); err != nil {
		return r, err
	}
	if _, is := j.Chain.(Tron); !is {
		return r, fmt.Errorf("%w: name the foreign transaction that took its place, if there is one", sweep.ErrAlive)
	}
	by, err := j.expired(ctx, o)
	return sweep.Rival{Receipt: sweep.Receipt{Height: by.Height, Block: by.Hash}}, err
}

// signed refuses a refund of which the signer may have signed forms that could land beside those that are stored. The
// signer keeps an order to one number, or one set of inputs, once it has signed it.
func (j Judge) signed(ctx context.Context, o sweep.Outgoing) error {
	if len(o.Signed()) == 0 {
		return fmt.Errorf("%w: nothing that the signer has signed for it is stored here", sweep.ErrAlive)
	}
	if o.State == sweep.Mined || o.State == sweep.Final || o.State == sweep.Failed {
		return fmt.Errorf("%w: %s is in a block", sweep.ErrAlive, o.TxHash)
	}
	if _, is := j.Chain.(Tron); !is {
		return nil
	}
	// Nothing but time keeps two forms apart on tron, and a restore forgets forms.
	restored, err := j.Store.Restored(ctx, o.Sweep)
	if err == nil && restored {
		err = fmt.Errorf("%w: the database was restored since its order came, and may have forgotten a form", sweep.ErrAlive)
	}
	return err
}

// expired is the part of the proof that only tron needs.
func (j Judge) expired(ctx context.Context, o sweep.Outgoing) (by chain.Header, err error) {
	node, is := j.Chain.(Tron)
	if !is || o.State == sweep.Replaced {
		return by, nil
	}
	t := tron{&Sweeper{cfg: Config{Network: j.Network}, store: j.Store, log: j.Log}, node}
	e, expired, err := t.expired(ctx, o)
	if err != nil {
		return by, err
	}
	if !expired {
		return by, fmt.Errorf("%w: its newest form expires at %s, and the newest final block is of %s", sweep.ErrAlive, e.expires.UTC(), e.final.Time)
	}
	lost, err := t.lost(ctx, o, e)
	if err == nil && !lost {
		err = fmt.Errorf("%w: a block holds its newest form", sweep.ErrAlive)
	}
	return e.final, err
}
