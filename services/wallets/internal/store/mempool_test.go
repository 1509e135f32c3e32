//go:build integration

package store_test

import (
	"errors"
	"math/big"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/wallet"
)

// mempoolTip is the block to which the chain of these tests is scanned.
const mempoolTip = 100

// waiting is a store that has scanned live bitcoin, and a look that finds one transaction to an issued address.
func waiting(t *testing.T, tx string) (*store.Store, *pgxpool.Pool, scanner.Lease, scanner.Look) {
	t.Helper()
	s, pool := open(t)
	extended, err := derivation.ParseExtended("zpub6rFR7y4Q2AijBEqTUquhVz398htDFrtymD9xYYfG1m4wAcvPhXNfE3EfH1r1ADqtfSdVCToUG868RvUUkgDKf31mGDtKsAYz2oz2AGutZYs")
	if err != nil {
		t.Fatal(err)
	}
	account, err := derivation.NewAccount(money.Bitcoin, address.Mainnet, extended)
	if err != nil {
		t.Fatal(err)
	}
	r := wallet.Request{ID: "r", Mode: tenant.Live, Family: money.Bitcoin, Count: 1}
	if err := s.Allocate(t.Context(), "", r, account); err != nil {
		t.Fatal(err)
	}
	made, err := account.Derive(0, 1)
	if err != nil {
		t.Fatal(err)
	}
	lease := scanner.Lease{Chain: scanner.Chain{Mode: tenant.Live, Network: "bitcoin"}, Epoch: 1}
	if err := s.Begin(t.Context(), lease, scanner.Cursor{Header: header(mempoolTip, "tip", "before")}); err != nil {
		t.Fatal(err)
	}
	return s, pool, lease, scanner.Look{Found: []scanner.Waiting{{
		TxHash: tx, Inputs: []string{"b:0"},
		Transfers: []chain.Transfer{{TxHash: tx, To: made[0].Key, Asset: "BTC", Amount: big.NewInt(5)}},
	}}}
}

// A look under an older lease writes nothing. Statements that do not know mempools see no block in a waiting deposit:
// the binaries of the previous release never take it for money.
func TestMempool(t *testing.T) {
	t.Parallel()
	const tx = "aa"
	s, pool, lease, look := waiting(t, tx)
	if err := s.Mempool(t.Context(), scanner.Lease{Chain: lease.Chain}, look, time.Hour); !errors.Is(err, scanner.ErrFenced) {
		t.Errorf("write a look at the mempool without the lease: got %v, want ErrFenced", err)
	}
	state := func() (state string, height int64) {
		_ = pool.QueryRow(t.Context(), `SELECT state, height FROM deposits WHERE tx_hash = $1`, tx).Scan(&state, &height)
		return state, height
	}
	told := func() []wire.DepositChanged { return drain[wire.DepositChanged](t, pool, wire.DepositChangedV1) }
	if s, _ := state(); s != "" {
		t.Errorf("store a look without the lease: got a deposit %s, want none", s)
	}
	for range 2 { // the second look changes nothing
		if err := s.Mempool(t.Context(), lease, look, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	if s, height := state(); s != "reverted" || height != 0 {
		t.Errorf("store an unmined deposit: got %s at %d, want reverted at 0", s, height)
	}
	if d := told(); len(d) != 1 || d[0].State != wire.Seen || d[0].BlockHeight != 0 || d[0].Version != 1 {
		t.Errorf("publish an unmined deposit: got %+v, want version 1, seen, in no block", d)
	}
	behind := scanner.Look{Height: mempoolTip + 1, Absent: []string{tx}, Replaced: []string{tx}}
	if err := s.Mempool(t.Context(), lease, behind, 0); err != nil {
		t.Fatal(err)
	}
	if d := told(); len(d) != 0 { // the block that is not scanned yet may hold it
		t.Errorf("miss a deposit in front of the scan: got %+v, want no message", d)
	}
	behind.Height--
	if err := s.Mempool(t.Context(), lease, behind, 0); err != nil {
		t.Fatal(err)
	}
	if d := told(); len(d) != 1 || d[0].State != wire.Reverted {
		t.Errorf("miss a deposit: got %+v, want it reverted", d)
	}
	if waits, err := s.Waits(t.Context(), lease.Chain); err != nil || len(waits) > 0 {
		t.Errorf("list what waits after the revert: got %v, %v, want nothing", waits, err)
	}
}

// A transaction that was missing and came back is no longer missing, although no other change is stored: its grace
// begins anew.
func TestMempool_cameBack(t *testing.T) {
	t.Parallel()
	const tx = "bb"
	s, pool, lease, found := waiting(t, tx)
	for _, look := range []scanner.Look{
		found,
		{Absent: []string{tx}},
		{}, // it is back, and nothing is missing
	} {
		if err := s.Mempool(t.Context(), lease, look, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
	var missing bool
	if err := pool.QueryRow(t.Context(), `SELECT absent_since IS NOT NULL FROM mempool WHERE tx_hash = $1`, tx).Scan(&missing); err != nil || missing {
		t.Errorf("missing %v, %v", missing, err)
	}
}
