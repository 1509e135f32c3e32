//go:build integration

package store_test

import (
	"crypto/md5" //nolint:gosec // as PostgreSQL makes the rows
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawal"
)

// plan is a step in the output of EXPLAIN.
type plan struct {
	Node    string      `json:"Node Type"`
	On      string      `json:"Relation Name"`
	Removed json.Number `json:"Rows Removed by Filter"` // of one loop, on average
	Loops   json.Number `json:"Actual Loops"`
	Hit     int         `json:"Shared Hit Blocks"`
	Read    int         `json:"Shared Read Blocks"`
	Steps   []plan      `json:"Plans"`
}

// each shows every step.
func (p plan) each(f func(plan)) {
	f(p)
	for _, s := range p.Steps {
		s.each(f)
	}
}

func explain(w *fixture.Payments, name string, args ...any) plan {
	w.T.Helper()
	var raw []byte
	err := pgx.BeginFunc(w.T.Context(), w.Pool, func(tx pgx.Tx) (err error) {
		before := map[string]string{"listOwnedByPayer": store.WithoutBitmaps, "listByAccount": store.WithoutBitmaps, "countOpen": store.Statements()["noWholeTable"]}
		if _, err := tx.Exec(w.T.Context(), before[name]); err != nil {
			return err
		}
		raw, err = fixture.Explain(w.T.Context(), tx, name, args...)
		return err
	})
	if err != nil {
		w.T.Fatalf("explain %s: %v", name, err)
	}
	var out []struct{ Plan plan }
	if err := json.Unmarshal(raw, &out); err != nil || len(out) != 1 {
		w.T.Fatalf("plan of %s = %s, %v; want one plan", name, raw, err)
	}
	return out[0].Plan
}

// whole is a number of EXPLAIN, "" where it says nothing.
func whole(w *fixture.Payments, n json.Number) int {
	w.T.Helper()
	if n == "" {
		return 0
	}
	text, _, _ := strings.Cut(n.String(), ".")
	i, err := strconv.Atoi(text)
	if err != nil {
		w.T.Fatal(err)
	}
	return i
}

const (
	many, manyPiece = fixture.PaymentsListed, 10_000 // a statement of all would pass the time that one may take on a busy machine

	insertCrowd = `INSERT INTO payments (id, reference, merchant_id, key_id, mode, type, version, sequence, status, hold, fiat_currency, fiat_amount, charge_from, metadata,
			created_at, expires_at, settled_at, family, address, payer_index, exception, merchant_reference, account_index)
		SELECT 'pay_' || lpad(n::text, 26, '0'), 'CW-' || lpad(n::text, 12, '0'), CASE WHEN n % 10 = 0 THEN 'm' || n / 10 % 20 ELSE 'big' END, 1, 'test',
			CASE WHEN n <= 90 THEN 'bank_confirmation' ELSE (ARRAY['transfer', 'gift', 'request', 'merchant'])[1 + n % 4] END, 1, 1,
			CASE WHEN n % 3 = 0 THEN 'expired' WHEN n BETWEEN 100 AND 200 THEN 'needs_review' ELSE 'settled' END,
			CASE WHEN n BETWEEN 100 AND 200 THEN 'late' ELSE '' END,
			'NGN', 1, 'crypto', '{}', now(), now(), CASE WHEN n % 3 > 0 THEN '2026-01-01'::timestamptz + n * interval '1 second' END,
			'tron', 'T' || n, CASE WHEN n % 2 = 1 THEN '\x02'::bytea ELSE decode(md5((n / 100)::text), 'hex') END, CASE WHEN n % 50 = 0 THEN 'overpaid' ELSE '' END,
			CASE WHEN n % 7 = 0 THEN 'o-' || n ELSE '' END, decode(md5((n % 1000)::text), 'hex')
		FROM generate_series($1::int, $2) n`

	insertCrowdDeposits = `INSERT INTO deposits (mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted, block_height, block_hash,
			first_seen_at, depth, finalized, senders, screening)
		SELECT 'test', 'k' || n, 1, 'pay_' || lpad(n::text, 26, '0'), 'tron', 'tron', 'T' || n, 'USDT', '', 'h' || n / 3, 1, false, 1, '', now(), 1, true, '{}', 'clear'
		FROM generate_series($1::int, $2) n`
)

