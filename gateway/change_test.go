//go:build integration

package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
)

func (a answer) object(t *testing.T, name string) map[string]any {
	t.Helper()
	o, ok := a.body[name].(map[string]any)
	if !ok {
		t.Fatalf("%s holds no %s", a.raw, name)
	}
	return o
}

// A rotated key is the same key with another secret. The old secret works until the overlap ends, and a second rotation
// within it ends the oldest.
func TestGateway_rotateKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	first, path := w.makeKey(t)
	id := path[strings.LastIndex(path, "/")+1:]
	works := func(secret, code string) {
		t.Helper()
		status := 200
		if code != "" {
			status = 401
		}
		a := w.call(t, "POST", "/v1/payments", secret, "{}").want(t, status, code)
		if who, _ := a.body["identity"].(map[string]any); code == "" && fmt.Sprint(who["key"]) != id {
			t.Errorf("identity %v, want key %s", who, id)
		}
	}
	rotate := func(body string, headers ...string) string {
		t.Helper()
		key := w.call(t, "POST", path+"/rotate", operatorToken, body, headers...).want(t, 200, "").key(t)
		if fmt.Sprint(key["id"]) != id {
			t.Errorf("the rotated key is %v", key)
		}
		secret, _ := key["secret"].(string)
		return secret
	}
	works(first, "")
	second := rotate("", "Idempotency-Key", "r1")
	if again := rotate("", "Idempotency-Key", "r1"); again != second {
		t.Error("a replay of the rotation has another secret")
	}
	works(first, "")
	works(second, "")
	third := rotate(`{"overlapMinutes": 60}`)
	works(first, "api_key_expired")
	works(second, "")
	works(third, "")
	fourth := rotate(`{"overlapMinutes": 0}`)
	works(second, "api_key_expired")
	works(third, "api_key_expired")
	works(fourth, "")
	for _, bad := range []string{`{"overlapMinutes": -1}`, `{"overlapMinutes": 43201}`, `{"overlapMinutes": 1.5}`, `{"overlapMinutes": "1"}`} {
		w.call(t, "POST", path+"/rotate", operatorToken, bad).want(t, 400, "validation_failed")
	}
	w.call(t, "POST", "/v1/admin/keys/999999/rotate", operatorToken, "").want(t, 404, "api_key_not_found")
	for _, other := range []string{"0" + id, "+" + id} { // another spelling would be another scope of its Idempotency-Key
		w.call(t, "POST", "/v1/admin/keys/"+other+"/rotate", operatorToken, "").want(t, 404, "api_key_not_found")
	}
	w.call(t, "POST", path+"/rotate", fourth, "").want(t, 401, "operator_token_invalid")
	w.call(t, "DELETE", path, operatorToken, "").want(t, 200, "")
	works(fourth, "api_key_revoked")
	w.call(t, "POST", path+"/rotate", operatorToken, "").want(t, 409, "api_key_revoked")
	w.call(t, "PATCH", path, operatorToken, `{"name":"x"}`).want(t, 409, "api_key_revoked")
}

