//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/command"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

var m1 = httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Test}

// want calls and fails the test unless the status is the wanted one.
func (a *api) want(status int, method, path, body string) map[string]any {
	a.t.Helper()
	got := a.send(method, path, "", body, m1)
	if got.status != status {
		a.t.Fatalf("%s %s: %d %v, want %d", method, path, got.status, got.body, status)
	}
	return got.body
}

// at reads a.b.0.c out of an answer.
func at(t *testing.T, body any, path string) any {
	t.Helper()
	for part := range strings.SplitSeq(path, ".") {
		switch v := body.(type) {
		case map[string]any:
			body = v[part]
		case []any:
			var n int
			if _, err := fmt.Sscan(part, &n); err != nil || n >= len(v) {
				t.Fatalf("no %s in %v", path, body)
			}
			body = v[n]
		default:
			t.Fatalf("no %s in %v", path, body)
		}
	}
	return body
}

func text(t *testing.T, body any, path string) string {
	t.Helper()
	s, ok := at(t, body, path).(string)
	if !ok {
		t.Fatalf("%s is no text in %v", path, body)
	}
	return s
}

// endpoint registers one and lets the receiver verify what it gets.
func (r *rig) endpoint(a *api, path string, types ...string) (id string) {
	r.t.Helper()
	list, err := json.Marshal(types)
	if err != nil {
		r.t.Fatal(err)
	}
	if types == nil {
		list = []byte("[]")
	}
	made := a.want(200, http.MethodPost, "/v1/webhooks/endpoints", fmt.Sprintf(`{"url":%q,"types":%s}`, r.receiver.URL(path), list))
	id = text(r.t, made, "endpoint.id")
	r.receiver.Secrets(path, text(r.t, a.want(200, http.MethodGet, "/v1/webhooks/endpoints/"+id+"/secret", ""), "secret"))
	return id
}

func typed(e wire.StatusChanged, kind string) wire.StatusChanged {
	e.Body = bytes.Replace(e.Body, []byte(e.Type), []byte(kind), 1)
	e.Type = kind
	return e
}

func TestEndpoints_everyMatchAndTheCallback(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	a := r.api()
	r.endpoint(a, "/all")
	r.endpoint(a, "/some", "payment.pending", "payment.settled")
	r.run("work")
	e1, e2 := event("CW-1", 1, r.receiver.URL("/callback")), typed(event("CW-1", 2, r.receiver.URL("/callback")), "payment.confirmed")
	e3 := typed(event("CW-1", 3, r.receiver.URL("/callback")), "payment.settled")
	foreign := event("CW-2", 1, "")
	foreign.MerchantID = "m2"
	r.publish(e1, e2, e3, foreign)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/all", 3)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/callback", 3)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/some", 2)
	pair := r.receiver.Accepted("/some")
	if apart := pair[1].At.Sub(pair[0].At); apart > 4500*time.Millisecond { // a type that is filtered out counts as attempted
		t.Errorf("the last event waited %v for one that the endpoint filters out", apart)
	}
	r.await("all recorded", func() bool { return r.count("delivery_done") == 8 })
	var some []string
	for _, d := range r.receiver.Accepted("/some") {
		some = append(some, d.ID)
	}
	if !slices.Equal(some, []string{e1.EventID, e3.EventID}) {
		t.Errorf("/some got %v, want %s and %s", some, e1.EventID, e3.EventID)
	}
	if audit := r.receiver.Audit(nil); len(audit.Invalid)+len(audit.Reordered)+len(audit.Repeated) > 0 {
		t.Errorf("%v: invalid %v, reordered %v", audit, audit.Invalid, audit.Reordered)
	}

	list := a.want(200, http.MethodGet, "/v1/webhooks/deliveries?limit=5&status=delivered", "")
	if got, _ := at(t, list, "deliveries").([]any); len(got) != 5 || at(t, list, "pagination.hasMore") != true {
		t.Fatalf("a page of deliveries: %v", list)
	}
	if text(t, list, "deliveries.0.attempts.0.class") != "ok" || at(t, list, "deliveries.0.attempts.0.latencyMs.total") == nil {
		t.Errorf("an attempt is shown as %v", at(t, list, "deliveries.0.attempts.0"))
	}
	rest := a.want(200, http.MethodGet, "/v1/webhooks/deliveries?limit=5&cursor="+text(t, list, "pagination.nextCursor"), "")
	if got, _ := at(t, rest, "deliveries").([]any); len(got) != 3 || at(t, rest, "pagination.hasMore") != false {
		t.Errorf("the second page: %v", rest)
	}
}

