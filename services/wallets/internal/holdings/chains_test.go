package holdings_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/sweep"
)

// answers are what a node of solana says about every account.
type answers sweep.SolanaAccount

// Accounts implements holdings.Solana.
func (a answers) Accounts(_ context.Context, of []string, _ bool) ([]sweep.SolanaAccount, int64, error) {
	out := make([]sweep.SolanaAccount, len(of))
	for i := range out {
		out[i] = sweep.SolanaAccount(a)
	}
	return out, 7, nil
}

// Anybody can send coins to the address of a token account that does not exist: it has no tokens. An account that
// cannot be read is at fault alone.
func TestOfSolana_strange(t *testing.T) {
	t.Parallel()
	const system, token = "11111111111111111111111111111111", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
	of := []holdings.Account{{Place: holdings.Treasury, Address: token, Asset: "USDC", Contract: token}, {Place: holdings.Treasury, Address: token, Asset: "SOL"}}
	for name, c := range map[string]struct {
		node   answers
		faulty bool
	}{
		"none":                     {node: answers{}},
		"coins alone":              {node: answers{Coins: 900_000, Program: system}},
		"data of the system":       {node: answers{Coins: 900_000, Program: system, Data: make([]byte, 80)}, faulty: true},
		"data that are no account": {node: answers{Coins: 900_000, Program: token, Data: make([]byte, 80)}, faulty: true},
	} {
		got, err := holdings.OfSolana(c.node).Balances(t.Context(), of, 0)
		if err != nil || len(got) != 2 {
			t.Errorf("read an account with %s: got %d balances, %v, want two", name, len(got), err)
			continue
		}
		if at := got[0]; (at.Fault != nil) != c.faulty || !c.faulty && at.Amount.Sign() != 0 {
			t.Errorf("read the tokens of an account with %s: got %v, %v, want none, and a fault: %t", name, at.Amount, at.Fault, c.faulty)
		}
		if at := got[1]; at.Fault != nil || at.Amount.Uint64() != c.node.Coins {
			t.Errorf("read the coins of an account with %s: got %v, %v, want %d", name, at.Amount, at.Fault, c.node.Coins)
		}
	}
}

// growing is a tron whose newest final block is another one at each question.
type growing struct{ height atomic.Int64 }

// Holds implements holdings.Tron.
func (g *growing) Holds(_ context.Context, of []chain.Account) ([]*big.Int, chain.Header, error) {
	height, sums := g.height.Add(1), make([]*big.Int, len(of))
	for i := range of {
		sums[i] = big.NewInt(height)
	}
	return sums, chain.Header{Height: height, Hash: fmt.Sprint("h", height)}, nil
}

// The treasury and the stations of tron are read of one block, which each balance names, however fast blocks come.
func TestOfTron_oneBlock(t *testing.T) {
	t.Parallel()
	var of []holdings.Account
	for _, place := range []holdings.Place{holdings.Treasury, holdings.GasStation, holdings.RefundStation} {
		of = append(of, holdings.Account{Place: place, Asset: "TRX"}, holdings.Account{Place: place, Asset: "USDT", Contract: "T"})
	}
	for range 25 {
		of = append(of, holdings.Account{Place: holdings.Deposits, Asset: "USDT", Contract: "T"})
	}
	got, err := holdings.OfTron(new(growing)).Balances(t.Context(), of, 0)
	if err != nil || len(got) != len(of) {
		t.Fatalf("read %d accounts: got %d balances, %v", len(of), len(got), err)
	}
	blocks := map[string]bool{}
	for _, b := range got {
		if b.Place != holdings.Deposits {
			blocks[b.Block] = true
		}
		if b.Block != fmt.Sprint("h", b.Height) || b.Amount.Int64() != b.Height {
			t.Errorf("read a balance at the %s: got %v of block %d %q, want one of the block that it names", b.Place, b.Amount, b.Height, b.Block)
		}
	}
	if at := (holdings.Reading{Balances: got}).Settled(); len(blocks) != 1 || !blocks[fmt.Sprint("h", at)] {
		t.Errorf("read the treasury and the stations: got the blocks %v, settled at %d, want one block", blocks, at)
	}
}

