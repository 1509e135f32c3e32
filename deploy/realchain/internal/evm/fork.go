package evm

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"causeway.internal/deploy/realchain/internal/node"
)

// forkResult is the chain's new head and the transactions of the abandoned blocks, oldest first.
type forkResult struct {
	Head     block    `json:"head"`
	Orphaned []string `json:"orphaned"`
}

// fork takes the head back by depth blocks at once (the simulated backend makes the ancestor the canonical head, so a
// client sees the head shrink). The transactions of the abandoned blocks are dropped unless keep is set, in which case
// they wait in the pool again as on a live network; what already waited there stays.
func (c *chain) fork(ctx context.Context, depth int, keep bool) (forkResult, error) {
	head, err := c.head(ctx)
	if err != nil {
		return forkResult{}, err
	}
	if depth < 1 || depth > maxBlocks || int64(depth) >= head.Height {
		return forkResult{}, node.Refusal("depth must be 1..%d and leave the tokens' block, the head is %d", maxBlocks, head.Height)
	}
	orphaned, err := c.transactionsAbove(ctx, head.Height-int64(depth))
	if err != nil {
		return forkResult{}, err
	}
	waiting, err := c.pending(ctx)
	if err != nil {
		return forkResult{}, err
	}
	ancestor, err := c.backend.Client().HeaderByNumber(ctx, big.NewInt(head.Height-int64(depth)))
	if err != nil {
		return forkResult{}, fmt.Errorf("reading the ancestor: %w", err)
	}
	c.backend.Rollback()
	if err := c.backend.Fork(ancestor.Hash()); err != nil {
		return forkResult{}, fmt.Errorf("forking at %d: %w", ancestor.Number, err)
	}
	c.backend.Rollback() // the pool takes orphaned transactions back by itself; start from nothing and decide here
	result := forkResult{Orphaned: []string{}}
	for _, tx := range orphaned {
		c.orphans[tx.Hash()] = tx
		result.Orphaned = append(result.Orphaned, tx.Hash().Hex())
	}
	if keep {
		waiting = append(orphaned, waiting...)
	}
	if err := c.refill(ctx, waiting); err != nil {
		return forkResult{}, err
	}
	result.Head, err = c.head(ctx)
	return result, err
}

// transactionsAbove reads the canonical transactions of every block above height.
func (c *chain) transactionsAbove(ctx context.Context, height int64) ([]*types.Transaction, error) {
	head, err := c.head(ctx)
	if err != nil {
		return nil, err
	}
	var all []*types.Transaction
	for at := height + 1; at <= head.Height; at++ {
		b, err := c.backend.Client().BlockByNumber(ctx, big.NewInt(at))
		if err != nil {
			return nil, fmt.Errorf("reading block %d: %w", at, err)
		}
		all = append(all, b.Transactions()...)
	}
	return all, nil
}

// refill puts transactions into the emptied pool. One whose predecessor by nonce is gone cannot be mined any more; it
// is kept for include instead.
func (c *chain) refill(ctx context.Context, txs []*types.Transaction) error {
	next := map[common.Address]uint64{}
	for _, tx := range txs {
		sender, err := types.Sender(c.signer, tx)
		if err != nil {
			return fmt.Errorf("reading the sender of %s: %w", tx.Hash(), err)
		}
		if _, known := next[sender]; !known {
			if next[sender], err = c.backend.Client().NonceAt(ctx, sender, nil); err != nil {
				return fmt.Errorf("reading a nonce: %w", err)
			}
		}
		if tx.Nonce() != next[sender] {
			c.orphans[tx.Hash()] = tx
			continue
		}
		if err := c.send(ctx, tx); err != nil {
			return err
		}
		next[sender]++
	}
	return nil
}

// drop empties the pool, or takes only the named transactions out of it.
func (c *chain) drop(ctx context.Context, hashes []string) ([]string, error) {
	waiting, err := c.pending(ctx)
	if err != nil {
		return nil, err
	}
	dropped, kept := []string{}, []*types.Transaction{}
	for _, tx := range waiting {
		if len(hashes) > 0 && !slices.Contains(hashes, tx.Hash().Hex()) {
			kept = append(kept, tx)
			continue
		}
		c.orphans[tx.Hash()] = tx
		dropped = append(dropped, tx.Hash().Hex())
	}
	c.backend.Rollback()
	return dropped, c.refill(ctx, kept)
}

