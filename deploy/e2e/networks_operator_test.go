//go:build integration

package e2e

import (
	"net/http"
	"strconv"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

func itoa(i int) string { return strconv.Itoa(i) }

// TestNetworksOfOperators: operators alone see how far each network is scanned. A range of blocks that one has scanned
// again is done within moments, finds what is known and nothing new, and is in the list with its reason.
func TestNetworksOfOperators(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/networks"
	for _, read := range []string{path, "/v1/admin/rescans", "/v1/admin/sweeps", "/v1/admin/stations"} {
		c.Call(t, http.MethodGet, read, nil).Want(t, http.StatusUnauthorized)
		operator.Call(t, http.MethodGet, read, nil).Want(t, http.StatusOK)
	}
	ref := create(t, c, transfer(nil)).Text(t, "payment.reference")
	deposit(t, c, ref, nil)
	awaitStatus(t, c, ref, "settled")
	network, height := "", ""
	api.Eventually(t, settle, "a scan that follows its network", func() bool {
		answer := operator.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK)
		found := items(t, answer, "networks", func(at string) bool {
			return answer.Text(t, at+".mode") == "test" && answer.Text(t, at+".network") == "ethereum" && answer.Text(t, at+".state") == "following"
		})
		if len(found) != 1 || answer.Null(found[0]+".head") || answer.Null(found[0]+".lag") {
			return false
		}
		network, height = answer.Text(t, found[0]+".network"), answer.Number(t, found[0]+".height").RatString()
		return true
	})
	to, err := strconv.Atoi(height)
	if err != nil {
		t.Fatalf("read the height %q of %s: %v", height, network, err)
	}
	order := api.Object{"mode": "test", "from": max(0, to-40), "to": to, "reason": "a payer misses a deposit"}
	rescan := path + "/" + network + "/rescan"
	refuse(t, operator, rescan, api.Object{"mode": "test", "from": 5, "to": 4, "reason": "x"}, http.StatusBadRequest, "")
	refuse(t, operator, rescan, api.Object{"mode": "test", "from": 0, "to": 50_000, "reason": "x"}, http.StatusBadRequest, "")
	refuse(t, operator, rescan, api.Object{"mode": "test", "from": to, "to": to + 40_000, "reason": "x"}, http.StatusBadRequest, "")
	refuse(t, operator, path+"/dogecoin/rescan", order, http.StatusNotFound, "")
	c.Call(t, http.MethodPost, rescan, order).Want(t, http.StatusUnauthorized)
	key := api.Header("Idempotency-Key", unique("rescan"))
	id := operator.Call(t, http.MethodPost, rescan, order, key).Want(t, http.StatusCreated).Number(t, "rescan.id").RatString()
	if again := operator.Call(t, http.MethodPost, rescan, order, key).Want(t, http.StatusCreated).Number(t, "rescan.id").RatString(); again != id {
		t.Errorf("order a rescan twice under one key: got the rescans %s and %s, want one", id, again)
	}
	api.Eventually(t, settle, "the end of the rescan", func() bool {
		answer := operator.Call(t, http.MethodGet, "/v1/admin/rescans?limit=100", nil).Want(t, http.StatusOK)
		found := items(t, answer, "rescans", func(at string) bool { return answer.Number(t, at+".id").RatString() == id })
		if len(found) != 1 {
			t.Fatalf("list the rescans: got %s, want number %s among them", answer.Body, id)
		}
		at := found[0]
		if answer.Text(t, at+".state") != "done" {
			return false
		}
		if answer.Number(t, at+".found").Sign() != 0 || answer.Text(t, at+".reason") != "a payer misses a deposit" || answer.Null(at+".endedAt") {
			t.Errorf("read the rescan: got %s, want nothing new, its reason and its end", answer.Body)
		}
		return true
	})
}

// TestSweepsOfOperators: the list of sweeps has filters and pages, and a sweep that does not exist cannot be released.
func TestSweepsOfOperators(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	operator := c.With(s.AdminToken)
	const path = "/v1/admin/sweeps"
	operator.Call(t, http.MethodGet, path+"?state=open&network=erc20&limit=1", nil).Want(t, http.StatusOK)
	operator.Call(t, http.MethodGet, path+"?network=dogecoin", nil, bad).Want(t, http.StatusBadRequest)
	operator.Call(t, http.MethodGet, path+"?cursor=nonsense", nil, bad).Want(t, http.StatusBadRequest)
	refuse(t, operator, path+"/swp_none/release", api.Object{"reason": "the station has coin again"}, http.StatusNotFound, "")
	refuse(t, operator, path+"/swp_none/release", api.Object{}, http.StatusBadRequest, "")
	c.Call(t, http.MethodPost, path+"/swp_none/release", api.Object{"reason": "x"}).Want(t, http.StatusUnauthorized)
}
