//go:build integration

package e2e

import (
	"slices"
	"strings"
	"testing"

	"causeway.internal/libs/testkit/otlp"
	"causeway.internal/libs/testkit/stack"
)

// TestTrace: one trace leads from the request that creates a payment through the outbox and the broker to the attempt that
// tells the merchant.
func TestTrace(t *testing.T) {
	t.Parallel()
	collector := otlp.Start(t)
	env := map[string]map[string]string{}
	for _, service := range []string{"gateway", "payments", "wallets", "reports", "callback-dispatcher"} {
		env[service] = map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": collector.URL(), "OTEL_BSP_SCHEDULE_DELAY": "200"}
	}
	s := stack.New(t, stack.Options{Env: env})
	c := client(t, s)
	hook, path := hooks(t, s.WebhookSecret)
	body := transfer(nil)
	body["callbackUrl"] = hook.URL(path)
	create(t, c, body)
	awaitExactly(t, hook, path, "payment.pending")

	event := events(hook, path)[0].ID
	var tree string
	collector.Await(t, soon, "the whole trace", func(spans []otlp.Span) bool {
		attempt := attemptOf(spans, event)
		if attempt == nil {
			return false
		}
		tree = otlp.Tree(spans, attempt.Trace, func(s otlp.Span) bool { return s.Attributes["db.system.name"] == "" })
		return !slices.ContainsFunc([]string{
			"gateway: POST /v1/payments", "payments: POST /v1/payments", "callback-dispatcher: consume payments.status_changed.v1",
			"callback-dispatcher: webhook attempt",
		}, func(line string) bool { return !strings.Contains(tree, line) })
	})
	t.Logf("the trace of payment.pending:\n%s", tree)
}

// attemptOf finds the span of the attempt that sent an event.
func attemptOf(spans []otlp.Span, event string) *otlp.Span {
	for n := range spans {
		if spans[n].Name == "webhook attempt" && spans[n].Attributes["webhook.event_id"] == event {
			return &spans[n]
		}
	}
	return nil
}
