//go:build integration

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/migrations"
)

var identityKey = bytes.Repeat([]byte("k"), 32)

// service is the whole program, run as a process runs it, between a real database and a real broker. The dispatcher and
// payments are played by the test.
type service struct {
	t        *testing.T
	url, ops string
	stop     func() // ends it and waits
	events   chan wire.StatusChanged
	signals  chan wire.FraudSignal
}

func begin(t *testing.T, more map[string]string) *service {
	t.Helper()
	s := &service{t: t, events: make(chan wire.StatusChanged, 64), signals: make(chan wire.FraudSignal, 64)}
	broker, api, ops := mq.New(t), port.Free(t), port.Free(t)
	s.url, s.ops = "http://"+api, "http://"+ops
	environ := map[string]string{
		"DATABASE_URL": pg.URL(t, migrations.FS), "AMQP_URL": broker, "HTTP_ADDR": api, "OPS_ADDR": ops,
		"IDENTITY_KEYS": base64.StdEncoding.EncodeToString(identityKey), "REPORTS_PUBLIC_MODES": "live,test",
	}
	maps.Copy(environ, more)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 3)
	s.play(ctx, broker, wire.Dispatcher, wire.IntakeQueue, ended, func(body []byte) error { return into(s.events, body) })
	s.play(ctx, broker, wire.Payments, queueOf(wire.FraudSignalV1), ended, func(body []byte) error { return into(s.signals, body) })
	go func() { ended <- program.Run(ctx, command.Input{Environ: environ}) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			for range cap(ended) {
				if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	t.Cleanup(s.stop)
	s.awaitReady()
	return s
}

func queueOf(name wire.Name) string {
	for _, r := range wire.Topology() {
		if r.Name == name {
			return r.Queue
		}
	}
	panic(name)
}

func into[T any](to chan T, body []byte) error {
	var v T
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	to <- v
	return nil
}

func (s *service) play(ctx context.Context, broker, name, queue string, ended chan error, take func([]byte) error) {
	s.t.Helper()
	link, err := bus.Dial(ctx, bus.Config{URL: config.Secret(broker)}, name, telemetrytest.ForTest(s.t))
	if err != nil {
		s.t.Fatal(err)
	}
	link.Handle(queue, 1, func(_ context.Context, m bus.Message) error { return take(m.Body) })
	s.t.Cleanup(func() { _ = link.Close() })
	go func() { ended <- link.Run(ctx) }()
}

func (s *service) awaitReady() {
	s.t.Helper()
	tick, deadline := time.NewTicker(50*time.Millisecond), time.After(2*time.Minute) // the machine may be busy
	defer tick.Stop()
	for {
		if res, err := http.Get(s.ops + "/readyz"); err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-deadline:
			s.t.Fatal("not ready within two minutes")
		case <-tick.C:
		}
	}
}

// call makes a request as the gateway would.
func (s *service) call(i httpkit.Identity, method, path, body string, header ...string) (int, string, http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	i.RequestID, i.Method, i.Path, i.Audience, i.IssuedAt = "req_"+s.t.Name(), method, r.URL.RequestURI(), wire.Reports, time.Now().UnixMilli()
	signed, err := i.Sign(identityKey)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set(httpkit.IdentityHeader, signed)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, string(got), res.Header
}

var (
	acme   = httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Test, Permissions: []string{"report:create", "report:manage"}}
	public = httpkit.Identity{Subject: httpkit.Public, ClientIP: "203.0.113.7"}
	ann    = httpkit.Identity{Subject: httpkit.Operator, Operator: "ann"}
)

func next[T any](s *service, from chan T) T {
	s.t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(2 * time.Minute): // the machine may be busy
		s.t.Fatal("no message within two minutes")
	}
	panic("unreachable")
}

func TestReports_runsAndAnswersInTheErrorShape(t *testing.T) {
	pg.Holds(t, migrations.FS, outbox.Schema)
	pg.Holds(t, migrations.FS, outbox.WakeSchema)
	pg.Holds(t, migrations.FS, outbox.StoredSchema)
	pg.Holds(t, migrations.FS, "CREATE INDEX CONCURRENTLY "+outbox.NamesIndex)
	pg.Holds(t, migrations.FS, outbox.NewestSchema)
	pg.Holds(t, migrations.FS, outbox.InlineSchema)
	pg.Holds(t, migrations.FS, idempotency.Schema)
	s := begin(t, nil)
	res, err := http.Get(s.url + "/v1/reports/RPT-ABCDEF")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var body map[string]any
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil || res.StatusCode != http.StatusUnauthorized || body["error"] == nil {
		t.Errorf("without the gateway's identity: %d %v %v", res.StatusCode, body, err)
	}
	if status, got, _ := s.call(acme, "GET", "/v1/nowhere", ""); status != http.StatusNotFound || !strings.Contains(got, `"code":"route_not_found"`) {
		t.Errorf("call an unknown route: got %d %s, want 404 route_not_found", status, got)
	}
}

