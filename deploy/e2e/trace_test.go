//go:build integration

package e2e

import (
	"slices"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/otlp"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/testkit/stack"
)

// hops are spans that must stand one below the other in a trace, whatever stands between them.
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

// TestTrace: one trace leads from the request that creates a payment through outbox, broker, wallets and payout to the attempt
// that tells the merchant that it is settled, though a payer's transfer, timers and workers come in between.
func TestTrace(t *testing.T) {
	t.Parallel()
	collector := otlp.Start(t)
	env := map[string]map[string]string{}
	for _, service := range []string{"gateway", "payments", "wallets", "reports", "callback-dispatcher"} {
		env[service] = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL(), "OTEL_BSP_SCHEDULE_DELAY": "200", "LOG_LEVEL": "debug"}
	}
	s := stack.New(t, stack.Options{Env: env})
	c := client(t, s)
	hook, path := hooks(t, s.WebhookSecret)
	body := transfer(nil)
	body["callbackUrl"] = hook.URL(path)
	ref := create(t, c, body).Text(t, "payment.reference")
	// Until wallets knows whose the address is, as it does within seconds, a deposit would be seen in a trace of its own.
	collector.Await(t, soon, "wallets to learn whose the address is", func(spans []otlp.Span) bool {
		return slices.ContainsFunc(spans, func(s otlp.Span) bool { return s.Name == "address is a payment's" })
	})
	deposit(t, c, ref, nil)
	endpoint(t, c, hook, "/wallets")
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
	t.Logf("the trace of a payment:\n%s", otlp.Tree(named(spans), traceOf(spans, "webhook attempt payment.settled"), func(s otlp.Span) bool {
		return s.Attributes["db.system.name"] == ""
	}))
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
