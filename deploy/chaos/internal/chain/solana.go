package chain

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"math/big"
	"slices"
)

// solanaTx is what we read of a transaction: balances before and after it.
type solanaTx struct {
	Transaction struct {
		Signatures []string `json:"signatures"`
		Message    struct {
			AccountKeys []string `json:"accountKeys"`
		} `json:"message"`
	} `json:"transaction"`
	Meta struct {
		Err          any            `json:"err"`
		PreBalances  []int64        `json:"preBalances"`
		PostBalances []int64        `json:"postBalances"`
		PreTokens    []tokenBalance `json:"preTokenBalances"`
		PostTokens   []tokenBalance `json:"postTokenBalances"`
		Loaded       struct {
			Writable []string `json:"writable"`
			Readonly []string `json:"readonly"`
		} `json:"loadedAddresses"`
	} `json:"meta"`
}

type tokenBalance struct {
	Account int    `json:"accountIndex"`
	Mint    string `json:"mint"`
	Owner   string `json:"owner"`
	Amount  struct {
		Amount string `json:"amount"`
	} `json:"uiTokenAmount"`
}

// holding is an asset of somebody.
type holding struct{ owner, asset string }

// tokenAccount is what a token account holds.
type tokenAccount struct {
	holding
	units *big.Int
}

// readSolana compares the balances before and after each transaction. One in which a known address has less afterwards
// moved all that others have more from there.
func (s Subject) readSolana(ctx context.Context, r *reading) error {
	recent := map[string]any{"commitment": "confirmed"}
	var head int64
	if err := s.call(ctx, &head, "getSlot", recent); err != nil {
		return err
	}
	var slots []int64
	if err := s.call(ctx, &slots, "getBlocks", 0, head, recent); err != nil {
		return err
	}
	whole := map[string]any{
		"commitment": "confirmed", "encoding": "json", "transactionDetails": "full", "maxSupportedTransactionVersion": 0, "rewards": false,
	}
	accounts := map[string]tokenAccount{} // of tokens, by their addresses
	for _, slot := range slots {
		var block struct {
			Transactions []solanaTx `json:"transactions"`
		}
		if err := s.call(ctx, &block, "getBlock", slot, whole); err != nil {
			return err
		}
		for _, tx := range block.Transactions {
			s.followSolana(tx, accounts, r)
		}
	}
	return s.balancesSolana(ctx, r)
}

// followSolana notes the moves of a transaction. It knows itself what token accounts held before, because Surfpool
// leaves out those that a transaction closes; it takes from the transaction those that no transaction made.
func (s Subject) followSolana(tx solanaTx, accounts map[string]tokenAccount, r *reading) {
	keys := slices.Concat(tx.Transaction.Message.AccountKeys, tx.Meta.Loaded.Writable, tx.Meta.Loaded.Readonly)
	changes := map[holding]*big.Int{}
	add := func(h holding, units *big.Int) { changes[h] = sum(changes[h], units) }
	for i, before := range tx.Meta.PreBalances {
		if i < len(keys) && i < len(tx.Meta.PostBalances) {
			add(holding{keys[i], s.Coin}, big.NewInt(tx.Meta.PostBalances[i]-before))
		}
	}
	opened := map[string]string{} // owners of new token accounts, by the accounts
	if tx.Meta.Err == nil {
		for _, t := range tx.Meta.PreTokens {
			if t.Account < len(keys) && accounts[keys[t.Account]].units == nil {
				accounts[keys[t.Account]] = tokenAccount{holding{t.Owner, s.symbol(t.Mint)}, decimal(t.Amount.Amount)}
			}
		}
		closed := map[string]bool{}
		for _, key := range keys {
			if before, known := accounts[key]; known {
				add(before.holding, new(big.Int).Neg(before.units))
				delete(accounts, key)
				closed[key] = true
			}
		}
		for _, t := range tx.Meta.PostTokens {
			h := holding{t.Owner, s.symbol(t.Mint)}
			add(h, decimal(t.Amount.Amount))
			if t.Account >= len(keys) {
				continue
			}
			account := keys[t.Account]
			accounts[account] = tokenAccount{h, decimal(t.Amount.Amount)}
			if !closed[account] {
				opened[account] = t.Owner
			}
		}
	}
	id := ""
	if len(tx.Transaction.Signatures) > 0 {
		id = tx.Transaction.Signatures[0]
	}
	for h, units := range changes {
		if r.known[h.owner] && units.Sign() != 0 {
			r.touched[h.owner] = true
		}
		if !r.known[h.owner] || units.Sign() >= 0 {
			continue
		}
		for other, more := range changes {
			if other.asset == h.asset && more.Sign() > 0 {
				m := Move{Tx: id, Asset: h.asset, From: h.owner, To: other.owner, Units: more}
				if owner := opened[other.owner]; owner != "" && other.asset == s.Coin {
					m.To, m.Rent = owner, true
				}
				r.moved(m)
			}
		}
	}
}

// accountsAsked is how many accounts one request of a node may name.
const accountsAsked = 100

func (s Subject) balancesSolana(ctx context.Context, r *reading) error {
	var names []string
	for address := range r.touched {
		names = append(names, address)
	}
	for some := range slices.Chunk(names, accountsAsked) {
		var told struct {
			Value []*struct {
				Lamports int64 `json:"lamports"`
			} `json:"value"`
		}
		how := map[string]any{"commitment": "confirmed", "encoding": "base64"}
		if err := s.call(ctx, &told, "getMultipleAccounts", some, how); err != nil {
			return err
		}
		for i, address := range some {
			held := new(big.Int)
			if i < len(told.Value) && told.Value[i] != nil {
				held.SetInt64(told.Value[i].Lamports)
			}
			r.holds(address, s.Coin, held)
		}
	}
	for address := range r.touched {
		for symbol, mint := range s.Tokens {
			units, err := s.tokensSolana(ctx, address, mint)
			if err != nil {
				return err
			}
			r.holds(address, symbol, units)
		}
	}
	return nil
}

// A token account's data has its amount here.
const (
	amountFrom = 64
	amountTo   = 72
)

// tokensSolana adds up the token accounts of an owner.
func (s Subject) tokensSolana(ctx context.Context, owner, mint string) (*big.Int, error) {
	var told struct {
		Value []struct {
			Account struct {
				Data []string `json:"data"`
			} `json:"account"`
		} `json:"value"`
	}
	how := map[string]any{"commitment": "confirmed", "encoding": "base64"}
	if err := s.call(ctx, &told, "getTokenAccountsByOwner", owner, map[string]string{"mint": mint}, how); err != nil {
		return nil, err
	}
	held := new(big.Int)
	for _, account := range told.Value {
		if len(account.Account.Data) == 0 {
			return nil, fmt.Errorf("a token account of %s has no data", owner)
		}
		data, err := base64.StdEncoding.DecodeString(account.Account.Data[0])
		if err != nil || len(data) < amountTo {
			return nil, fmt.Errorf("a token account of %s has %d bytes: %w", owner, len(data), err)
		}
		held.Add(held, new(big.Int).SetUint64(binary.LittleEndian.Uint64(data[amountFrom:amountTo])))
	}
	return held, nil
}

func decimal(text string) *big.Int {
	if n, ok := new(big.Int).SetString(text, 10); ok {
		return n
	}
	return new(big.Int)
}