var errMoved = errors.New("the chain moved")

// slow is a tron that answers about so many deposit addresses within one block, and about any number of places.
type slow struct {
	most  int
	down  error // of places
	calls int
}

// Holds implements holdings.Tron.
func (s *slow) Holds(_ context.Context, of []chain.Account) ([]*big.Int, chain.Header, error) {
	s.calls++
	if of[0].Address == "place" {
		return make([]*big.Int, len(of)), chain.Header{Height: 1}, s.down
	}
	broken := slices.ContainsFunc(of, func(a chain.Account) bool { return a.Address == "broken" })
	if broken || len(of) > s.most {
		return nil, chain.Header{}, errMoved
	}
	return make([]*big.Int, len(of)), chain.Header{Height: 1}, nil
}

// A part of tron's deposit addresses that is not read within one block is read again in halves. An account that is not
// read alone stays unread, and only the treasury and the stations can fail the reading.
func TestOfTron_slow(t *testing.T) {
	t.Parallel()
	places, down := []holdings.Account{{Place: holdings.Treasury, Address: "place"}, {Place: holdings.GasStation, Address: "place"}}, errors.New("down")
	held := func(broken ...int) (list []holdings.Account) {
		list = append(list, places...)
		for n := range 200 {
			list = append(list, holdings.Account{Place: holdings.Deposits, Address: fmt.Sprint("d", n)})
		}
		for _, n := range broken {
			list[len(places)+n].Address = "broken"
		}
		return list
	}
	for name, c := range map[string]struct {
		node   slow
		of     []holdings.Account
		read   int // deposit addresses
		faults int
		calls  int // at most
		want   error
	}{
		"a fast node":                        {node: slow{most: 10}, of: held(), read: 200, calls: 21},
		"a slow node":                        {node: slow{most: 4}, of: held(), read: 200, calls: 100},
		"a node with time for one":           {node: slow{most: 1}, of: held(), read: 200, calls: 405},
		"two accounts that move each time":   {node: slow{most: 10}, of: held(3, 77), read: 198, faults: 2, calls: 50},
		"a node without time for an account": {node: slow{most: 0}, of: held(), faults: 3, calls: 10},
		"a node that does not read places":   {node: slow{most: 10, down: down}, of: held(), calls: 1, want: down},
		"no places":                          {node: slow{most: 10}, of: held()[len(places):], read: 200, calls: 20},
	} {
		got, err := holdings.OfTron(&c.node).Balances(t.Context(), c.of, 0)
		faults, treasury, read := 0, 0, map[string]bool{}
		for _, b := range got {
			switch {
			case b.Place != holdings.Deposits:
				treasury++
			case b.Fault != nil:
				faults++
			default:
				read[b.Address] = true
			}
		}
		if !errors.Is(err, c.want) || faults != c.faults || len(read) != c.read || c.node.calls > c.calls {
			t.Errorf("read 200 deposit addresses from %s: got %d read and %d faults in %d calls, %v, want %d and %d in at most %d, %v",
				name, len(read), faults, c.node.calls, err, c.read, c.faults, c.calls, c.want)
		}
		if err == nil && treasury != len(c.of)-200 {
			t.Errorf("read the places from %s: got %d, want %d", name, treasury, len(c.of)-200)
		}
	}
}

// Each reading that gives up says how many accounts it left.
func TestOfTron_left(t *testing.T) {
	t.Parallel()
	of := make([]holdings.Account, 30)
	for n := range of {
		of[n] = holdings.Account{Place: holdings.Deposits, Address: fmt.Sprint("d", n)}
	}
	got, err := holdings.OfTron(&slow{}).Balances(t.Context(), of, 0)
	if err != nil || len(got) != 3 || !strings.Contains(got[2].Fault.Error(), "27 others") {
		t.Errorf("read 30 accounts from a node that has time for none: got %+v, %v, want three faults, the last with 27 others", got, err)
	}
}
