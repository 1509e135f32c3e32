//go:build integration && long

package e2e

import (
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

const (
	million = 1_000_000
	// listWithin is for the median of a page, on a machine that runs other tests under the race detector. It is ten times
	// what the dearest page takes alone, and less than a read of all rows there.
	listWithin = 500 * time.Millisecond
	listTimes  = 40
)

// TestConsole_million: every list of both consoles answers soon over 10^6 payments, on the first page, by each filter
// and deep inside. It prints the median and the slowest of forty answers of each; docs/performance.md has such a table.
func TestConsole_million(t *testing.T) {
	s := stack.New(t, stack.Options{})
	c := client(t, s)
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	wallet := c.Call(t, http.MethodPost, "/v1/wallets", api.Object{"network": "tron", "crypto": "USDT"}).Want(t, http.StatusCreated).Text(t, "wallet.id")
	payments := inside(t, s, "payments")
	id := payments.text(t, `SELECT id FROM payments WHERE reference = '`+ref+`'`)
	api.Eventually(t, soon, "the last delivery of the payment", func() bool {
		return len(hook.Deliveries()) > 0 && strings.Contains(string(c.Call(t, http.MethodGet, "/v1/webhooks/deliveries?status=delivered&objectId="+id, nil).Body), "payment.settled")
	})

	began := time.Now()
	payments.copies(t, "payments", "id = '"+id+"'", million, map[string]string{
		"id": copiedID, "reference": `'CW-' || lpad(n::text, 12, 'A')`, "address": copiedAddress, "wallet_id": `'wal_' || left(md5('w' || n), 26)`,
		"type":       `CASE WHEN n / 100 % 100 = n % 100 THEN 'bank_confirmation' ELSE (ARRAY['transfer', 'gift', 'request', 'merchant'])[1 + n / 100 % 4] END`,
		"status":     `CASE WHEN n % 100 < 79 THEN 'settled' WHEN n % 100 < 97 THEN 'expired' WHEN n % 100 < 99 THEN 'pending' ELSE 'needs_review' END`,
		"exception":  `CASE WHEN n % 100 = 99 THEN (ARRAY['screening_hold', 'underpaid', 'over_limit', 'payout_failed'])[1 + n / 100 % 4] ELSE '' END`,
		"due_at":     `NULL::timestamptz`,
		"created_at": copiedAt, "settled_at": `CASE WHEN n % 100 < 79 THEN ` + copiedAt + ` + interval '70 seconds' END`,
		"payer":       `convert_to('{"chatId":"payer-1"}', 'UTF8')`, // unsealed, as before that was introduced
		"receiver":    copiedReceiver,
		"payer_index": `decode(md5('p' || n % 100000), 'hex')`, "account_index": `decode(md5('a' || n % 10000), 'hex')`,
	})
	payments.copies(t, "deposits", "payment_id = '"+id+"'", million, map[string]string{
		"key": `'erc20:0x' || md5('t' || n) || md5(n::text) || ':0'`, "tx_hash": `'0x' || md5('t' || n) || md5(n::text)`, "payment_id": copiedID,
		"address": copiedAddress, "created_at": copiedAt, "first_seen_at": copiedAt,
	})
	payments.copies(t, "payouts", "payment_id = '"+id+"'", million, map[string]string{
		"id": `'po_' || lpad(n::text, 26, '0')`, "payment_id": copiedID, "receiver": copiedReceiver, "reference": `'cw-' || lpad(n::text, 12, 'a') || '-1'`, "created_at": copiedAt,
	})
	payments.copies(t, "screenings", "payment_id = '"+id+"'", million, map[string]string{
		"payment_id": copiedID, "deposit": `'erc20:0x' || md5('t' || n) || md5(n::text) || ':0'`, "at": copiedAt,
		"verdict": `CASE WHEN n % 1000 = 99 THEN 'hit' ELSE 'clear' END`,
	})
	payments.execute(t, `INSERT INTO statistics SELECT merchant_id, mode, (created_at AT TIME ZONE 'UTC')::date, type, fiat_currency, network, status,
			CASE WHEN status = 'settled' THEN 2 ELSE 0 END, count(*), sum(fiat_amount), sum(transaction_usd), sum(credit_fee), sum(credit_payout), 0
		FROM payments WHERE id < 'pay_1' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8 ON CONFLICT DO NOTHING`, `VACUUM ANALYZE statistics`)
	inside(t, s, "wallets").copies(t, "wallets", "id = '"+wallet+"'", million/10, map[string]string{
		"id": `'wal_' || lpad(n::text, 26, '0')`, "address": copiedAddress, "created_at": copiedAt,
		"status": `(ARRAY['watching', 'confirmed', 'swept', 'expired'])[1 + n % 4]`,
	})
	inside(t, s, "gateway").copies(t, "audit", "act LIKE 'key.%'", million/10, map[string]string{
		"at": `now() - n * interval '10 milliseconds'`, "actor": `'operator:ada.n' || n % 100`, "object": `'key:' || n % 1000`,
	})
	events := inside(t, s, "callback-dispatcher")
	const slot, delivered = `dispatcher_slot(now() - n * interval '8 seconds')`, `now() - n * interval '8 seconds'`
	events.copies(t, "event", "object_id = '"+id+"'", million*3/10, map[string]string{
		"slot": slot, "id": `'evt_' || lpad(n::text, 26, '0')`, "object_id": copiedID, "occurred_at": delivered, "received_at": delivered,
	})
	events.copies(t, "delivery_done", "object_id = '"+id+"'", million*3/10, map[string]string{
		"slot": slot, "id": `'dlv_' || lpad(n::text, 26, '0')`, "event_id": `'evt_' || lpad(n::text, 26, '0')`, "object_id": copiedID,
		"state":      `CASE WHEN n % 1000 = 0 THEN 'exhausted' ELSE 'delivered' END`,
		"created_at": delivered, "first_attempt_at": delivered, "done_at": delivered,
	})
	t.Logf("copies made in %s", time.Since(began).Round(time.Second))

	const deep, chosen = million / 3, million/2 + 42
	known := struct{ hash, address, payout string }{
		payments.text(t, fmt.Sprintf(`SELECT tx_hash FROM deposits WHERE payment_id = 'pay_%026d'`, chosen)),
		payments.text(t, fmt.Sprintf(`SELECT address FROM payments WHERE id = 'pay_%026d'`, chosen)), fmt.Sprintf("po_%026d", chosen),
	}
	after := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "p%026d", deep))
	slow := 0
	for _, door := range []struct {
		at, service string
		link        []string
		pages       []string
	}{
		{"/console", "console", []string{"create-owner", "--merchant", "local", "--email", "ada@local.example"}, []string{
			"/overview", "/overview?from=" + time.Now().UTC().AddDate(0, 0, -90).Format(time.DateOnly), "/payments", "/payments?after=" + after,
			"/payments?status=settled", "/payments?status=needs_review", "/payments?status=expired&after=" + after, "/payments?type=gift",
			"/payments?type=bank_confirmation", "/payments?search=" + known.hash, "/payments?search=" + known.address, "/payments?search=payer-1",
			"/wallets", "/wallets?status=expired", "/balances", "/withdrawals", "/crypto-withdrawals", "/webhooks", "/deliveries",
			"/deliveries?status=exhausted", "/links", "/reports", "/keys", "/settlements", "/team",
		}},
		{"/operators", "console-operators", []string{"create-operator", "--name", "ada.obi"}, []string{
			"/attention", "/payments", "/payments?status=settled", "/payments?status=settled&mode=test", "/payments?status=expired&merchantId=local",
			"/payments?merchantId=local", "/payments?mode=test", "/payments?exception=underpaid", "/payments?txHash=" + known.hash,
			"/payments?address=" + known.address, "/payments?status=settled&after=" + after, "/search?q=" + known.hash, "/search?q=" + known.address,
			"/search?q=" + known.payout, "/search?q=1234", "/holds", "/payouts", "/refunds", "/withdrawals", "/draws", "/deposits", "/owed", "/unclaimed",
			"/differences", "/fraud", "/screenings", "/screenings?stage=deposit", "/merchants", "/keys", "/pauses", "/fees", "/sweeps", "/closes",
			"/deliveries", "/deliveries?merchantId=local", "/deliveries?status=exhausted", "/dead", "/audit", "/audit?actor=operator:ada.n7",
			"/audit?object=key:77", "/rails", "/networks", "/stock", "/stations", "/health", "/treasury?mode=test",
		}},
	} {
		b := enter(t, s, door.service, door.link...)
		for _, page := range door.pages {
			median, most := b.times(t, door.at+page)
			mark := ""
			if median > listWithin {
				mark = "SLOW"
				slow++
			}
			name, _, _ := strings.Cut(page, "0x")
			t.Logf("| %s%s | %d | %d | %s", door.at, name, median.Milliseconds(), most.Milliseconds(), mark)
		}
	}
	if slow > 0 {
		t.Errorf("%d pages take more than %s", slow, listWithin)
	}
}

