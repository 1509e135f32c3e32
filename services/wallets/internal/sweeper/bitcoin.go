package sweeper

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"time"

	"github.com/btcsuite/btcd/chainhash/v2"
	"github.com/btcsuite/btcd/wire/v2"

	"causeway.internal/services/wallets/internal/btctx"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
)

// Bitcoin is bitcoin, as its sweeps need it.
type Bitcoin interface {
	Chain
	// Rate is the node's estimate; false while it has none.
	Rate(ctx context.Context) (sweep.Rate, bool, error)
	Unspent(ctx context.Context, txID string, output int) (bool, error)
	// Previous are the bytes of a transaction in a block.
	Previous(ctx context.Context, txID, block string) ([]byte, error)
	// At is the hash of the block at a height, and Spending its transactions that spend outputs; false above the head.
	At(ctx context.Context, height int64) (hash string, ok bool, err error)
	Spending(ctx context.Context, height int64, outputs []string) (sweep.Spending, bool, error)
	// Paying are the outputs of the block at a height that pay an address (P2WPKH); false above the head.
	Paying(ctx context.Context, height int64, to string) (sweep.Paying, bool, error)
}

// bitcoin sweeps bitcoin: one transaction for the deposits of many addresses.
type bitcoin struct {
	*Sweeper
	chain   Bitcoin
	walks   map[string]*walk  // by transaction
	reasons map[string]string // why open sweeps wait, as they were last stored, by sweep
}

func newBitcoin(s *Sweeper, chain Bitcoin) *bitcoin {
	return &bitcoin{Sweeper: s, chain: chain, walks: map[string]*walk{}, reasons: map[string]string{}}
}

// rate is the node's estimate, or the quiet rate while the node has none: a higher fee can follow.
func (s *bitcoin) rate(ctx context.Context) (sweep.Rate, error) {
	rate, ok, err := s.chain.Rate(ctx)
	if err == nil && !ok {
		rate = sweep.Rate(s.cfg.Batches.Pace.Quiet.Int64())
	}
	return max(rate, sweep.RelayStep), err
}

// least implements family. A deposit that is not worth three times its own fee is left until the rate falls.
func (s *bitcoin) least(ctx context.Context) (Least, error) {
	rate, err := s.rate(ctx)
	if err != nil {
		return Least{}, err
	}
	deposit := big.NewInt(s.cfg.Batches.Deposit(min(rate, s.cfg.Batches.Most)))
	return Least{Sum: map[string]*big.Int{s.cfg.Coin: deposit}, Deposit: deposit, Most: sweepInputs}, nil
}

// sweepInputs bounds the deposits of one sweep, so that their previous transactions fit in a PSBT.
const sweepInputs = btctx.InputsMost / 2

// walk is a transaction's way through the blocks, in which one of its forms or a foreign spender of its inputs is
// found. It needs no index of transactions, works on a pruned node, and believes only what a block proves.
type walk struct {
	height  int64 // the last block that was read
	block   string
	spender sweep.Receipt // the first transaction that spends an input; no hash for none
}

// walkMost bounds the blocks that are read in one round.
const walkMost = 100

// find implements family.
func (s *bitcoin) find(ctx context.Context, o sweep.Outgoing) (sweep.Receipt, bool, error) {
	if len(o.Sent()) == 0 {
		return sweep.Receipt{}, false, nil
	}
	if o.State == sweep.Mined {
		hash, _, err := s.chain.At(ctx, o.Height)
		if err != nil || hash == o.Block {
			return receipt(o, sweep.Receipt{TxHash: o.TxHash, Height: o.Height, Block: o.Block}, err)
		}
	}
	w, err := s.walk(ctx, o)
	return receipt(o, w.spender, err)
}

// receipt completes the receipt of an own form with its fee. It reports false for a foreign transaction and for none.
func receipt(o sweep.Outgoing, r sweep.Receipt, err error) (sweep.Receipt, bool, error) {
	form, own := o.By(r.TxHash)
	if err != nil || !own || r.TxHash == "" {
		return sweep.Receipt{}, false, err
	}
	tx, err := form.Request.Collection()
	if err != nil {
		return sweep.Receipt{}, false, err
	}
	r.OK, r.Fee = true, big.NewInt(tx.Fee())
	return r, true, nil
}

