//go:build integration

package main

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/unseen"
	"causeway.internal/services/wallets/internal/wallet"
)

// blindChain is a real EVM chain that is scanned without traces.
type blindChain struct {
	*liveChain
	looker   *unseen.Looker
	comparer *unseen.Comparer
	cases    *app.App
	outcomes []unseen.State
}

func newBlindChain(t *testing.T) *blindChain {
	s := subjects[0]
	b := &blindChain{liveChain: newLiveChain(t, s, s.start(t))}
	driver := b.driver.(unseen.Chain)
	b.looker = unseen.NewLooker(b.book, map[string]unseen.Chain{s.network: driver}, b.log, func(_ string, s unseen.State) { b.outcomes = append(b.outcomes, s) })
	b.comparer = unseen.NewComparer(s.network, time.Millisecond, big.NewInt(5), b.book, driver, b.log)
	b.cases = app.New(b.book, b.book, app.Settings{Nets: chainNets, Depths: wallet.DefaultDepths(), Log: b.log, Hints: b.book})
	for _, to := range append(b.addresses[:3:3], b.foreign[0]) { // a first balance costs more than a node gives a batch
		b.transfer(map[string]any{"to": to, "amount": "1000000", "token": false, "mine": 1})
	}
	return b
}

// byContract makes a contract pay several addresses in one transaction and mines it.
func (b *blindChain) byContract(payments ...string) string {
	b.t.Helper()
	var list []map[string]string
	for i := 0; i < len(payments); i += 2 {
		list = append(list, map[string]string{"to": payments[i], "amount": payments[i+1]})
	}
	return b.transfer(map[string]any{"token": false, "mine": 1, "payments": list})
}

// name handles the message that payments sends when a payer names a transaction.
func (b *blindChain) name(address, tx string) error {
	b.t.Helper()
	return b.cases.LookAtTransaction(b.t.Context(), app.LookAt{Mode: tenant.Live, Network: "ethereum", Address: address, Asset: "ETH", TxHash: tx}, false)
}

// look waits until a hint has reached a state.
func (b *blindChain) look(address, tx, state, reason string) {
	b.t.Helper()
	var got, why string
	await(b.t, "the look at "+tx+" to be "+state, func() bool {
		if _, err := b.pool.Exec(b.t.Context(), `UPDATE hints SET due_at = now() - interval '1 second' WHERE state IN ('waiting', 'credited')`); err != nil {
			b.t.Fatal(err)
		}
		if err := b.looker.Round(b.t.Context()); err != nil {
			b.t.Log(err)
		}
		err := b.pool.QueryRow(b.t.Context(), `SELECT state, reason FROM hints WHERE address = $1 AND tx_hash = $2`, address, strings.ToLower(tx)).Scan(&got, &why)
		return err == nil && got == state && strings.Contains(why, reason)
	})
}

// sum is the credited amount of the coin at an address.
func (b *blindChain) sum(address string) string {
	b.t.Helper()
	var text string
	err := b.pool.QueryRow(b.t.Context(), `SELECT coalesce(sum(amount), 0)::text FROM deposits WHERE address = $1 AND state <> 'reverted'`, address).Scan(&text)
	if err != nil {
		b.t.Fatal(err)
	}
	return text
}

// The scan without traces does not see coin that a contract sent. The transaction that the payer names becomes a
// deposit like any other, once for every address that it paid.
func TestUnseen_namedTransaction(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	first, second := b.addresses[0], b.addresses[1]
	tx := b.byContract(first, "1100", b.foreign[0], "1200", second, "1300")
	b.mine(1)
	b.caughtUp()
	if list := b.of(tx); len(list) != 0 {
		t.Fatalf("seen without traces: %+v", list)
	}
	for range 2 { // a repetition changes nothing
		if err := b.name(first, strings.ToUpper(tx[2:3])+tx[3:]); err == nil {
			t.Error("half a hash is taken")
		}
		if err := b.name(strings.ToLower(first), "0x"+strings.ToUpper(tx[2:])); err != nil {
			t.Fatal(err)
		}
	}
	b.look(first, tx, "credited", "")
	d := b.found(tx)
	if d.Address != first || d.Amount != "1100" || d.Asset != "ETH" || d.State != wire.Seen || d.Depth != 2 || len(d.Senders) != 2 {
		t.Errorf("credited %+v", d)
	}
	if err := b.name(second, tx); err != nil {
		t.Fatal(err)
	}
	b.look(second, tx, "credited", "")
	b.mine(12)
	await(t, "both to be confirmed", func() bool {
		b.collect()
		confirmed := 0
		for _, d := range b.of(tx) {
			if isConfirmed(d) {
				confirmed++
			}
		}
		return confirmed == 2
	})
	b.witnessed(tx)
	b.mine(64)
	b.look(first, tx, "final", "")
	// An operator rewinds the scan below a block that was final: the hint waits for its block again.
	if _, err := b.pool.Exec(t.Context(), `UPDATE deposits SET state = 'reverted', finalized = false WHERE address = $1 AND tx_hash = $2`, first, tx); err != nil {
		t.Fatal(err)
	}
	b.look(first, tx, "credited", "")
	if b.sum(first) != "1001100" || b.sum(second) != "1001300" {
		t.Errorf("credited %s and %s", b.sum(first), b.sum(second))
	}
}