// The expressions of the n-th copy. Ids sort by number, as those of payments by time.
const (
	copiedID      = `'pay_' || lpad(n::text, 26, '0')`
	copiedAddress = `'0x' || left(md5(n::text) || md5('x' || n), 40)`
	// Unsealed, as before that was introduced: a sealed value opens in its own row alone.
	copiedReceiver = `convert_to('{"bankCode":"058","bankName":"GTBank","accountNumber":"0123456789","accountName":"Ada Obi"}', 'UTF8')`
	copiedAt       = `now() - interval '120 days' + n * interval '10 seconds'`
)

// filled is the database of a service, as its superuser.
type filled struct{ conn *pgx.Conn }

func inside(t *testing.T, s *stack.Stack, service string) filled {
	t.Helper()
	of, err := url.Parse(s.Databases[service])
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(os.Getenv("CAUSEWAY_TEST_POSTGRES_URL"))
	if err != nil {
		t.Fatal(err)
	}
	at.Path = of.Path
	conn, err := pgx.Connect(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return filled{conn}
}

func (f filled) execute(t *testing.T, steps ...string) {
	t.Helper()
	for _, step := range steps {
		if _, err := f.conn.Exec(t.Context(), step); err != nil {
			t.Fatalf("execute %.80s: %v", step, err)
		}
	}
}

func (f filled) text(t *testing.T, query string) (text string) {
	t.Helper()
	if err := f.conn.QueryRow(t.Context(), query).Scan(&text); err != nil {
		t.Fatalf("ask for one text, %s: %v", query, err)
	}
	return text
}

// copies inserts copies of a row. values are what differs, as expressions of n; triggers do not see the copies.
func (f filled) copies(t *testing.T, table, of string, n int, values map[string]string) {
	t.Helper()
	rows, err := f.conn.Query(t.Context(), `SELECT column_name FROM information_schema.columns
		WHERE table_name = $1 AND table_schema = 'public' AND is_generated = 'NEVER' AND is_identity = 'NO' ORDER BY ordinal_position`, table)
	if err != nil {
		t.Fatal(err)
	}
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for name := range values {
		if !slices.Contains(columns, name) {
			t.Fatalf("%s has no column %s", table, name)
		}
	}
	chosen := make([]string, len(columns))
	for i, name := range columns {
		if chosen[i] = values[name]; chosen[i] == "" {
			chosen[i] = "t." + name
		}
	}
	drop, again := f.indexes(t, table)
	f.execute(t, append(drop, `SET session_replication_role = replica`, `SET synchronous_commit = off`, `SET maintenance_work_mem = '512MB'`,
		fmt.Sprintf(`INSERT INTO %s (%s) SELECT %s FROM (SELECT * FROM %s WHERE %s LIMIT 1) AS t, generate_series(1, %d) AS n`,
			table, strings.Join(columns, ", "), strings.Join(chosen, ", "), table, of, n))...)
	f.execute(t, append(again, `SET session_replication_role = origin`, `VACUUM ANALYZE `+table)...)
}

// indexes are the statements that drop a table's indexes, except those of constraints and of partitioned tables, and
// those that make them again.
func (f filled) indexes(t *testing.T, table string) (drop, again []string) {
	t.Helper()
	rows, err := f.conn.Query(t.Context(), `SELECT indexname, indexdef FROM pg_indexes WHERE tablename = $1
		AND indexname NOT IN (SELECT conname FROM pg_constraint) AND (SELECT relkind FROM pg_class WHERE oid = $1::regclass) = 'r'`, table)
	if err != nil {
		t.Fatal(err)
	}
	var name, definition string
	if _, err := pgx.ForEachRow(rows, []any{&name, &definition}, func() error {
		drop, again = append(drop, "DROP INDEX "+name), append(again, definition)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return drop, again
}

// visitor is somebody who is signed in to a console.
type visitor struct {
	base string
	http *http.Client
}

var hiddenField = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)

// enter signs a new person in by a one-time link.
func enter(t *testing.T, s *stack.Stack, service string, words ...string) visitor {
	t.Helper()
	args := append([]string{"do", service, "--dir", s.Dir(), "--"}, words...)
	out, err := exec.CommandContext(t.Context(), os.Getenv("CAUSEWAY_STACK"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("type %v: %v\n%s", words, err, out)
	}
	link, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := visitor{link.Scheme + "://" + link.Host, &http.Client{Jar: jar, Timeout: time.Minute}}
	_, body, _ := p.get(t, link.Path)
	form := url.Values{}
	for _, m := range hiddenField.FindAllStringSubmatch(body, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.base+link.Path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := p.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return p
}

func (p visitor) get(t *testing.T, path string) (status int, body string, took time.Duration) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	answer, err := p.http.Do(r)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	return answer.StatusCode, string(raw), time.Since(began)
}

// times is the median and the greatest of the times that a page takes.
func (p visitor) times(t *testing.T, path string) (median, most time.Duration) {
	t.Helper()
	var all []time.Duration
	for i := range listTimes + 2 {
		var status int
		var body string
		var took time.Duration
		api.Eventually(t, soon, path+" below the limit of reads", func() bool {
			status, body, took = p.get(t, path)
			return status != http.StatusTooManyRequests
		})
		if status != http.StatusOK || strings.Contains(body, "/sign-in\"") {
			t.Errorf("get %s: got %d", path, status)
			return 0, 0
		}
		if i >= 2 { // the first ones make connections and plans
			all = append(all, took)
		}
	}
	slices.Sort(all)
	return all[len(all)/2], all[len(all)-1]
}
