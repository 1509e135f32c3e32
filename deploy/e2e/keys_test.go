//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestKeys: a person of a merchant makes a key, which works at once; changes, rotates and revokes it; and sees no other
// merchant's. Nobody gives a key what the person lacks, and no key manages keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	id := unique("acme")
	mine := key(t, s, c, "test", id, "*") // makes the merchant
	manager := member(id, "key:manage", "payment:create", "payment:read")
	call := func(method, path string, body any, status ...int) *api.Answer {
		t.Helper()
		return c.Call(t, method, path, body, as(t, s, manager)).Want(t, status...)
	}
	wanted := api.Object{"name": "checkout", "permissions": []string{"payment:create", "payment:read"}}
	made := call(http.MethodPost, "/v1/keys", wanted, http.StatusCreated)
	path, secret := "/v1/keys/"+made.Number(t, "key.id").RatString(), made.Text(t, "key.secret")
	create(t, c.With(secret), transfer(nil))

	for name, body := range map[string]api.Object{
		"more than the person has": {"name": "x", "permissions": []string{"refund:create"}},
		"everything":               {"name": "x", "permissions": []string{"*"}},
	} {
		if a := c.Call(t, http.MethodPost, "/v1/keys", body, as(t, s, manager)); a.Status/100 != 4 {
			t.Errorf("make a key with %s: got %d %s, want a refusal", name, a.Status, a.Body)
		}
	}
	c.Call(t, http.MethodPost, "/v1/keys", wanted, as(t, s, member(id, "payment:create"))).Want(t, http.StatusForbidden)
	mine.Call(t, http.MethodPost, "/v1/keys", wanted).Want(t, http.StatusForbidden)
	live := manager
	live.Mode = "live"
	if a := c.Call(t, http.MethodPost, "/v1/keys", wanted, as(t, s, live)).Want(t, http.StatusConflict); codeOf(a) != "merchant_unknown" {
		t.Errorf("make a live key of a draft: got %s, want merchant_unknown", a.Body)
	}

	if a := call(http.MethodGet, "/v1/keys?limit=100", nil, http.StatusOK); a.Len(t, "keys") < 2 || a.Text(t, "keys.0.merchantId") != id {
		t.Errorf("list the keys: got %s", a.Body)
	}
	read := call(http.MethodGet, path, nil, http.StatusOK)
	if _, shown := read.At("key.secret"); shown || read.Text(t, "key.name") != "checkout" {
		t.Errorf("read the key: got %s, want it without its secret", read.Body)
	}
	if a := call(http.MethodPatch, path, api.Object{"name": "till", "permissions": []string{"payment:read"}}, http.StatusOK); a.Text(t, "key.name") != "till" {
		t.Errorf("change the key: got %s", a.Body)
	}
	api.Eventually(t, settle, "the key to lose a permission", func() bool {
		return c.With(secret).Call(t, http.MethodPost, "/v1/payments", transfer(nil)).Status == http.StatusForbidden
	})
	rotated := call(http.MethodPost, path+"/rotate", api.Object{"overlapMinutes": 0}, http.StatusOK, http.StatusCreated).Text(t, "key.secret")
	api.Eventually(t, settle, "the old secret to end", func() bool {
		return c.With(secret).Call(t, http.MethodGet, "/v1/payments", nil).Status == http.StatusUnauthorized
	})
	c.With(rotated).Call(t, http.MethodGet, "/v1/payments", nil).Want(t, http.StatusOK)

	stranger := member(unique("other"), "key:manage")
	key(t, s, c, "test", stranger.MerchantID, "*")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		c.Call(t, method, path, nil, as(t, s, stranger)).Want(t, http.StatusNotFound)
	}
	call(http.MethodDelete, path, nil, http.StatusOK, http.StatusNoContent)
	api.Eventually(t, settle, "the key to end", func() bool {
		return c.With(rotated).Call(t, http.MethodGet, "/v1/payments", nil).Status == http.StatusUnauthorized
	})
	audit := c.With(s.AdminToken).Call(t, http.MethodGet, "/v1/admin/audit?actor=person:"+manager.Name, nil).Want(t, http.StatusOK)
	if audit.Len(t, "acts") < 3 {
		t.Errorf("look for the person in the audit: got %s", audit.Body)
	}
}
