//go:build integration

package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// open reads whether a network takes payments of a mode, and the reason why not.
func open(t testing.TB, c *api.Client, mode, network string) (open bool, reason string) {
	t.Helper()
	a := c.Call(t, http.MethodGet, "/v1/networks", nil).Want(t, http.StatusOK)
	for i := range a.Len(t, "networks") {
		at := fmt.Sprintf("networks.%d.", i)
		if a.Text(t, at+"network") != network {
			continue
		}
		place := at + "modes." + mode + "."
		if a.Null(place + "reason") {
			return true, ""
		}
		return false, a.Text(t, place+"reason")
	}
	t.Fatalf("no network %s: %s", network, a.Body)
	return false, ""
}

// awaitNetwork waits until a live network is open, which is reason "", or closed for the reason.
func awaitNetwork(t testing.TB, c *api.Client, network, reason string) {
	t.Helper()
	var last string
	api.Eventually(t, settle, fmt.Sprintf("%s with reason %q", network, reason), func() bool {
		_, last = open(t, c, "live", network)
		return last == reason
	})
}

// offered lists the networks that the pay page offers for a request.
func offered(t testing.TB, c *api.Client, ref string) map[string]bool {
	t.Helper()
	shown := c.With("").Call(t, http.MethodGet, "/v1/checkout/"+ref, nil).Want(t, http.StatusOK)
	networks := map[string]bool{}
	if _, has := shown.At("payment.options"); has {
		for i := range shown.Len(t, "payment.options") {
			networks[shown.Text(t, fmt.Sprintf("payment.options.%d.network", i))] = true
		}
	}
	return networks
}

// closedTo checks that a network cannot be sold: create and fulfil are 503 once the request is right, and the pay page
// does not offer it.
func closedTo(t *testing.T, c *api.Client, network, ref string) {
	t.Helper()
	refuse := func(client *api.Client, path string, body api.Object) {
		t.Helper()
		a := client.Call(t, http.MethodPost, path, body, api.Once).Want(t, http.StatusServiceUnavailable)
		if a.Text(t, "error.code") != "network_unavailable" || a.Header.Get("Retry-After") == "" {
			t.Errorf("%s on %s: %s, Retry-After %q", path, network, a.Body, a.Header.Get("Retry-After"))
		}
	}
	refuse(c, "/v1/payments", transfer(api.Object{"network": network}))
	refuse(c, "/v1/payments", gift(api.Object{"network": network}))
	fulfilled := fulfilment()
	fulfilled["network"] = network
	refuse(c.With(""), fulfilPath(ref), fulfilled)
	if offered(t, c, ref)[network] {
		t.Errorf("the pay page offers %s", network)
	}
	for what, changes := range map[string]api.Object{
		"no payer": {"payer": nil}, "an amount out of range": {"fiatAmount": 0.5}, "an unknown bank": {"receiver": account("0123456789")["receiver"], "fiatCurrency": "KES"},
	} {
		changes = maps.Clone(changes)
		changes["network"] = network
		if a := c.Call(t, http.MethodPost, "/v1/payments", transfer(changes), bad); a.Status != http.StatusBadRequest {
			t.Errorf("%s on %s: %d %s", what, network, a.Status, a.Body)
		}
	}
}

