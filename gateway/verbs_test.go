//go:build integration

package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/command"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
)

// Wallets of a revoked key go to a working key of the same merchant and mode, and to no other; the act is in the audit.
func TestGateway_adopt(t *testing.T) {
	t.Parallel()
	w := start(t)
	var asked []string
	verifier := httpkit.Verifier{Audience: "wallets", Keys: [][]byte{[]byte(strings.Repeat("k", 32))}, Now: time.Now}
	wallets := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		who, err := verifier.Verify(r)
		if err != nil || who.Subject != httpkit.Operator || r.URL.Path != "/v1/admin/wallets/adopt" {
			t.Errorf("wallets was asked %s by %+v: %v; want an operator at /v1/admin/wallets/adopt", r.URL, who, err)
		}
		raw, _ := io.ReadAll(r.Body)
		if asked = append(asked, string(raw)); len(asked) == 1 {
			rw.WriteHeader(http.StatusGatewayTimeout) // the batch was cut short
			return
		}
		_, _ = rw.Write([]byte(`{"success":true,"moved":3}`))
	}))
	defer wallets.Close()
	w.environ["WALLETS_URL"] = wallets.URL
	key := func(merchant, mode string) (id string) {
		made := w.call(t, "POST", "/v1/admin/keys", operatorToken,
			`{"merchantId":"`+merchant+`","name":"shop","mode":"`+mode+`","permissions":["*"]}`).want(t, 201, "")
		return fmt.Sprint(made.key(t)["id"])
	}
	w.merchant(t, "acme")
	old, heir, foreign, live := key("acme", "test"), key("acme", "test"), key("other", "test"), key("acme", "live")
	move := func(from, to string) (string, error) {
		var out bytes.Buffer
		err := adopt(t.Context(), command.Input{Args: []string{"--from", from, "--to", to}, Environ: w.environ, Out: &out})
		return out.String(), err
	}
	if _, err := move(old, heir); err == nil || !strings.Contains(err.Error(), "api_key_in_use") {
		t.Errorf("a working key: %v", err)
	}
	w.call(t, "DELETE", "/v1/admin/keys/"+old, operatorToken, "").want(t, 200, "")
	for _, to := range []string{foreign, live, old, "999999"} {
		if _, err := move(old, to); err == nil {
			t.Errorf("key %s may adopt", to)
		}
	}
	if len(asked) != 0 {
		t.Errorf("wallets was asked: %v", asked)
	}
	out, err := move(old, heir)
	if err != nil || !strings.Contains(out, `"wallets": 3`) || len(asked) != 2 {
		t.Errorf("%s %v after %v", out, err, asked)
	}
	if want := fmt.Sprintf(`{"fromKeyId":%s,"merchantId":"acme","mode":"test","toKeyId":%s}`, old, heir); asked[0] != want || asked[1] != want {
		t.Errorf("asked %v, want %s", asked, want)
	}
	a := w.call(t, "GET", "/v1/admin/audit?act=key.adopted", operatorToken, "").want(t, 200, "")
	if acts, _ := a.body["acts"].([]any); len(acts) != 1 || !strings.Contains(string(a.raw), `"heir":"key:`+heir+`"`) {
		t.Errorf("list adoptions: got %s, want one by the heir", a.raw)
	}
	for _, bad := range [][]string{{}, {"--from", old}, {"--from", "x", "--to", heir}, {"--from", old, "--to", heir, "more"}} {
		if err := program.Run(t.Context(), command.Input{Args: append([]string{"keys", "adopt"}, bad...), Environ: w.environ}); err == nil {
			t.Errorf("keys adopt %v is taken", bad)
		}
	}
}

// signed sends a request that is signed with a key's public id.
func (w *fixture) signed(t *testing.T, public, secret, method, path, body string) answer {
	t.Helper()
	stamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	sum, key := sha256.Sum256([]byte(body)), sha256.Sum256([]byte(secret))
	mac := hmac.New(sha256.New, []byte(hex.EncodeToString(key[:])))
	mac.Write([]byte(stamp + "|" + method + "|" + path + "|" + hex.EncodeToString(sum[:])))
	return w.call(t, method, path, "", body,
		"X-API-Key", public, "X-Timestamp", stamp, "X-Signature", hex.EncodeToString(mac.Sum(nil)))
}

