//go:build integration

package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/testkit/otlp"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/stack"
)

// shown are the accounts, phones and payers that the tests of this package send, beside those of personalStaysInside.
var shown = []string{"2348012345678", "\"payer-1\"", "\"0123456789\"", "=0123456789"}

// TestMain reads the document first. After every other test it looks for personal data in what the shared product has
// logged.
func TestMain(m *testing.M) {
	if _, err := loadContract(); err != nil { // before the tests, which would all wait for it and then call at one time
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if logs, err := stack.ReadLogs(""); err == nil {
		for _, line := range leaks(logs, shown) {
			fmt.Fprintln(os.Stderr, "a log of the shared stack holds personal data:", line)
			code = 1
		}
	}
	os.Exit(code)
}

// leaks are the lines that hold one of the texts.
func leaks(logs []byte, texts []string) (lines []string) {
	for line := range bytes.Lines(logs) {
		for _, text := range texts {
			if bytes.Contains(line, []byte(text)) {
				lines = append(lines, strings.TrimSpace(string(line)))
			}
		}
	}
	return lines
}

// personalStaysInside: after whole lives of payments, claims, look-ups, refusals, reports and operators' decisions, no
// line of any log, no span, and no row of any database holds an account number, a phone, a payer's id or a reporter's
// name, and outside payments no row holds a reference. In the end the person is erased, and the answers stay good.
func personalStaysInside(t *testing.T, s *stack.Stack, collector *otlp.Collector) {
	const phone, otherPhone, account, other, chat, otherChat = "2347061119287", "233201117733", "4400993317", "0000000003", "chat-Kq77163", "chat-Zz90412"
	before := len(collector.Spans())
	c := client(t, s)
	nobody := c.With("")
	hook, path := hooks(t, s.WebhookSecret)
	person := api.Object{"chatId": chat, "phone": "+" + phone}
	receiver := api.Object{"bankCode": "058", "accountNumber": account}

	paid := create(t, c, transfer(api.Object{"payer": person, "receiver": receiver, "callbackUrl": hook.URL(path), "metadata": api.Object{"who": "metadata"}})).Text(t, "payment.reference")
	deposit(t, c, paid, nil)
	given := create(t, c, gift(api.Object{"payer": person})).Text(t, "payment.reference")
	deposit(t, c, given, nil)
	awaitStatus(t, c, given, "confirmed")
	nobody.Call(t, http.MethodPost, claimPath(given), api.Object{"receiver": receiver}).Want(t, http.StatusOK)
	asked := create(t, c, transfer(api.Object{"type": "request", "payer": nil, "crypto": nil, "network": nil, "chargeFrom": nil, "receiver": receiver})).Text(t, "payment.reference")
	nobody.Call(t, http.MethodPost, "/v1/payments/requests/"+asked+"/fulfill", api.Object{
		"payer": api.Object{"chatId": otherChat, "phone": otherPhone}, "crypto": "USDT", "network": "trc20",
	}).Want(t, http.StatusOK)
	deposit(t, c, asked, nil)
	c.Call(t, http.MethodPost, "/v1/payments/verify-receiver", receiver).Want(t, http.StatusOK)
	failing := create(t, c, transfer(api.Object{"payer": person, "receiver": api.Object{"bankCode": "058", "accountNumber": other}})).Text(t, "payment.reference")
	deposit(t, c, failing, nil)
	awaitStatus(t, c, failing, "needs_review")
	c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/payments/"+failing+"/resolve", api.Object{
		"action": "retry_payout", "receiver": receiver, "reason": "the account is closed",
	}).Want(t, http.StatusOK)
	// refusals, which are logged more gladly than answers
	c.Call(t, http.MethodPost, "/v1/payments", transfer(api.Object{"payer": person, "receiver": api.Object{"bankCode": "058", "accountNumber": account + "99999999999999"}}), bad).
		Want(t, http.StatusBadRequest)
	nobody.Call(t, http.MethodPost, claimPath(given), api.Object{"receiver": receiver}, bad).Want(t, http.StatusBadRequest)
	reported := c.Call(t, http.MethodPost, "/v1/reports", api.Object{"complaintType": "fraud", "name": "Kq Person", "phoneNumber": "+" + phone, "sessionReference": given, "description": "Kq says so"}).Want(t, http.StatusCreated)
	nobody.Call(t, http.MethodGet, "/v1/reports/lookup?phoneNumber="+phone, nil).Want(t, http.StatusOK)
	for _, ref := range []string{paid, given, asked, failing} {
		awaitStatus(t, c, ref, "settled")
	}
	hook.AwaitAccepted(t, settle, path, 5)
	collector.Await(t, soon, "the spans of the payouts and of the last look-up", func(spans []otlp.Span) bool {
		seen := map[string]bool{}
		spans = spans[before:]
		for _, span := range spans {
			seen[span.Service] = true
			seen[span.Name] = true
		}
		return len(spans) > 100 && seen["payments"] && seen["wallets"] && seen["callback-dispatcher"] && seen["GET /v1/reports/lookup"]
	})

	secrets := []string{phone, otherPhone, account, chat, otherChat, "0000000003"}
	for _, line := range leaks(s.Logs(t), secrets) {
		t.Errorf("a log holds personal data: %s", line)
	}
	for _, span := range collector.Spans() {
		if found := leaks([]byte(fmt.Sprintf("%+v\n", span)), secrets); len(found) > 0 {
			t.Errorf("a span holds personal data: %v", found)
		}
	}
	for service, url := range s.Owners {
		db, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close(t.Context())
		texts := append(slices.Clone(secrets[:len(secrets)-1]), "Kq Person", "Kq says so")
		if service != "payments" { // which finds its payments by their references
			texts = append(texts, paid, given, asked, failing)
		}
		for _, line := range pg.Search(t, db, texts...) {
			if !strings.HasSuffix(line, " of sim_transfers") { // test mode's bank plays another provider
				t.Errorf("a dump of the database of %s: %s", service, line)
			}
		}
	}
	if !bytes.Contains(s.Logs(t), []byte(`"level":"DEBUG"`)) {
		t.Error("the logs hold no line of the level debug: this test would see nothing")
	}

	api.Eventually(t, settle, "every payout to be asked about for the last time", func() bool {
		return count(t, s, "payments", `SELECT count(*) FROM payouts WHERE next_at IS NOT NULL`) == 0
	})
	// The person asks to be forgotten. All is noted and nothing erased while the dispatcher may hold copies; once it
	// holds none the person is erased, and then no service has them.
	unpaid := create(t, c, transfer(api.Object{"payer": person, "receiver": receiver})).Text(t, "payment.reference")
	c.Call(t, http.MethodPost, "/v1/payments/"+unpaid+"/cancel", nil).Want(t, http.StatusOK)
	id, merchant := reported.Text(t, "data.report.reportId"), reported.Text(t, "data.report.merchantId")
	c.Call(t, http.MethodPatch, "/v1/reports/"+id, api.Object{"status": "dismissed"}).Want(t, http.StatusOK)
	verb := func(service string, args ...string) string {
		cmd := tool(t, s, "", args...)
		cmd.Path = filepath.Join(filepath.Dir(cmd.Path), service)
		cmd.Env = []string{"DATABASE_URL=" + s.Databases[service], "MASTER_KEYS=" + tracedMaster}
		return output(t, cmd)
	}
	for range 2 { // again is harmless
		for service, want := range map[string]string{"payments": "4", "reports": "1"} {
			args := []string{"erase", "--merchant", merchant, "--payer", chat, "--mode", "test"}
			if service == "reports" {
				args = []string{"erase", "--phone", "+" + phone, "--mode", "test"}
			}
			want = "0 " + service + " erased, 0 not over yet, 0 kept by law, " + want +
				" kept until other services have dropped their copies; these are erased when their time has come\n"
			if said := verb(service, args...); said != want {
				t.Errorf("%s erase: %s", service, said)
			}
		}
	}
	if got := nobody.Call(t, http.MethodGet, "/v1/reports/"+id, nil).Want(t, http.StatusOK).Text(t, "data.report.name"); got != "Kq Person" {
		t.Errorf("the reporter is called %q already", got)
	}
	api.Eventually(t, settle, "every event of payments and reports to be with the dispatcher", func() bool {
		const told = `SELECT coalesce(sum(sequence), 0)::int FROM `
		return count(t, s, "callback-dispatcher", `SELECT count(*) FROM event WHERE type NOT LIKE 'wallet.%'`) == count(t, s, "payments", told+"payments")+count(t, s, "reports", told+"reports")
	})
	seventyDaysOn(t, s)
	for service, args := range map[string][]string{
		"payments": {"--merchant", merchant, "--payer", chat, "--mode", "test"}, "reports": {"--phone", "+" + phone, "--mode", "test"},
	} {
		said := verb(service, append([]string{"erase"}, args...)...)
		if !strings.HasSuffix(said, " erased, 0 not over yet, 0 kept by law, 0 kept until other services have dropped their copies\n") {
			t.Errorf("%s erase: %s", service, said)
		}
		// It ends with a look that comes a minute later or more (erasure.Commit).
		if count(t, s, service, `SELECT count(*) FROM erasures WHERE left_over = 0 AND looked_at > asked_at`) != 1 || count(t, s, service, `SELECT count(*) FROM erasures`) != 1 {
			t.Errorf("the erasure in %s has something left", service)
		}
	}
	if got := nobody.Call(t, http.MethodGet, "/v1/reports/"+id, nil).Want(t, http.StatusOK).Text(t, "data.report.name"); got != "****" {
		t.Errorf("the erased reporter is called %q", got)
	}
	for _, reference := range []string{paid, given, failing, unpaid} {
		if count(t, s, "payments", `SELECT count(*) FROM payments WHERE reference = $1 AND payer IS NULL AND payer_index IS NULL AND metadata = '{}'`, reference) != 1 {
			t.Errorf("the payment %s still has its payer", reference)
		}
	}
	if n := count(t, s, "reports", `SELECT count(*) FROM reports WHERE phone_index IS NOT NULL`); n != 0 {
		t.Errorf("%d reports have their reporter", n)
	}
	for service, tables := range map[string][]string{"payments": {"outbox", "idempotency"}, "reports": {"outbox", "idempotency"}, "callback-dispatcher": {"event", "delivery_done", "attempt", "dead"}} {
		for _, table := range tables { // the bodies are sealed, so that a search would find nothing in them
			api.Eventually(t, soon, table+" of "+service+" to have no row, which may hold copies", func() bool {
				return count(t, s, service, "SELECT count(*) FROM "+table) == 0
			})
		}
	}
	for _, reference := range []string{paid, given, failing} { // the money stays as it was, and the merchant sees it
		if got := c.Call(t, http.MethodGet, "/v1/payments/"+reference, nil).Want(t, http.StatusOK).Text(t, "payment.status"); got != "settled" {
			t.Errorf("%s is %s after the erasure", reference, got)
		}
	}
}