// networkCloses: in live mode a network is sold only while wallets follows it. One without an endpoint never is; one
// whose node is away, whose scanner is dead, or whose scan is halted closes, and opens again by itself; what would be
// paid out with its money waits. In the end the scan stays halted.
func networkCloses(t *testing.T, n *node, s *stack.Stack, c *api.Client) {
	ref := create(t, c, request(nil)).Text(t, "payment.reference")

	if networks := offered(t, c, ref); len(networks) != 1 || !networks["ethereum"] {
		t.Errorf("offered %v", networks)
	}
	if isOpen, reason := open(t, c, "live", "bsc"); isOpen || reason != "not_followed" {
		t.Errorf("bsc: %v %q", isOpen, reason)
	}
	if isOpen, reason := open(t, c, "test", "bsc"); !isOpen {
		t.Errorf("bsc in test mode: %q", reason)
	}
	closedTo(t, c, "bsc", ref)

	n.control(t, "/rpc", map[string]any{"enabled": false}, nil)
	awaitNetwork(t, c, "ethereum", "unreachable")
	closedTo(t, c, "ethereum", ref)
	n.control(t, "/rpc", map[string]any{"enabled": true}, nil)
	awaitNetwork(t, c, "ethereum", "")

	paid := create(t, c, gift(api.Object{"network": "ethereum"}))
	present := paid.Text(t, "payment.reference")
	n.control(t, "/finality", map[string]any{"depth": 10}, nil)
	n.pay(t, "USDT", paid.Text(t, "payment.depositAddress"), units(t, paid.Number(t, "payment.cryptoAmount")))
	n.mine(t, 30)
	awaitStatus(t, c, present, "confirmed")

	s.Kill(t, "wallets")
	awaitNetwork(t, c, "ethereum", "silent")
	closedTo(t, c, "ethereum", ref)
	unclaimed(t, c, present)
	s.Start(t, "wallets")
	awaitNetwork(t, c, "ethereum", "")
	create(t, c, transfer(api.Object{"network": "ethereum"}))

	n.control(t, "/reorg", map[string]any{"depth": 20, "blocks": 25}, nil)
	awaitNetwork(t, c, "ethereum", "halted")
	closedTo(t, c, "ethereum", ref)
	unclaimed(t, c, present)
}

// unclaimed checks that a confirmed gift cannot be claimed now and stays as it is.
func unclaimed(t *testing.T, c *api.Client, ref string) {
	t.Helper()
	a := c.With("").Call(t, http.MethodPost, claimPath(ref), account("0123456789"), api.Once).Want(t, http.StatusServiceUnavailable)
	if a.Text(t, "error.code") != "network_unavailable" || a.Header.Get("Retry-After") == "" {
		t.Errorf("claimed: %s", a.Body)
	}
	if status := get(t, c, ref).Text(t, "payment.status"); status != "confirmed" {
		t.Errorf("the gift is %s", status)
	}
}

// minimums: live mode takes no payment that is not worth collecting, names the minimum in both currencies, and offers
// only pairs whose minimum a request meets; test mode takes any. Coins without a minimum of the settings have the
// product's.
func minimums(t *testing.T, s *stack.Stack, c *api.Client) {
	usdc := func(changes api.Object) api.Object {
		body := api.Object{"network": "ethereum", "crypto": "USDC"}
		maps.Copy(body, changes)
		return transfer(body)
	}
	small := c.Call(t, http.MethodPost, "/v1/payments", usdc(nil), bad).Want(t, http.StatusBadRequest)
	const said = "must be worth at least 20 USDC on ethereum, which is 32000.00 NGN now"
	if small.Text(t, "error.code") != "amount_below_minimum" || small.Text(t, "message") != "fiatAmount: "+said ||
		small.Text(t, "error.fields.0.field") != "fiatAmount" || small.Text(t, "error.fields.0.message") != said {
		t.Errorf("refused with %s", small.Body)
	}
	small = c.Call(t, http.MethodPost, "/v1/payments", usdc(api.Object{"fiatAmount": nil, "cryptoAmount": 19.9999}), bad).
		Want(t, http.StatusBadRequest)
	if small.Text(t, "error.fields.0.field") != "cryptoAmount" {
		t.Errorf("refused with %s", small.Body)
	}
	create(t, c, usdc(api.Object{"fiatAmount": 32000}))
	create(t, c, usdc(api.Object{"fiatAmount": nil, "cryptoAmount": 20}))

	ref := create(t, c, request(api.Object{"fiatAmount": 1000})).Text(t, "payment.reference")
	if networks := offered(t, c, ref); len(networks) != 0 {
		t.Errorf("the pay page offers %v", networks)
	}
	fulfilled := fulfilment()
	fulfilled["network"] = "ethereum"
	a := c.With("").Call(t, http.MethodPost, fulfilPath(ref), fulfilled, bad).Want(t, http.StatusBadRequest)
	if a.Text(t, "error.code") != "amount_below_minimum" {
		t.Errorf("fulfilled: %s", a.Body)
	}
	create(t, client(t, s), transfer(api.Object{"fiatAmount": 1}))
}
