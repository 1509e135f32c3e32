//go:build integration

package e2e

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/otlp"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/testkit/stack"
)

// hops are spans that must be below each other in a trace, whatever is between them.
type hops []string

// life is what the trace of a transfer holds, from the request that creates it to the attempt that tells of its end.
var life = []hops{
	{
		"gateway: POST /v1/payments", "payments: POST /v1/payments", "payments: publish payments.status_changed.v1",
		"callback-dispatcher: consume payments.status_changed.v1", "callback-dispatcher: webhook attempt payment.pending",
	},
	{"payments: POST /v1/payments", "wallets: address is a payment's"},
	{
		"payments: POST /v1/payments", "wallets: deposit seen", "wallets: publish wallets.deposit_changed.v1",
		"payments: consume wallets.deposit_changed.v1", "payments: payment update", "payments: publish payments.status_changed.v1",
		"callback-dispatcher: consume payments.status_changed.v1", "callback-dispatcher: webhook attempt payment.confirming",
	},
	{
		"payments: POST /v1/payments", "wallets: deposit confirmed", "payments: consume wallets.deposit_changed.v1", "payments: payment update",
		"callback-dispatcher: webhook attempt payment.confirmed",
	},
	{"payments: POST /v1/payments", "payments: payout", "payments: payout send"},
	{"payments: POST /v1/payments", "payments: payout", "payments: payout query"},
	{
		"payments: POST /v1/payments", "payments: payout", "payments: payment update", "payments: publish payments.status_changed.v1",
		"callback-dispatcher: consume payments.status_changed.v1", "callback-dispatcher: webhook attempt payment.settled",
	},
}

// stock is how addresses come to payments, before anybody asks for one: a trace of its own.
var stock = hops{
	"payments: ask for addresses", "payments: publish wallets.allocate_addresses.v1", "wallets: consume wallets.allocate_addresses.v1",
	"wallets: publish wallets.addresses_allocated.v1", "payments: consume wallets.addresses_allocated.v1",
}

// kept is the life of a standalone wallet.
var kept = hops{
	"gateway: POST /v1/wallets", "wallets: POST /v1/wallets", "wallets: wallet deposit_detected", "wallets: publish wallets.status_changed.v1",
	"callback-dispatcher: consume wallets.status_changed.v1", "callback-dispatcher: webhook attempt wallet.deposit_detected",
}

// TestTraced runs the tests that read every span and every line of every log, written at the level debug, one after the
// other on a stack of their own.
func TestTraced(t *testing.T) {
	t.Parallel()
	collector := otlp.Start(t)
	env := map[string]map[string]string{}
	for _, service := range []string{"gateway", "payments", "wallets", "reports", "callback-dispatcher"} {
		env[service] = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL(), "OTEL_BSP_SCHEDULE_DELAY": "200", "LOG_LEVEL": "debug"}
	}
	env["payments"]["MASTER_KEYS"], env["reports"]["MASTER_KEYS"] = tracedMaster, tracedMaster
	s := stack.New(t, stack.Options{Env: env})
	t.Run("a payment's life is one trace", func(t *testing.T) { traceOfLife(t, s, collector) })      // first: its log holds one payment
	t.Run("personal data stays inside", func(t *testing.T) { personalStaysInside(t, s, collector) }) // before others report
	t.Run("a gift is secret", func(t *testing.T) { giftIsSecret(t, s, collector) })
}

const tracedMaster = "k1:cGVyc29uYWwgdGVzdCBtYXN0ZXIga2V5ICAgICAgICA="

