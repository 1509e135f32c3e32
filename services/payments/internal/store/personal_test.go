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
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/store"
)

const (
	secretChat    = "chat-Zq81731"
	secretPhone   = "2348031112223"
	secretAccount = "9876501234"
)

// personal is a transfer of a person whose data no test of others uses.
func personal() payment.Command {
	c := command()
	c.Payer = &payment.PayerInput{ChatID: secretChat, Phone: secretPhone}
	c.Receiver = &payment.ReceiverInput{BankCode: "058", AccountNumber: secretAccount}
	return c
}

// everything is the text of every row of every table but the simulated bank's own memory.
func (w *world) everything() string {
	w.t.Helper()
	rows, err := w.pool.Query(w.t.Context(), `SELECT table_name::text FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'sim\_%'`)
	if err != nil {
		w.t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			w.t.Fatal(err)
		}
		tables = append(tables, name)
	}
	var all strings.Builder
	for _, table := range tables {
		all.WriteString(ask[string](w, `SELECT coalesce(string_agg(coalesce(r::text, ''), E'\n'), '') FROM `+table+` r`))
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
	w := newWorld(t)
	w.fill(64)
	p := w.made(personal())
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.pay(p)
	gift := command()
	gift.Type, gift.Receiver = "gift", nil
	g := w.made(gift)
	k := app.Key{Scope: "public", Key: "claim-1", Hash: [32]byte{1}}
	first, err := w.app.Claim(t.Context(), g.Reference, &payment.ReceiverInput{BankCode: "058", AccountNumber: secretAccount}, noProblems(), k)
	if err != nil || !strings.Contains(string(first.Body), secretAccount) {
		t.Fatalf("the claim answers %s, %v", first.Body, err)
	}
	again, err := w.app.Claim(t.Context(), g.Reference, &payment.ReceiverInput{BankCode: "058", AccountNumber: secretAccount}, noProblems(), k)
	if err != nil || !again.Replayed || string(again.Body) != string(first.Body) {
		t.Fatalf("the replay answers %s, %v", again.Body, err)
	}
	all := w.everything()
	for _, secret := range []string{secretChat, secretPhone, secretAccount} {
		if strings.Contains(all, secret) || strings.Contains(all, hexOf(secret)) {
			t.Errorf("%s is readable in the database", secret)
		}
	}
	if got := w.find(p.Reference); got.Payment.Payer.ChatID != secretChat || got.Payment.Receiver.AccountNumber != secretAccount {
		t.Errorf("read back: %+v %+v", got.Payment.Payer, got.Payment.Receiver)
	}
}

// A new master key reads what the old one sealed, seals it again while payments go on, and then the old one may go.
func TestReseal_survivesARotation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(64)
	p := w.made(personal())
	w.sql(`UPDATE payments SET payer = convert_to('{"chatId":"from before"}', 'UTF8') WHERE id = $1`, p.ID) // as rows were before sealing
	q := w.made(personal())
	w.see(q, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	zero, one := base64.StdEncoding.EncodeToString(make([]byte, 32)), base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 32)))
	open := func(keys string) *store.Store {
		ring, err := keyring.Parse(keys)
		if err != nil {
			t.Fatal(err)
		}
		return store.New(w.pool, app.Renderer{}, ring, telemetrytest.ForTest(t).Log, func() {}, func(string) {})
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
	secretPayer = store.Payer{MerchantID: owner.MerchantID, Mode: payment.Test, ChatID: secretChat}
	fiveYears   = store.Retention{Grace: 24 * time.Hour, Laundering: 5 * 365 * 24 * time.Hour}
)