// witnessed asks two hosts about the deposits of a transaction until both have them.
func (b *blindChain) witnessed(tx string) {
	b.t.Helper()
	ctx, stop := context.WithCancel(b.t.Context())
	done := make(chan error, 1)
	hearing := scanner.Hearing{
		Chain: b.cfg.Chain, Hosts: []scanner.Host{{Name: "one", Driver: b.driver}, {Name: "two", Driver: b.driver}}, Store: b.book, Log: b.log, Metrics: b.metrics,
	}
	go func() { done <- hearing.Run(ctx) }()
	await(b.t, "two hosts to have "+tx, func() bool {
		var confirmed int
		err := b.pool.QueryRow(b.t.Context(), `SELECT count(*) FROM deposits WHERE tx_hash = $1 AND witness = 'confirmed'`, tx).Scan(&confirmed)
		return err == nil && confirmed == 2
	})
	stop()
	<-done //nolint:errcheck // it ends because it is stopped
}

// A hostile payer gains nothing by naming: the same transaction again, a plain transfer that the scan saw, another
// payer's transaction, a failed or unknown one, an address that was not issued, and any number of transactions.
func TestUnseen_abuse(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	mine, others := b.addresses[0], b.addresses[1]
	plain := b.transfer(map[string]any{"to": mine, "amount": "700", "token": false, "mine": 1})
	theirs := b.byContract(others, "900", b.foreign[0], "1")
	token := b.transfer(map[string]any{"to": mine, "amount": "500", "token": "USDT", "mine": 1})
	failed := b.transfer(map[string]any{"token": "USDT", "mine": 1, "payments": []map[string]string{ // too much
		{"to": mine, "amount": "1" + strings.Repeat("0", 60)}, {"to": b.foreign[0], "amount": "1"},
	}})
	nowhere := "0x" + strings.Repeat("ab", 32)
	b.mine(80)
	b.caughtUp()
	before := b.sum(mine)
	for tx, reason := range map[string]string{
		plain: "plain transfer", theirs: "nothing that is not on record", token: "nothing that is not on record", failed: "failed",
	} {
		if err := b.name(mine, tx); err != nil {
			t.Fatal(err)
		}
		b.look(mine, tx, "nothing", reason)
	}
	if err := b.name(mine, nowhere); err != nil {
		t.Fatal(err)
	}
	b.look(mine, nowhere, "waiting", "no block has this transaction")
	if _, err := b.pool.Exec(t.Context(), `UPDATE hints SET since = now() - interval '25 hours' WHERE state = 'waiting'`); err != nil {
		t.Fatal(err)
	}
	b.look(mine, nowhere, "nothing", "no block has this transaction")
	if after := b.sum(mine); after != before {
		t.Errorf("%s became %s", before, after)
	}
	for _, l := range []app.LookAt{
		{Mode: tenant.Live, Network: "ethereum", Address: b.foreign[0], Asset: "ETH", TxHash: plain},
		{Mode: tenant.Test, Network: "ethereum", Address: mine, Asset: "ETH", TxHash: plain},
		{Mode: tenant.Live, Network: "ethereum", Address: mine, Asset: "USDT", TxHash: plain},
		{Mode: tenant.Live, Network: "tron", Address: mine, Asset: "TRX", TxHash: plain},
		{Mode: tenant.Live, Network: "ethereum", Address: "nobody", Asset: "ETH", TxHash: plain},
	} {
		if err := b.cases.LookAtTransaction(t.Context(), l, false); !fault.IsPermanent(err) {
			t.Errorf("look at %+v: got %v, want a permanent error", l, err)
		}
	}
	for i := range 30 {
		if err := b.name(mine, fmt.Sprintf("0x%064x", i)); err != nil {
			t.Fatal(err)
		}
	}
	var kept int
	if err := b.pool.QueryRow(t.Context(), `SELECT count(*) FROM hints WHERE address = $1`, mine).Scan(&kept); err != nil || kept != 20 {
		t.Errorf("%d hints of one address are kept, %v", kept, err)
	}
}

