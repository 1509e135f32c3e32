//go:build integration

package store_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/erasure"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/store"
)

func statement(w *fixture.Payments, name string) string {
	w.T.Helper()
	sql, ok := store.Statements()[name]
	if !ok {
		w.T.Fatalf("no statement %s", name)
	}
	return sql
}

const (
	secretChat    = "chat-Zq81731"
	secretPhone   = "2348031112223"
	secretAccount = "9876501234"
)

// personal is a transfer of a person whose data no other test uses.
func personal() payment.Command {
	c := fixture.Command()
	c.Payer = &payment.PayerInput{ChatID: secretChat, Phone: secretPhone}
	c.Receiver = &payment.ReceiverInput{BankCode: "058", AccountNumber: secretAccount}
	return c
}

// everything is the text of every row of every table, except the simulated bank's memory.
func everything(w *fixture.Payments) string {
	w.T.Helper()
	rows, err := w.Pool.Query(w.T.Context(), `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'sim\_%'`)
	if err != nil {
		w.T.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			w.T.Fatal(err)
		}
		tables = append(tables, name)
	}
	var all strings.Builder
	for _, table := range tables {
		all.WriteString(fixture.Ask[string](w, `SELECT coalesce(string_agg(coalesce(r::text, ''), E'\n'), '') FROM `+table+` r`))
	}
	return all.String()
}

func hexOf(text string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(digits[text[i]>>4])
		b.WriteByte(digits[text[i]&15])
	}
	return b.String()
}

func TestPersonal_isNowhereInTheDatabase(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	p := w.Make(personal())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Pay(p)
	gift := fixture.Command()
	gift.Type, gift.Receiver = "gift", nil
	g := w.Make(gift)
	k := idempotency.Key{Scope: "public", Key: "claim-1", Hash: [32]byte{1}}
	first, err := w.Intake.Claim(t.Context(), g.Reference, &payment.ReceiverInput{BankCode: "058", AccountNumber: secretAccount}, &fault.Problems{}, k)
	if err != nil || !strings.Contains(string(first.Body), secretAccount) {
		t.Fatalf("the claim answers %s, %v", first.Body, err)
	}
	again, err := w.Intake.Claim(t.Context(), g.Reference, &payment.ReceiverInput{BankCode: "058", AccountNumber: secretAccount}, &fault.Problems{}, k)
	if err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
		t.Fatalf("the replay answers %s, %v", again.Body, err)
	}
	all := everything(w)
	for _, secret := range []string{secretChat, secretPhone, secretAccount} {
		if strings.Contains(all, secret) || strings.Contains(all, hexOf(secret)) {
			t.Errorf("%s is readable in the database", secret)
		}
	}
	if got := w.Find(p.Reference); got.Payment.Payer.ChatID != secretChat || got.Payment.Receiver.AccountNumber != secretAccount {
		t.Errorf("read back: %+v %+v", got.Payment.Payer, got.Payment.Receiver)
	}
}

