//go:build integration

package e2e

import (
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// killCase ends one service with SIGKILL when a payment reaches a moment: before its deposit is sent, or when a
// callback of that type arrives.
type killCase struct {
	service string
	at      string // "deposit", or the type of a callback
}

// TestOutages: a kill -9 of each service that a payment needs, in the middle of a walk on a stack of its own: the
// payment still settles, the bank pays once, and every callback arrives. Then roles of databases get other passwords.
// One stack serves all cases, one after the other, since each breaks it.
func TestOutages(t *testing.T) {
	t.Parallel()
	s := stack.New(t, stack.Options{})
	c := client(t, s)
	for _, test := range killCases {
		t.Run("kill "+test.service+" at "+test.at, func(t *testing.T) { killWalk(t, s, c, test) })
	}
	t.Run("passwords", func(t *testing.T) { passwords(t, s, c) })
}

func killWalk(t *testing.T, s *stack.Stack, c *api.Client, test killCase) {
	hook, path := hooks(t, s.WebhookSecret)
	ref := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path)})).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	if test.at != "deposit" {
		awaitCallbacks(t, hook, path, test.at)
	}
	s.Kill(t, test.service)
	s.Start(t, test.service)
	settled := awaitAgain(t, c, ref, "settled")
	if !settled.Null("payment.exception") || settled.Len(t, "payment.transfers") != 1 {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitExactly(t, hook, path, walkEvents...)
	clean(t, hook)
	paidOnce(t, s, ref)
}

// awaitAgain is awaitStatus that forgives a gateway or a service that is still starting.
func awaitAgain(t testing.TB, c *api.Client, ref, status string) *api.Answer {
	t.Helper()
	var found *api.Answer
	api.Eventually(t, 2*time.Minute, ref+" to be "+status, func() bool {
		a, err := c.Try(t.Context(), "GET", "/v1/payments/"+ref, nil)
		if err != nil || a.Status != 200 {
			return false
		}
		found = a
		return a.Text(t, "payment.status") == status
	})
	return found
}
