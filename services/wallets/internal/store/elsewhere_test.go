//go:build integration

package store_test

import (
	"fmt"
	"strings"
	"testing"

	"causeway.internal/services/wallets/internal/store"
)

// An output that a block spends is listed while it seems to be unspent and no own transaction spends it, until an
// operator accepts it. A block that leaves the chain takes its spending back.
func TestSpentElsewhere(t *testing.T) {
	t.Parallel()
	base, pool := open(t)
	s, ctx := base.Refunds(), t.Context()
	for _, sql := range []string{
		`INSERT INTO station_outputs (network, station, tx_hash, ordinal, amount, height, block)
SELECT 'bitcoin', 'station', tx, 0, 50, 2, 'h2' FROM unnest(array['stolen', 'there', 'own']) tx`,
		`INSERT INTO sweeps (id, mode, network, family, account, idx, address, wallet_id, asset, contract, amount, treasury, state)
SELECT 'swp_' || state, 'live', 'bitcoin', 'bitcoin', 0, 0, 'at_' || state, '', 'BTC', '', 7, 'treasury', state FROM unnest(array['open', 'swept', 'released']) state`,
		`INSERT INTO deposits (mode, network, tx_hash, ordinal, version, family, address, wallet_id, asset, contract,
amount, senders, state, height, block_hash, block_time, depth, head, finalized, due_height, first_seen_at, sweep)
SELECT 'live', 'bitcoin', k.tx, 1, 1, 'bitcoin', k.tx, '', 'BTC', '', 7, '{}', 'confirmed', 3, '', now(), 1, 1, true, 0, now(), k.sweep
FROM (VALUES ('dust', NULL), ('waits', 'swp_open'), ('moved', 'swp_swept'), ('lost', 'swp_released')) AS k(tx, sweep)`,
		`INSERT INTO holding_outputs (network, tx_hash, ordinal, address, amount, height, spent)
SELECT 'bitcoin', k.tx, k.n, 'at', 7, 3, k.spent FROM (VALUES ('stolen', 0, 5), ('there', 0, NULL), ('own', 0, 5), ('dust', 1, 6), ('waits', 1, 7),
('moved', 1, 5), ('lost', 1, 5), ('treasury', 0, 5)) AS k(tx, n, spent)`,
		`INSERT INTO outgoing_tx (id, sweep, kind, mode, network, sender, nonce, state, version, attempt) VALUES ('out_1', 'swp_open', 'sweep', 'live', 'bitcoin', 'a', 0, 'broadcast', 1, 1)`,
		`INSERT INTO outgoing_inputs (outgoing, mode, network, sweep, tx_hash, ordinal, amount, idx, block, live)
SELECT 'out_1', 'live', 'bitcoin', 'swp_open', k.tx, k.n, 7, 0, 'h3', k.live FROM (VALUES ('own', 0, true), ('waits', 1, false)) AS k(tx, n, live)`,
	} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			t.Fatalf("prepare the outputs with %.60s: %v", sql, err)
		}
	}
	lists := func(when string, want ...string) {
		t.Helper()
		list, err := s.SpentElsewhere(ctx)
		got := make([]string, len(list))
		for i, o := range list {
			got[i] = fmt.Sprint(o.Place, " ", o.Output, " ", o.Units, " ", o.Height)
		}
		if err != nil || strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Errorf("list the outputs that were spent elsewhere %s: got %q, %v, want %q", when, got, err, want)
		}
	}
	lists("at first", "refund_station stolen:0 7 5", "deposits dust:1 7 6", "deposits waits:1 7 7")
	if err := s.AcceptOutput(ctx, "stolen:0", incident); err != nil {
		t.Fatalf("accept an output: got %v, want no error", err)
	}
	lists("after one was accepted", "deposits dust:1 7 6", "deposits waits:1 7 7")
	for _, no := range []string{"stolen:0", "there:0", "nothing:1"} {
		if err := s.AcceptOutput(ctx, no, incident); err == nil {
			t.Errorf("accept %s: got no error, want one", no)
		}
	}
	var rows int
	if err := pool.QueryRow(ctx, `SELECT count(*) FROM audit WHERE action = 'accept spent output' AND detail->>'output' = 'stolen:0' AND operator = $1`,
		incident.Operator).Scan(&rows); err != nil || rows != 1 {
		t.Errorf("count the rows of the audit: got %d, %v, want 1", rows, err)
	}
	if _, err := pool.Exec(ctx, store.Statements()["cut spends"], "bitcoin", 5); err != nil {
		t.Fatal(err)
	}
	lists("after block 6 has left the chain")
	if _, err := pool.Exec(ctx, store.Statements()["cut spends"], "bitcoin", 4); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(ctx, `UPDATE holding_outputs SET spent = 5 WHERE tx_hash = 'stolen'`); err != nil {
		t.Fatal(err)
	}
	lists("when another block spends it", "refund_station stolen:0 7 5")
}