// walk goes on to the head. When its last block has left the chain it begins again behind the block that was final when
// the transaction was planned.
func (s *bitcoin) walk(ctx context.Context, o sweep.Outgoing) (*walk, error) {
	w := s.walks[o.ID]
	if w != nil && w.block != "" {
		hash, _, err := s.chain.At(ctx, w.height)
		if err != nil {
			return w, err
		}
		if hash != w.block {
			w = nil
		}
	}
	if w == nil {
		w = &walk{height: o.From}
		s.walks[o.ID] = w
	}
	points := make([]string, len(o.Inputs))
	for i, in := range o.Inputs {
		points[i] = in.TxHash + ":" + strconv.Itoa(in.Output)
	}
	for range walkMost {
		b, ok, err := s.chain.Spending(ctx, w.height+1, points)
		if err != nil || !ok {
			return w, err
		}
		if w.block != "" && b.Parent != w.block { // the chain moved between two blocks
			delete(s.walks, o.ID)
			return &walk{}, nil
		}
		w.height, w.block = w.height+1, b.Block
		if len(b.TxHashes) > 0 && w.spender.TxHash == "" {
			w.spender = sweep.Receipt{TxHash: b.TxHashes[0], Height: w.height, Block: b.Block}
		}
	}
	return w, nil
}

// wait implements family.
func (s *bitcoin) wait(ctx context.Context, o sweep.Outgoing, final int64) error {
	if w := s.walks[o.ID]; w != nil && w.spender.TxHash != "" {
		return s.replaced(ctx, o, w.spender, final)
	}
	return s.urge(ctx, o, func(tx btctx.Transaction, rate sweep.Rate) (btctx.Transaction, bool) {
		fee, ok := s.cfg.Batches.Raise(tx.Fee(), tx.Size(), tx.Sum(), rate)
		tx.Value = tx.Sum() - fee
		return tx, ok
	})
}

// reprice is a transaction with a higher fee, if it can pay one.
type reprice func(tx btctx.Transaction, rate sweep.Rate) (btctx.Transaction, bool)

// urge sends a transaction again that no block holds, with a higher fee once it is stuck.
func (s *bitcoin) urge(ctx context.Context, o sweep.Outgoing, higher reprice) error {
	newest := o.Newest()
	if newest.SignedAgo >= s.cfg.Stuck {
		if raised, err := s.raise(ctx, o, higher); err != nil || raised {
			return err
		}
	}
	if newest.SentAgo >= s.cfg.Resend {
		return s.send(ctx, o)
	}
	return nil
}

// replaced ends a transaction of which a foreign one in a final block has spent an input. Its sweeps are planned again,
// without that output.
func (s *bitcoin) replaced(ctx context.Context, o sweep.Outgoing, by sweep.Receipt, final int64) error {
	if by.Height > final {
		return nil
	}
	if ok, err := s.store.Canonical(ctx, s.cfg.Network, by.Height, by.Block); err != nil || !ok {
		return err
	}
	s.log.ErrorContext(ctx, "input spent by foreign transaction", "id", o.ID, "foreign", by.TxHash, "height", by.Height)
	return s.store.Replaced(ctx, o)
}

// raise plans the same inputs with a higher fee, which comes off the amount of a sweep and the change of a refund.
func (s *bitcoin) raise(ctx context.Context, o sweep.Outgoing, higher reprice) (bool, error) {
	rate, err := s.rate(ctx)
	if err != nil {
		return false, err
	}
	r := o.Newest().Request
	tx, err := r.Collection()
	if err != nil {
		return false, err
	}
	tx, ok := higher(tx, rate)
	if !ok {
		return false, nil
	}
	terms := *r.Bitcoin
	terms.Change = tx.Change
	if terms.PSBT, err = tx.Reprice(terms.PSBT); err != nil {
		return false, err
	}
	r.Amount, r.Bitcoin = strconv.FormatInt(tx.Value, 10), &terms
	next := sweep.Attempt{Number: o.Newest().Number + 1, Request: r}
	next.Request.ID = sweep.RequestID(o.ID, next.Number)
	s.log.WarnContext(ctx, "transaction stuck, fee raised", "id", o.ID, "attempt", next.Number, "fee", tx.Fee())
	return true, s.store.Again(ctx, o, next)
}