// populate makes many payments of twenty-one merchants. One merchant has nine tenths of them. Few have the type
// bank_confirmation or are in review, and those are the oldest. One payer makes every second payment, and one payment
// in fifty is overpaid.
func populate(w *fixture.Payments) {
	w.T.Helper()
	for first := 1; first <= many; first += manyPiece {
		w.SQL(insertCrowd, first, first+manyPiece-1)
		w.SQL(insertCrowdDeposits, first, first+manyPiece-1)
	}
	w.SQL(`INSERT INTO differences (kind, object, asset, owner, expected, found, resolved_at)
		SELECT 'clearing', n::text, 'NGN', 'o', 1, 2, CASE WHEN n > 20 THEN now() END FROM generate_series(1, 20000) n`)
	w.SQL(`VACUUM ANALYZE payments, differences, deposits`)
}

func md5Of(text string) []byte {
	sum := md5.Sum([]byte(text)) //nolint:gosec // as PostgreSQL makes the rows
	return sum[:]
}

// archiveCrowd archives the payments of the crowd that have ended, but for every fifth.
const archiveCrowd = `WITH ended AS (
		SELECT p.id FROM ONLY payments p WHERE p.id BETWEEN 'pay_' || lpad($1::int::text, 26, '0') AND 'pay_' || lpad($2::int::text, 26, '0')
			AND right(p.id, 1) NOT IN ('3', '7') AND p.status <> 'needs_review'),
	moved AS (
		INSERT INTO archived_payments SELECT p.*, '2026-01.1', now(), ARRAY['tx:' || d.tx_hash, 'deposit:test:' || d.key],
			jsonb_build_object('deposits', jsonb_build_array(to_jsonb(d)), 'payouts', jsonb_build_array())
		FROM ended e JOIN ONLY payments p USING (id) JOIN deposits d ON d.payment_id = p.id),
	emptied AS (DELETE FROM deposits d USING ended e WHERE d.payment_id = e.id)
	DELETE FROM ONLY payments p USING ended e WHERE p.id = e.id`

// archived moves most of what populate has made into the table of the archived.
func archived(w *fixture.Payments) {
	w.T.Helper()
	w.SQL(`INSERT INTO archives (id, month, manifest, payments) VALUES ('2026-01.1', '2026-01-01', '', 0)`)
	const piece = manyPiece / 10
	for first := 1; first <= many; first += piece {
		w.SQL(archiveCrowd, first, first+piece-1)
	}
	w.SQL(`VACUUM ANALYZE payments, archived_payments, deposits`)
}

