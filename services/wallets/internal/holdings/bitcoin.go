package holdings

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"causeway.internal/services/wallets/internal/sweep"
)

// Bitcoin is a chain whose nodes tell no balance: its blocks say which outputs are made and spent.
type Bitcoin interface {
	// Moves are the outputs of the block at a height that pay addresses, and all outputs that it spends. It is false above
	// the head.
	Moves(ctx context.Context, height int64, of []string) (sweep.Moves, bool, error)
}

// Outputs keeps what the final blocks of bitcoin make and spend. Each method is one transaction.
type Outputs interface {
	// Follow is the height through which the blocks were read for each address, and for deposits as a whole, whose name
	// is "". The first addresses of a network begin below its first own transaction, and later ones a day of blocks below
	// height; each begins at its own height if that is lower. A late deposit takes deposits back below its block.
	Follow(ctx context.Context, network string, list []Followed, height int64) (map[string]int64, error)
	// Deposited are the addresses with a deposit in the block at a height.
	Deposited(ctx context.Context, network string, height int64) ([]string, error)
	// KeepMoves keeps the next block of what is followed. It fails unless the block is final, and next for each.
	KeepMoves(ctx context.Context, network string, followed []string, height int64, m sweep.Moves) error
	// Unspent are the sums of the outputs of addresses after the block at a height.
	Unspent(ctx context.Context, network string, addresses []string, height int64) (map[string]*big.Int, error)
}

// Followed is an address whose outputs are followed.
type Followed struct {
	Address string
	From    int64 // a block below its first payment; 0 where nobody knows one
}

// OfBitcoin follows the outputs of a network through its final blocks; from is a block below the first payment to the
// refund station, or 0.
func OfBitcoin(network string, c Bitcoin, kept Outputs, from int64) Chain {
	return bitcoin{network, c, kept, from}
}

type bitcoin struct {
	network string
	chain   Bitcoin
	kept    Outputs
	from    int64
}

// deposits is the name under which the addresses of deposits are followed as a whole.
const deposits = ""

// Balances implements Chain. The height must be final.
func (b bitcoin) Balances(ctx context.Context, of []Account, height int64) (out []Balance, err error) {
	followed, addresses := []Followed{{Address: deposits}}, make([]string, len(of))
	for i, a := range of {
		addresses[i] = a.Address
		switch a.Place {
		case Deposits:
		case RefundStation:
			followed = append(followed, Followed{a.Address, b.from})
		default:
			followed = append(followed, Followed{Address: a.Address})
		}
	}
	if err := b.follow(ctx, followed, height); err != nil {
		return nil, err
	}
	sums, err := b.kept.Unspent(ctx, b.network, addresses, height)
	if err != nil {
		return nil, err
	}
	for _, a := range of {
		out = append(out, Balance{Account: a, Amount: cmp.Or(sums[a.Address], new(big.Int)), Height: height})
	}
	return out, nil
}

// follow reads the blocks up to a height, each block once for all that have reached the same height.
func (b bitcoin) follow(ctx context.Context, list []Followed, height int64) error {
	at, err := b.kept.Follow(ctx, b.network, list, height)
	if err != nil {
		return err
	}
	for {
		last := slices.Min(slices.Collect(maps.Values(at)))
		if last >= height {
			return nil
		}
		var some []string
		for name, through := range at {
			if through == last {
				some = append(some, name)
			}
		}
		if err := b.block(ctx, some, last+1); err != nil {
			return err
		}
		for _, name := range some {
			at[name] = last + 1
		}
	}
}

// block reads one block for what is followed.
func (b bitcoin) block(ctx context.Context, followed []string, height int64) error {
	var of []string
	for _, name := range followed {
		if name != deposits {
			of = append(of, name)
			continue
		}
		found, err := b.kept.Deposited(ctx, b.network, height)
		if err != nil {
			return err
		}
		of = append(of, found...)
	}
	m, ok, err := b.chain.Moves(ctx, height, of)
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("no endpoint has the final block %d yet", height)
	}
	return b.kept.KeepMoves(ctx, b.network, followed, height, m)
}
