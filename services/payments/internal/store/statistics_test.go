//go:build integration

package store_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/statistics"
)

var everyKind = statistics.Filter{
	Owner: fixture.Owner, From: time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2020, 12, 31, 0, 0, 0, 0, time.UTC), By: statistics.Dimensions(),
}

// counted asks the payments themselves for what statistics.Row holds.
func counted(w *fixture.Payments, f statistics.Filter) (lines []string) {
	w.T.Helper()
	rows, err := w.Pool.Query(w.T.Context(), `SELECT concat_ws(' ', day, type, fiat_currency, network, status, speed, count(*), trim_scale(sum(fiat_amount)),
		trim_scale(sum(transaction_usd)), trim_scale(sum(credit_fee)), trim_scale(sum(credit_payout)), sum(ms))
	FROM (SELECT p.*, (created_at AT TIME ZONE 'UTC')::date AS day, CASE WHEN status = 'settled' THEN ms ELSE 0 END AS ms,
			CASE WHEN status <> 'settled' THEN 0 WHEN ms <= 60000 THEN 1 WHEN ms <= 300000 THEN 2 WHEN ms <= 3600000 THEN 3 WHEN ms <= 86400000 THEN 4 ELSE 5 END AS speed
		FROM payments p, LATERAL (SELECT greatest(0, (1000 * extract(epoch FROM settled_at - greatest(confirmed_at, claimed_at)))::bigint) AS ms) AS took) AS p
	WHERE merchant_id = $1 AND mode = $2 AND day BETWEEN $3 AND $4
	GROUP BY day, type, fiat_currency, network, status, speed ORDER BY day, type, fiat_currency, network, status, speed`, f.Owner.MerchantID, string(f.Owner.Mode), f.From, f.To)
	if err != nil {
		w.T.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			w.T.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

// summed is what the store answers, in the same words.
func summed(w *fixture.Payments, f statistics.Filter) (lines []string) {
	w.T.Helper()
	rows, err := w.Store.Statistics(w.T.Context(), f, statistics.RowsMost)
	if err != nil {
		w.T.Fatal(err)
	}
	for _, r := range rows {
		lines = append(lines, strings.Join([]string{
			r.Day, r.Type, r.Currency, r.Network, string(r.Status), fmt.Sprint(r.Speed), fmt.Sprint(r.Payments), r.Fiat.String(), r.USD.String(), r.Fee.String(),
			r.Payout.String(), fmt.Sprint(r.SettlingMS),
		}, " "))
	}
	return lines
}

// The sums are those of the payments themselves, whatever happens to payments and whenever the leader adds them up.
func TestStatistics_areExact(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO payments (id, reference, merchant_id, key_id, mode, type, version, sequence, status, fiat_currency, fiat_amount, transaction_usd, network,
			charge_from, metadata, created_at, expires_at)
		SELECT 'pay_' || lpad(n::text, 26, '0'), 'CW-' || lpad(n::text, 12, '0'), $1, 1, $2, (ARRAY['transfer', 'gift', 'request', 'merchant'])[1 + n % 4], 1, 1,
			(ARRAY['pending', 'expired', 'confirmed'])[1 + n % 3], (ARRAY['NGN', 'KES'])[1 + n % 2], n % 1000 + 0.25, n % 7 + 0.01, (ARRAY['', 'tron', 'bsc'])[1 + n % 3],
			'crypto', '{}', '2020-01-01'::timestamptz + n % 300 * interval '1 day', now()
		FROM generate_series(1, 4000) n`, fixture.Owner.MerchantID, string(fixture.Owner.Mode))
	changes := []string{
		`UPDATE payments SET status = 'settled', credit_fee = 12.5, credit_payout = 1.01, confirmed_at = '2020-11-02', settled_at = '2020-11-02 00:03:21' WHERE %s`,
		`UPDATE payments SET status = 'needs_review' WHERE %s`,
		`UPDATE payments SET status = 'refunded' WHERE %s`,
		`UPDATE payments SET network = 'tron', transaction_usd = 3.25 WHERE %s`,
		`UPDATE payments SET metadata = '{"a":1}' WHERE %s`,
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // choices of a test
	var wg sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wg.Go(func() {
		for ctx.Err() == nil {
			if err := w.Store.FoldStatistics(ctx); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for range 30 {
		where := fmt.Sprintf(`id IN (SELECT id FROM payments WHERE merchant_id = '%s' ORDER BY md5(id || '%d') LIMIT 40)`, fixture.Owner.MerchantID, random.Int())
		w.SQL(fmt.Sprintf(changes[random.IntN(len(changes))], where))
		if diff := cmp.Diff(counted(w, everyKind), summed(w, everyKind)); diff != "" {
			t.Fatalf("the sums are not those of the payments (-payments +sums):\n%s", diff)
		}
	}
	stop()
	wg.Wait()
	if err := w.Store.FoldStatistics(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := fixture.Ask[int](w, `SELECT count(*) FROM statistics_news`); left != 0 {
		t.Errorf("%d rows are left to add up", left)
	}
	if diff := cmp.Diff(counted(w, everyKind), summed(w, everyKind)); diff != "" {
		t.Errorf("after all was added up (-payments +sums):\n%s", diff)
	}
	other := everyKind
	other.Owner.Mode = tenant.Live
	if rows := summed(w, other); len(rows) != 0 {
		t.Errorf("the other mode sees %v", rows)
	}
	if other.Owner.MerchantID = "nobody"; len(summed(w, other)) != 0 {
		t.Error("another merchant sees figures")
	}
	start := time.Now()
	summed(w, everyKind)
	t.Logf("all kinds of a year: %s", time.Since(start))
}

// A statement leaves a row of news for each kind of payment that it changes, however many payments it changes. Every
// row of news is written, read and deleted once more.
func TestStatistics_newsOfAStatement(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	const insert = `INSERT INTO payments (id, reference, merchant_id, key_id, mode, type, version, sequence, status, fiat_currency, fiat_amount, metadata, charge_from,
			created_at, expires_at)
		SELECT 'pay_' || lpad(n::text, 26, '0'), 'CW-' || lpad(n::text, 12, '0'), $1, 1, $2, 'gift', CASE WHEN n > 40 THEN 7 ELSE 1 END, 1, 'pending',
			(ARRAY['NGN', 'KES'])[1 + n % 2], n, '{}', 'crypto', '2020-01-01', now()
		FROM generate_series(1, 50) n`
	for _, step := range []struct {
		does string
		sql  string
		args []any
		want int // rows of news
	}{
		{"40 payments are made, and ten come back from the archive", insert, []any{fixture.Owner.MerchantID, string(fixture.Owner.Mode)}, 2},
		{"nothing that is counted changes", `UPDATE payments SET metadata = '{"a":1}', due_at = now()`, nil, 0},
		{"two kinds change", `UPDATE payments SET status = 'confirming' WHERE version = 1`, nil, 4},
		{"two payments change their network", `UPDATE payments SET network = CASE network WHEN 'tron' THEN 'bsc' ELSE 'tron' END WHERE reference ~ '0[13]$'`, nil, 2},
		{"amounts change within a kind", `UPDATE payments SET credit_fee = 1.5 WHERE version = 1 AND fiat_currency = 'KES' AND network = ''`, nil, 1},
		{"changes of one kind balance", `UPDATE payments SET fiat_amount = CASE reference WHEN 'CW-000000000005' THEN 7 ELSE 5 END
			WHERE reference IN ('CW-000000000005', 'CW-000000000007')`, nil, 0},
		{"nothing", `UPDATE payments SET status = 'settled' WHERE false`, nil, 0},
	} {
		before := fixture.Ask[int](w, `SELECT count(*) FROM statistics_news`)
		w.SQL(step.sql, step.args...)
		if got := fixture.Ask[int](w, `SELECT count(*) FROM statistics_news`) - before; got != step.want {
			t.Errorf("%s: %d rows of news, expected %d", step.does, got, step.want)
		}
		w.SQL(`DELETE FROM payments WHERE version = 7`) // counted does not leave them out
		if diff := cmp.Diff(counted(w, everyKind), summed(w, everyKind)); diff != "" {
			t.Errorf("%s (-payments +sums):\n%s", step.does, diff)
		}
	}
}

// A payment's life is counted by the state machine's own writes, and once whatever the answer is asked by.
func TestStatistics_ofALife(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.Fill(4)
	w.Make(fixture.Command())
	paid := w.Make(fixture.Command())
	w.See(paid, fixture.Coin{Key: "aa", Amount: "31.25", Version: 1, Depth: fixture.Enough})
	w.WorkUntil(paid, "settled")
	if _, err := w.Create(fixture.Request(), idempotency.Key{}); err != nil {
		t.Fatal(err)
	}
	today := time.Now().UTC()
	f := statistics.Filter{Owner: fixture.Owner, From: today.AddDate(0, 0, -1), To: today, By: statistics.Dimensions()}
	if diff := cmp.Diff(counted(w, f), summed(w, f)); diff != "" {
		t.Errorf("(-payments +sums):\n%s", diff)
	}
	for _, by := range [][]string{nil, {statistics.ByStatus}, {statistics.ByDay, statistics.ByNetwork}} {
		f.By = by
		body, err := w.Statistics.Show(t.Context(), f)
		var got struct {
			Statistics struct {
				Totals struct{ Count, Settled, Ended int }
				Groups []struct{ Count int }
			}
		}
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		sum := 0
		for _, g := range got.Statistics.Groups {
			sum += g.Count
		}
		if totals := got.Statistics.Totals; err != nil || totals.Count != 3 || totals.Settled != 1 || totals.Ended != 1 || (by != nil && sum != 3) {
			t.Errorf("by %v: %s, %v", by, body, err)
		}
	}
	f.By, f.Type = nil, payment.Request
	if body, err := w.Statistics.Show(t.Context(), f); err != nil || !strings.Contains(string(body), `"count":1,`) {
		t.Errorf("of requests: %s, %v", body, err)
	}
}
