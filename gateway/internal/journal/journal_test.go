package journal_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/journal"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type writer struct {
	mu   sync.Mutex
	rows []audit.Record
	most int
	err  error
}

func (w *writer) Append(_ context.Context, acts []audit.Record) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.most = max(w.most, len(acts))
	w.rows = append(w.rows, acts...)
	return nil
}

func (w *writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
}

func (w *writer) written() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.rows)
}

func start(t *testing.T, w *writer, size int) (j *journal.Journal, dropped func() string, stop func() error) {
	t.Helper()
	registry := prometheus.NewRegistry()
	j, err := journal.New(w, size, telemetrytest.ForTest(t).Log, registry, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- j.Run(ctx) }()
	dropped = func() string {
		t.Helper()
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if f.GetName() == "gateway_audit_dropped_total" {
				return fmt.Sprint(f.GetMetric()[0].GetCounter().GetValue())
			}
		}
		return "no such metric"
	}
	return j, dropped, func() error { cancel(); return <-ended }
}

var post = &route.Route{Method: "POST", Pattern: "/v1/payments/{reference}/cancel", Upstream: route.Payments, Access: route.Keyed}

func call(rt *route.Route) *proxy.Call {
	return &proxy.Call{RequestID: "req_1", Route: rt, Caller: identity.Caller{
		Key: &apikey.Key{ID: 7, MerchantID: "acme", Mode: tenant.Test},
	}}
}

func pass(t *testing.T, j *journal.Journal, c *proxy.Call) {
	t.Helper()
	done, err := j.Admit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if done != nil {
		done(201)
	}
}

// A change by a merchant or an operator at a service becomes a row of ids. Reads, public requests and the gateway's own
// routes, which write their rows themselves, do not.
func TestJournal_rows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{}
		j, _, stop := start(t, w, 0)
		pass(t, j, call(post))
		operator := call(&route.Route{Method: "POST", Pattern: "/v1/admin/payments/{reference}/resolve", Upstream: route.Payments, Access: route.Operated})
		operator.Caller = identity.Caller{Operator: "ann"}
		pass(t, j, operator)
		for _, rt := range []*route.Route{
			{Method: "GET", Access: route.Keyed, Upstream: route.Payments},
			{Method: "POST", Access: route.Open, Upstream: route.Payments},
			{Method: "POST", Access: route.Operated, Upstream: route.Self},
		} {
			pass(t, j, call(rt))
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if len(w.rows) != 2 {
			t.Fatalf("%d rows: %+v", len(w.rows), w.rows)
		}
		r := w.rows[0]
		if r.Actor != "key:7" || r.Object != "merchant:acme" || r.Act != "POST /v1/payments/{reference}/cancel" || r.RequestID != "req_1" ||
			r.Detail["status"] != "201" || r.Detail["mode"] != "test" || len(r.Detail) != 2 || r.ClientIP != "" {
			t.Errorf("write the act of a key: got %+v", r)
		}
		if r := w.rows[1]; r.Actor != "operator:ann" || !strings.HasPrefix(string(r.Act), "POST /v1/admin") {
			t.Errorf("write the act of an operator: got %+v, want operator:ann and POST /v1/admin", r)
		}
	})
}

// While the database is unavailable rows wait; rows beyond the buffer are counted, and the rest is written when it is
// back.
func TestJournal_overflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &writer{err: errors.New("connection refused")}
		j, dropped, stop := start(t, w, 1000)
		for range 3000 {
			pass(t, j, call(post))
		}
		synctest.Wait()
		for range 2000 {
			pass(t, j, call(post)) // no caller waits
		}
		if w.written() != 0 {
			t.Error("rows were written to a database that is away")
		}
		w.fail(nil)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		n := w.written()
		if fmt.Sprint(5000-n) != dropped() || n < 1000 || n > 1500 || w.most > 500 {
			t.Errorf("%d rows written, at most %d at once, %s dropped of 5000", n, w.most, dropped())
		}
		pass(t, j, call(post))
		if err := stop(); err != nil || w.written() != n+1 {
			t.Errorf("%v; %d rows, want %d: what waits at the end is written", err, w.written(), n+1)
		}
	})
}