// traceOfLife: one trace leads from the request that creates a payment through outbox, broker, wallets and payout to
// the attempt that tells the merchant that it is settled, though a payer's transfer, timers and workers come in
// between.
func traceOfLife(t *testing.T, s *stack.Stack, collector *otlp.Collector) {
	c := client(t, s)
	hook, path := hooks(t, s.WebhookSecret)
	const phone, account, payer = "2347061119288", "4400993318", "chat-Tr55218"
	made := create(t, c, transfer(api.Object{
		"callbackUrl": hook.URL(path), "payer": api.Object{"chatId": payer, "phone": "+" + phone},
		"receiver": api.Object{"bankCode": "058", "accountNumber": account},
	}))
	ref := made.Text(t, "payment.reference")
	// Until wallets knows whose the address is, as it does within seconds, a deposit would be seen in a trace of its own.
	collector.Await(t, soon, "wallets to learn whose the address is", func(spans []otlp.Span) bool {
		return slices.ContainsFunc(spans, func(s otlp.Span) bool { return s.Name == "address is a payment's" })
	})
	deposit(t, c, ref, nil)
	registered := endpoint(t, c, hook, "/wallets")
	defer func() { // or the tests after this one would wait for attempts at a receiver that is gone
		c.Call(t, http.MethodDelete, "/v1/webhooks/endpoints/"+registered, nil).Want(t, http.StatusOK)
	}()
	payWallet(t, c, makeWallet(t, c, api.Object{"network": "trc20", "crypto": "USDT"}).Text(t, "wallet.id"), api.Object{"amount": "25"})
	hook.Await(t, settle, "payment.settled", func([]receiver.Delivery) bool { return slices.Contains(accepted(hook, path), "payment.settled") })

	var missing hops
	defer func() {
		if t.Failed() {
			t.Logf("not in a trace: %v", missing)
		}
	}()
	spans := collector.Await(t, soon, "the whole trace", func(spans []otlp.Span) bool {
		trace := traceOf(spans, "webhook attempt payment.settled")
		for _, missing = range life {
			if !holds(spans, trace, missing) {
				return false
			}
		}
		for _, missing = range []hops{stock, kept} {
			if !holds(spans, "", missing) {
				return false
			}
		}
		return true
	})
	trace := traceOf(spans, "webhook attempt payment.settled")
	t.Logf("the trace of a payment:\n%s", otlp.Tree(named(spans), trace, func(s otlp.Span) bool { return s.Attributes["db.system.name"] == "" }))

	named := get(t, c, ref).Text(t, "payment.receiver.accountName")
	tellsOfIt(t, s, trace, made.Header.Get("X-Request-Id"))
	for _, line := range leaks(s.Logs(t), []string{ref, strings.ToLower(ref), phone, account, payer, named}) {
		t.Errorf("a log holds a secret or personal data: %s", line)
	}
}

// tellsOfIt: every line of every log is one JSON object, and those about a payment carry its trace, its merchant and,
// where a request causes them, that request.
func tellsOfIt(t testing.TB, s *stack.Stack, trace, request string) {
	t.Helper()
	told, merchants := map[string]int{}, map[string]bool{}
	for line := range bytes.Lines(s.Logs(t)) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var l struct {
			Time                time.Time
			Level, Msg, Service string
			Trace               string `json:"trace_id"`
			Payment             string `json:"payment_id"`
			Merchant            string `json:"merchant_id"`
			Request             string `json:"request_id"`
		}
		if err := json.Unmarshal(line, &l); err != nil || l.Time.IsZero() || l.Level == "" || l.Msg == "" || l.Service == "" {
			t.Errorf("not a line of the log's form: %v: %s", err, line)
			continue
		}
		if l.Payment != "" {
			if l.Trace != trace || l.Merchant == "" || !strings.HasPrefix(l.Payment, "pay_") {
				t.Errorf("about the payment without its ids: %s", line)
			}
			merchants[l.Payment+" "+l.Merchant] = true
		}
		if l.Trace == trace {
			told[l.Service+": "+l.Msg]++
		}
		if l.Request == request {
			told["request "+l.Service+": "+l.Msg]++
			if l.Trace != trace || l.Merchant == "" {
				t.Errorf("about the request without its ids: %s", line)
			}
		}
	}
	t.Logf("lines: %v", told)
	if len(merchants) != 1 {
		t.Errorf("lines about %v", merchants)
	}
	for _, want := range []string{
		"gateway: request", "request gateway: request", "request payments: payment moved", "payments: payment moved", "wallets: deposit changed",
		"callback-dispatcher: webhook attempt",
	} {
		if told[want] == 0 {
			t.Errorf("no line %q of the payment: %v", want, told)
		}
	}
}

// named are spans of which an attempt tells its event as well.
func named(spans []otlp.Span) []otlp.Span {
	spans = slices.Clone(spans)
	for n := range spans {
		if kind := spans[n].Attributes["webhook.type"]; kind != "" {
			spans[n].Name += " " + kind
		}
	}
	return spans
}

// traceOf is the trace of the span of a name.
func traceOf(spans []otlp.Span, name string) string {
	for _, s := range named(spans) {
		if s.Name == name {
			return s.Trace
		}
	}
	return "none"
}

// holds reports whether a trace, or with "" any, has the hops.
func holds(spans []otlp.Span, trace string, want hops) bool {
	spans = named(spans)
	return slices.ContainsFunc(spans, func(s otlp.Span) bool {
		if s.Service+": "+s.Name != want[len(want)-1] || (trace != "" && s.Trace != trace) {
			return false
		}
		left := want
		for _, above := range otlp.Lineage(spans, s) {
			if len(left) > 0 && above.Service+": "+above.Name == left[0] {
				left = left[1:]
			}
		}
		return len(left) == 0
	})
}