// A page costs the same over many payments as over a few, for any filter, and wherever they are: it reads no whole
// table and no payments of other pages.
func TestPlans_aPageReadsAPage(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	populate(w)
	var every, types, rare []string
	for _, s := range payment.Statuses() {
		every = append(every, string(s))
	}
	for _, kind := range payment.Types() {
		types = append(types, string(kind))
	}
	rare = []string{string(payment.BankConfirmation)}
	settled, review := []string{"settled"}, []string{"needs_review"}
	one, modes := []string{"test"}, []string{"live", "test"}
	const low, high, middle = "pay_", "pay_z", "pay_00000000000000000000000150"
	const page = 51
	from := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	narrowed := func(merchant any, address, payer, tx, exception any, more ...any) []any {
		return append([]any{merchant, modes, every, types, low, high, page, address, payer, tx, exception, nil}, more...)
	}
	pages := map[string]struct {
		statement string
		args      []any
		pages     int // most of the database's
	}{
		"a merchant's":               {"listNewest", []any{"big", "test", types, low, high, page}, 100},
		"a merchant's of many kinds": {"listOwned", []any{"big", one, every, types, low, high, page}, 1500},
		"of a rare type":             {"listOwned", []any{"big", one, every, rare, low, high, page}, 300},
		"of a rare status":           {"listOwned", []any{"big", one, review, types, low, high, page}, 300},
		"of a rare type and status":  {"listOwned", []any{"big", one, settled, rare, low, high, page}, 300},
		"of a time":                  {"listNewest", []any{"big", "test", types, low, middle, page}, 100},
		"of a small merchant":        {"listNewest", []any{"m3", "test", types, low, high, page}, 100},
		"of nobody":                  {"listNewest", []any{"m99", "test", types, low, high, page}, 20},
		"of an address":              {"listOwnedByAddress", narrowed("big", "T27777", nil, nil, nil, []string{"bitcoin", "evm", "tron", "solana"}), 100},
		"of a transaction":           {"listOwnedByTransaction", narrowed("big", nil, nil, "h777", nil), 100},
		"of a payer":                 {"listOwnedByPayer", narrowed("big", nil, [][]byte{md5Of("777"), md5Of("778")}, nil, nil), 500},
		"of a payer of very many":    {"listOwnedByPayer", narrowed("big", nil, [][]byte{{2}}, nil, nil), 500},
		"of a payer and an address":  {"listOwnedByAddress", narrowed("big", "T27777", [][]byte{{2}}, nil, nil, []string{"tron"}), 100},
		"of an order": {
			"listOwnedByMerchants",
			[]any{"big", modes, every, types, low, high, page, nil, nil, nil, nil, "o-777"},
			100,
		},
		"operators', by an order": {
			"listByMerchants", []any{nil, modes, every, types, low, high, page, nil, nil, nil, nil, "o-777"}, 100,
		},
		"operators', by reference":    {"listByReference", narrowed(nil, nil, nil, nil, nil, "CW-000000027777"), 100},
		"operators', by address":      {"listByAddress", narrowed(nil, "T27777", nil, nil, nil, []string{"bitcoin", "evm", "tron", "solana"}), 100},
		"operators', by transaction":  {"listByTransaction", narrowed(nil, nil, nil, "h777", nil), 100},
		"operators', by account":      {"listByAccount", []any{nil, one, every, types, low, high, page, nil, [][]byte{md5Of("77")}, nil, nil, nil}, 500},
		"operators', by payout":       {"listByPayout", narrowed(nil, nil, nil, nil, nil, "pyo_00000000000000000000027777"), 100},
		"operators', by exception":    {"listByException", narrowed(nil, nil, nil, nil, "overpaid"), 500},
		"by exception and merchant":   {"listByException", narrowed("m99", nil, nil, nil, "overpaid"), 100},
		"operators', a merchant's":    {"listMerchants", []any{"m3", modes, every, types, low, high, page}, 1500},
		"operators', of a mode":       {"listSome", []any{every, types, low, high, page, one}, 9000},
		"operators', all":             {"listEvery", []any{low, high, page}, 100},
		"operators', a rare status":   {"listSome", []any{review, types, low, high, page, modes}, 2000},
		"operators', no such status":  {"listSome", []any{[]string{"refunded"}, types, low, high, page, modes}, 100},
		"operators', a rare type":     {"listSome", []any{every, rare, low, high, page, modes}, 1000},
		"operators', a common status": {"listSome", []any{settled, types, low, high, page, modes}, 5000},
		"holds":                       {"listHolds", []any{review, types, "", high, page, modes}, 2000},
		"settlements of an hour":      {"listSettled", []any{"big", "test", from, "", from.Add(time.Minute), 2000}, 200},
		"what is open":                {"exposure", []any{"test", types}, 300},
		"how many are open":           {"countOpen", []any{[]string{"created", "pending", "confirming", "confirmed", "settling", "needs_review"}, types, 20_000}, 3000},
		"as many as are counted":      {"countOpen", []any{settled, types, 100}, 500},
		"what is due":                 {"duePayments", []any{60.0, 200}, 50},
		"open differences":            {"listOpenDifferences", []any{int64(1) << 40, page}, 50},
		"an address":                  {"oursAddress", []any{"tron", "T1"}, 20},
		"one":                         {"findAny", []any{"CW-000000000001"}, 10},
		"one of a merchant":           {"findOwned", []any{"CW-000000000001", "big", "test"}, 10},
		"some of merchants":           {"findAllOwned", []any{[]string{"CW-000000000001", "CW-000000000002"}, []string{"big", "big"}, []string{"test", "test"}}, 20},
		"all of some of merchants":    {"findAllWholeOwned", []any{[]string{"CW-000000000001", "CW-000000000002"}, []string{"big", "big"}, []string{"test", "test"}}, 20},
		"a payer's":                   {"walkPayments", []any{"big", "test", [][]byte{{1}}, every, types, time.Now(), "", 50, int64(1), time.Now()}, 800},
	}
	read := func(tables ...string) {
		for name, c := range pages {
			top := explain(w, c.statement, c.args...)
			removed, pages := 0, 0
			top.each(func(p plan) {
				pages = max(pages, p.Hit+p.Read) // the top leaves out a WITH that it does not read
				if p.Node != "CTE Scan" {        // which divides a page by the tables of its payments
					removed += whole(w, p.Removed) * whole(w, p.Loops)
				}
				if p.Node == "Seq Scan" && slices.Contains(tables, p.On) {
					t.Errorf("%s: %s reads the whole of %s", name, c.statement, p.On)
				}
			})
			if removed > page || pages > c.pages {
				t.Errorf("%s: %s reads %d pages and throws %d rows away", name, c.statement, pages, removed)
			}
			t.Logf("%s: %d pages, %d rows thrown away", name, pages, removed)
		}
	}
	read("payments", "differences")
	pagesKeepPlans(w)
	archived(w)
	t.Log("after most payments were archived:")
	read("payments", "differences", "archived_payments")
}