// An operator's change takes effect on the next request, and no other field changes.
func TestGateway_changeKey(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret, path := w.makeKey(t)
	change := func(body string) map[string]any {
		t.Helper()
		return w.call(t, "PATCH", path, operatorToken, body).want(t, 200, "").key(t)
	}
	before := w.call(t, "GET", path, operatorToken, "").want(t, 200, "").key(t)
	for field, tc := range map[string]struct{ body, want string }{
		"name":         {`{"name":"till 2"}`, "till 2"},
		"tier":         {`{"tier":"premium"}`, "premium"},
		"allowedCidrs": {`{"allowedCidrs":["203.0.113.9","127.0.0.0/8"]}`, "[203.0.113.9/32 127.0.0.0/8]"},
		"expiresAt":    {`{"expiresAt":"2099-01-31T00:00:00Z"}`, "2099-01-31T00:00:00.000Z"},
		"permissions":  {`{"permissions":["payment:create"]}`, "[payment:create]"},
	} {
		after := change(tc.body)
		for name, value := range after {
			if name == field && fmt.Sprint(value) != tc.want {
				t.Errorf("%s is %v, want %s", field, value, tc.want)
			}
			if name != field && name != "lastUsedAt" && fmt.Sprint(value) != fmt.Sprint(before[name]) {
				t.Errorf("changing %s moved %s from %v to %v", field, name, before[name], value)
			}
		}
		before = after
	}
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
	w.call(t, "GET", "/v1/payments", secret, "").want(t, 403, "permission_missing")
	change(`{"allowedCidrs":["203.0.113.0/24"]}`)
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 403, "ip_not_allowed")
	if lifted := change(`{"allowedCidrs":[],"expiresAt":"never"}`); lifted["expiresAt"] != nil || fmt.Sprint(lifted["allowedCidrs"]) != "[]" {
		t.Errorf("lifted %v", lifted)
	}
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
	bad := w.call(t, "PATCH", path, operatorToken,
		`{"name":"","permissions":[],"tier":"gold","allowedCidrs":["home"],"expiresAt":"2001-01-01T00:00:00Z"}`).want(t, 400, "validation_failed")
	var fields []string
	list, _ := bad.object(t, "error")["fields"].([]any)
	for _, f := range list {
		if m, ok := f.(map[string]any); ok {
			fields = append(fields, fmt.Sprint(m["field"]))
		}
	}
	slices.Sort(fields)
	if want := []string{"allowedCidrs[0]", "expiresAt", "name", "permissions", "tier"}; !slices.Equal(fields, want) {
		t.Errorf("fields %v, want %v", fields, want)
	}
	w.call(t, "PATCH", "/v1/admin/keys/999999", operatorToken, `{"name":"x"}`).want(t, 404, "api_key_not_found")

	soon := time.Now().Add(1500 * time.Millisecond)
	change(`{"expiresAt":"` + soon.UTC().Format(time.RFC3339Nano) + `"}`)
	eventually(t, func() bool { return w.call(t, "POST", "/v1/payments", secret, "{}").StatusCode == 401 })
	if time.Now().Before(soon) {
		t.Error("the key ended before its time")
	}
}

