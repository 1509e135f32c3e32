//go:build integration

package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	webhook "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"go.uber.org/goleak"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/httpapi"
	"causeway.internal/services/callback-dispatcher/internal/store"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// child makes the test binary be the dispatcher itself, so that a test can kill it.
const child = "CAUSEWAY_TEST_DISPATCHER"

func TestMain(m *testing.M) {
	if os.Getenv(child) != "" {
		main()
		return
	}
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait for clocks more than they compute
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// rig is a database, a broker and a receiver for one test.
type rig struct {
	t         *testing.T
	env       map[string]string
	db        *pgxpool.Pool
	publisher *bus.Publisher
	receiver  *receiver.Receiver
	secrets   *app.Secrets
}

func newRig(t *testing.T, more ...string) *rig {
	t.Helper()
	lines := slices.DeleteFunc(wire.Topology(), func(line wire.Route) bool {
		return line.Consumer != wire.Dispatcher && line.Exchange != wire.Dispatcher
	})
	cfg, amqp, tel := pg.Config(t, migrations.FS), mq.New(t, lines...), telemetrytest.ForTest(t)
	var key [32]byte
	_, _ = rand.Read(key[:])
	master := "k1:" + base64.StdEncoding.EncodeToString(key[:])
	r := &rig{t: t, db: pg.Open(t, cfg, migrations.FS), receiver: receiver.Start(t), env: map[string]string{
		"DATABASE_URL": cfg.URL.Reveal(), "AMQP_URL": amqp, "MASTER_KEYS": master, "OPS_ADDR": "127.0.0.1:0", "HTTP_ADDR": "127.0.0.1:0",
		"IDENTITY_KEYS": base64.StdEncoding.EncodeToString(key[:]), "CALLBACK_ALLOW_TEST": "127.0.0.0/8", "LOG_LEVEL": "warn",
		"SCHEDULE_TEST": "100ms,200ms,300ms,400ms",
	}}
	for i := 0; i+1 < len(more); i += 2 {
		r.env[more[i]] = more[i+1]
	}
	link, err := bus.DialLines(t.Context(), bus.Config{URL: config.Secret(amqp)}, wire.Payments, tel, lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	r.publisher = link.Publisher()
	ring, err := keyring.Parse(master)
	if err != nil {
		t.Fatal(err)
	}
	r.secrets = app.NewSecrets(store.New(r.db, "test", 1), ring, time.Now)
	return r
}

// run starts the dispatcher inside the test and returns what stops it.
func (r *rig) run(args ...string) (stop func()) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- program.Run(ctx, command.Input{Args: args, Environ: r.env}) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
				r.t.Errorf("the dispatcher ended with %v", err)
			}
		})
	}
	r.t.Cleanup(stop)
	return stop
}

// spawn starts the dispatcher as a process of its own and returns what kills it the hard way.
func (r *rig) spawn() (kill func()) {
	r.t.Helper()
	cmd := exec.Command(os.Args[0], "work")
	cmd.Env = append(os.Environ(), child+"=1")
	for name, value := range r.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Stderr = r.t.Output()
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	var once sync.Once
	kill = func() {
		once.Do(func() {
			_ = cmd.Process.Signal(syscall.SIGKILL)
			_ = cmd.Wait() // it was killed
		})
	}
	r.t.Cleanup(kill)
	return kill
}

func (r *rig) trust(merchants ...string) {
	r.t.Helper()
	for _, m := range merchants {
		secrets, err := r.secrets.Get(r.t.Context(), app.SecretOwner{MerchantID: m, Mode: "test"})
		if err != nil {
			r.t.Fatal(err)
		}
		r.receiver.Secrets("", secrets[0].Text)
	}
}

func event(object string, sequence int64, url string) wire.StatusChanged {
	eventID := id.New(id.Event, time.Now())
	body := fmt.Sprintf(`{"id":%q,"type":"payment.pending","createdAt":"2026-04-01T13:30:00.000Z","mode":"test","data":{"payment":{"reference":%q,"sequence":%d}}}`,
		eventID, object, sequence)
	return wire.StatusChanged{
		EventID: eventID, Type: "payment.pending", MerchantID: "m1", Mode: tenant.Test, ObjectID: object, Sequence: sequence,
		CallbackURL: url, OccurredAt: time.Now(), Body: []byte(body),
	}
}

