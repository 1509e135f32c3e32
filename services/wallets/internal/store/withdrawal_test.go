//go:build integration

package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/order"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/messaging"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/store"
	"causeway.internal/services/wallets/internal/sweep"
)

// withdrawal is an approved withdrawal of 5 with a charge of 1 by the merchant acme.
func withdrawal(id string, mode tenant.Mode) app.Refund {
	r := approved(id, mode)
	r.Ordered.Kind, r.MerchantID, r.Charge = order.Withdrawal, "acme", big.NewInt(1)
	return r
}

// credit books a deposit of acme; a negative amount takes one back.
func credit(t *testing.T, db postgres.Querier, mode tenant.Mode, key string, amount int64) {
	t.Helper()
	event, debit, credited := "deposit_confirmed", "custody", "merchant"
	if amount < 0 {
		event, debit, credited, amount = "deposit_reverted", "merchant", "custody", -amount
	}
	_, err := db.Exec(t.Context(), `WITH j AS (INSERT INTO custody_journals (key, event, mode, merchant_id, wallet_id, deposit)
VALUES ($1, $2, $3, 'acme', 'wal_1', $1) RETURNING key)
INSERT INTO custody_entries (journal, line, mode, merchant_id, account, network, asset, debit, credit)
SELECT key, line, $3, 'acme', account, 'ethereum', 'USDT', debit, credit FROM j, (VALUES (1, $4, $6::numeric, 0::numeric), (2, $5, 0, $6)) AS l (line, account, debit, credit)`,
		key, event, string(mode), debit, credited, amount)
	if err != nil {
		t.Fatalf("book a deposit: got %v, want no error", err)
	}
}

// books are the sums of the accounts of acme, as credit less debit.
func books(t *testing.T, pool *pgxpool.Pool) string {
	t.Helper()
	var text string
	err := pool.QueryRow(t.Context(), `SELECT coalesce(string_agg(asset || ' ' || account || ' ' || sum, ', ' ORDER BY asset, account), '') FROM (
SELECT asset, account, sum(credit - debit) FROM custody_entries WHERE account <> 'custody' GROUP BY asset, account HAVING sum(credit - debit) <> 0) AS s`).Scan(&text)
	if err != nil {
		t.Fatalf("read the books: got %v, want no error", err)
	}
	return text
}

func booked(t *testing.T, pool *pgxpool.Pool, what, want string) {
	t.Helper()
	if got := books(t, pool); got != want {
		t.Errorf("%s: got the books %q, want %q", what, got, want)
	}
	var wrong int // balances are kept beside the entries
	err := pool.QueryRow(t.Context(), `SELECT count(*) FROM (SELECT mode, merchant_id, network, asset, sum(credit - debit) AS amount
FROM custody_entries WHERE account = 'merchant' GROUP BY 1, 2, 3, 4) AS e FULL JOIN merchant_balances b USING (mode, merchant_id, network, asset)
WHERE e.amount IS DISTINCT FROM b.amount`).Scan(&wrong)
	if err != nil || wrong > 0 {
		t.Errorf("%s: got %d balances that differ from their entries, %v, want none", what, wrong, err)
	}
}

// take takes an order as the service does: one that the balance does not cover ends.
func take(t *testing.T, s *store.Store, r app.Refund) (covered bool) {
	t.Helper()
	err := s.TakeRefund(t.Context(), r)
	if errors.Is(err, app.ErrBalance) {
		err = s.RefuseRefund(t.Context(), r.Ordered, wire.RefundBalance)
		if err != nil {
			t.Errorf("refuse an uncovered withdrawal: got %v, want no error", err)
		}
		return false
	}
	if err != nil {
		t.Errorf("take a withdrawal: got %v, want no error", err)
	}
	return true
}