// What is not over, or what the law has kept, is erased when its time has come, without anybody asking again; what came after
// the question is not.
func TestErase_whenItsTimeHasCome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(64)
	paid, open, unpaid := w.made(personal()), w.made(personal()), w.made(personal())
	w.see(paid, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.pay(paid)
	w.sql(`UPDATE payouts SET next_at = NULL`)
	w.sql(`UPDATE payments SET status = 'expired', expires_at = now() - interval '25 hours' WHERE id = $1`, unpaid.ID)
	w.sql(`UPDATE payments SET mode = 'live', payer_index = $1`, w.liveIndex())
	payer := secretPayer
	payer.Mode = payment.Live
	for range 2 { // asked twice it is one erasure
		done, err := w.store.AskErasure(t.Context(), "cli:ada", payer, fiveYears)
		if err != nil || done.Open != 1 || done.Kept != 1 {
			t.Fatalf("%+v, %v", done, err)
		}
	}
	left := func() (n int) {
		return ask[int](w, `SELECT count(*) FROM payments WHERE payer IS NOT NULL`)
	}
	if left() != 2 || ask[int](w, `SELECT count(*) FROM erasures WHERE done_at IS NULL AND erased = 1 AND left_over = 2`) != 1 {
		t.Errorf("%d payments have their payer, want the paid one and the open one: %s", left(), ask[string](w, `SELECT string_agg(e::text, ' ') FROM erasures e`))
	}
	later := w.made(personal())
	w.sql(`UPDATE payments SET mode = 'live', payer_index = $1, created_at = now() + interval '1 second' WHERE id = $2`, w.liveIndex(), later.ID)
	w.sql(`UPDATE payments SET status = 'expired', expires_at = now() - interval '25 hours' WHERE id IN ($1, $2)`, open.ID, later.ID)
	short := fiveYears
	short.Laundering = time.Microsecond
	for _, r := range []store.Retention{fiveYears, short, short} {
		if err := w.store.EraseDue(t.Context(), r); err != nil {
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
	if got := ask[string](w, `SELECT erased || ' ' || left_over || ' ' || (done_at IS NOT NULL) || ' ' || (person IS NULL) FROM erasures`); got != "3 0 true true" {
		t.Errorf("the erasure is %s", got)
	}
	if n := ask[int](w, `SELECT count(DISTINCT detail->>'paymentId') FROM audit WHERE operator = 'cli:ada' AND action = 'payment.erased'`); n != 3 {
		t.Errorf("%d payments are noted as erased", n)
	}
}

// A payer may have sent the money before the merchant cancelled, so a cancelled payment is kept as long as an expired one. Money
// that comes after the erasure is refunded: the account that it was for is gone.
func TestErase_whenCancelled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(64)
	p := w.made(personal())
	if _, err := w.app.Cancel(t.Context(), owner, p.Reference, app.Key{}); err != nil {
		t.Fatal(err)
	}
	if done, err := w.store.AskErasure(t.Context(), "cli:ada", secretPayer, fiveYears); err != nil || done != (erasure.Done{Open: 1}) {
		t.Fatalf("at once: %+v, %v", done, err)
	}
	short := fiveYears
	short.Grace = time.Microsecond
	if done, err := w.store.AskErasure(t.Context(), "cli:ada", secretPayer, short); err != nil || done != (erasure.Done{Erased: 1}) {
		t.Fatalf("after the grace: %+v, %v", done, err)
	}
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.want(p, "needs_review paid_late")
	if _, err := w.resolve(p, app.Order{Action: app.ActionAccept}); fault.As(err).Code != "receiver_forgotten" {
		t.Errorf("accept: %v", err)
	}
	if n := ask[int](w, `SELECT count(*) FROM payouts`); n != 0 {
		t.Errorf("%d payouts to an erased receiver", n)
	}
}

// liveIndex is what the secret payer is found by in live mode.
func (w *world) liveIndex() []byte {
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		w.t.Fatal(err)
	}
	return ring.Blind(secretChat, "payer/live/"+owner.MerchantID)
}

func TestErase_keepsTheBooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.fill(64)
	p := w.made(personal())
	w.see(p, coin{key: "t1", amount: "31.25", version: 1, depth: enough})
	w.pay(p)
	w.sql(`UPDATE payouts SET next_at = NULL`) // as once the rail cannot return it any more
	open, other := w.made(personal()), w.made(command())
	books := `SELECT array_agg(e.account || e.amount ORDER BY e.journal_id, e.line) FROM ledger_entries e`
	before := ask[[]string](w, books)
	done, err := w.store.AskErasure(t.Context(), "cli:ada", secretPayer, fiveYears)
	if err != nil || done != (erasure.Done{Erased: 1, Open: 1}) {
		t.Fatalf("%+v, %v", done, err)
	}
	if after := ask[[]string](w, books); !slices.Equal(before, after) || len(after) == 0 {
		t.Errorf("the ledger changed: %v, was %v", after, before)
	}
	if v := w.find(p.Reference); v.Payment.Payer != (payment.Payer{}) || v.Payment.Receiver.AccountNumber != "****" || v.Payment.Receiver.AccountName != "" ||
		v.Payout.AccountNumber != "****" || v.Payment.Status() != payment.StatusSettled {
		t.Errorf("erased: %+v %+v %+v", v.Payment.Payer, v.Payment.Receiver, v.Payout)
	}
	for _, kept := range []payment.Payment{open, other} {
		if v := w.find(kept.Reference); v.Payment.Payer.ChatID == "" || !v.Payment.Receiver.Known() {
			t.Errorf("%s lost its payer", kept.ID)
		}
	}
	live := secretPayer
	live.Mode = payment.Live
	if done, err := w.store.AskErasure(t.Context(), "cli:ada", live, store.Retention{}); err != nil || done != (erasure.Done{}) {
		t.Errorf("the other world: %+v, %v", done, err)
	}
	notes := ask[int](w, `SELECT count(*) FROM audit WHERE operator = 'cli:ada' AND action = 'payer.erased'`)
	if notes != 2 || strings.Contains(w.everything(), hexOf(secretAccount)) {
		t.Errorf("%d notes", notes)
	}
}
