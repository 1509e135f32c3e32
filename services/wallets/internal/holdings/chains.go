package holdings

import (
	"context"
	"fmt"
	"math/big"
	"slices"

	"golang.org/x/sync/errgroup"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/soltx"
	"causeway.internal/services/wallets/internal/sweep"
)

// EVM is a chain whose nodes keep the balances of past blocks.
type EVM interface {
	Balance(ctx context.Context, of string, height int64) (*big.Int, error)
	TokensAt(ctx context.Context, contract, of string, height int64) (*big.Int, error)
}

// OfEVM reads balances of one block.
func OfEVM(c EVM) Chain { return evm{c} }

type evm struct{ chain EVM }

// Balances implements Chain.
func (e evm) Balances(ctx context.Context, of []Account, height int64) ([]Balance, error) {
	out := make([]Balance, len(of))
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(askedAtOnce)
	for i, a := range of {
		g.Go(func() (err error) {
			out[i] = Balance{Account: a, Height: height}
			if a.Contract == "" {
				out[i].Amount, err = e.chain.Balance(asking, a.Address, height)
			} else {
				out[i].Amount, err = e.chain.TokensAt(asking, a.Contract, a.Address, height)
			}
			return err
		})
	}
	return out, g.Wait()
}

// askedAtOnce bounds concurrent reads: the scan has priority.
const askedAtOnce = 4

// Tron is a chain whose nodes have the balances of their newest final block alone.
type Tron interface {
	// Holds is what accounts have, staked coins included, all after the block that it names.
	Holds(ctx context.Context, of []chain.Account) (amounts []*big.Int, at chain.Header, err error)
}

// OfTron reads balances of the newest final block.
func OfTron(c Tron) Chain { return tron{c} }

type tron struct{ chain Tron }

// Bounds of a reading of tron's deposit addresses.
const (
	tronAtOnce = 10 // of one block at most: the next one comes after three seconds
	tronFaults = 3  // accounts that were not read, after which the others wait for the next reading
)

// Balances implements Chain. The places have one block, and each few deposit addresses have one. The places come first:
// without them there is no reading.
func (t tron) Balances(ctx context.Context, of []Account, _ int64) (out []Balance, err error) {
	places := slices.IndexFunc(of, func(a Account) bool { return a.Place == Deposits })
	if places < 0 {
		places = len(of)
	}
	if places > 0 {
		if out, err = t.read(ctx, of[:places]); err != nil {
			return nil, err
		}
	}
	held, err := t.deposits(ctx, of[places:])
	return append(out, held...), err
}

// deposits reads deposit addresses. A part that was not read, as when no block lasts for its answers, is read again in
// halves. An account that is not read alone stays unread, and does not hide the places.
func (t tron) deposits(ctx context.Context, of []Account) ([]Balance, error) {
	var out []Balance
	size, faults := tronAtOnce, 0
	for len(of) > 0 && faults < tronFaults {
		part := of[:min(size, len(of))]
		read, err := t.read(ctx, part)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err == nil:
			size = min(size+1, tronAtOnce)
		case len(part) > 1:
			size = len(part) / 2
			continue
		default:
			if faults++; faults == tronFaults {
				err = fmt.Errorf("%w; %d others wait for the next reading", err, len(of)-1)
			}
			read = []Balance{{Account: part[0], Fault: err}}
		}
		out, of = append(out, read...), of[len(part):]
	}
	return out, nil
}

// read reads accounts of one block.
func (t tron) read(ctx context.Context, of []Account) (out []Balance, err error) {
	asked := make([]chain.Account, len(of))
	for i, a := range of {
		asked[i] = chain.Account{Address: a.Address, Contract: a.Contract}
	}
	amounts, at, err := t.chain.Holds(ctx, asked)
	if err != nil {
		return nil, err
	}
	for i, a := range of {
		out = append(out, Balance{Account: a, Amount: amounts[i], Height: at.Height, Block: at.Hash})
	}
	return out, nil
}

// Solana is a chain that answers about many accounts at once, after its newest final block.
type Solana interface {
	Accounts(ctx context.Context, addresses []string, final bool) ([]sweep.SolanaAccount, int64, error)
}

// OfSolana reads balances of the newest final block. Tokens are those on the associated account of each owner.
func OfSolana(c Solana) Chain { return solana{c} }

type solana struct{ chain Solana }

// accountsMost is how many accounts a node of solana answers about at once.
const accountsMost = 100

// Balances implements Chain.
func (s solana) Balances(ctx context.Context, of []Account, _ int64) (out []Balance, err error) {
	for some := range slices.Chunk(of, accountsMost) {
		names := make([]string, len(some))
		for i, a := range some {
			if names[i], err = holder(a); err != nil {
				return nil, err
			}
		}
		found, slot, err := s.chain.Accounts(ctx, names, true)
		if err != nil {
			return nil, err
		}
		for i, a := range some {
			amount, err := held(a, found[i])
			if err != nil { // a place that cannot be read must not hide the others
				out = append(out, Balance{Account: a, Height: slot, Fault: err})
				continue
			}
			out = append(out, Balance{Account: a, Amount: new(big.Int).SetUint64(amount), Height: slot})
		}
	}
	return out, nil
}

// holder is the account on solana that has the balance of an owner.
func holder(a Account) (string, error) {
	if a.Contract == "" {
		return a.Address, nil
	}
	owner, err := soltx.ParseAccount(a.Address)
	if err != nil {
		return "", err
	}
	mint, err := soltx.ParseAccount(a.Contract)
	if err != nil {
		return "", err
	}
	at, err := soltx.TokenAccount(owner, mint)
	return at.String(), err
}

// held is the balance of an account on solana; one that does not exist has nothing.
func held(a Account, found sweep.SolanaAccount) (uint64, error) {
	if a.Contract == "" {
		return found.Coins, nil
	}
	// Anybody can send coins to the address of a token account that does not exist yet; the system program owns it then.
	if found.Program == "" || soltx.Plain(found.Program, found.Data) {
		return 0, nil
	}
	owner, err := soltx.ParseAccount(a.Address)
	if err != nil {
		return 0, err
	}
	mint, err := soltx.ParseAccount(a.Contract)
	if err != nil {
		return 0, err
	}
	amount, err := soltx.ReadToken(found.Program, found.Data, owner, mint)
	if err != nil {
		return 0, fmt.Errorf("the token account of %s: %w", a.Address, err)
	}
	return amount, nil
}