// With a new master key, the old one still opens its values. Reseal seals them again while payments run, and then the
// old key can be removed.
func TestReseal_survivesARotation(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	p := w.Make(personal())
	w.SQL(`UPDATE payments SET payer = convert_to('{"chatId":"from before"}', 'UTF8') WHERE id = $1`, p.ID) // as rows were before sealing
	q := w.Make(personal())
	w.See(q, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	zero, one := base64.StdEncoding.EncodeToString(make([]byte, 32)), base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32)))
	open := func(keys string) *store.Store {
		ring, err := keyring.Parse(keys)
		if err != nil {
			t.Fatal(err)
		}
		return store.New(w.Pool, store.Options{Keys: ring, Log: telemetrytest.ForTest(t).Log})
	}
	both := open("k2:" + one + ",k1:" + zero)
	if v, err := both.FindAny(t.Context(), q.Reference); err != nil || v.Payment.Payer.ChatID != secretChat {
		t.Fatalf("the new key reads %+v, %v", v.Payment.Payer, err)
	}
	if n, err := both.Reseal(t.Context()); err != nil || n != 3 { // two payments and a payout
		t.Fatalf("%d rows sealed again, %v", n, err)
	}
	if n, err := both.Reseal(t.Context()); err != nil || n != 0 {
		t.Fatalf("%d rows sealed once more, %v", n, err)
	}
	alone := open("k2:" + one)
	for ref, chat := range map[string]string{p.Reference: "from before", q.Reference: secretChat} {
		v, err := alone.FindAny(t.Context(), ref)
		if err != nil || v.Payment.Payer.ChatID != chat || v.Payment.Receiver.AccountNumber != secretAccount {
			t.Errorf("the new key alone reads %+v %+v, %v", v.Payment.Payer, v.Payment.Receiver, err)
		}
	}
	if done, err := alone.AskErasure(t.Context(), "cli:test", secretPayer, fiveYears); err != nil || done.Open != 1 {
		t.Errorf("the index was not made anew: %+v, %v", done, err)
	}
}

var (
	secretPayer = store.Payer{MerchantID: fixture.Owner.MerchantID, Mode: tenant.Test, ChatID: secretChat}
	fiveYears   = erasure.Retention{Laundering: 5 * 365 * 24 * time.Hour, Copies: time.Microsecond}
)