// pagesKeepPlans asks for pages of a merchant with many payments. PostgreSQL plans none of them by itself: that would
// take twice the time of a page.
func pagesKeepPlans(w *fixture.Payments) {
	w.T.Helper()
	cfg := w.Pool.Config()
	cfg.MaxConns, cfg.MinConns = 1, 0
	pool, err := pgxpool.NewWithConfig(w.T.Context(), cfg)
	if err != nil {
		w.T.Fatal(err)
	}
	defer pool.Close()
	s, owner := store.New(pool, w.Store.Options), tenant.Owner{MerchantID: "big", Mode: tenant.Test}
	for name, f := range map[string]views.Filter{
		"all":      {Owner: owner, Limit: 21},
		"by type":  {Owner: owner, Limit: 21, Type: payment.Gift},
		"an order": {Owner: owner, Limit: 21, Merchant: "o-777"},
	} {
		const times = 12 // PostgreSQL plans a statement five times for its arguments before it considers any
		for range times {
			if _, err := s.List(w.T.Context(), f); err != nil {
				w.T.Fatal(err)
			}
		}
		var anew, once int
		if err := pool.QueryRow(w.T.Context(), `SELECT sum(custom_plans), sum(generic_plans) FROM pg_prepared_statements
			WHERE from_sql = false AND statement ~ 'FROM (ONLY )?payments'`).Scan(&anew, &once); err != nil {
			w.T.Fatal(err)
		}
		if anew > 0 || once < times {
			w.T.Errorf("list payments, %s, %d times: %d were planned anew, %d not", name, times, anew, once)
		}
	}
}