func (r *rig) publish(events ...wire.StatusChanged) {
	r.t.Helper()
	var msgs []*message.Message
	for _, e := range events {
		body, err := json.Marshal(e)
		if err != nil {
			r.t.Fatal(err)
		}
		m := message.NewMessage(e.EventID, body)
		m.SetContext(r.t.Context())
		msgs = append(msgs, m)
	}
	if err := r.publisher.Publish(string(wire.PaymentStatusChangedV1), msgs...); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) count(sql string) (n int) {
	r.t.Helper()
	if err := r.db.QueryRow(r.t.Context(), `SELECT count(*) FROM `+sql).Scan(&n); err != nil {
		r.t.Fatal(err)
	}
	return n
}

// await looks at a condition of the database until it holds.
func (r *rig) await(what string, holds func() bool) {
	r.t.Helper()
	deadline := time.After(2 * time.Minute) // the machine may be busy
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			r.t.Fatalf("%s did not happen within two minutes", what)
		case <-tick.C:
		}
	}
}

func (r *rig) clean(expected map[string][]string) receiver.Audit {
	r.t.Helper()
	a := r.receiver.Audit(expected)
	if !a.Clean() || len(a.Reordered) > 0 {
		r.t.Errorf("%v\nlost %v\ndoubled %v\ninvalid %v\nreordered %v", a, a.Lost, a.Doubled, a.Invalid, a.Reordered)
	}
	return a
}

func TestDeliver_onceEachVerifiedInOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.run("work")
	expected := map[string][]string{}
	var all []wire.StatusChanged
	for object := range 50 {
		path := fmt.Sprintf("/hook/%d", object%10)
		for sequence := int64(1); sequence <= 4; sequence++ {
			e := event(fmt.Sprintf("CW-%d", object), sequence, r.receiver.URL(path))
			expected[path] = append(expected[path], e.EventID)
			all = append(all, e)
		}
	}
	r.publish(all...)
	r.publish(all...) // every message twice: each event is delivered once all the same
	for path, ids := range expected {
		r.receiver.AwaitAccepted(t, 30*time.Second, path, len(ids))
	}
	r.await("all deliveries recorded", func() bool { return r.count("delivery_done") == 200 && r.count("delivery") == 0 })
	if a := r.clean(expected); len(a.Repeated) != 0 || a.Arrivals != 200 {
		t.Errorf("deliver 200 events once each: got %v, again %v", a, a.Repeated)
	}
	if n := r.count("attempt WHERE class = 'ok' AND status = 200 AND total_us > 0 AND generation = 1"); n != 200 {
		t.Errorf("%d attempts in the log", n)
	}
	h := r.receiver.Deliveries()[0].Header
	if h.Get("User-Agent") != "Causeway-Webhooks/1" || h.Get("Content-Type") != "application/json" || h.Get("Traceparent") != "" {
		t.Errorf("headers %v", h)
	}
}