// A report is filed, replayed and moved, and each change is an event: the webhook body is the report as GET shows it,
// with its sequence. A resolved fraud report sends payments a signal.
func TestFlow_eventsAndSignal(t *testing.T) {
	s := begin(t, nil)
	const filing = `{"complaintType":"fraud","name":"Ada Obi","phoneNumber":"+234 801 234 5678","fraudsterWalletAddress":"0xBAD"}`
	status, made, _ := s.call(acme, "POST", "/v1/reports", filing, "Idempotency-Key", "one")
	if status != http.StatusCreated {
		t.Fatalf("file a report: got %d %s, want 201", status, made)
	}
	if status, again, h := s.call(acme, "POST", "/v1/reports", filing, "Idempotency-Key", "one"); status != 201 || again != made || h.Get("Idempotent-Replayed") != "true" {
		t.Errorf("replay: %d %s", status, again)
	}
	if status, again, _ := s.call(acme, "POST", "/v1/reports", filing+" ", "Idempotency-Key", "one"); status != 422 {
		t.Errorf("another body: %d %s", status, again)
	}
	var answer struct {
		Data struct{ Report struct{ ReportID string } }
	}
	if err := json.Unmarshal([]byte(made), &answer); err != nil {
		t.Fatal(err)
	}
	id := answer.Data.Report.ReportID
	_, shown, _ := s.call(public, "GET", "/v1/reports/"+strings.ToLower(id[4:]), "")
	if !strings.Contains(shown, "Invalid report ID format") {
		t.Errorf("show a report by half an id: got %s, want the refusal", shown)
	}
	for i, to := range []string{"", "processing", "resolved"} {
		kind := "report.created"
		if to != "" {
			kind = "report.updated"
			if status, body, _ := s.call(acme, "PATCH", "/v1/reports/"+id, `{"status":"`+to+`","adminNotes":"secret notes","confirmer":"Bola"}`); status != 200 || !strings.Contains(body, `"adminNotes":"secret notes"`) {
				t.Fatalf("move the report to %s: got %d %s, want 200 with the notes", to, status, body)
			}
		}
		e := next(s, s.events)
		if e.Type != kind || e.Sequence != int64(i+1) || e.ObjectID != id || e.MerchantID != "acme" || e.Mode != tenant.Test || e.CallbackURL != "" {
			t.Errorf("event %d: %+v", i+1, e)
		}
		_, shown, _ := s.call(public, "GET", "/v1/reports/"+id, "")
		report := strings.TrimSuffix(strings.TrimPrefix(shown, `{"success":true,"data":{"report":`), "}}")
		head := `{"id":"` + e.EventID + `","type":"` + kind + `","createdAt":"` + e.OccurredAt.Format("2006-01-02T15:04:05.000Z") + `","mode":"test","data":{"report":`
		if want := head + strings.TrimSuffix(report, "}") + `,"sequence":` + string(rune('1'+i)) + "}}}"; string(e.Body) != want {
			t.Errorf("body\n%s\nwant\n%s", e.Body, want)
		}
	}
	signal := next(s, s.signals)
	if signal.Address != "0xbad" || signal.Merchants != 1 || signal.Reports != 1 || signal.Version < 1 || signal.Mode != tenant.Test {
		t.Errorf("read the signal: got %+v, want one report of one merchant on 0xbad", signal)
	}
	if status, body, _ := s.call(ann, "GET", "/v1/admin/reports/subjects?walletAddress=0xBAD&mode=test", ""); status != 200 ||
		!strings.Contains(body, `"counts":{"total":1,"pending":0,"processing":0,"resolved":1,"dismissed":0},"distinctReporters":1,"distinctMerchants":1,"resolvedFraudMerchants":1`) {
		t.Errorf("list the reports on 0xBAD: got %d %s, want 200 with one resolved", status, body)
	}
	if status, body, _ := s.call(httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "other", KeyID: 8, Mode: tenant.Test}, "PATCH", "/v1/reports/"+id, `{"status":"dismissed"}`); status != 404 {
		t.Errorf("another merchant: %d %s", status, body)
	}
	for _, path := range []string{"/v1/reports/lookup?walletAddress=%00", "/v1/reports/lookup?walletAddress=%ff%fe", "/v1/reports/lookup?phoneNumber=123456&offset=9223372036854775807", "/v1/reports/lookup?walletAddress=" + strings.Repeat("%F0%9F%99%82", 128)} {
		if status, body, _ := s.call(public, "GET", path, ""); status != 200 || !strings.Contains(body, `"total":0`) {
			t.Errorf("look up %s: got %d %s, want 200 with nothing found", path, status, body)
		}
	}
}