func TestEndpoint_goneIsDisabledAndHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.api()
	id := r.endpoint(a, "/gone", "payment.pending")
	r.endpoint(a, "/other", "webhook.endpoint_disabled")
	r.receiver.Fault("/gone", receiver.Status(410))
	r.run("work")
	r.publish(event("CW-1", 1, ""))
	r.receiver.AwaitAccepted(t, 30*time.Second, "/other", 1) // the merchant gets the event
	got := a.want(200, http.MethodGet, "/v1/webhooks/endpoints/"+id, "")
	if at(t, got, "endpoint.enabled") != false || text(t, got, "endpoint.disabledReason") != "gone" {
		t.Fatalf("after a 410: %v", got)
	}
	notice := r.receiver.Accepted("/other")[0]
	if notice.Type != "webhook.endpoint_disabled" || !bytes.Contains(notice.Body, []byte(id)) {
		t.Errorf("notice: got %s, want webhook.endpoint_disabled of %s", notice.Body, id)
	}
	noticed := time.Now() // for a while the worker may use the list of endpoints that it read for the first event
	r.await("the worker's list of endpoints to be out of date", func() bool { return time.Since(noticed) > app.EndpointTTL })
	before := len(r.receiver.Deliveries())
	r.publish(event("CW-2", 1, ""), event("CW-1", 2, ""))
	r.await("two more events held", func() bool { return r.count("delivery WHERE state = 'due'") == 3 })
	held := a.want(200, http.MethodGet, "/v1/webhooks/deliveries?status=held&endpointId="+id, "")
	if list, _ := at(t, held, "deliveries").([]any); len(list) != 3 || at(t, held, "deliveries.0.nextAttemptAt") != nil {
		t.Errorf("held: %v", held)
	}
	a.want(409, http.MethodPost, "/v1/webhooks/endpoints/"+id+"/test", "")
	a.want(409, http.MethodPost, "/v1/webhooks/deliveries/"+text(t, held, "deliveries.0.id")+"/retry", "")
	if n := len(r.receiver.Deliveries()); n != before {
		t.Errorf("%d deliveries to a disabled endpoint", n-before)
	}
	r.receiver.Fault("/gone", nil)
	a.want(200, http.MethodPatch, "/v1/webhooks/endpoints/"+id, `{"enabled":true}`)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/gone", 3)
	if n := r.count("delivery_done WHERE state = 'exhausted'"); n != 0 {
		t.Errorf("%d deliveries were given up", n)
	}
}

func TestEndpoint_failingWarnsThenDisables(t *testing.T) {
	t.Parallel()
	r := newRig(t, "ENDPOINT_WARN_AFTER", "300ms,1s,2s", "ENDPOINT_DISABLE_AFTER", "3s", "BREAKER_AFTER", "100000", "BREAKER_SAMPLE", "100000", "SCHEDULE_TEST", "50ms,50ms,50ms,100ms,24h")
	a := r.api()
	id := r.endpoint(a, "/bad", "payment.pending")
	r.endpoint(a, "/told", "webhook.endpoint_failing", "webhook.endpoint_disabled")
	r.receiver.Fault("/bad", receiver.Status(500))
	r.run("work")
	for n := range 5 {
		r.publish(event(fmt.Sprintf("CW-%d", n), 1, ""))
	}
	r.await("twenty failures", func() bool { return r.count("attempt") >= 20 })
	for n := range 5 { // the failures span more than a tenth of the time
		r.publish(event(fmt.Sprintf("CW-later-%d", n), 1, ""))
	}
	told := func() (warned, disabled int) {
		for _, d := range r.receiver.Accepted("/told") {
			if d.Type == "webhook.endpoint_failing" {
				warned++
			} else {
				disabled++
			}
		}
		return warned, disabled
	}
	r.receiver.Await(t, 20*time.Second, "the end", func([]receiver.Delivery) bool { _, disabled := told(); return disabled > 0 })
	if warned, disabled := told(); warned < 1 || warned > 3 || disabled != 1 { // a slow machine may see two thresholds passed at once
		t.Errorf("got %d warnings and %d notices of the end", warned, disabled)
	}
	if got := a.want(200, http.MethodGet, "/v1/webhooks/endpoints/"+id, ""); text(t, got, "endpoint.disabledReason") != "failing" || at(t, got, "endpoint.enabled") != false {
		t.Errorf("after so long: %v", got)
	}
	if n := r.count("delivery WHERE endpoint_id = '" + id + "'"); n != 10 {
		t.Errorf("%d deliveries are kept, want 10", n)
	}
}

