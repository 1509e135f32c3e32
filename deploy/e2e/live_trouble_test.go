//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// trouble is a product with live mode on a chain of its own, which the subtests use one after the other: they fork the
// chain and kill services.
type trouble struct {
	n      *node
	s      *stack.Stack
	c      *api.Client
	secret string
}

// TestLiveTrouble: reorganisations and downtime on a real EVM node as the merchant sees them. TestConformance in
// services/wallets proves the scanner; this test proves the money.
func TestLiveTrouble(t *testing.T) {
	t.Parallel()
	n := startNode(t)
	w := &trouble{n: n, s: liveStack(t, n)}
	w.c, w.secret = liveMerchant(t, w.s)

	t.Run("a deposit on time is on time however late it is learnt", w.lateMessage) // first: fast mining makes the chain's clock run ahead
	t.Run("a payout already sent stays", w.sentStays)
	t.Run("a payout not yet sent does not leave", w.unsentStays)
}

// deep is how many blocks make a deposit on ethereum final enough (docs/api-contract.md#networks).
const deep = 12

// paid makes a payment and its transfer, which waits for a block.
func (w *trouble) paid(t *testing.T, body api.Object) (made *api.Answer, hash string) {
	t.Helper()
	made = create(t, w.c, body)
	return made, w.n.pay(t, "USDT", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
}

// sentStays: the deposit leaves the chain after the payout was made. Nothing can be taken back: the payment stays
// settled, says so, and is not paid again when the deposit returns.
func (w *trouble) sentStays(t *testing.T) {
	hook, path := hooks(t, w.secret)
	made, hash := w.paid(t, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "ethereum"}))
	ref := made.Text(t, "payment.reference")
	w.n.mine(t, deep)
	awaitStatus(t, w.c, ref, "settled")
	w.n.control(t, "/reorg", map[string]any{"depth": deep, "blocks": deep + 2}, nil)
	fallen := awaitPayment(t, w.c, ref, "reorged", func(a *api.Answer) bool { return exception(a) == "reorged" })
	if status := fallen.Text(t, "payment.status"); status != "settled" {
		t.Errorf("status %s", status)
	}
	awaitCallbacks(t, hook, path, "payment.settled", "payment.reorged")
	w.n.control(t, "/include", map[string]any{"txHash": hash}, nil)
	w.n.mine(t, deep)
	again := awaitPayment(t, w.c, ref, "whole again", func(a *api.Answer) bool { return a.Null("payment.exception") })
	if status := again.Text(t, "payment.status"); status != "settled" {
		t.Errorf("status %s", status)
	}
	clean(t, hook)
	paidOnce(t, w.s, ref)
}

// unsentStays: the deposit of a gift that nobody has claimed leaves the chain after it was confirmed. A claim then
// moves no money before the deposit is there again, and deep again.
func (w *trouble) unsentStays(t *testing.T) {
	made, hash := w.paid(t, gift(api.Object{"network": "ethereum"}))
	ref := made.Text(t, "payment.reference")
	w.n.mine(t, deep)
	awaitStatus(t, w.c, ref, "confirmed")
	w.n.control(t, "/reorg", map[string]any{"depth": deep, "blocks": deep + 2}, nil)
	if fallen := awaitStatus(t, w.c, ref, "pending"); exception(fallen) != "reorged" {
		t.Errorf("after the reorganisation: %s", fallen.Body)
	}
	w.c.With("").Call(t, http.MethodPost, claimPath(ref), account("0123456789")).Want(t, http.StatusOK)
	if claimed := get(t, w.c, ref); claimed.Text(t, "payment.status") != "settling" || exception(claimed) != "reorged" {
		t.Errorf("claimed: %s", claimed.Body)
	}
	w.n.control(t, "/include", map[string]any{"txHash": hash}, nil)
	w.n.mine(t, deep-1)
	nearly := awaitPayment(t, w.c, ref, "nearly deep enough", func(a *api.Answer) bool {
		return a.Number(t, "payment.confirmations").Cmp(api.Rat("11")) == 0
	})
	if orders := count(t, w.s, "payments", `SELECT count(*) FROM sim_transfers WHERE ref LIKE lower($1) || '-%'`, ref); orders != 0 || exception(nearly) != "unfunded" {
		t.Errorf("%d orders at the bank before the deposit is back: %s", orders, nearly.Body)
	}
	w.n.mine(t, 1)
	if settled := awaitStatus(t, w.c, ref, "settled"); !settled.Null("payment.exception") {
		t.Errorf("settled: %s", settled.Body)
	}
	paidOnce(t, w.s, ref)
}

// lateMessage: the window of a payment closes while nobody scans. It does not expire, and its deposit, which was mined
// in time, is on time; one that got none expires when its network is scanned a minute past its window.
func (w *trouble) lateMessage(t *testing.T) {
	hook, path := hooks(t, w.secret)
	made := create(t, w.c, transfer(api.Object{"callbackUrl": hook.URL(path), "network": "ethereum"}))
	ref := made.Text(t, "payment.reference")
	unpaid := create(t, w.c, transfer(api.Object{"network": "ethereum"})).Text(t, "payment.reference")
	addressless := create(t, w.c, request(nil)).Text(t, "payment.reference") // expires by the clock alone
	w.s.Kill(t, "wallets")
	w.n.pay(t, "USDT", made.Text(t, "payment.depositAddress"), units(t, made.Number(t, "payment.cryptoAmount")))
	w.n.mine(t, 1)
	var status struct {
		Head struct{ Time int64 }
	}
	w.n.read(t, "/status", &status)
	w.n.mine(t, deep)
	close := `WITH closed AS (UPDATE payments SET expires_at = to_timestamp($1), due_at = to_timestamp($1) WHERE reference = ANY($2) RETURNING 1)
		SELECT count(*) FROM closed`
	if n := count(t, w.s, "payments", close, status.Head.Time, []string{ref, unpaid, addressless}); n != 3 {
		t.Fatalf("%d windows closed", n)
	}
	awaitStatus(t, w.c, addressless, "expired") // so the timer has looked at all three
	for _, one := range []string{ref, unpaid} {
		if got := get(t, w.c, one).Text(t, "payment.status"); got != "pending" {
			t.Errorf("%s is %s while its network is not scanned", one, got)
		}
	}
	w.s.Start(t, "wallets")
	settled := awaitStatus(t, w.c, ref, "settled")
	if !settled.Null("payment.exception") {
		t.Errorf("settled: %s", settled.Body)
	}
	awaitExactly(t, hook, path, walkEvents...)
	clean(t, hook)
	paidOnce(t, w.s, ref)
	w.n.mine(t, 60) // a second each at least
	awaitStatus(t, w.c, unpaid, "expired")
}