// Two contracts pay the same address in one block: the amounts cannot be attributed, so an operator decides.
func TestUnseen_unclear(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	to := b.addresses[0]
	var txs []string
	for range 2 {
		txs = append(txs, b.transfer(map[string]any{"token": false, "payments": []map[string]string{
			{"to": to, "amount": "60"}, {"to": b.foreign[0], "amount": "1"},
		}}))
	}
	b.mine(80)
	b.caughtUp()
	for _, tx := range txs {
		if err := b.name(to, tx); err != nil {
			t.Fatal(err)
		}
		b.look(to, tx, "unclear", "another transaction of the block names the address too")
	}
	list, err := b.book.UnclearHints(t.Context())
	if err != nil || len(list) != 2 || list[0].Units != "120" || b.sum(to) != "1000000" {
		t.Errorf("%+v, %v; credited %s", list, err, b.sum(to))
	}
}

// A named transaction whose block leaves the chain is reverted, found again in its new block, and is one deposit all
// the time, also when traces are turned on later.
func TestUnseen_reorganised(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	to := b.addresses[0]
	tx := b.byContract(to, "1100", b.foreign[0], "1200")
	b.mine(2)
	b.caughtUp()
	if err := b.name(to, tx); err != nil {
		t.Fatal(err)
	}
	b.look(to, tx, "credited", "")
	b.found(tx)
	b.do("/reorg", map[string]any{"depth": 3, "blocks": 5})
	b.one(tx, "reverted", isReverted)
	b.look(to, tx, "waiting", "")
	b.do("/include", map[string]any{"txHash": tx, "ahead": 2})
	b.mine(1)
	b.look(to, tx, "credited", "")
	b.mine(12)
	b.one(tx, "confirmed", isConfirmed)
	b.stop()
	b.settings.Trace = "debug"
	b.driver, _ = b.settings.open(b.log, b.endpoints, b.book)
	b.start()
	b.do("/fork", map[string]any{"depth": 14, "keep": true})
	b.one(tx, "reverted", isReverted)
	b.mine(20)
	if d := b.one(tx, "confirmed", isConfirmed); d.Amount != "1100" || b.sum(to) != "1001100" {
		t.Errorf("told %+v, credited %s", d, b.sum(to))
	}
}

// The comparison lists coin that contracts sent until it is explained, and missing coin.
func TestUnseen_comparison(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	tx := b.byContract(b.addresses[1], "900", b.addresses[2], "4") // 4 is too little for the list
	b.mine(70)
	b.caughtUp()
	if list := b.compared(func(list []store.Unexplained) bool { return len(list) > 0 }); len(list) != 1 || list[0].Address != b.addresses[1] ||
		list[0].Balance != "1000900" || list[0].Expected != "1000000" {
		t.Fatalf("listed %+v", list)
	}
	if err := b.name(b.addresses[1], tx); err != nil {
		t.Fatal(err)
	}
	b.look(b.addresses[1], tx, "credited", "")
	b.compared(func(list []store.Unexplained) bool { return len(list) == 0 })
	// A sum of the books that the chain does not have is listed to the last unit.
	if _, err := b.pool.Exec(t.Context(), `UPDATE deposits SET amount = amount + 1 WHERE address = $1`, b.addresses[0]); err != nil {
		t.Fatal(err)
	}
	if list := b.compared(func(list []store.Unexplained) bool { return len(list) > 0 }); list[0].Balance != "1000000" || list[0].Expected != "1000001" {
		t.Errorf("listed %+v", list)
	}
	counts, err := b.book.UnexplainedCounts(t.Context())
	if err != nil || counts[[2]string{"ethereum", "less"}] != 1 || len(counts) != 1 {
		t.Errorf("counted %v, %v", counts, err)
	}
}

// compared makes passes over all addresses until the list has the wanted rows.
func (b *blindChain) compared(holds func([]store.Unexplained) bool) (list []store.Unexplained) {
	b.t.Helper()
	await(b.t, "the list of unexplained balances", func() bool {
		_, err := b.pool.Exec(b.t.Context(), `UPDATE unexplained_balances SET compared_at = compared_at - interval '2 minutes'`)
		if err == nil {
			_, err = b.comparer.Step(b.t.Context())
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			b.t.Fatal(err)
		}
		if list, err = b.book.UnexplainedBalances(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
		return holds(list)
	})
	return list
}