// Nothing that says who reports whom is in any log line or span, at the most talkative level, whether requests succeed,
// are refused, limited or broken.
func TestFlow_personalDataStaysOut(t *testing.T) {
	var mu sync.Mutex
	var spans bytes.Buffer
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		spans.Write(body)
	}))
	defer collector.Close()
	logFile, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer logFile.Close()
	stderr := os.Stderr
	os.Stderr = logFile // telemetry takes it at start
	s := begin(t, map[string]string{
		"LOG_LEVEL": "debug", "OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL, "LOOKUP_BURST": "2", "LOOKUP_RATE": "1", "FLOOD_PER_HOUR": "1", "GUESSES_PER_MINUTE": "1",
	})
	os.Stderr = stderr
	const filing = `{"complaintType":"fraud","name":"Zebulon Quux","phoneNumber":"+234 999 888 7766","walletAddress":"TSecretWallet","sessionReference":"CW-SECRETREF22",` +
		`"fraudsterWalletAddress":"0xFeedFace","description":"confidential words"}`
	_, made, _ := s.call(acme, "POST", "/v1/reports", filing, "Idempotency-Key", "confidential-key")
	var answer struct {
		Data struct{ Report struct{ ReportID string } }
	}
	if err := json.Unmarshal([]byte(made), &answer); err != nil {
		t.Fatal(err)
	}
	id := answer.Data.Report.ReportID
	flooded, _, _ := s.call(acme, "POST", "/v1/reports", filing)
	s.call(acme, "POST", "/v1/reports", strings.ReplaceAll(filing, "fraud\"", "x\""))
	s.call(acme, "POST", "/v1/reports", filing[:40])
	s.call(acme, "PATCH", "/v1/reports/"+id, `{"status":"processing","adminNotes":"confidential notes","confirmer":"Zebulon Quux"}`)
	limited := 0
	for range 4 {
		limited, _, _ = s.call(public, "GET", "/v1/reports/lookup?phoneNumber="+url.QueryEscape("+2349998887766")+"&walletAddress=TSecretWallet", "")
	}
	s.call(public, "GET", "/v1/reports/"+id, "")
	guessed := 0
	for range 3 {
		guessed, _, _ = s.call(public, "GET", "/v1/reports/RPT-999999", "")
	}
	s.call(ann, "GET", "/v1/admin/reports/subjects?walletAddress=0xFeedFace", "")
	s.call(ann, "GET", "/v1/admin/reports/floods", "")
	if flooded != 429 || limited != 429 || guessed != 429 {
		t.Errorf("flood %d, look-up %d, guess %d: want 429 for each", flooded, limited, guessed)
	}
	next(s, s.events)
	s.stop()
	lines, err := os.ReadFile(logFile.Name())
	if err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !bytes.Contains(lines, []byte("report flood refused")) || !bytes.Contains(spans.Bytes(), []byte("GET /v1/reports/lookup")) {
		t.Errorf("the logs (%d bytes) or the spans (%d bytes) were not caught", len(lines), spans.Len())
	}
	for _, secret := range []string{
		"Zebulon", "Quux", "9998887766", "999 888", "TSecretWallet", "SECRETREF", "FeedFace", "feedface", "confidential", id, "RPT-999999", "203.0.113.7",
	} {
		for what, text := range map[string][]byte{"logs": lines, "spans": spans.Bytes()} {
			if at := bytes.Index(text, []byte(secret)); at >= 0 {
				t.Errorf("%s show %q: …%q…", what, secret, text[max(0, at-120):min(len(text), at+60)])
			}
		}
	}
}
