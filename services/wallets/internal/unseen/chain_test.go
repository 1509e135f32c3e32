//go:build integration

package unseen_test

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
	"causeway.internal/services/wallets/internal/fixture"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/unseen"
	"causeway.internal/services/wallets/internal/wallet"
)

// blindChain is a real EVM chain that is scanned without traces.
type blindChain struct {
	*fixture.Chain
	looker   *unseen.Looker
	comparer *unseen.Comparer
	cases    *app.App
	outcomes []unseen.State
}

func newBlindChain(t *testing.T) *blindChain {
	s := fixture.SubjectOf(t, "evm")
	b := &blindChain{Chain: fixture.NewChain(t, s, s.Start(t))}
	driver := b.Driver.(unseen.Chain)
	b.looker = unseen.NewLooker(b.Book, map[string]unseen.Chain{s.Network: driver}, b.Log, func(_ string, s unseen.State) { b.outcomes = append(b.outcomes, s) })
	b.comparer = unseen.NewComparer(s.Network, time.Millisecond, big.NewInt(5), b.Book, driver, b.Log)
	b.cases = app.New(b.Book, b.Book, app.Settings{Nets: fixture.Nets(), Depths: wallet.DefaultDepths(), Log: b.Log, Hints: b.Book})
	for _, to := range append(b.Addresses[:3:3], b.Foreign[0]) { // a first balance costs more than a node gives a batch
		b.Transfer(map[string]any{"to": to, "amount": "1000000", "token": false, "mine": 1})
	}
	return b
}

// byContract makes a contract pay several addresses in one transaction and mines it.
func (b *blindChain) byContract(payments ...string) string {
	b.T.Helper()
	var list []map[string]string
	for i := 0; i < len(payments); i += 2 {
		list = append(list, map[string]string{"to": payments[i], "amount": payments[i+1]})
	}
	return b.Transfer(map[string]any{"token": false, "mine": 1, "payments": list})
}

// name handles the message that payments sends when a payer names a transaction.
func (b *blindChain) name(address, tx string) error {
	b.T.Helper()
	return b.cases.LookAtTransaction(b.T.Context(), app.LookAt{Mode: tenant.Live, Network: "ethereum", Address: address, Asset: "ETH", TxHash: tx}, false)
}

// look waits until a hint has reached a state.
func (b *blindChain) look(address, tx, state, reason string) {
	b.T.Helper()
	var got, why string
	fixture.Await(b.T, "the look at "+tx+" to be "+state, func() bool {
		if _, err := b.Pool.Exec(b.T.Context(), `UPDATE hints SET due_at = now() - interval '1 second' WHERE state IN ('waiting', 'credited')`); err != nil {
			b.T.Fatal(err)
		}
		if err := b.looker.Round(b.T.Context()); err != nil {
			b.T.Log(err)
		}
		err := b.Pool.QueryRow(b.T.Context(), `SELECT state, reason FROM hints WHERE address = $1 AND tx_hash = $2`, address, strings.ToLower(tx)).Scan(&got, &why)
		return err == nil && got == state && strings.Contains(why, reason)
	})
}

// sum is the credited amount of the coin at an address.
func (b *blindChain) sum(address string) string {
	b.T.Helper()
	var text string
	err := b.Pool.QueryRow(b.T.Context(), `SELECT coalesce(sum(amount), 0)::text FROM deposits WHERE address = $1 AND state <> 'reverted'`, address).Scan(&text)
	if err != nil {
		b.T.Fatal(err)
	}
	return text
}

