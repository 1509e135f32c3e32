//go:build integration

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/person"
	"causeway.internal/libs/testkit/authenticator"
	"causeway.internal/libs/testkit/pg"
)

// ordered is the body of an order to add a passkey.
func ordered(t *testing.T, name string, a *authenticator.Authenticator) string {
	t.Helper()
	enc, k := base64.RawURLEncoding, a.Key(t)
	return fmt.Sprintf(`{"name":%q,"label":"laptop","credentialId":%q,"publicKey":%q}`, name, enc.EncodeToString(k.ID), enc.EncodeToString(k.Public))
}

// approvedBy changes something as an operator of the console, with an approval by an authenticator.
func (w *fixture) approvedBy(t *testing.T, a *authenticator.Authenticator, who person.Assertion, method, path, body string) answer {
	t.Helper()
	change := passkey.Change{Operator: who.Name, Method: method, Path: path, Body: []byte(body), At: time.Now()}
	return w.call(t, method, path, asserted(t, who, method, path, body), body, passkey.Header, a.Approve(t, change).Header())
}

// Operators add passkeys with their tokens, two of them where acts take two, and never through the console. A change
// there needs an approval by such a passkey, which a revoked one gives no more. Two operators remain
// two people, whatever passkeys they have.
func TestGateway_passkeys(t *testing.T) {
	w := startOn(t, pg.URL(t, migrations.FS), "SECOND_OPERATOR", "true", "LIMITS_SKIP_LOOPBACK", "true", "CONSOLE_KEYS", doorKeys,
		"OPERATORS_URL", "https://ops.example.com")
	ada, ben := w.person(t, "ada.obi"), w.person(t, "ben.ade")
	site := passkey.Site{RPID: "ops.example.com", Origin: "https://ops.example.com"}
	adas, adasOther, bens := authenticator.New(t, site), authenticator.New(t, site), authenticator.New(t, site)
	const list = "/v1/admin/operators/passkeys"
	inPerson := func(name string) person.Assertion {
		return person.Assertion{Door: person.Operator, User: "usr_" + name[:3], Name: name}
	}

	order := ordered(t, "ada.obi", adas)
	w.as(t, inPerson("ada.obi"), "POST", list, order).want(t, 403, "approval_required")
	w.call(t, "POST", list, ada, order).want(t, 202, "")
	w.call(t, "POST", list, ada, order).want(t, 409, "second_operator_required")
	w.call(t, "POST", list, ben, order).want(t, 201, "")
	for name, a := range map[string]*authenticator.Authenticator{"ada.obi": adasOther, "ben.ade": bens} {
		k, enc := a.Key(t), base64.RawURLEncoding
		var out bytes.Buffer
		err := program.Run(t.Context(), command.Input{Environ: w.environ, Out: &out, Args: []string{
			"operators", "passkey", "add", "--name", name, "--credential", enc.EncodeToString(k.ID), "--public-key", enc.EncodeToString(k.Public),
		}})
		var view map[string]any
		if err != nil || json.Unmarshal(out.Bytes(), &view) != nil || view["name"] != name {
			t.Fatalf("add a passkey on the command line: %v, %s", err, out.Bytes())
		}
	}
	w.call(t, "POST", list, ada, order).want(t, 202, "")
	w.call(t, "POST", list, ben, order).want(t, 409, "passkey_known")
	w.call(t, "POST", list, ada, `{"name":"ada.obi","credentialId":"eA","publicKey":"eA"}`).want(t, 400, "validation_failed")

	test := `{"merchantId":"acme","name":"till","mode":"test","permissions":["*"]}`
	live := strings.Replace(test, "test", "live", 1)
	const keys = "/v1/admin/keys"
	w.as(t, inPerson("ada.obi"), "GET", keys, "").want(t, 200, "")
	w.as(t, inPerson("ada.obi"), "POST", keys, test).want(t, 403, "approval_required")
	w.approvedBy(t, bens, inPerson("ada.obi"), "POST", keys, test).want(t, 403, "approval_invalid")
	w.approvedBy(t, adas, inPerson("ben.ade"), "POST", keys, test).want(t, 403, "approval_invalid")
	w.approvedBy(t, adas, inPerson("carl.eze"), "POST", keys, test).want(t, 403, "approval_required")
	w.approvedBy(t, adas, inPerson("ada.obi"), "POST", keys, test).want(t, 201, "")

	const approve = "/v1/admin/merchants/acme/approve"
	w.as(t, inPerson("ada.obi"), "POST", approve, "").want(t, 403, "approval_required")
	w.approvedBy(t, adas, inPerson("ada.obi"), "POST", approve, "").want(t, 202, "")
	w.approvedBy(t, bens, inPerson("ben.ade"), "POST", approve, "").want(t, 200, "")
	w.approvedBy(t, adas, inPerson("ada.obi"), "POST", keys, live).want(t, 202, "")
	w.approvedBy(t, adasOther, inPerson("ada.obi"), "POST", keys, live).want(t, 409, "second_operator_required")
	w.call(t, "POST", keys, ada, live).want(t, 409, "second_operator_required") // the same person with a token
	w.approvedBy(t, bens, inPerson("ben.ade"), "POST", keys, live).want(t, 201, "")
	w.approvedBy(t, adas, inPerson("ada.obi"), "POST", list, ordered(t, "ada.obi", authenticator.New(t, site))).want(t, 403, "passkey_by_token")
	// A console that somebody has taken over sees the answer: a token in it would act without a passkey.
	for _, path := range []string{"/v1/admin/operators", "/v1/admin/operators/1/rotate"} {
		w.approvedBy(t, adas, inPerson("ada.obi"), "POST", path, `{"name":"ada.obi"}`).want(t, 403, "token_by_token")
	}
	rows := w.call(t, "GET", "/v1/admin/audit?act=key.created&actor=operator:ben.ade", ada, "").want(t, 200, "")
	if got := string(rows.raw); !strings.Contains(got, `"door":"operator"`) || !strings.Contains(got, `"requestedBy":"ada.obi"`) {
		t.Errorf("audit: %s", got)
	}

	var id any
	all, _ := w.call(t, "GET", list, ben, "").want(t, 200, "").body["passkeys"].([]any)
	for _, one := range all {
		if v, _ := one.(map[string]any); v["label"] == "laptop" {
			id = v["id"]
		}
	}
	path := fmt.Sprintf("%s/%v", list, id)
	w.call(t, "DELETE", path, ben, "").want(t, 200, "")
	w.call(t, "DELETE", path, ben, "").want(t, 200, "")
	w.call(t, "DELETE", list+"/999", ben, "").want(t, 404, "passkey_not_found")
	w.approvedBy(t, adas, inPerson("ada.obi"), "POST", keys, test).want(t, 403, "approval_invalid")
	w.approvedBy(t, adasOther, inPerson("ada.obi"), "POST", keys, test).want(t, 201, "")
}
