//go:build integration

package main

import (
	"crypto/ed25519"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
)

var (
	merchantDoor = ed25519.NewKeyFromSeed([]byte(strings.Repeat("m", ed25519.SeedSize)))
	operatorDoor = ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", ed25519.SeedSize)))
	doorKeys     = person.Public(person.Merchant, merchantDoor) + "," + person.Public(person.Operator, operatorDoor)
)

// asserted is the assertion of a request.
func asserted(t *testing.T, who person.Assertion, method, path, body string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, "http://gateway"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	key := merchantDoor
	if who.Door == person.Operator {
		key = operatorDoor
	}
	text, err := who.Bind(r, []byte(body), time.Now()).Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// as calls as a person.
func (w *fixture) as(t *testing.T, who person.Assertion, method, path, body string) answer {
	t.Helper()
	return w.call(t, method, path, asserted(t, who, method, path, body), body)
}

// The people of a merchant act under one console key for each mode, which is made on first use, on any replica. It has
// no secret, is listed, and stays as it is. The audit names the person.
func TestGateway_people(t *testing.T) {
	database := pg.URL(t, migrations.FS)
	w := startOn(t, database, "CONSOLE_KEYS", doorKeys)
	other := startOn(t, database, "CONSOLE_KEYS", doorKeys)
	w.call(t, "POST", "/v1/admin/keys", operatorToken, `{"merchantId":"acme","name":"shop","mode":"test","permissions":["*"]}`).want(t, 201, "")
	ann := person.Assertion{
		Door: person.Merchant, User: "usr_ann", Name: "ann@shop.example", MerchantID: "acme", Mode: tenant.Test, Permissions: []string{"payment:create", "payment:read"},
	}
	var wg sync.WaitGroup
	ids := make([]any, 8)
	for i := range ids {
		wg.Go(func() {
			on := []*fixture{w, other}[i%2]
			me := on.as(t, ann, "GET", "/v1/me", "").want(t, 200, "")
			ids[i] = me.key(t)["id"]
			if got := fmt.Sprint(me.body["permissions"]); got != "[payment:create payment:read]" {
				t.Errorf("the permissions of a person are %s", got)
			}
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Fatalf("a merchant has the console keys %v", ids)
		}
	}
	path := fmt.Sprintf("/v1/admin/keys/%v", ids[0])
	if k := w.call(t, "GET", path, operatorToken, "").want(t, 200, "").key(t); k["kind"] != "console" || k["merchantId"] != "acme" || k["mode"] != "test" {
		t.Errorf("the console key is %v", k)
	}
	w.call(t, "POST", path+"/rotate", operatorToken, "").want(t, 409, "key_is_console")
	w.call(t, "DELETE", path, operatorToken, "").want(t, 409, "key_is_console")
	w.call(t, "PATCH", path, operatorToken, `{"name":"x"}`).want(t, 409, "key_is_console")

	w.as(t, ann, "POST", "/v1/payments", `{}`).want(t, 200, "")
	w.as(t, ann, "POST", "/v1/reports", `{}`).want(t, 403, "permission_missing")
	ada := person.Assertion{Door: person.Operator, User: "usr_ada", Name: "ada.obi"}
	eventually(t, func() bool {
		rows := w.as(t, ada, "GET", "/v1/admin/audit?actor=person:ann@shop.example", "").want(t, 200, "")
		return strings.Contains(string(rows.raw), `"user":"usr_ann"`) && strings.Contains(string(rows.raw), `"door":"merchant"`)
	})
	w.as(t, ann, "GET", "/v1/admin/audit", "").want(t, 401, "assertion_invalid")
	w.as(t, ada, "GET", "/v1/me", "").want(t, 401, "assertion_invalid")
}