func TestBreaker_oneProbeAtATimeThenEverything(t *testing.T) {
	t.Parallel()
	r := newRig(t, "BREAKER_WAIT", "400ms", "SCHEDULE_TEST", "10ms,10ms,10ms,10ms,10ms,10ms,10ms,10ms,10ms,10ms,10ms,10ms")
	r.trust("m1")
	r.receiver.Fault("/down", receiver.Status(500))
	r.run("work")
	var all []wire.StatusChanged
	for n := range 100 {
		all = append(all, event(fmt.Sprintf("CW-%d", n), 1, r.receiver.URL("/down")))
	}
	r.publish(all...)
	r.await("the breaker to open", func() bool { return r.count("lane WHERE probe_at IS NOT NULL") == 1 })
	// The dispatcher still sends events that it was taking in when the breaker opened; from then on it sends probes only.
	r.await("everything taken in", func() bool { return r.count("event") == 100 })
	r.await("nothing under way", func() bool { return r.count("delivery WHERE state = 'leased'") == 0 })
	atOpen := len(r.receiver.Deliveries())
	// An attempt of before may end after its lease, so the first that arrives may be no probe.
	r.receiver.Await(t, 20*time.Second, "three probes", func(got []receiver.Delivery) bool { return len(got) >= atOpen+4 })
	probes := r.receiver.Deliveries()[atOpen+1:]
	// They are at least 400 and 800 ms apart when they are let through; how long each takes from there to here is the
	// machine's affair.
	if first, both := probes[1].At.Sub(probes[0].At), probes[2].At.Sub(probes[0].At); first < 200*time.Millisecond || both < 900*time.Millisecond {
		t.Errorf("three probes came %v and %v after the first, want 400 ms and 1.2 s", first, both)
	}
	if atOpen > 200 { // without a breaker there would be 1300
		t.Errorf("%d attempts before the breaker opened", atOpen)
	}
	r.receiver.Fault("/down", nil)
	r.receiver.AwaitAccepted(t, 20*time.Second, "/down", 100)
	r.await("the breaker to close", func() bool { return r.count("lane WHERE probe_at IS NOT NULL OR failures <> 0") == 0 })
	if r.count("delivery_done WHERE state = 'exhausted'") != 0 {
		t.Error("a delivery was given up although the breaker parked it")
	}
}

func TestDelivery_retryByHandAlwaysFires(t *testing.T) {
	t.Parallel()
	r := newRig(t, "SCHEDULE_TEST", "1ms", "BREAKER_AFTER", "1", "BREAKER_WAIT", "44s")
	a := r.api()
	id := r.endpoint(a, "/x")
	r.receiver.Fault("/x", receiver.Status(404))
	r.run("work")
	r.publish(event("CW-1", 1, ""))
	r.await("one failure", func() bool { return r.count("attempt") == 1 && r.count("lane WHERE probe_at IS NOT NULL") == 1 })
	delivery := text(t, a.want(200, http.MethodGet, "/v1/webhooks/deliveries?endpointId="+id, ""), "deliveries.0.id")
	// Behind an open breaker, a retry by hand is made all the same, and so is one of what is exhausted or delivered.
	retry := func(attempts int) {
		t.Helper()
		a.want(200, http.MethodPost, "/v1/webhooks/deliveries/"+delivery+"/retry", "")
		r.await("the retry", func() bool { return r.count("attempt") >= attempts })
	}
	retry(2)
	r.receiver.Fault("/x", nil)
	retry(3)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 1)
	r.await("delivered", func() bool { return r.count("delivery_done WHERE state = 'delivered'") == 1 })
	moved := r.receiver.URL("/moved")
	r.receiver.Secrets("/moved", text(t, a.want(200, http.MethodGet, "/v1/webhooks/endpoints/"+id+"/secret", ""), "secret"))
	a.want(200, http.MethodPatch, "/v1/webhooks/endpoints/"+id, fmt.Sprintf(`{"url":%q}`, moved))
	retry(4)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/moved", 1) // where the endpoint is now
	if first, again := r.receiver.Accepted("/x")[0], r.receiver.Accepted("/moved")[0]; first.ID != again.ID || !bytes.Equal(first.Body, again.Body) {
		t.Error("a retry has another id or body")
	}
	shown := a.want(200, http.MethodGet, "/v1/webhooks/deliveries/"+delivery, "")
	if list, _ := at(t, shown, "delivery.attempts").([]any); len(list) != 4 || text(t, shown, "delivery.attempts.3.trigger") != "manual" {
		t.Errorf("the attempts: %v", shown)
	}
	once := a.send(http.MethodPost, "/v1/webhooks/deliveries/"+delivery+"/retry", "k", "", m1)
	twice := a.send(http.MethodPost, "/v1/webhooks/deliveries/"+delivery+"/retry", "k", "", m1)
	if once.status != 200 || once.replayed || !twice.replayed {
		t.Errorf("with a key: %+v, %+v", once, twice)
	}
}