// Open payments and those that the law keeps are erased when they are due, without another request. Payments after the
// request are not erased.
func TestErase_whenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	paid, open, unpaid := w.Make(personal()), w.Make(personal()), w.Make(personal())
	w.See(paid, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Pay(paid)
	w.SQL(`UPDATE payouts SET next_at = NULL`)
	w.SQL(`UPDATE payments SET status = 'expired', expires_at = now() - interval '25 hours' WHERE id = $1`, unpaid.ID)
	w.SQL(`UPDATE payments SET mode = 'live', payer_index = $1`, liveIndex(w))
	payer := secretPayer
	payer.Mode = tenant.Live
	for range 2 { // asked twice it is one erasure
		done, err := w.Store.AskErasure(t.Context(), "cli:ada", payer, fiveYears)
		if err != nil || done.Open != 1 || done.Kept != 1 {
			t.Fatalf("AskErasure() = %+v, %v; want 1 open and 1 kept", done, err)
		}
	}
	left := func() (n int) {
		return fixture.Ask[int](w, `SELECT count(*) FROM payments WHERE payer IS NOT NULL`)
	}
	if left() != 2 || fixture.Ask[int](w, `SELECT count(*) FROM erasures WHERE done_at IS NULL AND erased = 1 AND left_over = 2`) != 1 {
		t.Errorf("%d payments have their payer, want the paid one and the open one: %s", left(), fixture.Ask[string](w, `SELECT string_agg(e::text, ' ') FROM erasures e`))
	}
	if found := fixture.Ask[string](w, `SELECT count(*) FILTER (WHERE payer IS NULL) || ' of ' || count(*) FROM payments WHERE account_index IS NOT NULL`); found != "0 of 2" {
		t.Errorf("look for accounts by their last digits after an erasure: got %s found ones whose payer is erased, want 0 of 2", found)
	}
	later := w.Make(personal())
	w.SQL(`UPDATE payments SET mode = 'live', payer_index = $1, created_at = now() + interval '1 second' WHERE id = $2`, liveIndex(w), later.ID)
	w.SQL(`UPDATE payments SET status = 'expired', expires_at = now() - interval '25 hours' WHERE id IN ($1, $2)`, open.ID, later.ID)
	w.SQL(`UPDATE erasure_payments SET since = since - interval '1 hour' WHERE wait = 'open'`)
	ripe(w)
	short := fiveYears
	short.Laundering = time.Microsecond
	for _, r := range []erasure.Retention{fiveYears, short, short} {
		if err := w.Store.EraseDue(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		want := 2 // the paid one, which the law has kept, and the one that came later
		if r == short {
			want = 1
		}
		if left() != want {
			t.Errorf("%+v: %d payments have their payer, want %d", r, left(), want)
		}
	}
	if got := fixture.Ask[string](w, `SELECT erased || ' ' || left_over || ' ' || (done_at IS NOT NULL) || ' ' || (person IS NULL) FROM erasures`); got != "3 0 true true" {
		t.Errorf("the erasure is %s", got)
	}
	if n := fixture.Ask[int](w, `SELECT count(DISTINCT detail->>'paymentId') FROM audit WHERE operator = 'cli:ada' AND action = 'payment.erased'`); n != 3 {
		t.Errorf("%d payments are noted as erased", n)
	}
}

// Other services hold copies of a payment for a while after its last change, and the payer of a cancelled one may have
// sent money before. The payer is erased after both times. Later money is refunded, because the receiver's account is
// erased.
func TestErase_whenCancelled(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	p := w.Make(personal())
	if _, err := w.Merchants.Cancel(t.Context(), fixture.Owner, p.Reference, idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	keep, err := erasure.Keep(fiveYears.Laundering)
	if err != nil || keep.Copies <= payment.Defaults().LateGrace {
		t.Fatalf("other services' copies are gone after %s, while late money is taken for %s; %v", keep.Copies, payment.Defaults().LateGrace, err)
	}
	if done, err := w.Store.AskErasure(t.Context(), "cli:ada", secretPayer, keep); err != nil || done != (erasure.Done{Copied: 1}) {
		t.Fatalf("at once: %+v, %v", done, err)
	}
	if done, err := w.Store.AskErasure(t.Context(), "cli:ada", secretPayer, fiveYears); err != nil || done != (erasure.Done{Erased: 1}) {
		t.Fatalf("once no other service has a copy: %+v, %v", done, err)
	}
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Want(p, "needs_review paid_late")
	if _, err := w.Resolve(p, operators.Order{Action: operators.ActionAccept}); fault.As(err).Code != "receiver_forgotten" {
		t.Errorf("accept: %v", err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Errorf("%d payouts to an erased receiver", n)
	}
}

// ripe makes every erasure old enough that all payments from before it are committed.
func ripe(w *fixture.Payments) {
	w.T.Helper()
	w.SQL(`UPDATE erasures SET asked_at = asked_at - $1 * interval '1 second', walk_of = walk_of - $1 * interval '1 second'`,
		erasure.Commit.Seconds())
}

// liveIndex is the index of the secret payer in live mode.
func liveIndex(w *fixture.Payments) []byte {
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		w.T.Fatal(err)
	}
	return ring.Blind(secretChat, "payer/live/"+fixture.Owner.MerchantID)
}

func TestErase_keepsTheBooks(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(64)
	p := w.Make(personal())
	w.See(p, fixture.Coin{Key: "t1", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.Pay(p)
	w.SQL(`UPDATE payouts SET next_at = NULL`) // as once the rail cannot return it any more
	open, other := w.Make(personal()), w.Make(fixture.Command())
	books := `SELECT array_agg(e.account || e.amount ORDER BY e.journal_id, e.line) FROM ledger_entries e`
	before := fixture.Ask[[]string](w, books)
	done, err := w.Store.AskErasure(t.Context(), "cli:ada", secretPayer, fiveYears)
	if err != nil || done != (erasure.Done{Erased: 1, Open: 1}) {
		t.Fatalf("AskErasure() = %+v, %v; want 1 erased and 1 open", done, err)
	}
	if after := fixture.Ask[[]string](w, books); !slices.Equal(before, after) || len(after) == 0 {
		t.Errorf("the ledger changed: %v, was %v", after, before)
	}
	if v := w.Find(p.Reference); v.Payment.Payer != (payment.Payer{}) || v.Payment.Receiver.AccountNumber != "****" || v.Payment.Receiver.AccountName != "" ||
		v.Payout.AccountNumber != "****" || v.Payment.Status() != payment.StatusSettled {
		t.Errorf("erased: %+v %+v %+v", v.Payment.Payer, v.Payment.Receiver, v.Payout)
	}
	for _, kept := range []payment.Payment{open, other} {
		if v := w.Find(kept.Reference); v.Payment.Payer.ChatID == "" || !v.Payment.Receiver.Known() {
			t.Errorf("%s lost its payer", kept.ID)
		}
	}
	live := secretPayer
	live.Mode = tenant.Live
	if done, err := w.Store.AskErasure(t.Context(), "cli:ada", live, erasure.Retention{}); err != nil || done != (erasure.Done{}) {
		t.Errorf("the other mode: %+v, %v", done, err)
	}
	notes := fixture.Ask[int](w, `SELECT count(*) FROM audit WHERE operator = 'cli:ada' AND action = 'payer.erased'`)
	if notes != 2 || strings.Contains(everything(w), hexOf(secretAccount)) {
		t.Errorf("%d notes", notes)
	}
}

// theirs makes n ended payments of a payer, whose last change is the given time ago. Ids begin with the name.
func theirs(w *fixture.Payments, name string, n int, payer store.Payer, ago time.Duration) {
	w.T.Helper()
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		w.T.Fatal(err)
	}
	w.SQL(`INSERT INTO payments (id, reference, merchant_id, key_id, mode, type, version, sequence, status, fiat_currency, fiat_amount,
			charge_from, metadata, payer_index, created_at, expires_at)
		SELECT $1 || lpad(n::text, 6, '0'), $1 || n, $2, 1, $3, 'transfer', 1, 1, CASE WHEN n % 3 = 0 THEN 'expired' ELSE 'settled' END,
			'NGN', 1, 'crypto', '{}', $4, now() - $5 * interval '1 second', now()
		FROM generate_series(1, $6::int) n`,
		name, payer.MerchantID, string(payer.Mode), ring.Blind(payer.ChatID, "payer/"+string(payer.Mode)+"/"+payer.MerchantID), ago.Seconds(), n)
}

// EraseDue reads due payments only. Without one it does not read the table of payments, however many a merchant has. A
// request with a thousand waiting payments does not delay the due payments of another request.
func TestErase_readsWhatIsDue(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	keep, err := erasure.Keep(fiveYears.Laundering)
	if err != nil {
		t.Fatal(err)
	}
	many, one := secretPayer, secretPayer
	many.ChatID = "many"
	theirs(w, "pay_a", 1200, many, time.Hour)
	theirs(w, "pay_b", 1, one, keep.Copies-time.Hour)
	for payer, want := range map[store.Payer]int64{many: 1200, one: 1} {
		if done, err := w.Store.AskErasure(t.Context(), "cli:ada", payer, keep); err != nil || done != (erasure.Done{Copied: want}) {
			t.Fatalf("AskErasure() of %s = %+v, %v; want %d copied", payer.ChatID, done, err, want)
		}
	}
	w.SQL(`ALTER TABLE payments RENAME TO hidden`)
	if err := w.Store.EraseDue(t.Context(), keep); err != nil {
		t.Errorf("a look with nothing due: %v", err)
	}
	w.SQL(`ALTER TABLE hidden RENAME TO payments`)
	ripe(w)
	later := keep
	later.Copies -= 2 * time.Hour
	if err := w.Store.EraseDue(t.Context(), later); err != nil {
		t.Error(err)
	}
	if left := fixture.Ask[string](w, `SELECT string_agg(DISTINCT left(id, 5), ' ') FROM payments WHERE payer_index IS NOT NULL`); left != "pay_a" {
		t.Errorf("payments of %s are left", left)
	}
	if done := fixture.Ask[int](w, `SELECT count(*) FROM erasures WHERE done_at IS NOT NULL AND person IS NULL AND erased = 1`); done != 1 {
		t.Errorf("%d erasures ended", done)
	}
}

// A walk that was stopped between two batches, or before the first, continues from there.
func TestErase_goesOnWithItsWalk(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	keep, err := erasure.Keep(fiveYears.Laundering)
	if err != nil {
		t.Fatal(err)
	}
	const before, after = 200, fixture.PaymentsWalked - 200
	theirs(w, "pay_a", before+after, secretPayer, time.Hour)
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := erasure.Ask(t.Context(), w.Pool, ring, "cli:ada", secretPayer); err != nil { // and the process dies
		t.Fatal(err)
	}
	noted := func(want int) {
		t.Helper()
		if err := w.Store.EraseDue(t.Context(), keep); err != nil {
			t.Fatal(err)
		}
		if got := fixture.Ask[int](w, `SELECT count(*) FROM erasure_payments WHERE wait = 'copies'`); got != want {
			t.Errorf("%d payments are noted, want %d", got, want)
		}
	}
	noted(before + after)
	w.SQL(`DELETE FROM erasure_payments`)
	w.SQL(`UPDATE erasures SET walk_after = 'pay_a000200'`)
	noted(after)
	if got := fixture.Ask[string](w, `SELECT min(payment_id) FROM erasure_payments`); got != "pay_a000201" {
		t.Errorf("the walk went on with %s, want pay_a000201", got)
	}
}

// A payment with an earlier time that is committed just after the first walk of an erasure is erased too: the erasure
// ends only after a second walk.
func TestErase_committedLate(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	now := erasure.Retention{Laundering: time.Microsecond, Copies: time.Microsecond}
	theirs(w, "pay_a", 1, secretPayer, time.Hour)
	if done, err := w.Store.AskErasure(t.Context(), "cli:ada", secretPayer, now); err != nil || done != (erasure.Done{Erased: 1}) {
		t.Fatalf("AskErasure() = %+v, %v; want 1 erased", done, err)
	}
	theirs(w, "pay_0", 1, secretPayer, time.Hour) // stamped an hour ago, and committed now
	look := func(want string) {
		t.Helper()
		if err := w.Store.EraseDue(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		const state = `SELECT (SELECT count(*) FROM payments WHERE payer_index IS NOT NULL) || ' left, ' || (done_at IS NOT NULL) FROM erasures`
		if got := fixture.Ask[string](w, state); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	look("1 left, false")
	ripe(w)
	look("0 left, true")
}

// An earlier release ends erasures and leaves the rows of their payments. These rows do not restart the erasure and are
// deleted.
func TestErase_endedByAnEarlierRelease(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	keep, err := erasure.Keep(fiveYears.Laundering)
	if err != nil {
		t.Fatal(err)
	}
	theirs(w, "pay_a", 3, secretPayer, time.Hour)
	if done, err := w.Store.AskErasure(t.Context(), "cli:ada", secretPayer, keep); err != nil || done != (erasure.Done{Copied: 3}) {
		t.Fatalf("AskErasure() = %+v, %v; want 3 copied", done, err)
	}
	w.SQL(`UPDATE erasures SET done_at = now(), person = NULL`)
	waits, micros := []string{"copies"}, []int64{1}
	due := func() (n int) {
		t.Helper()
		if err := w.Pool.QueryRow(t.Context(), `SELECT count(*) FROM (`+statement(w, "dueErasures")+`) AS due`, waits, micros, 60.0).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := due(); n != 0 {
		t.Errorf("%d ended erasures are due", n)
	}
	if err := w.Store.EraseDue(t.Context(), fiveYears); err != nil {
		t.Fatal(err)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM erasure_payments`); n != 0 {
		t.Errorf("%d payments of ended erasures are noted", n)
	}
}