// Of 64 withdrawals at once as many are taken as the balance covers with their charges, each of them twice delivered,
// and the balance is never below zero.
func TestTakeWithdrawals_parallel(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	credit(t, pool, tenant.Live, "dep_1", 100) // for 16 of 6 each, and a rest of 4
	credit(t, pool, tenant.Test, "dep_2", 1000)
	var taken atomic.Int32
	var wg sync.WaitGroup
	for i := range 64 {
		r := withdrawal(fmt.Sprintf("wwd_%02d", i), tenant.Live)
		wg.Go(func() {
			if take(t, s, r) {
				taken.Add(1)
			}
		})
	}
	wg.Wait()
	if taken.Load() != 16 {
		t.Errorf("take 64 withdrawals of 6 from 100: got %d taken, want 16", taken.Load())
	}
	for i := range 64 { // a message comes again, after an acknowledgement was lost
		take(t, s, withdrawal(fmt.Sprintf("wwd_%02d", i), tenant.Live))
	}
	booked(t, pool, "take 64 withdrawals twice", "USDT merchant 1004, USDT withdrawals 96")
	var open, failed int
	if err := pool.QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE state = 'signing'), count(*) FILTER (WHERE reason = 'insufficient_balance') FROM refunds`).
		Scan(&open, &failed); err != nil || open != 16 || failed != 48 {
		t.Errorf("count the withdrawals: got %d open, %d failed, %v, want 16 and 48", open, failed, err)
	}
	owner := tenant.Owner{MerchantID: "acme", Mode: tenant.Live}
	if list, err := s.Balances(t.Context(), owner); err != nil || len(list) != 1 || list[0].Available.String() != "4" {
		t.Errorf("read the balances: got %+v, %v, want 4 available", list, err)
	}
	if list, err := s.Balances(t.Context(), tenant.Owner{MerchantID: "other", Mode: tenant.Live}); err != nil || len(list) != 0 {
		t.Errorf("read the balances of another merchant: got %+v, %v, want none", list, err)
	}
}

// A withdrawal that comes while a chain takes a deposit back waits for that, and finds the balance without it.
func TestTakeWithdrawal_whileDepositIsTakenBack(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	credit(t, pool, tenant.Live, "dep_1", 10)
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it is committed below
	credit(t, tx, tenant.Live, "dep_1_back", -10)
	taken := make(chan bool)
	go func() { taken <- take(t, s, withdrawal("wwd_1", tenant.Live)) }()
	for waits := false; !waits; {
		select {
		case <-taken:
			t.Fatal("take a withdrawal while its balance changes: got it decided, want it to wait")
		default:
		}
		if err := pool.QueryRow(ctx, lockWaitedFor).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if <-taken {
		t.Error("take a withdrawal of 5 beside the reversal of the only deposit: got it taken, want insufficient_balance")
	}
	booked(t, pool, "take a withdrawal of money that was taken back", "")
}

// lockWaitedFor reports whether a statement waits for a lock of this database.
const lockWaitedFor = `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`

// A give-up that is typed while a scan or a rewind books on the same balance says that it may be typed again.
func TestGiveUp_whileBalanceIsBooked(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	credit(t, pool, tenant.Live, "dep_1", 10)
	take(t, s, withdrawal("wwd_1", tenant.Live))
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // nothing is to stay
	credit(t, tx, tenant.Live, "dep_2", 10)
	typed := store.New(pg.LockTimeout(t, pool, "2s"), messaging.Out{Now: time.Now}, settings())
	if err := typed.Refunds().GiveUpRefund(ctx, "wwd_1"); !errors.Is(err, store.ErrBooking) {
		t.Errorf("give a withdrawal up while its balance is booked on: got %v, want %v", err, store.ErrBooking)
	}
	if err := tx.Rollback(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Refunds().GiveUpRefund(ctx, "wwd_1"); err != nil {
		t.Errorf("give it up again: got %v, want no error", err)
	}
	booked(t, pool, "give a withdrawal up at the second try", "USDT merchant 10")
}

// A booking updates the row of a balance in place: no index has its amount, below zero or not.
func TestBook_balanceInPlace(t *testing.T) {
	t.Parallel()
	_, pool := open(t)
	ctx := t.Context()
	credit(t, pool, tenant.Live, "dep_1", 10)
	tx, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback(ctx) //nolint:errcheck // nothing is to stay
	credit(t, tx, tenant.Live, "dep_2", -20)
	credit(t, tx, tenant.Live, "dep_3", 30)
	var all, inPlace int
	err = tx.QueryRow(ctx, `SELECT pg_stat_get_xact_tuples_updated(c), pg_stat_get_xact_tuples_hot_updated(c) FROM (SELECT 'merchant_balances'::regclass AS c) AS t`).
		Scan(&all, &inPlace)
	if err != nil || all != 2 || inPlace != 2 {
		t.Errorf("book on a balance twice: got %d updates, %d in place, %v, want 2 and 2", all, inPlace, err)
	}
}

// A withdrawal returns amount and charge to the balance when it ends without a transaction, once.
func TestEndWithdrawal(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	credit(t, pool, tenant.Live, "dep_1", 100)
	for name, end := range map[string]func(r app.Refund) error{
		"cancel":  func(r app.Refund) error { return s.RefuseRefund(ctx, r.Ordered, wire.RefundCancelled) },
		"give up": func(r app.Refund) error { return s.Refunds().GiveUpRefund(ctx, r.Ordered.ID) },
		"refuse": func(r app.Refund) error {
			return s.Refunds().Refuse(ctx, sweep.Sweep{ID: r.Ordered.ID}, wire.RefundOrderRefused)
		},
		"change its order": func(r app.Refund) error { return s.RefuseRefund(ctx, r.Ordered, wire.RefundOrderChanged) },
	} {
		r := withdrawal("wwd_"+name, tenant.Live)
		if !take(t, s, r) {
			t.Fatalf("take a withdrawal to %s: got it refused, want it taken", name)
		}
		booked(t, pool, "take a withdrawal", "USDT merchant 94, USDT withdrawals 6")
		if err := end(r); err != nil {
			t.Errorf("%s a withdrawal: got %v, want no error", name, err)
		}
		booked(t, pool, name+" a withdrawal", "USDT merchant 100")
		take(t, s, r)
		booked(t, pool, name+" a withdrawal whose order comes again", "USDT merchant 100")
	}
	cancelled := withdrawal("wwd_early", tenant.Live)
	if err := s.RefuseRefund(ctx, cancelled.Ordered, wire.RefundCancelled); err != nil {
		t.Errorf("cancel a withdrawal before its order: got %v, want no error", err)
	}
	take(t, s, cancelled)
	booked(t, pool, "take the order of a cancelled withdrawal", "USDT merchant 100")
}

// The simulated chain pays a withdrawal of test mode, and its charge is earned.
func TestSimulateWithdrawals(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	credit(t, pool, tenant.Test, "dep_1", 100)
	take(t, s, withdrawal("wwd_1", tenant.Test))
	for range 3 {
		if _, err := pool.Exec(t.Context(), `UPDATE refunds SET changed_at = changed_at - interval '1 minute'`); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SimulateRefunds(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	tells(t, pool, "simulate a withdrawal", "wwd_1 signing 1 5 0 ", "wwd_1 sent 2 5 0 ", "wwd_1 confirmed 3 5 0 ")
	booked(t, pool, "simulate a withdrawal", "USDT merchant 94, USDT refund_station 5, USDT withdrawal_fees 1")
}

// A refund that was carried out stays so, although a later one of the same round fails: a round whose connection breaks
// again and again would never end otherwise.
func TestSimulateRefunds_oneByOne(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	credit(t, pool, tenant.Test, "dep_1", 100)
	for _, id := range []string{"wwd_1", "wwd_2", "wwd_3"} {
		take(t, s, withdrawal(id, tenant.Test))
	}
	for _, sql := range []string{
		`UPDATE refunds SET changed_at = now() - interval '1 minute' + interval '1 second' * right(id, 1)::int`,
		`CREATE FUNCTION breaks() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the connection breaks'; END $$`,
		`CREATE TRIGGER breaks BEFORE UPDATE ON refunds FOR EACH ROW WHEN (NEW.id = 'wwd_3' AND NEW.state = 'sent') EXECUTE FUNCTION breaks()`,
	} {
		if _, err := pool.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.SimulateRefunds(ctx); err == nil {
		t.Error("simulate three refunds, the last of which fails: got no error, want one")
	}
	var states string
	if err := pool.QueryRow(ctx, `SELECT string_agg(state, ' ' ORDER BY id) FROM refunds`).Scan(&states); err != nil || states != "sent sent signing" {
		t.Errorf("simulate three refunds, the last of which fails: got %q, %v, want the first two sent", states, err)
	}
}

