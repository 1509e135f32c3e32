package sweeper

import (
	"cmp"
	"context"
	"errors"
	"math/big"
	"slices"
	"strconv"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/libs/address"
	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// StationStore keeps the outputs that pay a refund station on bitcoin, where no node is asked for a balance.
type StationStore interface {
	// Searched is the height up to which the blocks were searched for outputs of a station. A new search begins at from.
	Searched(ctx context.Context, network, station string, from int64) (height int64, err error)
	// Found keeps the outputs of the next block of the search. It fails with ErrStale unless the block is final.
	Found(ctx context.Context, network, station string, height int64, b sweep.Paying) error
	// StationOutputs are the outputs of a station that no transaction here spends, the largest first.
	StationOutputs(ctx context.Context, network, station string) ([]sweep.Input, error)
}

// bitcoinRefunds pays refunds on bitcoin, each with a transaction of its own, from outputs of the refund station. A
// refund has one set of inputs for ever, because the signer signs no other for its order. Only outputs of final blocks
// are spent: change of a transaction that may still be replaced has no lasting name, and a refund that is bound to it
// for ever could never land.
type bitcoinRefunds struct{ *bitcoin }

// least implements family.
func (s bitcoinRefunds) least(context.Context) (Least, error) { return Least{}, nil }

// plan implements family.
func (s bitcoinRefunds) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	note("searching the refund station", s.search(ctx))
	free, err := s.cfg.Refunds.StationOutputs(ctx, s.cfg.Network, s.cfg.Station)
	if err != nil {
		note("the refund station", err)
		return
	}
	s.report(s.cfg.Coin, sumOf(free))
	if len(idle) == 0 {
		return
	}
	note("forgetting", s.forget(ctx))
	rate, err := s.rate(ctx)
	if err == nil && rate > s.cfg.Batches.Most {
		err = sweep.ErrDear
	}
	s.planEach(ctx, idle, func(w sweep.Sweep) error {
		if err != nil {
			return err
		}
		var wrong error
		free, wrong = s.planRefund(ctx, w, free, rate)
		return wrong
	}, note)
}

// search goes on through the final blocks for outputs of the station. Each block proves what it holds.
func (s bitcoinRefunds) search(ctx context.Context) error {
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return err
	}
	at, err := s.cfg.Refunds.Searched(ctx, s.cfg.Network, s.cfg.Station, cmp.Or(s.cfg.From, final))
	if err != nil {
		return err
	}
	for last := min(final, at+walkMost); at < last; at++ {
		b, ok, err := s.chain.Paying(ctx, at+1, s.cfg.Station)
		if err != nil || !ok {
			return err
		}
		if err := s.cfg.Refunds.Found(ctx, s.cfg.Network, s.cfg.Station, at+1, b); err != nil {
			return err
		}
	}
	return nil
}

// planRefund fixes the inputs of a refund, if the station can pay it, and returns the outputs that are left.
func (s bitcoinRefunds) planRefund(ctx context.Context, w sweep.Sweep, free []sweep.Input, rate sweep.Rate) ([]sweep.Input, error) {
	to, err := btctx.Treasury(w.Treasury)
	if err != nil {
		return free, err
	}
	back, err := btctx.Treasury(s.cfg.Station)
	if err != nil {
		return free, err
	}
	if w.Amount.Cmp(big.NewInt(address.Dust(to))) < 0 {
		s.log.ErrorContext(ctx, "refund blocked: dust", "refund", w.ID, "amount", w.Amount)
		return free, s.store.Block(ctx, w, "the refund is dust: nodes do not pass on so small an output")
	}
	for {
		// Room for the highest fee: a refund that is stuck can take no further input.
		inputs := choose(free, func(inputs int) *big.Int {
			fee := s.cfg.Batches.Most.Fee(btctx.Size(inputs, to, back))
			return new(big.Int).Add(w.Amount, big.NewInt(fee+address.Dust(back)))
		})
		if inputs == nil {
			return free, ErrStation
		}
		previous := map[chainhash.Hash]*wire.MsgTx{}
		var tx *wire.MsgTx
		var at int
		for at = range inputs {
			if tx, err = s.origin(ctx, inputs[at]); err != nil {
				break
			}
			previous[tx.TxHash()] = tx
		}
		if errors.Is(err, errShort) { // somebody with the words has spent it, or its block has left the chain
			if s.said.first(inputs[at].TxHash + ":" + strconv.Itoa(inputs[at].Output)) {
				s.log.WarnContext(ctx, "output of refund station spent elsewhere", "tx", inputs[at].TxHash, "output", inputs[at].Output)
			}
			free, err = without(free, inputs[at:at+1]), nil
			continue
		}
		if err == nil {
			size := btctx.Size(len(inputs), to, back)
			err = s.planFrom(ctx, w, inputs, previous, rate.Fee(size))
		}
		if err != nil {
			return free, err
		}
		return without(free, inputs), nil
	}
}

