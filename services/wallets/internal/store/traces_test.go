//go:build integration

package store_test

import (
	"math/big"
	"strings"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
)

// A deposit continues the trace of its address's payment, for as long as it is published.
func TestNoteTraces(t *testing.T) {
	t.Parallel()
	telemetry.Discard("wallets") // sets the propagator
	s, pool := open(t)
	ctx := t.Context()
	key := fund(t, s, pool)
	var ours string
	if err := pool.QueryRow(ctx, `SELECT address FROM addresses`).Scan(&ours); err != nil {
		t.Fatal(err)
	}
	const id = "0af7651916cd43dd8448eb211c80319c"
	used := []wire.UsedAddress{
		{Mode: tenant.Test, Family: money.EVM, Address: ours, Trace: "00-" + id + "-b7ad6b7169203331-01"},
		{Mode: tenant.Test, Family: money.EVM, Address: "0xforeign", Trace: "00-" + id + "-b7ad6b7169203332-01"},
	}
	for range 2 { // the broker may repeat a message
		if err := s.NoteTraces(ctx, used); err != nil {
			t.Fatal(err)
		}
	}
	var n int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM address_traces`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d traces, %v", n, err)
	}
	at := begin(t, s)
	pay := []chain.Transfer{{TxHash: "0xaa", Ordinal: 1, To: key, Asset: "USDT", Contract: "0xusdt", Amount: big.NewInt(5), Senders: []string{"0xpayer"}}}
	one, two := header(1, "h1", "h0"), header(2, "h2", "h1")
	if err := s.Advance(ctx, lease, at, scanner.Step{Headers: []chain.Header{one}, Transfers: pay}); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(ctx, lease, scanner.Cursor{Header: one}, scanner.Step{Headers: []chain.Header{two}, Finalized: 2}); err != nil {
		t.Fatal(err)
	}
	rows, err := pool.Query(ctx, `SELECT headers FROM outbox WHERE name = $1`, string(wire.DepositChangedV1))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for n = 0; rows.Next(); n++ {
		var headers string
		if err := rows.Scan(&headers); err != nil || !strings.Contains(headers, id) {
			t.Errorf("headers %s, %v", headers, err)
		}
	}
	if n != 2 {
		t.Errorf("%d messages", n)
	}
	if err := s.RotateTraces(ctx); err != nil {
		t.Error(err)
	}
}
