//go:build integration

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/testkit/pg"
)

// typed runs a verb of operators and returns the one token that it prints.
func (w *fixture) typed(t *testing.T, words ...string) (view map[string]any) {
	t.Helper()
	var out bytes.Buffer
	if err := program.Run(t.Context(), command.Input{Args: append([]string{"operators"}, words...), Environ: w.environ, Out: &out}); err != nil {
		t.Fatalf("operators %v: %v", words, err)
	}
	if err := json.Unmarshal(out.Bytes(), &view); err != nil {
		t.Fatalf("operators %v: %s", words, out.Bytes())
	}
	return view
}

// person makes an operator's token on the command line.
func (w *fixture) person(t *testing.T, name string) string {
	t.Helper()
	token, _ := w.typed(t, "create", "--name", name)["token"].(string)
	if !strings.HasPrefix(token, "op_") {
		t.Fatalf("token %q", token)
	}
	return token
}

func (w *fixture) sql(t *testing.T, statement string, args ...any) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), w.environ["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	if _, err := db.Exec(t.Context(), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// One operator alone makes no live key, changes no limit of one, reads no new secret of one and makes no operator. Two
// can.
func TestGateway_twoOperators(t *testing.T) {
	w := startOn(t, pg.URL(t, migrations.FS), "SECOND_OPERATOR", "true", "LIMITS_SKIP_LOOPBACK", "true")
	ada, ben := w.person(t, "ada.obi"), w.person(t, "ben.ade")
	adasOther := w.person(t, "ada.obi")
	const again, live, limit = "second_operator_required", `{"merchantId":"acme","name":"shop","mode":"live","permissions":["*"]}`, `{"tier":"unlimited"}`

	w.call(t, "POST", "/v1/admin/keys", ada, live).want(t, 409, "merchant_unknown")
	w.call(t, "POST", "/v1/admin/keys", ada, strings.Replace(live, "live", "test", 1)).want(t, 201, "")
	w.call(t, "POST", "/v1/admin/keys", ada, live).want(t, 409, "merchant_unknown")
	w.call(t, "POST", "/v1/admin/merchants/acme/approve", ada, "").want(t, 202, "")
	w.call(t, "POST", "/v1/admin/merchants/acme/approve", adasOther, "").want(t, 409, again)
	w.call(t, "POST", "/v1/admin/merchants/acme/approve", ben, "").want(t, 200, "")
	asked := w.call(t, "POST", "/v1/admin/keys", ada, live, "Idempotency-Key", "k1").want(t, 202, "")
	if !strings.Contains(string(asked.raw), `"action":"make_key","requestedBy":"ada.obi"`) || strings.Contains(string(asked.raw), "sk_live_") {
		t.Errorf("asked: %s", asked.raw)
	}
	w.call(t, "POST", "/v1/admin/keys", ada, live, "Idempotency-Key", "k1").want(t, 202, "")
	w.call(t, "POST", "/v1/admin/keys", ada, live).want(t, 409, again)
	w.call(t, "POST", "/v1/admin/keys", adasOther, live).want(t, 409, again)
	w.call(t, "POST", "/v1/admin/keys", ben, strings.Replace(live, "shop", "till", 1)).want(t, 202, "")

	var made atomic.Int32
	var one atomic.Value
	var wg sync.WaitGroup
	for range 8 { // one request is confirmed once
		wg.Go(func() {
			a := w.call(t, "POST", "/v1/admin/keys", ben, live)
			if a.StatusCode == 201 {
				made.Add(1)
				one.Store("/v1/admin/keys/" + fmt.Sprint(a.key(t)["id"]))
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Fatalf("one confirmed request made %d keys", made.Load())
	}
	path, _ := one.Load().(string)

	w.call(t, "PATCH", path, ada, `{"name":"shop front"}`).want(t, 200, "")
	w.call(t, "PATCH", path, ada, limit).want(t, 202, "")
	w.call(t, "PATCH", path, ada, limit).want(t, 409, again)
	if tier := w.call(t, "GET", path, ada, "").want(t, 200, "").key(t)["tier"]; tier != "standard" {
		t.Fatalf("one operator made the tier %v", tier)
	}
	if tier := w.call(t, "PATCH", path, ben, limit).want(t, 200, "").key(t)["tier"]; tier != "unlimited" {
		t.Errorf("two operators left the tier %v", tier)
	}

	narrow := `{"permissions":["payment:read"]}`
	w.call(t, "PATCH", path, ada, narrow).want(t, 202, "")
	w.sql(t, `UPDATE api_keys SET tier = 'premium' WHERE tier = 'unlimited'`)
	w.call(t, "PATCH", path, ben, narrow).want(t, 409, "approval_outdated")
	w.call(t, "PATCH", path, ben, narrow).want(t, 202, "")
	w.sql(t, `UPDATE approvals SET at = at - interval '24 hours'`)
	w.call(t, "PATCH", path, ada, narrow).want(t, 202, "") // ben's request has expired
	w.call(t, "PATCH", path, ben, narrow).want(t, 200, "")

	rotated := w.call(t, "POST", path+"/rotate", ada, "").want(t, 202, "")
	if strings.Contains(string(rotated.raw), "sk_live_") {
		t.Errorf("rotated: %s", rotated.raw)
	}
	if w.call(t, "POST", path+"/rotate", ben, "").want(t, 200, "").key(t)["secret"] == nil {
		t.Error("two operators got no new secret")
	}
	w.call(t, "DELETE", path, ada, "").want(t, 200, "")

	// Neither of the two who make a token can act as its person: they know its digest alone.
	const tokens = "/v1/admin/operators"
	w.call(t, "POST", tokens, ada, `{"name":"cy.eze","days":7}`).want(t, 400, "validation_failed")
	own := credential.GenerateToken()
	third := `{"name":"cy.eze","days":7,"digest":"` + credential.TokenDigest(own) + `"}`
	w.call(t, "POST", tokens, ada, third).want(t, 202, "")
	w.call(t, "POST", tokens, ada, third).want(t, 409, again)
	w.call(t, "POST", tokens, ben, strings.Replace(third, "7", "8", 1)).want(t, 202, "") // another order
	w.call(t, "GET", tokens, own, "").want(t, 401, "operator_token_invalid")
	if made := w.call(t, "POST", tokens, ben, third).want(t, 201, ""); strings.Contains(string(made.raw), "op_") {
		t.Errorf("two operators made the token of a third, and see %s", made.raw)
	}
	w.call(t, "GET", tokens, own, "").want(t, 200, "")
	for _, guess := range []string{credential.TokenDigest(own), "sha256:" + credential.TokenDigest(own), "op_" + credential.TokenDigest(own)} {
		w.call(t, "GET", tokens, guess, "").want(t, 401, "operator_token_invalid")
	}
	w.call(t, "POST", tokens, own, third).want(t, 202, "")
	w.call(t, "POST", tokens, ada, third).want(t, 409, "operator_token_used")
	audit := w.call(t, "GET", "/v1/admin/audit?act=operator_token.made&actor=operator:ben.ade", ada, "").want(t, 200, "")
	if !strings.Contains(string(audit.raw), `"requestedBy":"ada.obi"`) {
		t.Errorf("audit: %s", audit.raw)
	}
	if n := w.metric(t, "gateway_operator_tokens_static"); n != 1 { // the one in the environment
		t.Errorf("%d tokens that never expire are counted", n)
	}
}

// A token belongs to one person, expires, can be replaced by its person alone, and once revoked is refused by every
// replica.
func TestGateway_operatorTokens(t *testing.T) {
	database := pg.URL(t, migrations.FS)
	w := startOn(t, database, "LIMITS_SKIP_LOOPBACK", "true")
	other := startOn(t, database, "LIMITS_SKIP_LOOPBACK", "true")
	const list = "/v1/admin/operators"
	ada, ben := w.person(t, "ada.obi"), w.person(t, "ben.ade")
	find := func(name string) map[string]any {
		all, _ := w.call(t, "GET", list, ada, "").want(t, 200, "").body["operators"].([]any)
		for _, one := range all {
			if v, _ := one.(map[string]any); v["name"] == name && v["revokedAt"] == nil {
				return v
			}
		}
		t.Fatalf("no token of %s", name)
		return nil
	}
	other.call(t, "GET", list, ben, "").want(t, 200, "")
	bens := find("ben.ade")
	if bens["token"] != nil || bens["lastUsedAt"] == nil || bens["createdBy"] == "" {
		t.Errorf("listed: %v", bens)
	}
	created, _ := time.Parse(time.RFC3339, fmt.Sprint(bens["createdAt"]))
	expires, _ := time.Parse(time.RFC3339, fmt.Sprint(bens["expiresAt"]))
	if life := expires.Sub(created); life != 30*24*time.Hour {
		t.Errorf("it lasts %s", life)
	}
	path := list + "/" + fmt.Sprint(bens["id"])
	w.call(t, "POST", path+"/rotate", ada, "").want(t, 403, "operator_token_not_yours")
	fresh, _ := w.call(t, "POST", path+"/rotate", ben, "").want(t, 200, "").body["operator"].(map[string]any)
	if fresh["expiresAt"] != bens["expiresAt"] {
		t.Errorf("a replaced token ends at %v, the old one at %v", fresh["expiresAt"], bens["expiresAt"])
	}
	other.call(t, "GET", list, ben, "").want(t, 401, "operator_token_invalid")
	ben = fmt.Sprint(fresh["token"])
	other.call(t, "GET", list, ben, "").want(t, 200, "")
	w.call(t, "DELETE", list+"/"+fmt.Sprint(fresh["id"]), ada, "").want(t, 200, "")
	other.call(t, "GET", list, ben, "").want(t, 401, "operator_token_invalid")
	w.call(t, "DELETE", list+"/999999", ada, "").want(t, 404, "operator_token_not_found")
	for _, bad := range []string{`{}`, `{"name":"Ada"}`, `{"name":"x"}`, `{"name":"ada.obi","days":91}`, `{"name":"ada.obi","days":0}`, `{"name":"ada obi"}`} {
		w.call(t, "POST", list, ada, bad).want(t, 400, "validation_failed")
	}
	for range 4 {
		w.call(t, "POST", list, ada, `{"name":"ada.obi"}`).want(t, 201, "")
	}
	w.call(t, "POST", list, ada, `{"name":"ada.obi"}`).want(t, 409, "operator_tokens_too_many")
	w.sql(t, `UPDATE operator_tokens SET created_at = now() - interval '31 days', expires_at = now() - interval '1 second' WHERE name = 'ada.obi'`)
	w.call(t, "GET", list, ada, "").want(t, 401, "operator_token_expired")
	w.call(t, "POST", "/v1/payments", ada, "{}").want(t, 401, "api_key_invalid")
	if n := w.metric(t, `gateway_operator_tokens_refused_total{reason="expired"}`); n != 1 {
		t.Errorf("%d refusals of expired tokens are counted", n)
	}
}

// A caller that guesses tokens is refused before any look-up.
func TestGateway_guessedTokens(t *testing.T) {
	w := start(t)
	guess := w.person(t, "ada.obi")
	w.typed(t, "revoke", "--id", "1")
	refused := 0
	for range 30 {
		switch a := w.call(t, "GET", "/v1/admin/operators", guess, ""); a.StatusCode {
		case 401:
		case 429:
			if refused++; a.Header.Get("Retry-After") == "" {
				t.Error("a 429 without Retry-After")
			}
		default:
			t.Fatalf("guess an operator's token: got %d %s, want 401 or 429", a.StatusCode, a.raw)
		}
	}
	if refused < 8 {
		t.Errorf("%d of 30 guesses are refused", refused)
	}
	if n := w.metric(t, `gateway_operator_tokens_refused_total{reason="limited"}`); n != refused {
		t.Errorf("%d refusals are counted, %d were made", n, refused)
	}
}