// plan implements family.
func (s *bitcoin) plan(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) {
	if len(idle) == 0 {
		clear(s.reasons)
		return
	}
	err := s.forget(ctx)
	if err == nil && len(idle) == roundMost { // they wait for one another, so that all of them count
		idle, err = s.store.Idle(ctx, s.cfg.Network, idleMost)
	}
	if err == nil {
		err = s.planAll(ctx, idle, note)
	}
	if err != nil {
		note("planning", err)
	}
}

// forget drops the walks of transactions that have ended.
func (s *bitcoin) forget(ctx context.Context) error {
	underway, err := s.store.Underway(ctx, s.cfg.Network, roundMost)
	if err != nil {
		return err
	}
	maps.DeleteFunc(s.walks, func(id string, _ *walk) bool {
		return !slices.ContainsFunc(underway, func(o sweep.Outgoing) bool { return o.ID == id })
	})
	return nil
}

// idleMost bounds the sweeps that one round of bitcoin looks at.
const idleMost = 10_000

// candidate is an open sweep with its outputs.
type candidate struct {
	sweep.Sweep
	outputs []sweep.Input
}

// planAll plans transactions of as many sweeps as each may carry, if the pace allows that for the whole sum.
func (s *bitcoin) planAll(ctx context.Context, idle []sweep.Sweep, note func(what string, err error)) error {
	rate, err := s.rate(ctx)
	if err != nil {
		return err
	}
	outputs, err := s.store.Outputs(ctx, idle)
	if err != nil {
		return err
	}
	of := map[string][]sweep.Input{}
	for _, out := range outputs {
		of[out.Sweep] = append(of[out.Sweep], out)
	}
	least := big.NewInt(s.cfg.Batches.Deposit(min(rate, s.cfg.Batches.Most)))
	var ready []candidate
	sum, oldest := int64(0), time.Duration(0)
	for _, w := range idle {
		small := slices.DeleteFunc(slices.Clone(of[w.ID]), func(out sweep.Input) bool { return out.Amount.Cmp(least) >= 0 })
		if len(small) > 0 { // the next round sees the sweep without them
			note("sweep "+w.ID, s.store.Leave(ctx, w, small))
			continue
		}
		ready, sum, oldest = append(ready, candidate{w, of[w.ID]}), sum+w.Amount.Int64(), max(oldest, w.Age)
	}
	if slices.ContainsFunc(ready, func(c candidate) bool { return c.Together > 0 }) {
		sum = max(sum, s.cfg.Batches.Least) // they were enough together, until the signer refused them
	}
	if why := s.cfg.Batches.Ready(sum, rate, oldest); why != nil {
		for _, c := range ready {
			note("sweep "+c.ID, s.remember(ctx, c.Sweep, why))
		}
		return nil
	}
	for len(ready) > 0 {
		rest, err := s.planBatch(ctx, ready, rate, note)
		if err != nil {
			return err
		}
		ready = rest
	}
	return nil
}

// remember stores why a sweep waits, once. It is due at once even so: sweeps that wait for one another must come back
// together.
func (s *bitcoin) remember(ctx context.Context, w sweep.Sweep, why error) error {
	if s.reasons[w.ID] == why.Error() {
		return nil
	}
	s.reasons[w.ID] = why.Error()
	return s.store.Wait(ctx, w, 0, why.Error())
}

