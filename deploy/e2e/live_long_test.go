//go:build integration && long

package e2e

import (
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// TestLiveWalk_more: the walks of TestLiveWalk through other troubles of the chain and of its node.
func TestLiveWalk_more(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	s := liveStack(t, n)
	c, secret := liveMerchant(t, s)

	t.Run("survives a head that goes back", func(t *testing.T) {
		liveReorg(t, n, s, c, secret, func() { n.control(t, "/fork", map[string]any{"depth": 4}, nil) })
	})
	t.Run("catches up after the node was away", func(t *testing.T) { liveOutage(t, n, s, c, secret) })
}

// liveOutage: blocks that were mined while the node could not be asked are scanned when it answers again; none is
// skipped.
func liveOutage(t *testing.T, n *node, s *stack.Stack, c *api.Client, secret string) {
	hook, path := hooks(t, secret)
	made := create(t, c, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "ethereum", "crypto": "USDC"}))
	ref := made.Text(t, "payment.reference")
	n.control(t, "/rpc", map[string]any{"enabled": false}, nil)
	n.mine(t, 3)
	n.pay(t, "USDC", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
	n.mine(t, 15)
	n.control(t, "/rpc", map[string]any{"enabled": true}, nil)
	awaitStatus(t, c, ref, "settled")
	awaitCallbacks(t, hook, path, walkEvents...)
	clean(t, hook)
	paidOnce(t, s, ref)
}

// TestLiveTrouble_more: a replaced transaction, and services that are stopped while money moves.
func TestLiveTrouble_more(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	w := &trouble{n: n, s: liveStack(t, n)}
	w.c, w.secret = liveMerchant(t, w.s)

	t.Run("a deposit replaced by another transaction counts once", w.replaced)
	t.Run("a deposit made while wallets is stopped is credited once", func(t *testing.T) { w.stopped(t, "wallets") })
	t.Run("a deposit made while payments is stopped is credited once", func(t *testing.T) { w.stopped(t, "payments") })
}

// replaced: the payer's wallet sends the same money again at a better price, and a fork prefers the second transaction.
func (w *trouble) replaced(t *testing.T) {
	hook, path := hooks(t, w.secret)
	made, hash := w.paid(t, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "ethereum"}))
	ref := made.Text(t, "payment.reference")
	w.n.mine(t, 2)
	awaitStatus(t, w.c, ref, "confirming")
	w.n.control(t, "/fork", map[string]any{"depth": 2}, nil)
	var instead struct {
		TxHash string `json:"txHash"`
	}
	w.n.control(t, "/replace", map[string]any{
		"txHash": hash, "to": made.Text(t, "payment.depositAddress"), "amount": units(t, made.Number(t, "payment.cryptoAmount")), "token": "USDT",
	}, &instead)
	w.n.mine(t, deep)
	settled := awaitStatus(t, w.c, ref, "settled")
	if settled.Text(t, "payment.txHash") != instead.TxHash || settled.Number(t, "payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 ||
		!settled.Null("payment.exception") {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitCallbacks(t, hook, path, "payment.settled")
	clean(t, hook)
	paidOnce(t, w.s, ref)
}

// stopped: money moves and gets deep while a service is down.
func (w *trouble) stopped(t *testing.T, service string) {
	hook, path := hooks(t, w.secret)
	made := create(t, w.c, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "ethereum"}))
	ref := made.Text(t, "payment.reference")
	w.s.Kill(t, service)
	hash := w.n.pay(t, "USDT", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
	w.n.mine(t, deep+3)
	w.s.Start(t, service)
	settled := awaitAgain(t, w.c, ref, "settled")
	if settled.Len(t, "payment.transfers") != 1 || settled.Text(t, "payment.txHash") != hash || !settled.Null("payment.exception") ||
		settled.Number(t, "payment.receivedAmount").Cmp(made.Number(t, "payment.cryptoAmount")) != 0 {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitExactly(t, hook, path, walkEvents...)
	clean(t, hook)
	paidOnce(t, w.s, ref)
}
