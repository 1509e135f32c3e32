//go:build integration

package e2e

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

// items are the positions of a list's rows that hold.
func items(t *testing.T, a *api.Answer, list string, holds func(at string) bool) (found []string) {
	t.Helper()
	for i := range a.Len(t, list) {
		if at := list + "." + itoa(i); holds(at) {
			found = append(found, at)
		}
	}
	return found
}

// TestRails: operators alone see how each rail pays. A payment that was settled counts.
func TestRails(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/rails"
	c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	operator.Call(t, http.MethodGet, path+"?mode=test", nil, bad).Want(t, http.StatusBadRequest)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	answer := operator.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK)
	found := items(t, answer, "rails", func(at string) bool {
		return answer.Text(t, at+".mode") == "test" && answer.Text(t, at+".rail") == "sim" && answer.Text(t, at+".fiatCurrency") == "NGN"
	})
	if len(found) != 1 {
		t.Fatalf("read the rails: got %d lines of the simulated rail in naira, want one: %s", len(found), answer.Body)
	}
	at := found[0]
	if answer.Text(t, at+".breaker") != "none" || !answer.Null(at+".float") || answer.Null(at+".recent.newestAt") || answer.Null(at+".recent.successRate") {
		t.Errorf("read the simulated rail after a payout: got %s, want the payout, and neither a breaker nor a float", answer.Body)
	}
}

// TestAddressStock: operators see the stock of each family, which is full on a stack at rest.
func TestAddressStock(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	for _, path := range []string{"/v1/admin/address-stock", "/v1/admin/address-pools"} {
		c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	}
	stock := operator.Call(t, http.MethodGet, "/v1/admin/address-stock", nil).Want(t, http.StatusOK)
	evm := items(t, stock, "stock", func(at string) bool {
		return stock.Text(t, at+".mode") == "test" && stock.Text(t, at+".family") == "evm"
	})
	if len(evm) != 1 || stock.Text(t, evm[0]+".networks.0") != "ethereum" || stock.Number(t, evm[0]+".target").Sign() <= 0 {
		t.Errorf("read the stock: got %s, want a line of the family evm of test mode with its networks and its target", stock.Body)
	}
	pools := operator.Call(t, http.MethodGet, "/v1/admin/address-pools", nil).Want(t, http.StatusOK)
	issued := items(t, pools, "pools", func(at string) bool {
		return pools.Text(t, at+".mode") == "test" && pools.Text(t, at+".family") == "evm" && pools.Number(t, at+".issued").Sign() > 0
	})
	if len(issued) != 1 {
		t.Errorf("read the pools: got %s, want issued addresses of the family evm of test mode", pools.Body)
	}
}

// TestCloses: operators page through the closed days, of which yesterday is one.
func TestCloses(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	c.Call(t, http.MethodGet, "/v1/admin/closes", nil).Want(t, http.StatusUnauthorized)
	operator.Call(t, http.MethodGet, "/v1/admin/closes?cursor=nonsense", nil, bad).Want(t, http.StatusBadRequest)
	yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	api.Eventually(t, settle, "the close of yesterday with its reports", func() bool {
		answer := operator.Call(t, http.MethodGet, "/v1/admin/closes?limit=1", nil).Want(t, http.StatusOK)
		return answer.Len(t, "closes") == 1 && answer.Text(t, "closes.0.day") == yesterday && answer.Len(t, "closes.0.reports") == 2
	})
}

// TestScreenings: what a list has hit is listed for operators, newest first, by mode and kind of check.
func TestScreenings(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/screenings"
	c.Call(t, http.MethodGet, path, nil).Want(t, http.StatusUnauthorized)
	operator.Call(t, http.MethodGet, path+"?stage=none", nil, bad).Want(t, http.StatusBadRequest)
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	id := value[string](t, s, "payments", `INSERT INTO screenings (mode, payment_id, stage, verdict, reason, lists, addresses)
		SELECT 'test', id, 'deposit', 'hit', 'sanctions', 'test list', '{0x8576acc5c05d6ce88f4e49bf65bdf0c62f91353c}' FROM payments WHERE reference = $1
		RETURNING payment_id`, ref)
	of := func(query string) []string {
		answer := operator.Call(t, http.MethodGet, path+query, nil).Want(t, http.StatusOK)
		var ids []string
		for i := range answer.Len(t, "screenings") {
			if at := "screenings." + itoa(i); !answer.Null(at + ".paymentId") {
				ids = append(ids, answer.Text(t, at+".paymentId"))
			}
		}
		return ids
	}
	if got := of("?mode=test&stage=deposit&limit=100"); !slices.Contains(got, id) {
		t.Errorf("list the hits of deposits: got %v, want %s among them", got, id)
	}
	if got := of("?mode=test&stage=refund&limit=100"); slices.Contains(got, id) {
		t.Errorf("list the hits of refunds: got %v, want no hit of a deposit", got)
	}
}