// A master key is replaced while gateways run: before, during and after, signed requests are admitted. An interrupted
// command continues where it ended, and afterwards nothing needs the old key.
func TestGateway_rotateMaster(t *testing.T) {
	t.Parallel()
	w := start(t)
	const many = 1203 // more than two batches
	type pair struct{ public, secret string }
	made := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"shop","mode":"test","permissions":["*"],"tier":"unlimited"}`, "Idempotency-Key", "one").want(t, 201, "").key(t)
	one := pair{fmt.Sprint(made["publicKey"]), fmt.Sprint(made["secret"])}
	conn, err := pgx.Connect(t.Context(), w.environ["DATABASE_URL"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:usetesting // the test's context is good until its end
	// many more rows, which the ring itself seals under the old key for their own places
	ring, err := keyring.Parse(w.environ["MASTER_KEYS"])
	if err != nil {
		t.Fatal(err)
	}
	for i := range many {
		public := fmt.Sprintf("pk_test_%036d", i)
		if _, err := conn.Exec(t.Context(), `INSERT INTO api_key_secrets (digest, pepper_id, key_id, public_key, signing_key, until)
VALUES (sha256($1::text::bytea), 'p', $2, $1, $3, now())`, public, made["id"], ring.Seal([]byte("x"), "signing-key/"+public)); err != nil {
			t.Fatal(err)
		}
	}
	w.signed(t, one.public, one.secret, "POST", "/v1/payments", "{}").want(t, 200, "")

	both := map[string]string{}
	for k, v := range w.environ {
		both[k] = v
	}
	fresh := "k2:" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("2", 32)))
	both["MASTER_KEYS"] = fresh + "," + w.environ["MASTER_KEYS"]
	rotate := func(environ map[string]string) (report struct {
		Master              string
		Sealed              int
		AnswersUnderOldKeys int
	}, err error,
	) {
		var out bytes.Buffer
		if err = rotateMaster(t.Context(), command.Input{Environ: environ, Out: &out}); err == nil {
			err = json.Unmarshal(out.Bytes(), &report)
		}
		return report, err
	}
	// a row that does not open stops the command, which names it; the rows before it stay sealed again
	if _, err := conn.Exec(t.Context(), `UPDATE api_key_secrets SET signing_key = set_byte(signing_key, 30, get_byte(signing_key, 30) # 1) WHERE public_key = $1`,
		fmt.Sprintf("pk_test_%036d", 700)); err != nil {
		t.Fatal(err)
	}
	if _, err := rotate(both); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("pk_test_%036d", 700)) {
		t.Fatalf("a damaged value: %v", err)
	}
	if _, err := conn.Exec(t.Context(), `UPDATE api_key_secrets SET signing_key = set_byte(signing_key, 30, get_byte(signing_key, 30) # 1) WHERE public_key = $1`,
		fmt.Sprintf("pk_test_%036d", 700)); err != nil {
		t.Fatal(err)
	}
	report, err := rotate(both)
	if err != nil || report.Sealed != many+1-500 || report.Master != "k2" || report.AnswersUnderOldKeys != 1 {
		t.Errorf("%+v %v, want what the first run left", report, err)
	}
	if report, err = rotate(both); err != nil || report.Sealed != 0 {
		t.Errorf("once more: %+v %v", report, err)
	}
	later := startOn(t, w.environ["DATABASE_URL"], "MASTER_KEYS", fresh)
	later.signed(t, one.public, one.secret, "POST", "/v1/payments", "{}").want(t, 200, "")
	between := startOn(t, w.environ["DATABASE_URL"], "MASTER_KEYS", both["MASTER_KEYS"])
	between.signed(t, one.public, one.secret, "POST", "/v1/payments", "{}").want(t, 200, "")
	a := between.call(t, "GET", "/v1/admin/audit?act=master.rotated", operatorToken, "").want(t, 200, "")
	if acts, _ := a.body["acts"].([]any); len(acts) != 3 {
		t.Errorf("list rotations of the master key: got %s, want three", a.raw)
	}
}
