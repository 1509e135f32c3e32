//go:build integration

package store_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"time"

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
	if done, err := alone.Erase(t.Context(), "cli:test", payment.Test, owner.MerchantID, secretChat, 24*time.Hour); err != nil || done.Open != 1 {
		t.Errorf("the index was not made anew: %+v, %v", done, err)
	}
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
	done, err := w.store.Erase(t.Context(), "cli:ada", payment.Test, owner.MerchantID, secretChat, 24*time.Hour)
	if err != nil || done != (store.Erased{Payments: 1, Open: 1}) {
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
	if done, err := w.store.Erase(t.Context(), "cli:ada", payment.Live, owner.MerchantID, secretChat, 0); err != nil || done != (store.Erased{}) {
		t.Errorf("the other world: %+v, %v", done, err)
	}
	notes := ask[int](w, `SELECT count(*) FROM audit WHERE operator = 'cli:ada' AND action = 'payer.erased'`)
	if notes != 2 || strings.Contains(w.everything(), hexOf(secretAccount)) {
		t.Errorf("%d notes", notes)
	}
}
