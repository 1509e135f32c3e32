package tron

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/big"

	"golang.org/x/sync/errgroup"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/chain/rpc"
	"causeway.internal/services/wallets/internal/evmtx"
	"causeway.internal/services/wallets/internal/trontx"
)

// owned is the answer of getaccount with all coins of the account: free, staked, lent, and on their way back.
type owned struct {
	Balance amount `json:"balance"`
	Staked  []struct {
		Amount amount `json:"amount"`
	} `json:"frozenV2"`
	Unstaked []struct {
		Amount amount `json:"unfreeze_amount"`
	} `json:"unfrozenV2"`
	LentBandwidth amount `json:"delegated_frozenV2_balance_for_bandwidth"`
	Resource      struct {
		LentEnergy amount `json:"delegated_frozenV2_balance_for_energy"`
	} `json:"account_resource"`
}

func (o owned) coins() *big.Int {
	sum := big.NewInt(int64(o.Balance))
	more := []amount{o.LentBandwidth, o.Resource.LentEnergy}
	for _, s := range o.Staked {
		more = append(more, s.Amount)
	}
	for _, s := range o.Unstaked {
		more = append(more, s.Amount)
	}
	for _, n := range more {
		sum.Add(sum, big.NewInt(int64(n)))
	}
	return sum
}

// holdsTries is how often accounts are read anew because a block came meanwhile.
const holdsTries = 5

// holdsAtOnce bounds concurrent reads of accounts: the scan has priority.
const holdsAtOnce = 4

// Holds is what accounts have, staked coins included, all after the same final block. Nodes do not say which block an
// answer is of: it is the one that is the newest before and after the answers.
func (d *Driver) Holds(ctx context.Context, of []chain.Account) (sums []*big.Int, at chain.Header, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		for range holdsTries {
			view, before, err := settled(ctx, e)
			if err != nil {
				return err
			}
			if sums, err = holdsAll(ctx, e, view, of); err != nil {
				return err
			}
			after, err := now(ctx, e, view)
			if err != nil {
				return err
			}
			if at = after.header(); before.id == after.id {
				return nil
			}
		}
		return rpc.ErrMoved
	})
	return sums, at, err
}

// settled is the view of final blocks with its newest block, or the newest block of all where an endpoint does not
// serve that view.
func settled(ctx context.Context, e *rpc.Endpoint) (view string, newest *block, err error) {
	if newest, err = now(ctx, e, "walletsolidity"); err == nil {
		return "walletsolidity", newest, nil
	}
	newest, err = now(ctx, e, "wallet")
	return "wallet", newest, err
}

// holdsAll asks an endpoint about several accounts at once, so that few of its answers lie between two blocks.
func holdsAll(ctx context.Context, e *rpc.Endpoint, view string, of []chain.Account) ([]*big.Int, error) {
	sums := make([]*big.Int, len(of))
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(holdsAtOnce)
	for i, a := range of {
		g.Go(func() (err error) {
			if sums[i], err = holds(asking, e, view, a); err != nil {
				err = fmt.Errorf("the balance of %s at endpoint %s: %w", a.Address, e.Name, err)
			}
			return err
		})
	}
	return sums, g.Wait()
}

func holds(ctx context.Context, e *rpc.Endpoint, view string, a chain.Account) (*big.Int, error) {
	account, err := trontx.ParseAccount(a.Address)
	if err != nil {
		return nil, err
	}
	if a.Contract == "" {
		answer, err := e.Post(ctx, "/"+view+"/getaccount", map[string]any{"address": account.Hex()})
		if err != nil {
			return nil, err
		}
		o, err := decoded[owned](answer)
		return o.coins(), err
	}
	token, err := addressOf(a.Contract)
	if err != nil {
		return nil, err
	}
	answer, err := e.Post(ctx, "/"+view+"/triggerconstantcontract", map[string]any{
		"owner_address": account.Hex(), "contract_address": token, "data": hex.EncodeToString(evmtx.BalanceCall(evmtx.Account(account))),
	})
	if err != nil {
		return nil, err
	}
	c, err := decoded[called](answer)
	if err != nil {
		return nil, err
	}
	return c.word()
}

// word is the only word of an answer, as a number.
func (c called) word() (*big.Int, error) {
	if fault := c.fault(); fault != "" || len(c.Words) != 1 {
		return nil, fmt.Errorf("the answer has %d words: %s", len(c.Words), fault)
	}
	word, err := hex.DecodeString(c.Words[0])
	if err != nil || len(word) != 32 {
		return nil, fmt.Errorf("the answer is %.80q", c.Words[0])
	}
	return new(big.Int).SetBytes(word), nil
}
