//go:build integration

package books_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
)

// accounts are the balances of the treasury's accounts, debits less credits.
func accounts(w *fixture.Payments) []string {
	return fixture.Ask[[]string](w, `SELECT array_agg(code || ' ' || total ORDER BY code) FROM (
		SELECT replace(account, 'test:', '') AS code, trim_scale(sum(CASE side WHEN 'debit' THEN amount ELSE -amount END)) AS total FROM ledger_entries
		WHERE account LIKE 'test:crypto:%' OR account LIKE 'test:gas:%' GROUP BY 1) AS a`)
}

func outgoing(tx string, kind wire.OutgoingKind, asset, amount, fee string) wire.OutgoingFinal {
	return wire.OutgoingFinal{Mode: tenant.Test, Network: "ethereum", TxHash: tx, Kind: kind, Asset: asset, Amount: amount, Fee: fee}
}

// A transaction of wallets is booked once, for any order and number of its messages, also under another message's id,
// and also before its deposit.
func TestTreasury_booksWhatWalletsMoves(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	told := []wire.OutgoingFinal{
		outgoing("0x1", wire.OutgoingFund, "USDT", "0", "2000000000000000"),                   // 0.002 ETH to pay for the next
		outgoing("0x2", wire.OutgoingSweep, "USDT", "25000000", "1000000000000000"),           // 25 USDT
		outgoing("0x3", wire.OutgoingSweep, "USDT", "0", "3000000000000000"),                  // moved nothing and was paid for
		outgoing("0x4", wire.OutgoingSweep, "ETH", "990000000000000000", "10000000000000000"), // a coin pays for itself
		outgoing("0x5", wire.OutgoingSweep, "ETH", "0", "10000000000000000"),                  // and for what moved nothing
		outgoing("0x6", wire.OutgoingFund, "USDT", "0", "0"),                                  // nothing to book
	}
	post := books.Outgoing(w.Store.Post)
	var deliveries []func() error
	for _, m := range told {
		for _, id := range []string{"live:" + m.TxHash, "live:" + m.TxHash, "restored:" + m.TxHash} {
			deliveries = append(deliveries, func() error { return post(t.Context(), []string{id}, []wire.OutgoingFinal{m}) })
		}
	}
	for _, from := range []string{"live:", "again:"} { // and as packs, whose messages also come alone
		order := rand.Perm(len(told))
		ids, pack := make([]string, len(told)), make([]wire.OutgoingFinal, len(told))
		for at, n := range order {
			ids[at], pack[at] = from+told[n].TxHash, told[n]
		}
		deliveries = append(deliveries, func() error { return post(t.Context(), ids, pack) })
	}
	for key, units := range map[string]string{"ethereum:0xa:0": "30000000", "ethereum:0xb:0": "1010000000000000000"} {
		m := w.Message(payment.Payment{Address: "0xnobody"}, fixture.Coin{Key: key, Amount: "1", Version: 1, Depth: fixture.Enough})
		m.Network, m.Family, m.Key, m.Amount, m.Finalized = "ethereum", "evm", key, units, true
		if m.Asset = "USDT"; strings.HasPrefix(units, "101") {
			m.Asset = "ETH"
		}
		deliveries = append(deliveries, func() error { return w.Deposits.DepositChanged(t.Context(), "deposit-"+key, m) })
	}
	rand.Shuffle(len(deliveries), func(i, j int) { deliveries[i], deliveries[j] = deliveries[j], deliveries[i] })
	var all sync.WaitGroup
	for _, d := range deliveries {
		all.Go(func() {
			if err := d(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	want := []string{
		"crypto:deposit:ethereum:ETH 0", "crypto:deposit:ethereum:USDT 5", "crypto:hot:ethereum:ETH 0.984", "crypto:hot:ethereum:USDT 25", "gas:ETH 0.026",
	}
	if got := accounts(w); !slices.Equal(got, want) {
		t.Errorf("the books say %q, want %q", got, want)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM ledger_journals WHERE event IN ('swept', 'gas_spent')`); n != 5 {
		t.Errorf("%d journals", n)
	}
	w.Balanced()
	for kind, n := range reconcile(w) {
		if n != 0 {
			t.Errorf("%d differences of kind %s: %s", n, kind, fixture.Ask[string](w, `SELECT json_agg(d)::text FROM differences d`))
		}
	}
	if err := post(t.Context(), []string{"m7"}, []wire.OutgoingFinal{outgoing("0x7", wire.OutgoingSweep, "USDT", "5000001", "0")}); err != nil {
		t.Fatal(err)
	}
	if open := reconcile(w); open[books.DiffSwept] != 1 {
		t.Errorf("more was swept than came in: %v", open)
	}
	w.Balanced()
}

// A message that no retry can process goes to the dead queue.
func TestTreasury_refusesNonsense(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(m *wire.OutgoingFinal){
		"a mode":    func(m *wire.OutgoingFinal) { m.Mode = "" },
		"a network": func(m *wire.OutgoingFinal) { m.Network = "moon" },
		"an asset":  func(m *wire.OutgoingFinal) { m.Asset = "DOGE" },
		"a hash":    func(m *wire.OutgoingFinal) { m.TxHash = "" },
		"a kind":    func(m *wire.OutgoingFinal) { m.Kind = "theft" },
		"an amount": func(m *wire.OutgoingFinal) { m.Amount = "-1" },
		"units":     func(m *wire.OutgoingFinal) { m.Amount = "1.5" },
		"a fee":     func(m *wire.OutgoingFinal) { m.Fee = "" },
	} {
		m := outgoing("0x1", wire.OutgoingSweep, "USDT", "1", "1")
		change(&m)
		if err := books.Outgoing(nil)(t.Context(), []string{"m"}, []wire.OutgoingFinal{m}); !fault.IsPermanent(err) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

// A pack with a message that cannot be booked books nothing, and each of its messages is booked when it comes alone.
func TestTreasury_aPackIsBookedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	post := books.Outgoing(w.Store.Post)
	good, bad := outgoing("0x1", wire.OutgoingFund, "USDT", "0", "2000000000000000"), outgoing("0x2", wire.OutgoingSweep, "DOGE", "1", "1")
	live := outgoing("0x3", wire.OutgoingSweep, "USDT", "25000000", "1000000000000000")
	live.Mode = tenant.Live
	journals := func() []string {
		return fixture.Ask[[]string](w, `SELECT coalesce(array_agg(key ORDER BY key), '{}') FROM ledger_journals`)
	}
	ids, pack := []string{"m1", "m2", "m3"}, []wire.OutgoingFinal{good, bad, live}
	if err := post(t.Context(), ids, pack); !fault.IsPermanent(err) {
		t.Errorf("book a pack with an unknown asset: got %v, want a permanent fault", err)
	}
	if got := journals(); len(got) != 0 {
		t.Errorf("book a pack with an unknown asset: got the journals %q, want none", got)
	}
	for n, m := range pack {
		if err := post(t.Context(), ids[n:n+1], pack[n:n+1]); (err != nil) != (m.TxHash == bad.TxHash) {
			t.Errorf("book %s alone: got %v", m.TxHash, err)
		}
	}
	if err := post(t.Context(), []string{"m3", "m1"}, []wire.OutgoingFinal{live, good}); err != nil {
		t.Errorf("book a pack of messages that were booked: got %v, want no error", err)
	}
	if got, want := journals(), []string{"gas:0x1", "sweep:0x3"}; len(got) != len(want) {
		t.Errorf("book each message alone: got the journals %q, want %d", got, len(want))
	}
	w.Balanced()
}

// The cost of collecting is read from the journals of sweeps and fundings.
func TestCollecting_ofLedger(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	for i, m := range []wire.OutgoingFinal{
		outgoing("0x1", wire.OutgoingFund, "USDT", "0", "2000000000000000"),
		outgoing("0x2", wire.OutgoingSweep, "USDT", "25000000", "1000000000000000"),
		outgoing("0x3", wire.OutgoingSweep, "USDC", "50000000", "4000000000000000"),
		outgoing("0x4", wire.OutgoingSweep, "ETH", "990000000000000000", "10000000000000000"),
	} {
		if err := books.Outgoing(w.Store.Post)(t.Context(), []string{fmt.Sprint("m", i)}, []wire.OutgoingFinal{m}); err != nil {
			t.Fatal(err)
		}
	}
	found, err := w.Store.Collected(t.Context(), tenant.Test, time.Now().Add(-time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ethereum  0 0.002", "ethereum ETH 1 0.01", "ethereum USDC 50 0.004", "ethereum USDT 25 0.001"}
	var got []string
	for _, c := range found {
		got = append(got, fmt.Sprint(c.Network, " ", c.Asset, " ", c.Amount, " ", c.Gas))
	}
	if !slices.Equal(got, want) {
		t.Errorf("sum up the sweeps: got %q, want %q", got, want)
	}
	for _, since := range []struct {
		mode tenant.Mode
		ago  time.Duration
	}{{tenant.Live, time.Hour}, {tenant.Test, -time.Hour}} {
		if found, err := w.Store.Collected(t.Context(), since.mode, time.Now().Add(-since.ago)); err != nil || len(found) != 0 {
			t.Errorf("sum up the sweeps of mode %s since %s ago: got %v, %v, want none", since.mode, since.ago, found, err)
		}
	}
	all, err := w.Books.Collecting(t.Context(), tenant.Test)
	if err != nil || len(all) != 3 {
		t.Fatalf("value the sweeps: got %v, %v, want three assets", all, err)
	}
	for _, c := range all {
		if !c.USD.IsPositive() || !c.Cost.IsPositive() || !c.PerUSD().IsPositive() {
			t.Errorf("value the sweeps: got %+v, want a worth and a cost", c)
		}
	}
}