// seventyDaysOn makes everything of the product erasure.Copies older, and has each service throw away what it does not
// keep that long.
func seventyDaysOn(t *testing.T, s *stack.Stack) {
	t.Helper()
	older := fmt.Sprintf(" - interval '%d seconds'", int(erasure.Copies.Seconds()))
	const today = "floor(extract(epoch FROM now()) / 86400)::bigint"
	// an answer of a day's first minutes has a row in the past day's partition as well
	rotate := "DELETE FROM idempotency WHERE slot <> " + today + " % 5; UPDATE idempotency SET slot = (" + today +
		" + 1) % 5; SELECT idempotency_rotate();"
	for service, sql := range map[string]string{
		"payments": "ALTER TABLE payments DISABLE TRIGGER USER; UPDATE payments SET changed_at = ARRAY(SELECT at" + older +
			" FROM unnest(changed_at) WITH ORDINALITY AS c(at, n) ORDER BY n); ALTER TABLE payments ENABLE TRIGGER USER;" +
			"UPDATE erasure_payments SET since = since" + older + ";" + rotate,
		"reports": "UPDATE reports SET updated_at = updated_at" + older + ";" + rotate,
		"callback-dispatcher": "UPDATE event SET slot = (" + today + " + 2) % 36; UPDATE delivery_done SET slot = (" + today + " + 2) % 36;" +
			"UPDATE attempt SET slot = (" + today + " + 2) % 36; SELECT dispatcher_rotate();",
	} {
		db, err := pgx.Connect(t.Context(), s.Owners[service])
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close(t.Context())
		if _, err := db.Exec(t.Context(), sql); err != nil {
			t.Fatalf("change the database of %s: %v", service, err)
		}
	}
}