// include sends a dropped or orphaned transaction again, byte for byte. ahead other token transfers with a higher tip
// come before it in the same block, so that its logs stand at another index of the block.
func (c *chain) include(ctx context.Context, hash string, ahead int) error {
	tx, known := c.orphans[common.HexToHash(hash)]
	if !known {
		return node.Refusal("transaction %s was neither dropped nor orphaned", hash)
	}
	if ahead < 0 || ahead > accountCount/2 {
		return node.Refusal("ahead must be 0..%d", accountCount/2)
	}
	if err := c.send(ctx, tx); err != nil {
		return err
	}
	delete(c.orphans, tx.Hash())
	for i := range ahead {
		filler := node.Payment{To: common.BigToAddress(big.NewInt(int64(0xf1_11e7_0000 + i))).Hex(), Amount: "1"}
		if _, err := c.transfer(ctx, usdt, []node.Payment{filler}, 20*transferTip); err != nil {
			return err
		}
	}
	return nil
}

// replace signs another transaction with the sender and nonce of a dropped, orphaned or waiting one, which therefore
// can never be mined again once this one is.
func (c *chain) replace(ctx context.Context, hash, token string, payments []node.Payment) (*types.Transaction, error) {
	old, err := c.find(ctx, hash)
	if err != nil {
		return nil, err
	}
	sender, err := types.Sender(c.signer, old)
	if err != nil {
		return nil, fmt.Errorf("reading the sender: %w", err)
	}
	at := slices.IndexFunc(c.accounts, func(a account) bool { return a.address == sender })
	if at < 0 {
		return nil, node.Refusal("transaction %s was not sent from an account of this node", hash)
	}
	to, value, data, err := c.transferData(token, payments)
	if err != nil {
		return nil, err
	}
	tx, err := c.sign(c.accounts[at], types.DynamicFeeTx{
		Nonce: old.Nonce(), To: &to, Value: value, Data: data, Gas: transferGas + uint64(len(payments))*60_000, GasTipCap: big.NewInt(10 * transferTip),
	})
	if err != nil {
		return nil, err
	}
	return tx, c.send(ctx, tx)
}

func (c *chain) find(ctx context.Context, hash string) (*types.Transaction, error) {
	if tx, known := c.orphans[common.HexToHash(hash)]; known {
		return tx, nil
	}
	waiting, err := c.pending(ctx)
	if err != nil {
		return nil, err
	}
	for _, tx := range waiting {
		if tx.Hash() == common.HexToHash(hash) {
			return tx, nil
		}
	}
	return nil, node.Refusal("transaction %s is neither waiting, dropped nor orphaned", hash)
}

// reorg abandons depth blocks and mines a branch of blocks in their place. Clients of the front door wait meanwhile, so
// they see one chain and then the other, never a shrunken head.
func (c *chain) reorg(ctx context.Context, r reorgRequest) (forkResult, error) {
	if r.Blocks < 1 || r.Blocks > maxBlocks || r.IncludeAfter < 0 || r.IncludeAfter >= r.Blocks {
		return forkResult{}, node.Refusal("blocks must be 1..%d and includeAfter 0..blocks-1", maxBlocks)
	}
	result, err := c.fork(ctx, r.Depth, r.Keep)
	if err != nil {
		return forkResult{}, err
	}
	if r.IncludeAfter > 0 {
		if _, err := c.mine(ctx, r.IncludeAfter); err != nil {
			return forkResult{}, err
		}
	}
	if r.Include != "" {
		if err := c.include(ctx, r.Include, r.Ahead); err != nil {
			return forkResult{}, err
		}
	}
	if result.Head, err = c.mine(ctx, r.Blocks-r.IncludeAfter); err != nil {
		return forkResult{}, errors.Join(errors.New("the chain was forked"), err)
	}
	return result, nil
}