func TestEndpoint_testSendTellsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.api()
	id := r.endpoint(a, "/x", "payment.settled") // whatever its filter
	r.run("work")
	got := a.want(200, http.MethodPost, "/v1/webhooks/endpoints/"+id+"/test", "")
	if text(t, got, "delivery.type") != "webhook.test" || text(t, got, "delivery.attempts.0.class") != "ok" {
		t.Errorf("a good endpoint: %v", got)
	}
	r.receiver.Fault("/x", receiver.Status(418))
	if got = a.want(200, http.MethodPost, "/v1/webhooks/endpoints/"+id+"/test", ""); text(t, got, "delivery.attempts.0.class") != "http_4xx" {
		t.Errorf("a bad endpoint: %v", got)
	}
	a.want(200, http.MethodPatch, "/v1/webhooks/endpoints/"+id, `{"url":"http://10.1.2.3/x"}`)
	if got = a.want(200, http.MethodPost, "/v1/webhooks/endpoints/"+id+"/test", ""); text(t, got, "delivery.attempts.0.class") != "blocked_ssrf" {
		t.Errorf("a private address: %v", got)
	}
}

func TestReplay_countsPausesAndSendsTheRange(t *testing.T) {
	t.Parallel()
	r := newRig(t, "SCHEDULE_TEST", "1ms", "BREAKER_AFTER", "1000", "BREAKER_SAMPLE", "1000")
	a := r.api()
	id := r.endpoint(a, "/x")
	r.receiver.Fault("/x", receiver.Status(404))
	r.run("work")
	var all []wire.StatusChanged
	for n := range 200 {
		all = append(all, event(fmt.Sprintf("CW-%d", n), 1, ""))
	}
	r.publish(all...)
	r.await("all exhausted", func() bool { return r.count("delivery_done WHERE state = 'exhausted'") == 200 })
	from := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	body := fmt.Sprintf(`{"endpointId":%q,"from":%q,"dryRun":%%v}`, id, from)
	if got := a.want(200, http.MethodPost, "/v1/webhooks/replays", fmt.Sprintf(body, true)); at(t, got, "replay.total") != float64(200) || at(t, got, "replay.id") != nil {
		t.Fatalf("dry run: %v", got)
	}
	r.receiver.Fault("/x", receiver.Slow(50*time.Millisecond))
	replay := text(t, a.want(200, http.MethodPost, "/v1/webhooks/replays", fmt.Sprintf(body, false)), "replay.id")
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 5)
	paused := a.want(200, http.MethodPost, "/v1/webhooks/replays/"+replay+"/pause", "")
	if text(t, paused, "replay.state") != "paused" || r.count("delivery") > 32 {
		t.Errorf("paused: %v with %d in the table", paused, r.count("delivery"))
	}
	r.await("what was under way", func() bool { return r.count("delivery") == 0 })
	if n := len(r.receiver.Accepted("/x")); n >= 200 {
		t.Error("the pause came too late to show anything")
	}
	a.want(200, http.MethodPost, "/v1/webhooks/replays/"+replay+"/resume", "")
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 200)
	r.await("the replay to finish", func() bool { return r.count("replay WHERE state = 'finished' AND sent = 200") == 1 })
	r.await("200 attempts of the replay in the log", func() bool { return r.count("attempt WHERE trigger = 'replay'") == 200 })
}

