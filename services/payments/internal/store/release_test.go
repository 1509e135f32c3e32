//go:build integration

package store_test

import (
	"testing"

	"causeway.internal/services/payments/internal/fixture"
)

// An earlier release writes the entries of a journal and the changes of a payment as rows, and reads what this one
// writes.
func TestMigrations_rowsOfAnEarlierRelease(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	p := w.ConfirmedWith("0123456789")
	w.WorkUntil(p, "settled")
	w.Balanced()
	if lines := fixture.Ask[int](w, `SELECT count(*) FROM ledger_lines`); lines != 0 {
		t.Errorf("a settled payment wrote %d entries that are rows, want 0", lines)
	}
	if entries, journals := fixture.Ask[int](w, `SELECT count(*) FROM ledger_entries`), fixture.Ask[int](w, `SELECT count(*) FROM ledger_journals`); entries != 3*journals {
		t.Errorf("the view shows %d entries of %d journals, want 3 of each", entries, journals)
	}
	const journals = `WITH j AS (
	INSERT INTO ledger_journals (key, event, payment_id) SELECT key, event, nullif(payment, '')
	FROM unnest($1::text[], $2::text[], $3::text[]) AS t(key, event, payment) ON CONFLICT (key) DO NOTHING RETURNING id, key
), e AS (
	SELECT j.id, line, code, asset, side, normal, owner, amount::numeric AS amount
	FROM unnest($4::text[], $5::smallint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[])
		AS t(key, line, code, asset, side, normal, owner, amount) JOIN j USING (key)
), entries AS (
	INSERT INTO ledger_entries (journal_id, line, account, asset, side, amount) SELECT id, line, code, asset, side, amount FROM e
), shared AS (
	INSERT INTO ledger_accounts (code, asset, normal) SELECT DISTINCT code, asset, normal FROM e WHERE owner = '' ORDER BY code ON CONFLICT (code) DO NOTHING
)
INSERT INTO ledger_accounts AS a (code, asset, normal, payment_id, balance)
SELECT code, asset, normal, owner, sum(CASE WHEN side = normal THEN amount ELSE -amount END) FROM e WHERE owner <> ''
GROUP BY code, asset, normal, owner ORDER BY code
ON CONFLICT (code) DO UPDATE SET balance = a.balance + excluded.balance`
	write := func(credit string) error {
		_, err := w.Pool.Exec(t.Context(), journals, []string{"test:old"}, []string{"e"}, []string{p.ID}, []string{"test:old", "test:old"}, []int{1, 2},
			[]string{"test:payable:" + p.ID + ":NGN", "test:merchant:m:NGN"}, []string{"NGN", "NGN"}, []string{"debit", "credit"}, []string{"credit", "credit"},
			[]string{p.ID, ""}, []string{"5", credit})
		return err
	}
	if err := write("4"); err == nil {
		t.Error("an earlier release wrote a journal that does not balance")
	}
	if err := write("5"); err != nil {
		t.Fatalf("write a journal as an earlier release: %v", err)
	}
	if got := fixture.Ask[string](w, `SELECT string_agg(account || ' ' || side || ' ' || amount, ', ' ORDER BY line) FROM ledger_entries e
		JOIN ledger_journals j ON j.id = e.journal_id WHERE j.key = 'test:old'`); got != "test:payable:"+p.ID+":NGN debit 5, test:merchant:m:NGN credit 5" {
		t.Errorf("an earlier release reads %q", got)
	}
	if got := fixture.Ask[string](w, `SELECT balance::text FROM ledger_accounts WHERE code = 'test:merchant:m:NGN'`); got != "5" {
		t.Errorf("the merchant has %s, want 5", got)
	}

	before := fixture.Ask[string](w, `SELECT string_agg(version || ' ' || n || ' ' || from_state || ' ' || to_state, ', ' ORDER BY version, n) FROM history WHERE payment_id = $1`, p.ID)
	const history = `INSERT INTO history AS h (payment_id, version, n, trigger, from_state, to_state, exception)
SELECT * FROM unnest($1::text[], $2::bigint[], $3::smallint[], $4::text[], $5::text[], $6::text[], $7::text[])
RETURNING h.n::int + (CASE WHEN h.n > 1 THEN 0 ELSE
	coalesce(1000000 * extract(epoch FROM now() - (SELECT max(b.at) FROM history b WHERE b.payment_id = h.payment_id AND b.version < h.version)), 0) END::bigint)`
	var since int64
	if err := w.Pool.QueryRow(t.Context(), history, []string{p.ID}, []int64{99}, []int{1}, []string{"t"}, []string{"settled"}, []string{"settled"}, []string{""}).Scan(&since); err != nil ||
		since <= 1 {
		t.Errorf("write a change as an earlier release = %d microseconds after the last one, %v", since, err)
	}
	after := fixture.Ask[string](w, `SELECT string_agg(version || ' ' || n || ' ' || from_state || ' ' || to_state, ', ' ORDER BY version, n) FROM history WHERE payment_id = $1`, p.ID)
	if after != before+", 99 1 settled settled" {
		t.Errorf("after an earlier release wrote a change the history is %q, before it was %q", after, before)
	}
	if _, err := w.Pool.Exec(t.Context(), `UPDATE payments SET changes[1] = '1 1 create none settled ' WHERE id = $1`, p.ID); err == nil {
		t.Error("a change of a payment was rewritten")
	}
	if _, err := w.Pool.Exec(t.Context(), `UPDATE payments SET changes = '{}', changed_at = '{}' WHERE id = $1`, p.ID); err == nil {
		t.Error("the changes of a payment were removed")
	}
}