// A withdrawal that arrived is booked once with the fee of the network; a rewind takes the booking back, and another
// end books it again. One that reverts in its block returns the money and costs the fee.
func TestFinishWithdrawal(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	if err := s.Begin(ctx, liveLease, scanner.Cursor{Header: header(0, "h0", "")}); err != nil {
		t.Fatal(err)
	}
	credit(t, pool, tenant.Live, "dep_1", 12)
	for _, id := range []string{"wwd_1", "wwd_2"} {
		if !take(t, s, withdrawal(id, tenant.Live)) {
			t.Fatalf("take withdrawal %s: got it refused, want it taken", id)
		}
	}
	booked(t, pool, "take two withdrawals", "USDT withdrawals 12")
	idle, err := s.Refunds().Idle(ctx, "ethereum", 9)
	if err != nil || len(idle) != 2 {
		t.Fatalf("list the withdrawals that wait: got %d, %v, want 2", len(idle), err)
	}
	for i, w := range idle {
		if err := s.Refunds().Plan(ctx, plannedRefund("out_"+w.ID, w, uint64(i))); err != nil {
			t.Fatal(err)
		}
	}
	step := func(id, what string, f func(o sweep.Outgoing) error) {
		t.Helper()
		under, err := s.Refunds().Underway(ctx, "ethereum", 9)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range under {
			if o.Sweep.ID == id {
				if err := f(o); err != nil {
					t.Fatalf("%s %s: got %v, want no error", what, id, err)
				}
				return
			}
		}
		t.Fatalf("%s %s: got no transaction under way, want one", what, id)
	}
	block := "h2"
	receipt := func(id string) sweep.Receipt {
		return sweep.Receipt{TxHash: "0x" + id, Height: 2, Block: block, Fee: big.NewInt(3)}
	}
	for _, id := range []string{"wwd_1", "wwd_2"} {
		step(id, "sign", func(o sweep.Outgoing) error { return s.Refunds().Signed(ctx, o, []byte("raw"), "0x"+id) })
		step(id, "send", func(o sweep.Outgoing) error { return s.Refunds().Sent(ctx, o, true) })
	}
	end := func(id string, ok bool) {
		t.Helper()
		amount := map[bool]*big.Int{true: big.NewInt(5), false: new(big.Int)}[ok]
		step(id, "mine", func(o sweep.Outgoing) error { return s.Refunds().Mined(ctx, o, receipt(id)) })
		step(id, "finish", func(o sweep.Outgoing) error { return s.Refunds().Finish(ctx, o, receipt(id), ok, amount) })
	}
	final(t, s, pool)
	end("wwd_1", true)
	booked(t, pool, "finish a withdrawal", "ETH fees -3, ETH refund_station 3, USDT refund_station 5, USDT withdrawal_fees 1, USDT withdrawals 6")
	end("wwd_2", false)
	const both = "ETH fees -6, ETH refund_station 6, USDT merchant 6, USDT refund_station 5, USDT withdrawal_fees 1"
	booked(t, pool, "finish a withdrawal that reverted", both)
	rewound(t, s)
	booked(t, pool, "rewind below both blocks", "USDT withdrawals 12")
	block = "h2b"
	for _, id := range []string{"wwd_1", "wwd_2"} {
		step(id, "mine again", func(o sweep.Outgoing) error { return s.Refunds().Mined(ctx, o, receipt(id)) })
	}
	branch := header(2, "h2b", "h1")
	if err := s.Advance(ctx, liveLease, scanner.Cursor{Header: header(1, "h1", "h0"), Finalized: 1}, scanner.Step{Headers: []chain.Header{branch}, Finalized: 2}); err != nil {
		t.Fatal(err)
	}
	step("wwd_1", "finish again", func(o sweep.Outgoing) error { return s.Refunds().Finish(ctx, o, receipt("wwd_1"), true, big.NewInt(5)) })
	step("wwd_2", "finish again", func(o sweep.Outgoing) error { return s.Refunds().Finish(ctx, o, receipt("wwd_2"), false, new(big.Int)) })
	booked(t, pool, "finish both again", both)
}