// The producer learns of every message that is kept, also of one that came before, and of one that can be no event.
func TestAnswers_ofWhatIsStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	tel := telemetrytest.ForTest(t)
	lines := slices.DeleteFunc(wire.Topology(), func(line wire.Route) bool { return line.Name != wire.StoredBy(wire.Dispatcher, wire.Payments) })
	link, err := bus.DialLines(t.Context(), bus.Config{URL: config.Secret(r.env["AMQP_URL"])}, wire.Payments, tel, lines)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = link.Close() })
	got := make(chan wire.StoredMessage, 1000)
	link.HandleStored(func(_ context.Context, _ []string, m wire.Stored) error {
		for _, one := range m.Messages {
			got <- one
		}
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- link.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	r.run("work")
	e := event("CW-1", 1, r.receiver.URL("/hook"))
	body, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	for row, content := range map[int64][]byte{1: body, 2: body, 3: []byte("{")} {
		m := message.NewMessage(fmt.Sprintf("msg_%d", row), content)
		m.Metadata.Set(wire.RowHeader, fmt.Sprint(row))
		if err := r.publisher.Publish(string(wire.PaymentStatusChangedV1), m); err != nil {
			t.Fatal(err)
		}
	}
	answered := map[int64]bool{}
	limit := time.After(2 * time.Minute) // the machine may be busy
	for len(answered) < 3 {
		select {
		case s := <-got:
			if answered[s.Row] = true; s.ID != fmt.Sprintf("msg_%d", s.Row) {
				t.Errorf("row %d is answered with message %s", s.Row, s.ID)
			}
		case <-limit:
			t.Fatalf("wait for three answers: only rows %v are answered", answered)
		}
	}
	r.receiver.AwaitAccepted(t, 30*time.Second, "/hook", 1)
}

func TestDeliver_retriesByScheduleAndKeepsTheExhausted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.receiver.Fault("/second", receiver.FailFirst(2, receiver.Status(500)))
	r.receiver.Fault("/never", receiver.Status(404))
	r.receiver.Fault("/moved", receiver.RedirectTo(r.receiver.URL("/trap")))
	r.receiver.Fault("/gone", receiver.Status(410))
	r.receiver.Fault("/busy", receiver.FailFirst(1, receiver.Busy(429, 1)))
	r.run("work")
	blocked := event("CW-7", 1, "http://10.255.255.1:81/")
	r.publish(event("CW-1", 1, r.receiver.URL("/second")), event("CW-2", 1, r.receiver.URL("/never")), event("CW-3", 1, r.receiver.URL("/moved")),
		event("CW-4", 1, r.receiver.URL("/gone")), event("CW-5", 1, r.receiver.URL("/busy")), event("CW-6", 1, ""), blocked)
	r.await("all deliveries over", func() bool { return r.count("delivery_done") == 6 })

	times := map[string][]time.Time{}
	for _, d := range r.receiver.Deliveries() {
		times[d.Path] = append(times[d.Path], d.At)
	}
	for path, want := range map[string]int{"/second": 3, "/never": 5, "/moved": 5, "/trap": 0, "/gone": 1, "/busy": 2} {
		if got := len(times[path]); got != want {
			t.Errorf("%s: %d attempts, want %d", path, got, want)
		}
	}
	for i, wait := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 300 * time.Millisecond, 400 * time.Millisecond} {
		if got := times["/never"][i+1].Sub(times["/never"][i]); got < wait*8/10 || got > wait*12/10+2*time.Second {
			t.Errorf("wait %d of /never: %v, want %v ±20 %%", i+1, got, wait)
		}
	}
	if got := times["/busy"][1].Sub(times["/busy"][0]); got < time.Second {
		t.Errorf("Retry-After of one second was not honoured: %v", got)
	}
	if n := r.count("delivery_done WHERE state = 'delivered'"); n != 2 {
		t.Errorf("%d delivered", n)
	}
	if n := r.count("delivery_done WHERE state = 'exhausted' AND last_class IN ('http_4xx', 'redirect') AND attempts = 5"); n != 2 {
		t.Errorf("%d exhausted by schedule", n)
	}
	if r.count("delivery_done WHERE state = 'exhausted' AND last_class IN ('gone', 'blocked_ssrf') AND attempts = 1") != 2 {
		t.Error("410 or the blocked address did not end its delivery")
	}
	if r.count("event") != 7 || r.count("attempt") != 3+5+5+1+2+1 {
		t.Errorf("%d events, %d attempts logged", r.count("event"), r.count("attempt"))
	}
}

