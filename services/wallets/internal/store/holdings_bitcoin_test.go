//go:build integration

package store_test

import (
	"context"
	"maps"
	"math/big"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/services/wallets/internal/holdings"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweep"
)

// outputs are the blocks of a chain of outputs, by height.
type outputs []sweep.Moves

// Moves implements holdings.Bitcoin.
func (o outputs) Moves(_ context.Context, height int64, of []string) (sweep.Moves, bool, error) {
	if height >= int64(len(o)) {
		return sweep.Moves{}, false, nil
	}
	m := o[height]
	m.Paid = slices.DeleteFunc(slices.Clone(m.Paid), func(p sweep.Payment) bool { return !slices.Contains(of, p.To) })
	return m, true, nil
}

func payment(tx, to string, amount int64) sweep.Payment {
	return sweep.Payment{Point: sweep.Point{TxHash: tx}, To: to, Amount: big.NewInt(amount)}
}

// deposited writes a deposit.
func deposited(t *testing.T, pool *pgxpool.Pool, tx, to string, amount, height int64) {
	t.Helper()
	if _, err := pool.Exec(t.Context(), `INSERT INTO deposits (mode, network, tx_hash, ordinal, version, family, address, wallet_id, asset, contract,
amount, senders, state, height, block_hash, block_time, depth, head, finalized, due_height, first_seen_at)
VALUES ('live', 'ethereum', $1, 0, 1, 'evm', $2, '', 'ETH', '', $3, '{}', 'confirmed', $4, '', now(), 1, 1, true, 0, now())`,
		tx, to, amount, height); err != nil {
		t.Fatalf("write deposit %s: %v", tx, err)
	}
}

// TestOutputs adds outputs up at any final block: what is made and spent, by anybody, what is found late, and what
// leaves the chain.
func TestOutputs(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	follows(t, base, pool)
	if _, err := pool.Exec(ctx, `UPDATE cursors SET finalized = 9`); err != nil {
		t.Fatal(err)
	}
	chain := outputs{
		{},
		{Paid: []sweep.Payment{payment("a", "treasury", 100)}},
		{Paid: []sweep.Payment{payment("b", "station", 50), payment("c", "one", 30), payment("z", "stranger", 99)}},
		{Paid: []sweep.Payment{payment("e", "treasury", 28), payment("f", "treasury", 5)}, Spent: []sweep.Point{{TxHash: "c"}, {TxHash: "f"}}},
		{Paid: []sweep.Payment{payment("g", "two", 7)}},
		{Paid: []sweep.Payment{payment("h", "station", 20)}, Spent: []sweep.Point{{TxHash: "b"}}},
		{Spent: []sweep.Point{{TxHash: "a"}}},
	}
	deposited(t, pool, "c", "one", 31, 2) // the books are wrong by one
	accounts := []holdings.Account{
		{Place: holdings.Treasury, Address: "treasury"},
		{Place: holdings.RefundStation, Address: "station"},
		{Place: holdings.Deposits, Address: "one"},
		{Place: holdings.Deposits, Address: "two"},
	}
	reads := func(when string, height int64, treasury, station, one, two int64) {
		t.Helper()
		balances, err := holdings.OfBitcoin("ethereum", chain, s, 1).Balances(ctx, accounts, height)
		if err != nil {
			t.Fatalf("read block %d %s: got %v, want no error", height, when, err)
		}
		got := map[string]int64{}
		for _, b := range balances {
			got[b.Address] = b.Amount.Int64()
		}
		if want := map[string]int64{"treasury": treasury, "station": station, "one": one, "two": two}; !maps.Equal(got, want) {
			t.Errorf("read block %d %s: got %v, want %v", height, when, got, want)
		}
	}
	reads("first", 2, 100, 50, 30, 0)
	reads("after a sweep", 4, 128, 50, 0, 0)
	reads("after a refund and a theft", 6, 28, 20, 0, 0)
	reads("after a later one", 4, 128, 50, 0, 0)
	deposited(t, pool, "g", "two", 7, 4)
	reads("with a deposit that was found late", 6, 28, 20, 0, 7)
	deposited(t, pool, "x", "two", 9, 5)
	reads("with a deposit that its block does not have", 6, 28, 20, 0, 7)

	if _, err := holdings.OfBitcoin("ethereum", chain, s, 1).Balances(ctx, accounts, 7); err == nil {
		t.Error("read a block that no endpoint has: got no error, want one")
	}
	for _, cut := range []string{"cut moves", "cut spends", "cut follows"} {
		if _, err := pool.Exec(ctx, store.Statements()[cut], "ethereum", 4); err != nil {
			t.Fatalf("take the blocks above 4 back (%s): %v", cut, err)
		}
	}
	chain[5], chain[6] = sweep.Moves{}, sweep.Moves{Paid: []sweep.Payment{payment("i", "treasury", 1)}}
	reads("of another branch", 6, 129, 50, 0, 7)
	accounts[0].Address = "vault"
	balances, err := holdings.OfBitcoin("ethereum", chain, s, 1).Balances(ctx, accounts[:1], 6)
	if err != nil || balances[0].Amount.Sign() != 0 {
		t.Errorf("read another treasury: got %v, %v, want nothing there", balances, err)
	}
	if _, err := pool.Exec(ctx, `UPDATE cursors SET finalized = 6`); err != nil {
		t.Fatal(err)
	}
	chain = append(chain, sweep.Moves{})
	if _, err := holdings.OfBitcoin("ethereum", chain, s, 1).Balances(ctx, accounts, 7); err == nil {
		t.Error("read a block that is not final: got no error, want one")
	}
}
