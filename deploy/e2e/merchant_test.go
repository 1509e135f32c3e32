//go:build integration

package e2e

import (
	"net/http"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// TestMerchant: a person registers a merchant as a draft, once; people who may change it do, and its keys only read it.
// A draft takes another name, an approved merchant does not.
func TestMerchant(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	id := unique("acme")
	newcomer, owner := member(id, "merchant:create"), member(id, "merchant:manage", "key:manage", "payment:read")
	register := api.Object{"name": "Acme Stores", "country": "NG", "contactEmail": "ada@acme.example"}
	c.Call(t, http.MethodPost, "/v1/merchant", register, as(t, s, owner)).Want(t, http.StatusForbidden)
	made := c.Call(t, http.MethodPost, "/v1/merchant", register, as(t, s, newcomer)).Want(t, http.StatusCreated)
	if made.Text(t, "merchant.status") != "draft" || made.Text(t, "merchant.merchantId") != id {
		t.Errorf("register: got %s, want a draft", made.Body)
	}
	if a := c.Call(t, http.MethodPost, "/v1/merchant", register, as(t, s, newcomer)).Want(t, http.StatusConflict); codeOf(a) != "merchant_exists" {
		t.Errorf("register twice: got %s, want merchant_exists", a.Body)
	}

	change := func(body api.Object, status int) *api.Answer {
		t.Helper()
		return c.Call(t, http.MethodPatch, "/v1/merchant", body, as(t, s, owner)).Want(t, status)
	}
	if a := change(api.Object{"name": "Acme & Sons", "supportContact": "help@acme.example"}, http.StatusOK); a.Text(t, "merchant.name") != "Acme & Sons" {
		t.Errorf("change the name of a draft: got %s", a.Body)
	}
	change(api.Object{"logo": "bm8gcGljdHVyZQ=="}, http.StatusBadRequest)
	mine := key(t, s, c, "test", id, "*")
	if a := mine.Call(t, http.MethodGet, "/v1/merchant", nil).Want(t, http.StatusOK); a.Text(t, "merchant.supportContact") != "help@acme.example" {
		t.Errorf("read the own merchant: got %s", a.Body)
	}
	mine.Call(t, http.MethodPatch, "/v1/merchant", api.Object{"supportContact": "x"}).Want(t, http.StatusForbidden)
	mine.Call(t, http.MethodPost, "/v1/merchant", register).Want(t, http.StatusForbidden)
	c.Call(t, http.MethodPatch, "/v1/merchant", api.Object{"supportContact": "x"}, as(t, s, member(id, "payment:read"))).Want(t, http.StatusForbidden)

	c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/merchants/"+id+"/approve", nil).Want(t, http.StatusOK)
	if a := c.Call(t, http.MethodPatch, "/v1/merchant", api.Object{"name": "Another Bank"}, as(t, s, owner)); a.Status/100 != 4 {
		t.Errorf("change the name of an approved merchant: got %d %s, want a refusal", a.Status, a.Body)
	}
	change(api.Object{"supportContact": "+234 800 000 0000"}, http.StatusOK)
}