// The scan without traces does not see coin that a contract sent. The transaction that the payer names becomes a
// deposit like any other, once for every address that it paid.
func TestUnseen_namedTransaction(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	first, second := b.Addresses[0], b.Addresses[1]
	tx := b.byContract(first, "1100", b.Foreign[0], "1200", second, "1300")
	b.Mine(1)
	b.CaughtUp()
	if list := b.Of(tx); len(list) != 0 {
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
	d := b.Found(tx)
	if d.Address != first || d.Amount != "1100" || d.Asset != "ETH" || d.State != wire.Seen || d.Depth != 2 || len(d.Senders) != 2 {
		t.Errorf("credited %+v", d)
	}
	if err := b.name(second, tx); err != nil {
		t.Fatal(err)
	}
	b.look(second, tx, "credited", "")
	b.Mine(12)
	fixture.Await(t, "both to be confirmed", func() bool {
		b.Collect()
		confirmed := 0
		for _, d := range b.Of(tx) {
			if fixture.IsConfirmed(d) {
				confirmed++
			}
		}
		return confirmed == 2
	})
	b.witnessed(tx)
	b.Mine(64)
	b.look(first, tx, "final", "")
	// An operator rewinds the scan below a block that was final: the hint waits for its block again.
	if _, err := b.Pool.Exec(t.Context(), `UPDATE deposits SET state = 'reverted', finalized = false WHERE address = $1 AND tx_hash = $2`, first, tx); err != nil {
		t.Fatal(err)
	}
	b.look(first, tx, "credited", "")
	if b.sum(first) != "1001100" || b.sum(second) != "1001300" {
		t.Errorf("credited %s and %s", b.sum(first), b.sum(second))
	}
}

// witnessed asks two hosts about the deposits of a transaction until both have them.
func (b *blindChain) witnessed(tx string) {
	b.T.Helper()
	ctx, stop := context.WithCancel(b.T.Context())
	done := make(chan error, 1)
	hearing := scanner.Hearing{
		Chain: b.Config.Chain, Hosts: []scanner.Host{{Name: "one", Driver: b.Driver}, {Name: "two", Driver: b.Driver}}, Store: b.Book, Log: b.Log, Metrics: b.Metrics,
	}
	go func() { done <- hearing.Run(ctx) }()
	fixture.Await(b.T, "two hosts to have "+tx, func() bool {
		var confirmed int
		err := b.Pool.QueryRow(b.T.Context(), `SELECT count(*) FROM deposits WHERE tx_hash = $1 AND witness = 'confirmed'`, tx).Scan(&confirmed)
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
	mine, others := b.Addresses[0], b.Addresses[1]
	plain := b.Transfer(map[string]any{"to": mine, "amount": "700", "token": false, "mine": 1})
	theirs := b.byContract(others, "900", b.Foreign[0], "1")
	token := b.Transfer(map[string]any{"to": mine, "amount": "500", "token": "USDT", "mine": 1})
	failed := b.Transfer(map[string]any{"token": "USDT", "mine": 1, "payments": []map[string]string{ // too much
		{"to": mine, "amount": "1" + strings.Repeat("0", 60)}, {"to": b.Foreign[0], "amount": "1"},
	}})
	nowhere := "0x" + strings.Repeat("ab", 32)
	b.Mine(80)
	b.CaughtUp()
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
	if _, err := b.Pool.Exec(t.Context(), `UPDATE hints SET since = now() - interval '25 hours' WHERE state = 'waiting'`); err != nil {
		t.Fatal(err)
	}
	b.look(mine, nowhere, "nothing", "no block has this transaction")
	if after := b.sum(mine); after != before {
		t.Errorf("%s became %s", before, after)
	}
	for _, l := range []app.LookAt{
		{Mode: tenant.Live, Network: "ethereum", Address: b.Foreign[0], Asset: "ETH", TxHash: plain},
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
	if err := b.Pool.QueryRow(t.Context(), `SELECT count(*) FROM hints WHERE address = $1`, mine).Scan(&kept); err != nil || kept != 20 {
		t.Errorf("%d hints of one address are kept, %v", kept, err)
	}
}

// Two contracts pay the same address in one block: the amounts cannot be attributed, so an operator decides.
func TestUnseen_unclear(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	to := b.Addresses[0]
	var txs []string
	for range 2 {
		txs = append(txs, b.Transfer(map[string]any{"token": false, "payments": []map[string]string{
			{"to": to, "amount": "60"}, {"to": b.Foreign[0], "amount": "1"},
		}}))
	}
	b.Mine(80)
	b.CaughtUp()
	for _, tx := range txs {
		if err := b.name(to, tx); err != nil {
			t.Fatal(err)
		}
		b.look(to, tx, "unclear", "another transaction of the block names the address too")
	}
	list, err := b.Book.UnclearHints(t.Context())
	if err != nil || len(list) != 2 || list[0].Units != "120" || b.sum(to) != "1000000" {
		t.Errorf("%+v, %v; credited %s", list, err, b.sum(to))
	}
}

// A named transaction whose block leaves the chain is reverted, found again in its new block, and is one deposit all
// the time, also when traces are turned on later.
func TestUnseen_reorganised(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	to := b.Addresses[0]
	tx := b.byContract(to, "1100", b.Foreign[0], "1200")
	b.Mine(2)
	b.CaughtUp()
	if err := b.name(to, tx); err != nil {
		t.Fatal(err)
	}
	b.look(to, tx, "credited", "")
	b.Found(tx)
	b.Do("/reorg", map[string]any{"depth": 3, "blocks": 5})
	b.One(tx, "reverted", fixture.IsReverted)
	b.look(to, tx, "waiting", "")
	b.Do("/include", map[string]any{"txHash": tx, "ahead": 2})
	b.Mine(1)
	b.look(to, tx, "credited", "")
	b.Mine(12)
	b.One(tx, "confirmed", fixture.IsConfirmed)
	b.Stop()
	b.Settings.Trace = "debug"
	b.Driver, _ = b.Settings.Open(b.Log, b.Endpoints, b.Book)
	b.Start()
	b.Do("/fork", map[string]any{"depth": 14, "keep": true})
	b.One(tx, "reverted", fixture.IsReverted)
	b.Mine(20)
	if d := b.One(tx, "confirmed", fixture.IsConfirmed); d.Amount != "1100" || b.sum(to) != "1001100" {
		t.Errorf("deposit: got %+v, credited %s, want 1100 and 1001100", d, b.sum(to))
	}
}

// The comparison lists coin that contracts sent until it is explained, and missing coin.
func TestUnseen_comparison(t *testing.T) {
	t.Parallel()
	b := newBlindChain(t)
	tx := b.byContract(b.Addresses[1], "900", b.Addresses[2], "4") // 4 is too little for the list
	b.Mine(70)
	b.CaughtUp()
	if list := b.compared(func(list []store.Unexplained) bool { return len(list) > 0 }); len(list) != 1 || list[0].Address != b.Addresses[1] ||
		list[0].Balance != "1000900" || list[0].Expected != "1000000" {
		t.Fatalf("listed %+v", list)
	}
	if err := b.name(b.Addresses[1], tx); err != nil {
		t.Fatal(err)
	}
	b.look(b.Addresses[1], tx, "credited", "")
	b.compared(func(list []store.Unexplained) bool { return len(list) == 0 })
	// A sum of the books that the chain does not have is listed to the last unit.
	if _, err := b.Pool.Exec(t.Context(), `UPDATE deposits SET amount = amount + 1 WHERE address = $1`, b.Addresses[0]); err != nil {
		t.Fatal(err)
	}
	if list := b.compared(func(list []store.Unexplained) bool { return len(list) > 0 }); list[0].Balance != "1000000" || list[0].Expected != "1000001" {
		t.Errorf("listed %+v", list)
	}
	counts, err := b.Book.UnexplainedCounts(t.Context())
	if err != nil || counts[[2]string{"ethereum", "less"}] != 1 || len(counts) != 1 {
		t.Errorf("counted %v, %v", counts, err)
	}
}

// compared makes passes over all addresses until the list has the wanted rows.
func (b *blindChain) compared(holds func([]store.Unexplained) bool) (list []store.Unexplained) {
	b.T.Helper()
	fixture.Await(b.T, "the list of unexplained balances", func() bool {
		_, err := b.Pool.Exec(b.T.Context(), `UPDATE unexplained_balances SET compared_at = compared_at - interval '2 minutes'`)
		if err == nil {
			_, err = b.comparer.Step(b.T.Context())
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			b.T.Fatal(err)
		}
		if list, err = b.Book.UnexplainedBalances(b.T.Context()); err != nil {
			b.T.Fatal(err)
		}
		return holds(list)
	})
	return list
}