// A reader that follows the cursor sees every event once, while many are being committed at the same time.
func TestEvents_aReaderMissesNone(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.api()
	r.run("work")
	const total = 1500
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; n < total; n += 50 {
			var some []wire.StatusChanged
			for i := range 50 {
				some = append(some, event(fmt.Sprintf("CW-%d", n+i), 1, ""))
			}
			r.publish(some...)
		}
	}()
	seen, cursor := map[string]int{}, ""
	r.await("every event in the list", func() bool {
		page := a.want(200, http.MethodGet, "/v1/events?limit=100&cursor="+cursor, "")
		events, _ := at(t, page, "events").([]any)
		for _, e := range events {
			seen[text(t, e, "id")]++
		}
		if next, ok := at(t, page, "pagination.nextCursor").(string); ok {
			cursor = next
		}
		return len(seen) == total
	})
	<-done
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s was listed %d times", id, n)
		}
	}
	if got := a.want(200, http.MethodGet, "/v1/events?type=payment.settled", ""); len(at(t, got, "events").([]any)) != 0 {
		t.Errorf("of another type: %v", got)
	}
}

// An event whose key is missing hides no other: the list leaves it out and goes on behind it.
func TestEvents_leavesOutWhatDoesNotOpen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.api()
	r.run("work")
	lost := event("CW-2", 1, "")
	r.publish(event("CW-1", 1, ""), lost, event("CW-3", 1, ""))
	r.await("three events", func() bool { return r.count("event") == 3 })
	gone, err := keyring.Parse("gone:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	sealed := gone.Seal(lost.Body, wire.BodyPlace(lost.EventID))
	if _, err := r.db.Exec(t.Context(), `UPDATE event SET body = $1 WHERE id = $2`, sealed, lost.EventID); err != nil {
		t.Fatal(err)
	}
	listed, cursor, pages := map[string]bool{}, "", 0
	r.await("the end of the list", func() bool { // an event is listed once no earlier transaction runs on the server
		page := a.want(200, http.MethodGet, "/v1/events?limit=1&cursor="+cursor, "")
		if next, ok := at(t, page, "pagination.nextCursor").(string); ok && next != cursor {
			cursor, pages = next, pages+1
		}
		for _, e := range at(t, page, "events").([]any) {
			listed[text(t, e, "id")] = true
		}
		return pages == 3
	})
	if len(listed) != 2 || listed[lost.EventID] || !slices.Equal(*a.unopened, []string{lost.EventID}) {
		t.Errorf("listed %v, left out %v", listed, *a.unopened)
	}
}

