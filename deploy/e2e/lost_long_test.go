//go:build integration && long

package e2e

import (
	"context"
	"slices"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/testkit/stack"
	"causeway.internal/libs/wire"
)

// TestMessages_lostByTheBroker: a broker that forgets what it has confirmed delays a payment and its callbacks, and
// loses none of them.
func TestMessages_lostByTheBroker(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{})
	c := client(t, s)
	hook, path := hooks(t, s.WebhookSecret)
	// forget lets the broker lose n messages of a name whose consumer is away, once the relay has sent all of them.
	forget := func(service string, name wire.Name, n int, send func()) {
		t.Helper()
		s.Kill(t, service)
		send()
		api.Eventually(t, time.Minute, "messages that wait for their consumer", func() bool {
			return count(t, s, "payments", `SELECT count(*) FROM outbox WHERE name = $1 AND sent_at IS NOT NULL`, string(name)) == n
		})
		for _, line := range wire.Topology() {
			if line.Name == name {
				mq.Purge(t, s.Brokers["payments"], line.Queue)
			}
		}
		s.Start(t, service)
	}
	var refs []string
	forget("callback-dispatcher", wire.PaymentStatusChangedV1, 3, func() {
		for range 3 {
			refs = append(refs, create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference"))
		}
	})
	forget("wallets", wire.SimulateDepositV1, len(refs), func() {
		for _, ref := range refs {
			deposit(t, c, ref, nil)
		}
	})
	for _, ref := range refs {
		awaitAgain(t, c, ref, "settled")
		paidOnce(t, s, ref)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	want := len(refs) * len(walkEvents)
	if err := hook.Wait(ctx, func([]receiver.Delivery) bool { return len(accepted(hook, path)) >= want }); err != nil {
		t.Fatalf("wait for %d callbacks: %d came: %v", want, len(accepted(hook, path)), err)
	}
	got, all := accepted(hook, path), slices.Repeat(walkEvents, len(refs))
	slices.Sort(got)
	slices.Sort(all)
	if !slices.Equal(got, all) {
		t.Errorf("callbacks of %d payments whose messages the broker lost: got %v, want %v", len(refs), got, all)
	}
	clean(t, hook)
	api.Eventually(t, 2*time.Minute, "an empty outbox", func() bool {
		return count(t, s, "payments", `SELECT count(*) FROM outbox`) == 0
	})
}