// planBatch plans one transaction of the first sweeps, and returns those that are left.
func (s *bitcoin) planBatch(ctx context.Context, ready []candidate, rate sweep.Rate, note func(what string, err error)) (rest []candidate, err error) {
	final, err := s.store.Final(ctx, s.cfg.Network)
	if err != nil {
		return nil, err
	}
	o := sweep.Outgoing{ID: s.newID(), Kind: intent.Sweep, State: sweep.Planned, Version: 1, From: final}
	previous, size := map[chainhash.Hash]*wire.MsgTx{}, 0
	for i, c := range ready {
		if !c.Fits(o.Batch) {
			rest = append(rest, c)
			continue
		}
		txs, bytes, err := s.previous(ctx, c)
		if err != nil { // the others do not wait for it
			note("sweep "+c.ID, s.postpone(ctx, c.Sweep, err))
			continue
		}
		if len(o.Inputs) > 0 && (len(o.Inputs)+len(c.outputs) > btctx.InputsMost || size+bytes > btctx.PreviousMost) {
			rest = append(rest, ready[i:]...)
			break
		}
		maps.Copy(previous, txs)
		size += bytes
		o.Batch, o.Inputs = append(o.Batch, c.Sweep), append(o.Inputs, c.outputs...)
	}
	if len(o.Batch) == 0 {
		return rest, nil
	}
	o.Sweep = o.Batch[0]
	r, sender, err := s.request(o, previous, rate)
	if err != nil {
		return nil, err
	}
	o.Sender, o.Attempts = sender, []sweep.Attempt{{Number: 1, Request: r}}
	return rest, s.store.Plan(ctx, o)
}

// previous are the transactions of a sweep's deposits, with their size for each output that is spent. It fails with
// errShort when the chain does not have one of the outputs any more.
func (s *bitcoin) previous(ctx context.Context, c candidate) (txs map[chainhash.Hash]*wire.MsgTx, size int, err error) {
	txs = map[chainhash.Hash]*wire.MsgTx{}
	for i, out := range c.outputs {
		tx, err := s.origin(ctx, out)
		if err != nil {
			return nil, 0, err
		}
		txs[tx.TxHash()] = tx
		if size += tx.SerializeSizeStripped(); size > btctx.PreviousMost {
			return nil, 0, errors.Join(errHeavy, s.store.Leave(ctx, c.Sweep, c.outputs[i:]))
		}
	}
	return txs, size, nil
}

// origin is the transaction of an output. It fails with errShort when the chain does not have the output any more.
func (s *bitcoin) origin(ctx context.Context, out sweep.Input) (*wire.MsgTx, error) {
	unspent, err := s.chain.Unspent(ctx, out.TxHash, out.Output)
	if err != nil {
		return nil, err
	}
	if !unspent {
		return nil, fmt.Errorf("%w: output %s:%d is spent", errShort, out.TxHash, out.Output)
	}
	raw, err := s.chain.Previous(ctx, out.TxHash, out.Block)
	if err != nil {
		return nil, err
	}
	return btctx.Parse(raw)
}

// request is the intent of a batch's first form, and the set of inputs in place of a sender.
func (s *bitcoin) request(o sweep.Outgoing, previous map[chainhash.Hash]*wire.MsgTx, rate sweep.Rate) (intent.Request, string, error) {
	r := intent.Request{
		ID: sweep.RequestID(o.ID, 1), Kind: o.Kind, Network: s.cfg.Network, Account: o.Sweep.Account, Asset: o.Sweep.Asset,
		To: s.cfg.Treasury, Bitcoin: &intent.Bitcoin{},
	}
	sum := new(big.Int)
	for _, in := range o.Inputs {
		sum.Add(sum, in.Amount)
		r.Bitcoin.Inputs = append(r.Bitcoin.Inputs, spending(in))
	}
	script, err := btctx.Treasury(s.cfg.Treasury)
	if err != nil {
		return r, "", err
	}
	r.Amount = strconv.FormatInt(sum.Int64()-rate.Fee(btctx.Size(len(o.Inputs), script)), 10)
	tx, err := r.Collection()
	if err != nil {
		return r, "", err
	}
	r.Bitcoin.PSBT, err = tx.PSBT(previous)
	return r, tx.Slot(), err
}

// spending is an output as the signer is asked to spend it.
func spending(in sweep.Input) intent.Output {
	//nolint:gosec // an output's number is not negative
	return intent.Output{TxID: in.TxHash, Vout: uint32(in.Output), Value: in.Amount.Int64(), Index: in.Index}
}