// planFrom writes the transaction of a refund that spends outputs.
func (s bitcoinRefunds) planFrom(
	ctx context.Context, w sweep.Sweep, inputs []sweep.Input, previous map[chainhash.Hash]*wire.MsgTx, fee int64,
) error {
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return err
	}
	o := sweep.Outgoing{ID: s.newID(), Kind: intent.Refund, Sweep: w, Inputs: inputs, State: sweep.Planned, Version: 1, From: final}
	r := intent.Request{
		ID: sweep.RequestID(o.ID, 1), Kind: o.Kind, Network: s.cfg.Network, Asset: w.Asset, Amount: w.Amount.String(), To: w.Treasury, Order: w.Order,
		Bitcoin: &intent.Bitcoin{Station: s.cfg.Station, Change: sumOf(inputs).Int64() - w.Amount.Int64() - fee},
	}
	for _, in := range inputs {
		r.Bitcoin.Inputs = append(r.Bitcoin.Inputs, spending(in))
	}
	tx, err := r.Collection()
	if err != nil {
		return err
	}
	if r.Bitcoin.PSBT, err = tx.PSBT(previous); err != nil {
		return err
	}
	o.Sender, o.Attempts = tx.Slot(), []sweep.Attempt{{Number: 1, Request: r}}
	return s.store.Plan(ctx, o)
}

// choose picks the smallest output that is enough alone, or else the fewest largest ones. need is the sum that so many
// inputs must have. It is nil when they do not have it.
func choose(free []sweep.Input, need func(inputs int) *big.Int) []sweep.Input {
	for _, out := range slices.Backward(free) {
		if out.Amount.Cmp(need(1)) >= 0 {
			return []sweep.Input{out}
		}
	}
	sum := new(big.Int)
	for i, out := range free[:min(len(free), sweepInputs)] {
		if sum.Add(sum, out.Amount).Cmp(need(i+1)) >= 0 {
			return slices.Clone(free[:i+1])
		}
	}
	return nil
}

// without are the outputs that are not among the taken ones.
func without(free, taken []sweep.Input) []sweep.Input {
	return slices.DeleteFunc(slices.Clone(free), func(out sweep.Input) bool {
		return slices.ContainsFunc(taken, func(t sweep.Input) bool { return t.TxHash == out.TxHash && t.Output == out.Output })
	})
}

func sumOf(outputs []sweep.Input) *big.Int {
	sum := new(big.Int)
	for _, out := range outputs {
		sum.Add(sum, out.Amount)
	}
	return sum
}

// wait implements family. A refund of which a foreign transaction has spent an input is blocked until an operator
// looks, and not given up: it can land no more on this chain, and the signer signs no other inputs for its order.
func (s bitcoinRefunds) wait(ctx context.Context, o sweep.Outgoing, final int64) error {
	by := sweep.Receipt{}
	if w := s.walks[o.ID]; w != nil {
		by = w.spender
	}
	if by.TxHash == "" {
		s.said.forget(o.ID)
		if err := s.cfg.Refunds.Unblock(ctx, o.Sweep); err != nil {
			return err
		}
		return s.urge(ctx, o, s.lessChange)
	}
	if by.Height > final {
		return nil
	}
	if ok, err := s.store.Canonical(ctx, s.cfg.Network, by.Height, by.Block); err != nil || !ok {
		return err
	}
	if s.said.first(o.ID) {
		s.log.ErrorContext(ctx, "input of refund spent by foreign transaction", "refund", o.Sweep.ID, "foreign", by.TxHash, "height", by.Height)
	}
	return s.store.Block(ctx, o.Sweep, "the transaction "+by.TxHash+" in block "+strconv.FormatInt(by.Height, 10)+" has spent an input of the refund")
}

// lessChange takes a higher fee from the change.
func (s bitcoinRefunds) lessChange(tx btctx.Transaction, rate sweep.Rate) (btctx.Transaction, bool) {
	fee, ok := s.cfg.Batches.RaiseWithin(tx.Fee(), tx.Size(), tx.Fee()+tx.Change-address.Dust(tx.Back), rate)
	tx.Change = tx.Sum() - tx.Value - fee
	return tx, ok
}