// A transaction that runs holds back what may come before it in the list, unless it runs in another database.
func TestEvents_heldBackByTheirOwnDatabase(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.api()
	r.run("work")
	listed := func() int {
		return len(at(t, a.want(200, http.MethodGet, "/v1/events", ""), "events").([]any))
	}
	begin := func(url string) *pgx.Conn {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
		for _, sql := range []string{`BEGIN`, `SELECT pg_current_xact_id()`} {
			if _, err := conn.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		return conn
	}
	begin(os.Getenv("CAUSEWAY_TEST_POSTGRES_URL"))
	r.publish(event("CW-1", 1, ""))
	r.await("an event while another database is busy", func() bool { return listed() == 1 })

	own := begin(r.env["DATABASE_URL"])
	r.publish(event("CW-2", 1, ""))
	r.await("the event in the table", func() bool {
		var n int
		if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM event`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 2
	})
	if n := listed(); n != 1 {
		t.Errorf("%d events are listed while an older transaction runs, want 1", n)
	}
	if _, err := own.Exec(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	r.await("the event that was held back", func() bool { return listed() == 2 })
}

func TestSettlementToken_isOnlyInWhatIsSent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env["SETTLEMENT_TOKEN_KEYS"] = r.env["MASTER_KEYS"]
	ring, err := keyring.Parse(r.env["MASTER_KEYS"])
	if err != nil {
		t.Fatal(err)
	}
	r.trust("m1")
	a := r.api()
	r.receiver.Fault("/x", receiver.FailFirst(1, receiver.Status(500)))
	r.run("work")
	e := event("CW-1", 1, r.receiver.URL("/x"))
	e.Body = bytes.Replace(e.Body, []byte(`"payment":{`), []byte(`"payment":{`+wire.TokenMask+`,`), 1)
	e.Token = ring.Seal([]byte("stk_secret"), wire.TokenPlace(e.EventID))
	r.publish(e)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 1)
	for _, d := range r.receiver.Deliveries() { // the retry comes from the table
		if !bytes.Contains(d.Body, []byte(`"settlementToken":"stk_secret"`)) {
			t.Errorf("sent %s", d.Body)
		}
	}
	r.clean(nil)
	var raw []byte
	r.await("the event in the list", func() bool { // it is listed once no earlier transaction runs on the server
		raw, err = json.Marshal(a.want(200, http.MethodGet, "/v1/events", ""))
		return err != nil || bytes.Contains(raw, []byte(e.EventID))
	})
	if err != nil || bytes.Contains(raw, []byte("stk_secret")) || !bytes.Contains(raw, []byte(`***`)) {
		t.Errorf("the list shows %s, %v", raw, err)
	}
	if n := r.count("event WHERE position('stk_secret'::bytea IN body) > 0 OR position('stk_secret'::bytea IN token) > 0"); n != 0 {
		t.Error("the table holds the token in the clear")
	}
}

// An operator reads events that are stored sealed, of a time, a kind or by id; one that no key opens is named, with
// no body.
func TestEventsCommand_opensWhatIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env["EVENT_KEYS"] = r.env["MASTER_KEYS"]
	keys, err := keyring.ParseOptional(r.env["EVENT_KEYS"])
	if err != nil {
		t.Fatal(err)
	}
	stop := r.run("work")
	one, two := event("CW-1", 1, ""), event("CW-2", 1, "")
	for _, e := range []*wire.StatusChanged{&one, &two} {
		e.Body = keys.Seal(e.Body, wire.BodyPlace(e.EventID))
	}
	r.publish(one, two)
	r.await("two events", func() bool { return r.count("event") == 2 })
	stop()
	read := func(args ...string) (string, error) {
		var out bytes.Buffer
		err := program.Run(t.Context(), command.Input{Args: append([]string{"events"}, args...), Environ: r.env, Out: &out})
		return out.String(), err
	}
	from := time.Now().Add(-time.Hour).Format(time.RFC3339)
	for _, c := range []struct {
		args  []string
		first bool
		both  bool
	}{
		{[]string{"--from", from}, true, true},
		{[]string{"--from", from, "--type", "payment."}, true, true},
		{[]string{"--from", from, "--type", "report."}, false, false},
		{[]string{"--from", "2020-01-01T00:00:00Z", "--to", from}, false, false},
		{[]string{"--id", one.EventID}, true, false},
	} {
		got, err := read(c.args...)
		first, second := strings.Contains(got, `"reference":"CW-1"`), strings.Contains(got, `"reference":"CW-2"`)
		if err != nil || first != c.first || second != c.both {
			t.Errorf("list events with %v: got %s, %v", c.args, got, err)
		}
	}
	for _, args := range [][]string{{}, {"--id", one.EventID, "--from", from}, {"--from", "yesterday"}} {
		if got, err := read(args...); err == nil {
			t.Errorf("%v prints %s", args, got)
		}
	}
	delete(r.env, "EVENT_KEYS")
	if got, err := read("--id", one.EventID); err == nil || !strings.Contains(got, one.EventID) || !strings.Contains(got, `"body":null`) {
		t.Errorf("without the key: %s, %v", got, err)
	}
}

// An endpoint that answers with what it was sent puts nobody's name into the table, whether it takes the event or
// not, and its merchant sees the answer all the same.
func TestExcerpt_isSealedAndShown(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.env["EVENT_KEYS"] = r.env["MASTER_KEYS"]
	a := r.api()
	var calls atomic.Int32
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if calls.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = io.Copy(w, req.Body)
	}))
	t.Cleanup(echo.Close)
	r.run("work")
	first, second := event("CW-1", 1, echo.URL), event("CW-2", 1, echo.URL)
	r.publish(first)
	r.await("the second attempt", func() bool { return r.count("delivery_done WHERE state = 'delivered'") == 1 })
	r.publish(second)
	r.await("the second delivery", func() bool { return r.count("delivery_done WHERE state = 'delivered'") == 2 })
	const kept = "(SELECT excerpt FROM attempt UNION ALL SELECT excerpt FROM delivery_done WHERE excerpt IS NOT NULL) x"
	if all, clear := r.count(kept), r.count(kept+" WHERE position('CW-'::bytea IN excerpt) > 0"); all != 3 || clear != 0 {
		t.Errorf("%d of %d excerpts are in the clear", clear, all)
	}
	shown := 0
	for _, d := range at(t, a.want(200, http.MethodGet, "/v1/webhooks/deliveries", ""), "deliveries").([]any) {
		for _, one := range at(t, d, "attempts").([]any) {
			if text(t, one, "excerptEncoding") == "utf8" && strings.HasPrefix(text(t, one, "excerpt"), `{`) {
				shown++
			}
		}
	}
	if shown != 3 {
		t.Errorf("the merchant sees %d of 3 answers", shown)
	}
}

func TestDead_isListedAndTakenInAgain(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	stop := r.run("work")
	bad, good := event("CW-1", 1, ""), event("CW-2", 1, r.receiver.URL("/x"))
	bad.Sequence = 0
	r.publish(bad)
	r.await("the bad message in the table", func() bool { return r.count("dead WHERE reason LIKE '%sequence 0%'") == 1 })
	stop()
	body, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.db.Exec(t.Context(), `INSERT INTO dead (message_id, name, reason, body, trace) VALUES ('x', $1, 'a defect that was mended', $2, '')`,
		string(wire.PaymentStatusChangedV1), body); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"dead list": "sequence 0", "dead list --limit 5": "a defect that was mended"} {
		var out strings.Builder
		if err := deadCommand(t, r, strings.Fields(args)[1:], &out); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("run %s: got %q, %v, want %q", args, out.String(), err, want)
		}
	}
	var out strings.Builder
	if err := deadCommand(t, r, []string{"redrive"}, &out); err == nil {
		t.Error("redrive without ids or --all")
	}
	if err := deadCommand(t, r, []string{"redrive", "--all"}, &out); err != nil || !strings.Contains(out.String(), "1 of 2 messages taken in") {
		t.Errorf("redrive: %q, %v", out.String(), err)
	}
	if r.count("dead") != 1 {
		t.Error("what was taken in is still dead, or what was not is gone")
	}
	r.run("work")
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 1)
}

// A dead message is discarded with a reason, and who did it is kept; its body goes with time.
func TestDead_isDiscarded(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.run("work")
	bad := event("CW-1", 1, "")
	bad.Sequence = 0
	r.publish(bad)
	r.await("the bad message in the table", func() bool { return r.count("dead") == 1 })
	var id int64
	if err := r.db.QueryRow(t.Context(), `SELECT id FROM dead`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	one := strconv.FormatInt(id, 10)
	for _, args := range [][]string{{one}, {"--reason", " ", one}, {"--reason", "a test"}, {"--reason", "a test", "--all", one}, {"--reason", "a test", "x"}, {"--reason", "a test", "--queue", wire.IntakeQueue, one}} {
		if err := deadCommand(t, r, append([]string{"discard"}, args...), io.Discard); err == nil || r.count("dead") != 1 {
			t.Errorf("discard %q: %v, %d left", args, err, r.count("dead"))
		}
	}
	var out strings.Builder
	if err := deadCommand(t, r, []string{"discard", "--reason", "a test", one}, &out); err != nil || out.String() != "1 messages discarded\n" || r.count("dead") != 0 {
		t.Errorf("discard: %q, %v, %d left", out.String(), err, r.count("dead"))
	}
	out.Reset()
	if err := deadCommand(t, r, []string{"discard", "--reason", "a test", one}, &out); err != nil || out.String() != "0 messages discarded\n" {
		t.Errorf("discarded already: %q, %v", out.String(), err)
	}
	shown := func() (n struct {
		ID, Operator, Reason, DiedOf string
		Body                         []byte
	},
	) {
		out.Reset()
		if err := deadCommand(t, r, []string{"discarded"}, &out); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(out.String()), &n); err != nil {
			t.Fatalf("read the discarded: %v: %s", err, out.String())
		}
		return n
	}
	if n := shown(); n.ID == "" || !strings.HasPrefix(n.Operator, "cli:") || n.Reason != "a test" || !strings.Contains(n.DiedOf, "sequence 0") || len(n.Body) == 0 {
		t.Errorf("discarded: %+v", n)
	}
	if _, err := r.db.Exec(t.Context(), `UPDATE discarded SET died_at = died_at - interval '31 days'`); err != nil {
		t.Fatal(err)
	}
	if err := discard.Forget(t.Context(), r.db); err != nil {
		t.Fatal(err)
	}
	if n := shown(); n.Reason != "a test" || n.Body != nil {
		t.Errorf("after a month: %+v", n)
	}
}

// Nobody sees or touches what another merchant, or the other mode, has.
func TestManagement_tenants(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.api()
	id := r.endpoint(a, "/x")
	r.run("work")
	r.publish(event("CW-1", 1, ""))
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 1)
	r.await("recorded", func() bool { return r.count("delivery_done") == 1 })
	delivery := text(t, a.want(200, http.MethodGet, "/v1/webhooks/deliveries", ""), "deliveries.0.id")
	replay := text(t, a.want(200, http.MethodPost, "/v1/webhooks/replays", `{"from":"2026-01-01T00:00:00Z"}`), "replay.id")
	for name, who := range map[string]httpkit.Identity{
		"another merchant": {Subject: httpkit.Merchant, MerchantID: "m2", Mode: tenant.Test},
		"the other mode":   {Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Live},
	} {
		for _, route := range [][2]string{
			{"GET", "/v1/webhooks/endpoints/" + id},
			{"PATCH", "/v1/webhooks/endpoints/" + id},
			{"DELETE", "/v1/webhooks/endpoints/" + id},
			{"POST", "/v1/webhooks/endpoints/" + id + "/test"},
			{"GET", "/v1/webhooks/endpoints/" + id + "/secret"},
			{"POST", "/v1/webhooks/endpoints/" + id + "/rotate"},
			{"POST", "/v1/webhooks/endpoints/" + id + "/secret/rotate"},
			{"GET", "/v1/webhooks/deliveries/" + delivery},
			{"POST", "/v1/webhooks/deliveries/" + delivery + "/retry"},
			{"GET", "/v1/webhooks/replays/" + replay},
			{"POST", "/v1/webhooks/replays/" + replay + "/pause"},
			{"POST", "/v1/webhooks/replays/" + replay + "/resume"},
			{"GET", "/v1/webhooks/deliveries/%00"},
		} {
			body := ""
			if route[0] == http.MethodPatch {
				body = `{"enabled":false}`
			}
			if got := a.send(route[0], route[1], "", body, who); got.status != 404 {
				t.Errorf("%s asks %s %s: got %d %v, want 404", name, route[0], route[1], got.status, got.body)
			}
		}
		for _, list := range []string{"/v1/webhooks/endpoints", "/v1/webhooks/deliveries", "/v1/events"} {
			got := a.send("GET", list, "", "", who)
			for _, part := range []string{"endpoints", "deliveries", "events"} {
				if items, ok := got.body[part].([]any); ok && len(items) != 0 {
					t.Errorf("%s sees %v", name, items)
				}
			}
		}
	}
	live := a.send("POST", "/v1/webhooks/endpoints", "", `{"url":"http://127.0.0.1/x"}`, httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Live})
	if live.status != 400 {
		t.Errorf("live mode took a plain literal: %+v", live)
	}
	for _, body := range []string{`{}`, `{"url":"ftp://x"}`, `{"url":"http://x.example","types":["payment.lost"]}`, `{"url":"http://x.example","enabled":1}`} {
		a.want(400, http.MethodPost, "/v1/webhooks/endpoints", body)
	}
	for _, query := range []string{"/v1/events?cursor=!", "/v1/events?cursor=eA", "/v1/events?from=x", "/v1/webhooks/deliveries?status=x", "/v1/webhooks/deliveries?limit=0"} {
		a.want(400, http.MethodGet, query, "")
	}
	a.want(200, http.MethodDelete, "/v1/webhooks/endpoints/"+id, "")
	a.want(404, http.MethodGet, "/v1/webhooks/endpoints/"+id, "")
	a.want(404, http.MethodDelete, "/v1/webhooks/endpoints/"+id, "")
}