func TestDeliver_hangingEndpointHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	r := newRig(t, "CALLBACKS_PER_PROCESS", "64")
	r.trust("m1")
	for i := range 5 {
		r.receiver.Fault(fmt.Sprintf("/hang/%d", i), receiver.Hang(time.Hour))
	}
	r.run("work")
	var hung, healthy []wire.StatusChanged
	for i := range 300 {
		hung = append(hung, event(fmt.Sprintf("CW-H%d", i), 1, r.receiver.URL(fmt.Sprintf("/hang/%d", i%5))))
	}
	for i := range 200 {
		healthy = append(healthy, event(fmt.Sprintf("CW-%d", i), 1, r.receiver.URL("/ok")))
	}
	r.publish(hung...)
	r.receiver.Await(t, 30*time.Second, "10 hanging attempts", func(all []receiver.Delivery) bool { return len(all) >= 10 })
	began := time.Now()
	r.publish(healthy...)
	r.receiver.AwaitAccepted(t, 10*time.Second, "/ok", 200)
	t.Logf("200 healthy deliveries beside 5 hanging endpoints took %v", time.Since(began))
	if n := len(r.receiver.Deliveries()); n != 210 { // an unknown endpoint gets two attempts at a time
		t.Errorf("%d arrivals, want 10 hanging and 200 healthy", n)
	}
	// In the air they have no rows.
	r.await("the rest waits", func() bool { return r.count("delivery") == 300 })
	r.receiver.Close() // ends what hangs, so that the stop need not wait for it
}

func TestOrder_waitsAtMostFiveSeconds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.receiver.Fault("/slow", receiver.FailFirst(1, receiver.Slow(700*time.Millisecond)))
	r.run("work")
	began := time.Now()
	lonely := event("CW-lonely", 2, r.receiver.URL("/lonely")) // its predecessor never comes
	r.publish(lonely, event("CW-1", 2, r.receiver.URL("/slow")))
	r.publish(event("CW-1", 1, r.receiver.URL("/slow")), event("CW-1", 3, r.receiver.URL("/slow")))
	r.await("the lonely event waits 5 s and no longer", func() bool {
		return r.count(`delivery WHERE url LIKE '%/lonely' AND waits AND next_at = created_at + interval '5 seconds'`) == 1
	})
	r.receiver.AwaitAccepted(t, 30*time.Second, "/slow", 3)
	if a := r.receiver.Audit(nil); len(a.Reordered) != 0 {
		t.Errorf("deliver in order: got out of order %v, want none", a.Reordered)
	}
	r.receiver.AwaitAccepted(t, 15*time.Second, "/lonely", 1)
	left := r.receiver.Accepted("/lonely")[0].At
	if after := left.Sub(began); after < 4900*time.Millisecond {
		t.Errorf("the lonely event left after %v, want 5 s", after)
	}
	if last := r.receiver.Accepted("/slow")[2].At; !last.Before(left) {
		t.Error("one of three events in order waited as long as one whose predecessor never comes")
	}
}

func TestOrder_retryHoldsBackNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, "SCHEDULE_TEST", "5s")
	r.trust("m1")
	r.receiver.Fault("/x", receiver.FailFirst(1, receiver.Status(500)))
	r.run("work")
	r.publish(event("CW-1", 1, r.receiver.URL("/x")))
	r.receiver.Await(t, 30*time.Second, "the first attempt", func(all []receiver.Delivery) bool { return len(all) == 1 })
	r.publish(event("CW-1", 2, r.receiver.URL("/x")))
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 2)
	var order []int64
	for _, d := range r.receiver.Accepted("/x") {
		order = append(order, d.Sequence)
	}
	if !slices.Equal(order, []int64{2, 1}) {
		t.Errorf("accepted in order %v; the later event must not wait for the retry", order)
	}
}

func TestStop_midFlightLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.receiver.Fault("/x", receiver.Slow(60*time.Millisecond))
	expected := map[string][]string{}
	var all []wire.StatusChanged
	for i := range 400 {
		e := event(fmt.Sprintf("CW-%d", i), 1, r.receiver.URL("/x"))
		expected["/x"] = append(expected["/x"], e.EventID)
		all = append(all, e)
	}
	stop := r.run("work")
	r.publish(all...)
	for _, n := range []int{30, 80, 200} {
		r.receiver.AwaitAccepted(t, 20*time.Second, "/x", n)
		stop()
		if left := r.count("delivery WHERE state = 'leased'"); left != 0 {
			t.Errorf("%d leases were not given back", left)
		}
		stop = r.run("work")
	}
	r.receiver.AwaitAccepted(t, 30*time.Second, "/x", 400)
	if a := r.clean(expected); len(a.Repeated) != 0 {
		t.Errorf("an orderly stop repeated %v", a.Repeated)
	}
}