// A deposit that its chain takes back beneath a withdrawal leaves the balance below zero, and visibly so. A withdrawal
// that is not signed waits until the balance covers it again, and no other one is taken.
func TestWithdrawal_uncovered(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	follows(t, s, pool)
	credit(t, pool, tenant.Live, "dep_1", 10)
	take(t, s, withdrawal("wwd_1", tenant.Live))
	waits := func(what string, want int, uncovered int64) {
		t.Helper()
		idle, err := s.Refunds().Idle(ctx, "ethereum", 9)
		n, countErr := s.Refunds().Uncovered(ctx)
		if err := errors.Join(err, countErr); err != nil || len(idle) != want || n != uncovered {
			t.Errorf("%s: got %d withdrawals to plan, %d uncovered balances, %v, want %d and %d", what, len(idle), n, err, want, uncovered)
		}
	}
	waits("take a withdrawal", 1, 0)
	idle, err := s.Refunds().Idle(ctx, "ethereum", 9)
	if err != nil || len(idle) != 1 {
		t.Fatalf("list the withdrawals that wait: got %d, %v, want 1", len(idle), err)
	}
	o := plannedRefund("out_1", idle[0], 0)
	if err := s.Refunds().Plan(ctx, o); err != nil {
		t.Fatal(err)
	}
	credit(t, pool, tenant.Live, "dep_1 reverted", -10)
	if may, err := s.Refunds().Ask(ctx, o); err != nil || may {
		t.Errorf("ask for a signature of an uncovered withdrawal: got %t, %v, want false", may, err)
	}
	waits("take a deposit back", 0, 1)
	if take(t, s, withdrawal("wwd_2", tenant.Live)) {
		t.Error("take a withdrawal from a balance below zero: got it taken, want it refused")
	}
	if list, err := s.Balances(ctx, tenant.Owner{MerchantID: "acme", Mode: tenant.Live}); err != nil || len(list) != 1 || list[0].Available.String() != "-6" {
		t.Errorf("read the balances: got %+v, %v, want -6", list, err)
	}
	credit(t, pool, tenant.Live, "dep_1 again", 10)
	waits("see the deposit again", 1, 0)
}

