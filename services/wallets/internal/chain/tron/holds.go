package tron

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"

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

// holdsTries is how often an account is read anew because a block came meanwhile.
const holdsTries = 5

// Holds is what an account has of the coin, staked coins included, or of a token after the newest block. Nodes do not
// say which block an answer is of: it is the one that is the newest before and after the answer.
func (d *Driver) Holds(ctx context.Context, of, contract string) (sum *big.Int, at int64, err error) {
	err = d.pool.Read(ctx, func(e *rpc.Endpoint) error {
		for range holdsTries {
			before, err := now(ctx, e, "wallet")
			if err != nil {
				return err
			}
			if sum, err = holds(ctx, e, of, contract); err != nil {
				return fmt.Errorf("the balance of %s at endpoint %s: %w", of, e.Name, err)
			}
			after, err := now(ctx, e, "wallet")
			if err != nil {
				return err
			}
			if at = after.number; before.id == after.id {
				return nil
			}
		}
		return errors.New("blocks come faster than the node's answers")
	})
	return sum, at, err
}

func holds(ctx context.Context, e *rpc.Endpoint, of, contract string) (*big.Int, error) {
	account, err := trontx.ParseAccount(of)
	if err != nil {
		return nil, err
	}
	if contract == "" {
		answer, err := e.Post(ctx, "/wallet/getaccount", map[string]any{"address": account.Hex()})
		if err != nil {
			return nil, err
		}
		o, err := decoded[owned](answer)
		return o.coins(), err
	}
	token, err := addressOf(contract)
	if err != nil {
		return nil, err
	}
	answer, err := e.Post(ctx, "/wallet/triggerconstantcontract", map[string]any{
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