func TestKill_losesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.receiver.Fault("/x", receiver.Slow(20*time.Millisecond))
	expected := map[string][]string{}
	var all []wire.StatusChanged
	for i := range 600 {
		e := event(fmt.Sprintf("CW-%d", i%200), int64(i/200+1), r.receiver.URL("/x"))
		expected["/x"] = append(expected["/x"], e.EventID)
		all = append(all, e)
	}
	kill := r.spawn()
	r.publish(all...)
	for _, n := range []int{30, 120, 300} {
		r.receiver.AwaitAccepted(t, 30*time.Second, "/x", n)
		kill()
		before := len(r.receiver.Deliveries())
		began := time.Now()
		kill = r.spawn()
		r.receiver.Await(t, 30*time.Second, "a delivery after the restart", func(all []receiver.Delivery) bool { return len(all) > before })
		t.Logf("first delivery %v after the restart", time.Since(began))
	}
	r.receiver.AwaitAccepted(t, 60*time.Second, "/x", 600)
	r.await("everything recorded", func() bool { return r.count("delivery") == 0 })
	a := r.receiver.Audit(expected)
	if !a.Clean() {
		t.Errorf("%v\nlost %v\ndoubled %v\ninvalid %v", a, a.Lost, a.Doubled, a.Invalid)
	}
	if most := 3 * (8 + 200); len(a.Repeated) > most {
		t.Errorf("%d repeated, want at most %d", len(a.Repeated), most)
	}
	t.Logf("%v", a)
}

// While PostgreSQL is away the intake blocks: nothing is sent back to the queue, nothing is dead-lettered, and what was
// under way is recorded afterwards.
func TestOutage_ofPostgresBlocksAndLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.trust("m1")
	r.receiver.Fault("/x", receiver.Slow(10*time.Millisecond))
	channel := mq.Open(t, r.env["AMQP_URL"])
	expected := map[string][]string{}
	var all []wire.StatusChanged
	for i := range 300 {
		e := event(fmt.Sprintf("CW-%d", i), 1, r.receiver.URL("/x"))
		expected["/x"] = append(expected["/x"], e.EventID)
		all = append(all, e)
	}
	r.run("work")
	r.publish(all[:150]...)
	r.receiver.AwaitAccepted(t, 20*time.Second, "/x", 20)
	back := r.cutDatabase()
	r.publish(all[150:]...)
	tick := time.NewTimer(3 * time.Second)
	defer tick.Stop()
	<-tick.C // the outage itself
	back()
	r.receiver.AwaitAccepted(t, 40*time.Second, "/x", 300)
	if n := mq.Depth(t, channel, wire.DeadQueue(wire.IntakeQueue)); n != 0 {
		t.Errorf("%d messages were dead-lettered", n)
	}
	r.await("everything recorded", func() bool { return r.count("delivery") == 0 })
	if a := r.clean(expected); len(a.Repeated) != 0 {
		t.Errorf("%d repeated: the results of what was under way were lost", len(a.Repeated))
	}
}