// Timers that find nothing plan nothing, either: a look is planned once for each connection.
func TestPlans_looksKeepPlans(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	cfg := w.Pool.Config()
	cfg.MaxConns, cfg.MinConns = 1, 0
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	s := store.New(pool, w.Store.Options)
	const times = 4 // PostgreSQL would plan a statement with arguments anew each time
	for range times {
		_, due := s.Due(t.Context(), time.Minute, 100)
		_, payouts := s.DuePayouts(t.Context(), 16, payout.Rails{Mode: tenant.Test, Others: true})
		if err := errors.Join(due, payouts, s.CleanStock(t.Context()), s.FoldStatistics(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	for name, sql := range map[string]string{
		"due payments": store.Statements()["duePayments"], "due payouts": store.Statements()["duePayoutsTest"], "used addresses": store.Statements()["dropUsedAddresses"],
		"dead leases": store.Statements()["freeDeadLeases"], "statistics": store.Statements()["foldStatistics"],
	} {
		var anew, once int
		if err := pool.QueryRow(t.Context(), `SELECT coalesce(sum(custom_plans), 0), coalesce(sum(generic_plans), 0) FROM pg_prepared_statements WHERE statement = $1`, sql).Scan(&anew, &once); err != nil {
			t.Fatal(err)
		}
		if anew > 0 || once != times {
			t.Errorf("look for %s, %d times: %d were planned anew, %d not", name, times, anew, once)
		}
	}
}

// The queries of operators' lists, workers and timers stay cheap for any number of payouts and deposits.
func TestPlans_readNoWholeTableOfMoney(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO deposits (mode, key, version, payment_id, family, network, address, asset, contract, tx_hash, amount, reverted, block_height, block_hash,
			first_seen_at, depth, finalized, senders, screening)
		SELECT 'test', 'k' || n, 1, 'pay_' || n, 'tron', 'tron', 'T' || n, 'USDT', '', 'h', 1, false, 1, '', now(), 1, true, '{}', 'clear' FROM generate_series(1, 20000) n`)
	w.SQL(`INSERT INTO payouts (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, created_at)
		SELECT 'pyo_' || lpad(n::text, 26, '0'), 'pay_' || n, 'test', 'r' || n, 1, 'sim', 'NGN', 1, '', 'succeeded', now() FROM generate_series(1, 20000) n`)
	w.SQL(`UPDATE payouts SET done_at = created_at WHERE id < 'pyo_00000000000000000000019990'`)
	w.SQL(`INSERT INTO screenings (mode, payment_id, stage, verdict, reason, lists, addresses)
		SELECT 'test', 'pay_' || n, 'deposit', CASE WHEN n % 100 = 0 THEN 'hit' ELSE 'clear' END, '', '', '{}' FROM generate_series(1, 20000) n`)
	w.SQL(`ANALYZE deposits, payouts, screenings`)
	for name, args := range map[string][]any{
		"listStrays": {time.Now(), "", 51}, "listDoubts": {"pyo_z", 51}, "unscreened": {100}, "knownDeposit": {"test", "k"}, "payoutSenders": {[]string{"pay_7"}}, "duePayoutsTest": {64, []string{"sim"}, false}, "duePayoutsLive": {64, []string{}, true},
		"selectDepositRows": {"pay_7"}, "selectLastPayout": {"pay_7"},
		"corridorEnds": {[]string{"test", "live"}, []string{"sim", "sim"}, []string{"NGN", "GHS"}, 200, 1000}, "listHits": {int64(1) << 40, "", "", 51},
	} {
		explain(w, name, args...).each(func(p plan) {
			if p.Node == "Seq Scan" && (p.On == "deposits" || p.On == "payouts" || p.On == "screenings") {
				t.Errorf("%s reads the whole of %s", name, p.On)
			}
		})
	}
}

// The look for due payouts of one mode reads neither a backlog of the other nor payouts that have ended, also with
// statistics from before these came, or with none.
func TestPlans_payoutsOfOneMode(t *testing.T) {
	t.Parallel()
	for name, statistics := range map[string]bool{"never analysed": false, "analysed before": true} {
		for _, mode := range tenant.Modes() {
			other := tenant.Live
			if mode == other {
				other = tenant.Test
			}
			t.Run(name+" "+string(mode), func(t *testing.T) {
				t.Parallel()
				w := fixture.New(t)
				add := func(mode tenant.Mode, what string, n int) {
					w.SQL(`INSERT INTO payouts (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, next_at, created_at)
						SELECT 'pyo_' || $1 || $2 || n, 'pay_' || n, $1, $1 || $2 || n, 1, 'rail', 'NGN', 1, '', 'pending',
							CASE $2 WHEN 'due' THEN now() - n * interval '1 minute' END, now() FROM generate_series(1, $3::int) n`, string(mode), what, n)
				}
				add(other, "ended", 10_000)
				add(other, "due", 200)
				if statistics {
					w.SQL(`ANALYZE payouts`)
				}
				add(other, "later", 500)
				w.SQL(`UPDATE payouts SET next_at = now() - interval '2 hours' WHERE next_at IS NULL AND reference LIKE '%later%'`)
				add(mode, "ended", 5000)
				add(mode, "due", 20)
				text := map[tenant.Mode]string{tenant.Live: "duePayoutsLive", tenant.Test: "duePayoutsTest"}[mode]
				for range 2 {
					pages, removed := 0, 0
					explain(w, text, 8, []string{"sim"}, true).each(func(p plan) {
						pages, removed = max(pages, p.Hit+p.Read), removed+whole(w, p.Removed)*whole(w, p.Loops)
					})
					if pages > 300 || removed > 20 {
						t.Errorf("take due payouts of %s: read %d pages and threw %d rows away", mode, pages, removed)
					}
					t.Logf("%d pages, %d rows thrown away", pages, removed)
					w.SQL(`ANALYZE payouts`)
				}
				want := string(mode) + " 16"
				if taken := fixture.Ask[string](w, `SELECT string_agg(DISTINCT mode, ',') || ' ' || count(*) FROM payouts WHERE taken_until IS NOT NULL`); taken != want {
					t.Errorf("payouts taken in two times of eight: got %q, want %q", taken, want)
				}
			})
		}
	}
}

// Leasing addresses and removing used ones reads a few pages of any stock, and no payments but those of leased
// addresses. The stock of another family is older.
func TestPlans_stock(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO address_stock (mode, family, address, wallet_id)
		SELECT 'test', CASE WHEN n <= 10000 THEN 'evm' ELSE 'solana' END, 'T' || n, 'wal_' || n FROM generate_series(1, 20000) n`)
	w.SQL(insertCrowd, 1, 5000)
	w.SQL(`UPDATE payments SET family = 'solana', address = 'T' || 12000 + substr(id, 5)::int`)
	w.SQL(`UPDATE address_stock SET lease_owner = 'other', lease_until = now() + interval '1 minute' WHERE address BETWEEN 'T14950' AND 'T15050'`)
	w.SQL(`ANALYZE address_stock, payments`)
	const block = 256
	for name, args := range map[string][]any{
		"leaseAddresses": {"test", "solana", block, "me", 60.0}, "dropUsedAddresses": {},
	} {
		pages, removed := 0, 0
		explain(w, name, args...).each(func(p plan) {
			pages, removed = max(pages, p.Hit+p.Read), removed+whole(w, p.Removed)*whole(w, p.Loops)
			if p.Node == "Seq Scan" && (p.On == "address_stock" || p.On == "payments") {
				t.Errorf("%s reads the whole of %s", name, p.On)
			}
		})
		if removed > block {
			t.Errorf("%s reads %d pages and throws %d rows away", name, pages, removed)
		}
		t.Logf("%s: %d pages, %d rows thrown away", name, pages, removed)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM address_stock WHERE lease_owner = 'me' AND family = 'solana'`); n != block {
		t.Errorf("%d addresses are leased, want %d", n, block)
	}
	if n := fixture.Ask[int](w, `SELECT count(*) FROM address_stock s JOIN payments p USING (mode, family, address) WHERE s.lease_owner = 'other'`); n != 0 {
		t.Errorf("%d used addresses remain", n)
	}
}

// Neither what is due today nor what is forgotten reads the days of daily settlements that have passed.
func TestPlans_settlementDays(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO settlement_accounts (id, merchant_id, mode, currency, receiver, created_at, created_by)
		SELECT 'sac_' || n, 'm' || n, 'live', 'NGN', '', now(), 1 FROM generate_series(1, 2000) n`)
	w.SQL(`INSERT INTO settlement_schedules (merchant_id, mode, currency, account_id, minimum, key_id)
		SELECT 'm' || n, 'live', 'NGN', 'sac_' || n, 0, 1 FROM generate_series(1, 2000) n`)
	w.SQL(`INSERT INTO settlement_days (merchant_id, mode, currency, day)
		SELECT 'm' || n, 'live', 'NGN', (now() AT TIME ZONE 'UTC')::date - d FROM generate_series(1, 2000) n, generate_series(0, 29) d WHERE n > 20 OR d > 0`)
	w.SQL(`ANALYZE settlement_accounts, settlement_schedules, settlement_days`)
	for name, args := range map[string][]any{"dueSettlements": {"", "", "", []string{"live", "test"}, 100}, "forgetDays": {}} {
		explain(w, name, args...).each(func(p plan) {
			if p.Node == "Seq Scan" && p.On == "settlement_days" {
				t.Errorf("%s reads the whole of settlement_days", name)
			}
		})
	}
}

// The withdrawals that operators may still refuse are found without the history, and without the payouts of others.
func TestPlans_withdrawals(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO settlement_accounts (id, merchant_id, mode, currency, receiver, created_at, created_by) VALUES ('sac_1', 'm1', 'live', 'NGN', '{}', now(), 1)`)
	w.SQL(`INSERT INTO withdrawals (id, merchant_id, mode, key_id, currency, amount, account_id, rail, state, attempt, holds, takes, version, sequence, created_at)
		SELECT 'wdr_' || lpad(n::text, 26, '0'), 'm1', 'live', 1, 'NGN', 1, 'sac_1', 'two',
			CASE WHEN n > 100 THEN 'paid' WHEN n % 2 = 0 THEN 'sending' ELSE 'approved' END, CASE WHEN n % 4 = 2 THEN 2 ELSE 1 END, 1, 1, 1, 1, now()
		FROM generate_series(1, 20000) n`)
	w.SQL(`INSERT INTO payouts (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, created_at)
		SELECT 'pyo_' || n || '_' || a, 'wdr_' || lpad(n::text, 26, '0'), 'live', 'r' || n || '-' || a, a, 'two', 'NGN', 1, '',
			CASE WHEN n > 100 THEN 'succeeded' WHEN n % 2 = 1 OR a = 2 THEN 'created' ELSE 'failed' END, now()
		FROM generate_series(1, 20000) n, generate_series(1, CASE WHEN n % 4 = 2 THEN 2 ELSE 1 END) a`)
	w.SQL(`ANALYZE withdrawals, payouts`)
	pages := 0
	explain(w, "leaveWithdrawals", "wdr_z", 101).each(func(p plan) {
		pages = max(pages, p.Hit+p.Read)
		if p.Node == "Seq Scan" && p.On != "settlement_accounts" {
			t.Errorf("leaveWithdrawals reads the whole of %s", p.On)
		}
	})
	if pages > 1000 {
		t.Errorf("leaveWithdrawals reads %d pages for 100 withdrawals that have not ended", pages)
	}
	found, err := w.Store.WaitingWithdrawals(t.Context(), true, "", 101)
	unsent := func(o withdrawal.Withdrawal) bool { return o.State == withdrawal.Approved || o.Attempt == 2 }
	if err != nil || len(found) != 75 || slices.ContainsFunc(found, func(o withdrawal.Withdrawal) bool { return !unsent(o) }) {
		t.Errorf("WaitingWithdrawals() = %d of them, %v, want the 75 whose payout of the present attempt is unsent", len(found), err)
	}
}

// The statements of a busy worker find their rows by indexes in a database of any age. A plan for any arguments takes
// a list to have ten elements and a limit to be a tenth of the rows that are due. In a table of some thousand rows it
// then looks cheap to read all of them.
func TestPlans_youngDatabase(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	w.SQL(`INSERT INTO payouts (id, payment_id, mode, reference, attempt, rail, currency, amount, receiver, state, next_at, created_at)
		SELECT 'pyo_' || n, 'pay_' || n, 'test', 'r' || n, 1, 'sim', 'NGN', 1, repeat('x', 120)::bytea, 'pending', now() - n * interval '1 minute', now()
		FROM generate_series(1, 2000) n`)
	w.SQL(`INSERT INTO sim_transfers (ref, currency, amount, bank_code, account_number, account_name, outcome, at, done_at)
		SELECT 'r' || n, 'NGN', 1, '058', '0123456789', 'A', 'succeed', now(), now() FROM generate_series(1, 2000) n`)
	w.SQL(insertCrowd, 1, 2000)
	w.SQL(`ANALYZE payouts, sim_transfers, payments`)
	for name, args := range map[string][]any{
		"duePayoutsTest": {8, []string{"sim"}, false}, "duePayoutsLive": {8, []string{}, true}, "nextPayout": {}, "simLookups": {[]string{"r7", "r8"}}, "countOpen": {[]string{"created", "settling"}, []string{"transfer", "gift"}, 20_000},
	} {
		pages := 0
		explain(w, name, args...).each(func(p plan) {
			pages = max(pages, p.Hit+p.Read)
			if p.Node == "Seq Scan" {
				t.Errorf("%s reads the whole of %s", name, p.On)
			}
		})
		if pages > 300 {
			t.Errorf("%s reads %d pages for a few rows", name, pages)
		}
	}
}