// A key may read itself by any form of credential.
func TestGateway_me(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.merchant(t, "acme")
	key := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"shop","mode":"live","permissions":["report:*"],"allowedCidrs":["127.0.0.0/8"]}`).want(t, 201, "").key(t)
	secret, _ := key["secret"].(string)
	a := w.call(t, "GET", "/v1/me", secret, "").want(t, 200, "")
	w.validate(t, a.Request, a)
	me, limits := a.object(t, "key"), a.object(t, "limits")
	if fmt.Sprint(me["id"]) != fmt.Sprint(key["id"]) || me["publicKey"] != key["publicKey"] || me["mode"] != "live" || me["secret"] != nil ||
		a.object(t, "merchant")["id"] != "acme" || fmt.Sprint(a.body["permissions"]) != "[report:create report:manage]" ||
		fmt.Sprint(limits) != "map[burst:500 perSecond:50 tier:standard]" || fmt.Sprint(me["allowedCidrs"]) != "[127.0.0.0/8]" {
		t.Errorf("ask for the own key: got %s, want the key without its secret, its merchant, permissions, limits and addresses", a.raw)
	}
	if a.Header.Get("RateLimit-Limit") != "500" || a.Header.Get("RateLimit-Remaining") != "499" || a.Header.Get("RateLimit-Reset") != "1" {
		t.Errorf("headers of the limits: got %v", a.Header)
	}
	w.call(t, "GET", "/v1/me", "", "").want(t, 401, "api_key_missing")
	w.call(t, "GET", "/v1/me", operatorToken, "").want(t, 401, "api_key_invalid")
}

// The audit holds acts on keys with their answer, and then requests of merchants. Pages come in order, and no row holds
// a secret, a reference, a name or a merchant's address.
func TestGateway_audit(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret, path := w.makeKey(t)
	id := path[strings.LastIndex(path, "/")+1:]
	w.call(t, "PATCH", path, operatorToken, `{"name":"Ada Obi","tier":"premium"}`).want(t, 200, "")
	w.call(t, "PATCH", path, operatorToken, `{"tier":"premium"}`).want(t, 200, "") // changes nothing: no act
	fresh, _ := w.call(t, "POST", path+"/rotate", operatorToken, "").want(t, 200, "").key(t)["secret"].(string)
	w.call(t, "POST", "/v1/payments", secret, `{}`).want(t, 200, "")
	w.call(t, "POST", "/v1/payments/CW-7KQ2M9XHTB4N/cancel", fresh, "").want(t, 200, "")
	w.call(t, "GET", "/v1/payments", secret, "").want(t, 200, "")
	w.call(t, "DELETE", path, operatorToken, "").want(t, 200, "")

	list := func(query string) (acts []string, raw string, next string) {
		t.Helper()
		a := w.call(t, "GET", "/v1/admin/audit"+query, operatorToken, "").want(t, 200, "")
		rows, _ := a.body["acts"].([]any)
		for _, r := range rows {
			m, _ := r.(map[string]any)
			acts = append(acts, fmt.Sprint(m["act"]))
			if strings.HasPrefix(fmt.Sprint(m["actor"]), "key:") != (m["clientIp"] == nil) {
				t.Errorf("list the audit: got %v, want an address of operators alone", m)
			}
		}
		next, _ = a.object(t, "pagination")["nextCursor"].(string)
		return acts, string(a.raw), next
	}
	want := []string{"key.revoked", "key.rotated", "key.changed", "key.created"}
	if acts, _, _ := list("?object=key:" + id); !slices.Equal(acts, want) {
		t.Errorf("acts on the key: %v, want %v", acts, want)
	}
	var requests []string
	eventually(t, func() bool {
		requests, _, _ = list("?actor=key:" + id)
		return len(requests) == 2
	})
	if want := []string{"POST /v1/payments/{reference}/cancel", "POST /v1/payments"}; !slices.Equal(requests, want) {
		t.Errorf("requests of the key: %v, want %v", requests, want)
	}
	if acts, _, _ := list("?object=merchant:acme&act=POST%20/v1/payments"); len(acts) != 1 {
		t.Errorf("payments of the merchant: %v", acts)
	}
	if acts, _, _ := list("?act=merchant.created"); len(acts) != 1 { // the draft of the test key
		t.Errorf("merchants that were made: %v, want one", acts)
	}
	if acts, _, _ := list("?actor=operator:ops&object=key:" + id); len(acts) != 4 {
		t.Errorf("acts of the operator on the key: %v", acts)
	}
	all, raw, _ := list("")
	var paged []string
	for cursor := ""; ; {
		acts, _, next := list("?limit=2" + cursor)
		paged = append(paged, acts...)
		if next == "" {
			break
		}
		cursor = "&cursor=" + next
	}
	if !slices.Equal(paged, all) || len(all) != 7 {
		t.Errorf("by pages %v, at once %v", paged, all)
	}
	for _, private := range []string{secret, fresh, "CW-7KQ2M9XHTB4N", "Ada Obi", apikey.SigningPlace("")} {
		if strings.Contains(raw, private) {
			t.Errorf("the audit shows %s", private)
		}
	}
	if acts, _, _ := list("?from=2001-01-01&to=2002-01-01T00:00:00Z"); len(acts) != 0 {
		t.Errorf("acts of 2001: %v", acts)
	}
	for _, query := range []string{"?limit=0", "?cursor=!", "?cursor=AAAA", "?from=soon", "?to=1"} {
		w.call(t, "GET", "/v1/admin/audit"+query, operatorToken, "").want(t, 400, "validation_failed")
	}
	w.call(t, "GET", "/v1/admin/audit", secret, "").want(t, 401, "operator_token_invalid")
}