// cutDatabase ends every session of the test's database and refuses new ones until back is called.
func (r *rig) cutDatabase() (back func()) {
	r.t.Helper()
	name := r.db.Config().ConnConfig.Database
	admin, err := pgx.Connect(r.t.Context(), os.Getenv("CAUSEWAY_TEST_POSTGRES_URL"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = admin.Close(context.Background()) }) // the context of the test has ended
	allow := func(yes bool) {
		if _, err := admin.Exec(r.t.Context(), fmt.Sprintf(`UPDATE pg_database SET datallowconn = %v WHERE datname = '%s'`, yes, name)); err != nil {
			r.t.Fatal(err)
		}
	}
	allow(false)
	if _, err := admin.Exec(r.t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1`, name); err != nil {
		r.t.Fatal(err)
	}
	return func() { allow(true) }
}

func TestSecret_firstComersShareOne(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	owner := app.SecretOwner{MerchantID: "m9", Mode: "test"}
	got := make(chan string, 16)
	for range cap(got) {
		go func() {
			secrets, err := r.secrets.Get(t.Context(), owner)
			if err != nil {
				got <- err.Error()
				return
			}
			got <- secrets[0].Text
		}()
	}
	seen := map[string]bool{}
	for range cap(got) {
		seen[<-got] = true
	}
	if len(seen) != 1 {
		t.Fatalf("%d different secrets: %v", len(seen), seen)
	}
	var sealed []byte
	if err := r.db.QueryRow(t.Context(), `SELECT sealed FROM secret`).Scan(&sealed); err != nil {
		t.Fatal(err)
	}
	for text := range seen {
		if !strings.HasPrefix(text, "whsec_") || strings.Contains(string(sealed), strings.TrimPrefix(text, "whsec_")) {
			t.Fatalf("secret %s, stored %q", text, sealed)
		}
	}
	other, err := r.secrets.Get(t.Context(), app.SecretOwner{MerchantID: "m9", Mode: "live"})
	if err != nil || seen[other[0].Text] {
		t.Fatalf("the two modes share a secret, or %v", err)
	}
}

// api serves the HTTP API and calls it as the gateway does.
type api struct {
	t      *testing.T
	server *httptest.Server
	key    []byte

	unopened *[]string // ids of events that were left out of a list
}

func (r *rig) api() *api {
	key := []byte(strings.Repeat("k", 32))
	tel := telemetrytest.ForTest(r.t)
	s := httpkit.NewServer(tel.Log, tel.Registry, httpkit.Verifier{Audience: wire.Dispatcher, Keys: [][]byte{key}, Now: time.Now})
	held := store.New(r.db, "api", 2)
	unopened := &[]string{}
	bodies, err := keyring.ParseOptional(r.env["EVENT_KEYS"])
	if err != nil {
		r.t.Fatal(err)
	}
	p := &process{policies: map[tenant.Mode]guard.Policy{tenant.Test: {Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}}}
	httpapi.Routes(s, httpapi.Parts{
		Bodies: bodies, Secrets: r.secrets, Endpoints: app.NewEndpoints(held, held, shard.First, time.Now), Log: held, Replays: held, CheckURL: p.checkURL, Now: time.Now,
		Unopened: func(_ context.Context, _, id string, _ error) { *unopened = append(*unopened, id) },
	})
	server := httptest.NewServer(s)
	r.t.Cleanup(server.Close)
	return &api{t: r.t, server: server, key: key, unopened: unopened}
}

type reply struct {
	status   int
	replayed bool
	body     map[string]any
}

func (a *api) call(method, path, idempotencyKey string, who httpkit.Identity) reply {
	a.t.Helper()
	return a.send(method, path, idempotencyKey, "", who)
}

func (a *api) send(method, path, idempotencyKey, body string, who httpkit.Identity) reply {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.server.URL+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	who.Method, who.Path, who.IssuedAt, who.RequestID = method, path, time.Now().UnixMilli(), "req_1"
	if who.Audience == "" {
		who.Audience = wire.Dispatcher
	}
	signed, err := who.Sign(a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	req.Header.Set(httpkit.IdentityHeader, signed)
	if idempotencyKey != "" {
		req.Header.Set("Idempotency-Key", idempotencyKey)
	}
	resp, err := a.server.Client().Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	out := reply{status: resp.StatusCode, replayed: resp.Header.Get("Idempotent-Replayed") == "true"}
	if err := json.NewDecoder(resp.Body).Decode(&out.body); err != nil {
		a.t.Fatal(err)
	}
	return out
}

func TestSecret_rotationOverlaps(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	api := r.api()
	m1 := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Test}
	show := func() reply { return api.call(http.MethodGet, "/v1/webhooks/secret", "", m1) }
	first := show()
	old, _ := first.body["secret"].(string)
	if first.status != 200 || !strings.HasPrefix(old, "whsec_") || first.body["previous"] != nil {
		t.Fatalf("got %+v", first)
	}
	r.run("work")
	r.receiver.Secrets("/old", old)
	r.publish(event("CW-1", 1, r.receiver.URL("/old")))
	r.receiver.AwaitAccepted(t, 30*time.Second, "/old", 1)

	rotated := api.call(http.MethodPost, "/v1/webhooks/secret/rotate", "key-1", m1)
	fresh, _ := rotated.body["secret"].(string)
	if rotated.status != 200 || rotated.replayed || fresh == old || !strings.HasPrefix(fresh, "whsec_") || rotated.body["previous"] == nil {
		t.Fatalf("got %+v", rotated)
	}
	if again := api.call(http.MethodPost, "/v1/webhooks/secret/rotate", "key-1", m1); !again.replayed || again.body["secret"] != fresh {
		t.Fatalf("replay %+v", again)
	}
	if now := show(); now.body["secret"] != fresh || now.body["previous"] == nil || now.body["createdAt"] != rotated.body["createdAt"] {
		t.Fatalf("after rotation %+v", now)
	}
	// From the answer on, both secrets verify every delivery.
	r.receiver.Secrets("/new", fresh)
	r.publish(event("CW-2", 1, r.receiver.URL("/old")), event("CW-3", 1, r.receiver.URL("/new")))
	r.receiver.AwaitAccepted(t, 30*time.Second, "/old", 2)
	r.receiver.AwaitAccepted(t, 30*time.Second, "/new", 1)
	d := r.receiver.Accepted("/new")[0]
	for _, secret := range []string{old, fresh} {
		wh, err := webhook.NewWebhook(secret)
		if err != nil {
			t.Fatal(err)
		}
		if err := wh.Verify(d.Body, d.Header); err != nil {
			t.Errorf("the official library refuses %s: %v", d.Header.Get("Webhook-Signature"), err)
		}
	}
	r.clean(nil)
	// The stored answer never holds the secret in clear, and is erased after 15 minutes.
	if n := r.count("idempotency WHERE position('whsec_'::bytea IN body) > 0 OR position('whsec_'::bytea IN secret) > 0"); n != 0 {
		t.Error("a stored answer holds the secret in clear")
	}
	if _, err := r.db.Exec(t.Context(), `UPDATE idempotency SET secret = NULL, secret_until = NULL`); err != nil {
		t.Fatal(err)
	}
	if late := api.call(http.MethodPost, "/v1/webhooks/secret/rotate", "key-1", m1); !late.replayed || late.body["secret"] != nil || late.body["success"] != true {
		t.Errorf("a late replay: %+v", late)
	}
}

// A rotation takes back no promise: each secret signs for its 24 hours, four at most. Only who asks for it, for a
// leak, ends the earlier ones.
func TestSecret_eachSignsAsLongAsPromised(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	api := r.api()
	m1 := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Test}
	first := api.call(http.MethodGet, "/v1/webhooks/secret", "", m1)
	secrets := []string{first.body["secret"].(string)}
	rotate := func(body string) reply { return api.send(http.MethodPost, "/v1/webhooks/secret/rotate", "", body, m1) }
	for range 3 {
		again := rotate("")
		if again.status != http.StatusOK {
			t.Fatalf("rotated: %+v", again)
		}
		secrets = append(secrets, again.body["secret"].(string))
	}
	r.run("work")
	verifies := func(path, object string, want map[string]bool) {
		t.Helper()
		r.receiver.Secrets(path, secrets[len(secrets)-1])
		r.publish(event(object, 1, r.receiver.URL(path)))
		r.receiver.AwaitAccepted(t, 30*time.Second, path, 1)
		d := r.receiver.Accepted(path)[0]
		for i, secret := range secrets {
			wh, err := webhook.NewWebhook(secret)
			if err != nil {
				t.Fatal(err)
			}
			if err := wh.Verify(d.Body, d.Header); (err == nil) != want[secret] {
				t.Errorf("%s: secret %d of %d: %v", path, i+1, len(secrets), err)
			}
		}
	}
	verifies("/four", "CW-1", map[string]bool{secrets[0]: true, secrets[1]: true, secrets[2]: true, secrets[3]: true})

	if full := rotate(""); full.status != http.StatusConflict || fmt.Sprint(full.body["error"].(map[string]any)["code"]) != "rotation_limit" {
		t.Errorf("a fifth secret: %+v", full)
	}
	if wrong := rotate(`{"revokePrevious": "yes"}`); wrong.status != http.StatusBadRequest {
		t.Errorf("revokePrevious that is no boolean: %+v", wrong)
	}
	leaked := rotate(`{"revokePrevious": true}`)
	if leaked.status != http.StatusOK || leaked.body["previous"] != nil {
		t.Fatalf("revoked: %+v", leaked)
	}
	secrets = append(secrets, leaked.body["secret"].(string))
	verifies("/one", "CW-2", map[string]bool{secrets[4]: true})
	if next := rotate(""); next.status != http.StatusOK || next.body["previous"] == nil {
		t.Errorf("after a revocation: %+v", next)
	}
}

// The dispatcher of another shard signs with the secrets that the merchant's own one signs with, also after a rotation
// and a revocation there, and after a copy that came twice.
func TestSecret_carried(t *testing.T) {
	t.Parallel()
	home, there := newRig(t), newRig(t)
	from, to := home.api(), there.api()
	who, operator := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Test}, httpkit.Identity{Subject: httpkit.Operator, Operator: "gateway"}
	const of = "/v1/admin/merchants/secrets?merchantId=m1&mode=test"
	signing := func(a *api) string { return fmt.Sprint(a.call(http.MethodGet, of, "", operator).body["secrets"]) }
	for _, rotation := range []string{"", "{}", "{}", `{"revokePrevious": true}`} {
		if rotation != "" {
			from.send(http.MethodPost, "/v1/webhooks/secret/rotate", "", rotation, who)
		}
		for range 2 {
			kept, _ := from.call(http.MethodGet, of, "", operator).body["secrets"].([]any)
			for _, one := range kept {
				text, err := json.Marshal(one)
				if err != nil {
					t.Fatal(err)
				}
				if got := to.send(http.MethodPost, "/v1/admin/merchants/secrets", "", string(text), operator); got.status != http.StatusOK {
					t.Fatalf("adopt a secret: got %+v, want 200", got)
				}
			}
		}
		if got, want := signing(to), signing(from); got != want {
			t.Errorf("carry the secrets after %q: got %s, want %s", rotation, got, want)
		}
	}
}

func TestSecret_whoMayAsk(t *testing.T) {
	t.Parallel()
	api := newRig(t).api()
	for name, c := range map[string]struct {
		who    httpkit.Identity
		status int
	}{
		"public":         {httpkit.Identity{Subject: httpkit.Public}, 401},
		"operator":       {httpkit.Identity{Subject: httpkit.Operator, Operator: "o"}, 401},
		"other audience": {httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m", Mode: tenant.Test, Audience: wire.Payments}, 401},
		"merchant":       {httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "m", Mode: tenant.Test}, 200},
	} {
		for _, route := range [][2]string{{http.MethodGet, "/v1/webhooks/secret"}, {http.MethodPost, "/v1/webhooks/secret/rotate"}} {
			if got := api.call(route[0], route[1], "", c.who); got.status != c.status {
				t.Errorf("%s asks %s: got %d %v, want %d", name, route[1], got.status, got.body, c.status)
			}
		}
	}
	if got := api.call(http.MethodDelete, "/v1/webhooks/secret", "", httpkit.Identity{}); got.status != 405 {
		t.Errorf("DELETE: %+v", got)
	}
}

// deadCommand runs `dead …` with the rig's environment.
func deadCommand(t *testing.T, r *rig, args []string, out io.Writer) error {
	t.Helper()
	return program.Run(t.Context(), command.Input{Args: append([]string{"dead"}, args...), Environ: r.env, Out: out})
}