// After a restore an order of the lost time is taken although the balance does not cover it: only the signer knows
// whether it was paid. It waits for its balance.
func TestTakeWithdrawal_restored(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	if _, err := pool.Exec(t.Context(), `INSERT INTO recoveries (version_base) VALUES (1000)`); err != nil {
		t.Fatal(err)
	}
	lost, later := withdrawal("wwd_1", tenant.Live), withdrawal("wwd_2", tenant.Live)
	lost.Ordered.ApprovedAt, later.Ordered.ApprovedAt = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	if !take(t, s, lost) {
		t.Error("take an order of the lost time: got it refused, want it kept")
	}
	if _, err := pool.Exec(t.Context(), `UPDATE recoveries SET started_at = started_at - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	if take(t, s, later) {
		t.Error("take a later order without a balance: got it taken, want it refused")
	}
	if idle, err := s.Refunds().Idle(t.Context(), "ethereum", 9); err != nil || len(idle) != 0 {
		t.Errorf("list the withdrawals to plan: got %d, %v, want none before the balance is back", len(idle), err)
	}
}

// An order that payments repeats after a restore although it was cancelled is kept and carries out nothing until a
// person decides. Repeated or signed again, it still waits; one that was taken before goes on as it was.
func TestTakeRefund_cancelled(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	follows(t, s, pool)
	credit(t, pool, tenant.Live, "dep_1", 100)
	credit(t, pool, tenant.Test, "dep_2", 6)
	known := withdrawal("wwd_known", tenant.Live)
	take(t, s, known)
	known.Cancelled = true
	take(t, s, known)
	idle := func(what string, want ...string) {
		t.Helper()
		list, err := s.Refunds().Idle(ctx, "ethereum", 9)
		var got []string
		for _, w := range list {
			got = append(got, w.ID)
		}
		slices.Sort(got)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: got %v to plan, %v, want %v", what, got, err, want)
		}
	}
	idle("repeat a known order as cancelled", "wwd_known")
	for _, r := range []app.Refund{withdrawal("wwd_lost", tenant.Live), approved("rfd_lost", tenant.Live), withdrawal("wwd_test", tenant.Test)} {
		plain := r
		r.Cancelled = true
		take(t, s, r)
		take(t, s, r)
		r.Ordered.Signature = "signed with another key"
		take(t, s, r)
		take(t, s, plain) // the broker has kept the first message
	}
	idle("take cancelled orders", "wwd_known")
	booked(t, pool, "take cancelled orders", "USDT merchant 88, USDT withdrawals 18")
	if _, err := pool.Exec(ctx, `UPDATE refunds SET changed_at = changed_at - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	changes(t, pool)
	if _, err := s.SimulateRefunds(ctx); err != nil {
		t.Fatal(err)
	}
	tells(t, pool, "simulate a cancelled withdrawal")
	list, err := s.Refunds().UnfinishedRefunds(ctx)
	for _, r := range list {
		if lost := r.ID != "wwd_known"; err != nil || r.Blocked != lost || (r.Reason == "") == lost {
			t.Errorf("list %s: got blocked %t, reason %q, %v, want blocked %t with its reason", r.ID, r.Blocked, r.Reason, err, lost)
		}
	}
	if err := s.Refunds().GiveUpRefund(ctx, "wwd_lost"); err != nil {
		t.Errorf("give up a cancelled withdrawal: got %v, want no error", err)
	}
	booked(t, pool, "give up a cancelled withdrawal", "USDT merchant 94, USDT withdrawals 12")
	if err := s.Refunds().ReleaseRefund(ctx, "rfd_lost"); err != nil {
		t.Errorf("release a cancelled refund: got %v, want no error", err)
	}
	idle("release a cancelled refund", "rfd_lost", "wwd_known")
}

// A balance below zero holds no withdrawal of which the signer knows a form: that one may land in any case, and its
// number must not stay behind a form whose fee is too low. A pause holds it all the same.
func TestWithdrawal_uncoveredAsked(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	follows(t, s, pool)
	credit(t, pool, tenant.Live, "dep_1", 12)
	var forms []sweep.Outgoing
	for i := range 2 {
		take(t, s, withdrawal(fmt.Sprint("wwd_", i), tenant.Live))
	}
	idle, err := s.Refunds().Idle(ctx, "ethereum", 9)
	if err != nil || len(idle) != 2 {
		t.Fatalf("list the withdrawals that wait: got %d, %v, want 2", len(idle), err)
	}
	for i, w := range idle {
		forms = append(forms, plannedRefund(fmt.Sprint("out_", i), w, uint64(i)))
		if err := s.Refunds().Plan(ctx, forms[i]); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(what string, o sweep.Outgoing, want bool) {
		t.Helper()
		if may, err := s.Refunds().Ask(ctx, o); err != nil || may != want {
			t.Errorf("ask for a form of a withdrawal %s: got %t, %v, want %t", what, may, err, want)
		}
	}
	ask("that is covered", forms[0], true)
	credit(t, pool, tenant.Live, "dep_1 reverted", -12)
	ask("that was asked for before its balance fell", forms[0], true)
	ask("that nobody asked for", forms[1], false)
	// On tron a further form is made once the one before cannot land, and no number waits for it.
	if _, err := pool.Exec(ctx, `UPDATE refunds SET family = 'tron' WHERE id = $1`, forms[0].Sweep.ID); err != nil {
		t.Fatal(err)
	}
	ask("on tron that was asked for before its balance fell", forms[0], true)
	if _, err := pool.Exec(ctx, `UPDATE outgoing_tx SET attempt = 2 WHERE id = $1`, forms[0].ID); err != nil {
		t.Fatal(err)
	}
	ask("on tron whose first form has expired", forms[0], false)
	credit(t, pool, tenant.Live, "dep_1 again", 12)
	ask("on tron whose balance is back", forms[0], true)
	if err := s.PauseRefunds(ctx, wire.RefundsPaused{Version: 1, Pauses: []wire.RefundPause{{}}}); err != nil {
		t.Fatal(err)
	}
	ask("that is paused", forms[0], false)
}

// Nothing that asks for balances reads the entries of the books: their number grows for ever.
func TestPlans_balances(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	credit(t, pool, tenant.Live, "dep_1", 1000)
	for i := range 40 {
		take(t, s, withdrawal(fmt.Sprintf("wwd_%02d", i), tenant.Live))
	}
	if _, err := pool.Exec(ctx, `ANALYZE refunds, custody_entries, merchant_balances`); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string][]any{
		"idle refunds": {"ethereum", 9}, "unfinished refunds": nil, "uncovered": nil, "balance": {"live", "acme", "ethereum", "USDT"},
		"balances": {"live", "acme"},
	} {
		var plan string
		if err := pool.QueryRow(ctx, `EXPLAIN (ANALYZE, FORMAT JSON) `+store.Statements()[name], args...).Scan(&plan); err != nil {
			t.Fatal(err)
		}
		var explained []struct{ Plan planNode }
		if err := json.Unmarshal([]byte(plan), &explained); err != nil {
			t.Fatal(err)
		}
		if loops := explained[0].Plan.reads(t, "custody_entries"); loops > 0 {
			t.Errorf("run %q with 40 withdrawals of one balance: got %d reads of the entries, want none", name, loops)
		}
	}
}

// planNode is a node of the plan of a statement.
type planNode struct {
	Relation string      `json:"Relation Name"`
	Loops    json.Number `json:"Actual Loops"`
	Plans    []planNode  `json:"Plans"`
}

// reads counts how often a plan has read a table.
func (n planNode) reads(t *testing.T, table string) (loops int) {
	t.Helper()
	if n.Relation == table {
		whole, _, _ := strings.Cut(n.Loops.String(), ".")
		var err error
		if loops, err = strconv.Atoi(whole); err != nil {
			t.Fatalf("read the plan of a statement: got %v, want a count of loops", err)
		}
	}
	for _, p := range n.Plans {
		loops += p.reads(t, table)
	}
	return loops
}

// A withdrawal that was ordered and paid in the time that a restore has lost leaves the balance by its repeated order,
// though nothing is sent again: otherwise its merchant could withdraw the same money twice.
func TestTakeWithdrawal_paid(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	follows(t, s, pool)
	credit(t, pool, tenant.Live, "dep_1", 11)
	if _, err := pool.Exec(ctx, `INSERT INTO recoveries (version_base) VALUES (1000)`); err != nil {
		t.Fatal(err)
	}
	lost := withdrawal("wwd_lost", tenant.Live)
	lost.Ordered.ApprovedAt, lost.PaidBy = time.Now().Add(-time.Hour), "0xpaid"
	for range 2 {
		if !take(t, s, lost) {
			t.Error("take the order of a paid withdrawal: got it refused, want it booked")
		}
	}
	const want = "USDT merchant 5, USDT refund_station 5, USDT withdrawal_fees 1"
	booked(t, pool, "take the order of a paid withdrawal twice", want)
	tells(t, pool, "take the order of a paid withdrawal")
	if idle, err := s.Refunds().Idle(ctx, "ethereum", 9); err != nil || len(idle) != 0 {
		t.Errorf("list the withdrawals to plan: got %d, %v, want none", len(idle), err)
	}
	lost.PaidBy = ""
	take(t, s, lost) // the message of before the restore comes again
	if take(t, s, withdrawal("wwd_again", tenant.Live)) {
		t.Error("withdraw the paid money again: got it taken, want it refused")
	}
	booked(t, pool, "withdraw the paid money again", want)
	credit(t, pool, tenant.Live, "dep_2", 1)
	known := withdrawal("wwd_known", tenant.Live)
	take(t, s, known)
	known.PaidBy = "0xpaid"
	take(t, s, known) // wallets follows it by itself
	booked(t, pool, "say of a known withdrawal that it is paid", "USDT refund_station 5, USDT withdrawal_fees 1, USDT withdrawals 6")
}

// After a restore a repeated order also says what has become of a refund or withdrawal for which no signature was asked
// here. A cancelled one waits for a person; a paid one ends with its hash and books, above the versions of the lost
// time. One whose transaction the signer was asked for goes on, because that decides.
func TestTakeRefund_restored(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	follows(t, s, pool)
	credit(t, pool, tenant.Live, "dep_1", 36)
	orders := map[string]app.Refund{}
	for _, id := range []string{"wwd_cancelled", "wwd_paid", "wwd_asked", "rfd_cancelled", "wwd_planned_paid", "rfd_planned_cancelled"} {
		r := withdrawal(id, tenant.Live)
		if strings.HasPrefix(id, "rfd_") {
			r = approved(id, tenant.Live)
		}
		take(t, s, r)
		orders[id] = r
	}
	idle, err := s.Refunds().Idle(ctx, "ethereum", 9)
	if err != nil || len(idle) != 6 {
		t.Fatalf("list what waits: got %d, %v, want 6", len(idle), err)
	}
	for n, w := range idle {
		planned, asked := strings.Contains(w.ID, "_planned_"), w.ID == "wwd_asked"
		if !planned && !asked {
			continue
		}
		o := plannedRefund(fmt.Sprint("out_", n), w, uint64(n))
		if err := s.Refunds().Plan(ctx, o); err != nil {
			t.Fatal(err)
		}
		if planned {
			continue
		}
		if may, err := s.Refunds().Ask(ctx, o); err != nil || !may {
			t.Fatalf("ask for the signature of %s: got %t, %v, want true", w.ID, may, err)
		}
	}
	if _, err := pool.Exec(ctx, `INSERT INTO recoveries (version_base) VALUES (1000)`); err != nil {
		t.Fatal(err)
	}
	changes(t, pool)
	lost := withdrawal("wwd_lost", tenant.Live)
	lost.Ordered.ApprovedAt = time.Now().Add(-time.Hour)
	orders["wwd_lost"] = lost
	for _, id := range []string{"wwd_cancelled", "rfd_cancelled", "wwd_paid", "wwd_asked", "wwd_lost", "wwd_planned_paid", "rfd_planned_cancelled"} {
		r := orders[id]
		if r.Cancelled = strings.HasSuffix(id, "_cancelled"); !r.Cancelled {
			r.PaidBy = "0xpaid"
		}
		take(t, s, r)
		take(t, s, r)
	}
	tells(t, pool, "repeat the orders after a restore")
	var got string
	if err := pool.QueryRow(ctx, `SELECT string_agg(concat_ws(' ', id, state, nullif(tx_hash, ''), version, CASE WHEN blocked THEN 'blocked' END), ', ' ORDER BY id) FROM refunds`).
		Scan(&got); err != nil {
		t.Fatal(err)
	}
	const want = "rfd_cancelled signing 1 blocked, rfd_planned_cancelled signing 1 blocked, wwd_asked signing 1, wwd_cancelled signing 1 blocked, " +
		"wwd_lost confirmed 0xpaid 1001, wwd_paid confirmed 0xpaid 1001, wwd_planned_paid confirmed 0xpaid 1001"
	if got != want {
		t.Errorf("repeat the orders after a restore: got %q, want %q", got, want)
	}
	booked(t, pool, "repeat the orders after a restore", "USDT merchant 6, USDT refund_station 15, USDT withdrawal_fees 3, USDT withdrawals 12")
	if err := s.Refunds().ReleaseRefund(ctx, "wwd_cancelled"); err != nil {
		t.Errorf("release a cancelled withdrawal: got %v, want no error", err)
	}
	if idle, err := s.Refunds().Idle(ctx, "ethereum", 9); err != nil || len(idle) != 1 || idle[0].ID != "wwd_cancelled" {
		t.Errorf("list what waits after a release: got %+v, %v, want wwd_cancelled alone", idle, err)
	}
}
