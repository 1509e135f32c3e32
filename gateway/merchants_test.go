//go:build integration

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/money"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
)

const merchantsPath = "/v1/admin/merchants"

// A merchant is made, approved, changed and listed; a live key needs an approved one, and a test key makes a draft.
func TestGateway_merchants(t *testing.T) {
	t.Parallel()
	w := start(t)
	admin := func(method, path, body string, headers ...string) answer {
		t.Helper()
		return w.call(t, method, merchantsPath+path, operatorToken, body, headers...)
	}
	live := func(id string) answer {
		t.Helper()
		return w.call(t, "POST", "/v1/admin/keys", operatorToken, `{"merchantId":"`+id+`","name":"shop","mode":"live","permissions":["*"]}`)
	}
	const acme = `{"merchantId":"acme","name":"Acme Stores","country":"NG","contactEmail":"ops@acme.example","supportContact":"help@acme.example"}`
	live("acme").want(t, 409, "merchant_unknown")
	admin("GET", "/acme", "").want(t, 404, "merchant_not_found")
	made := admin("POST", "", acme, "Idempotency-Key", "m1").want(t, 201, "").object(t, "merchant")
	if made["status"] != "draft" || made["createdBy"] != "operator:ops" || made["approvedAt"] != nil {
		t.Errorf("make a merchant: got %v, want a draft of the operator", made)
	}
	if again := admin("POST", "", acme, "Idempotency-Key", "m1").want(t, 201, ""); again.Header.Get("Idempotent-Replayed") != "true" {
		t.Errorf("repeat the request: got %v, want the stored answer", again.Header)
	}
	admin("POST", "", acme).want(t, 409, "merchant_exists")
	admin("POST", "", strings.Replace(acme, "Stores", "Shops", 1), "Idempotency-Key", "m1").want(t, 422, "idempotency_key_reused")
	for _, bad := range []string{
		`{"name":"a","country":"NG"}`, `{"merchantId":"b","name":"","country":"NG"}`, `{"merchantId":"b","name":"b","country":"Nigeria"}`,
		`{"merchantId":"b","name":"b","country":"NG","contactEmail":"Ada <ada@acme.example>"}`, `{"merchantId":"b","name":"b\u202eb","country":"NG"}`,
	} {
		admin("POST", "", bad).want(t, 400, "validation_failed")
	}
	live("acme").want(t, 409, "merchant_unknown")
	admin("POST", "/acme/approve", "").want(t, 200, "")
	if again := admin("POST", "/acme/approve", "").want(t, 200, "").object(t, "merchant"); again["status"] != "active" || again["approvedBy"] != "operator:ops" {
		t.Errorf("approve twice: got %v, want an active merchant", again)
	}
	live("acme").want(t, 201, "")
	admin("POST", "/nobody/approve", "").want(t, 404, "merchant_not_found")

	w.call(t, "POST", "/v1/admin/keys", operatorToken, `{"merchantId":"beta","name":"shop","mode":"test","permissions":["*"]}`).want(t, 201, "")
	if beta := admin("GET", "/beta", "").want(t, 200, "").object(t, "merchant"); beta["status"] != "draft" || beta["name"] != "beta" || beta["country"] != nil {
		t.Errorf("a test key of an unknown merchant made %v, want a draft", beta)
	}
	live("beta").want(t, 409, "merchant_unknown")

	changed := admin("PATCH", "/acme", `{"name":"Acme","networks":["trc20","ethereum"],"currencies":["NGN"],"types":["transfer"],`+
		`"limits":[{"fiatCurrency":"NGN","maximum":500000.5}]}`).want(t, 200, "").object(t, "merchant")
	if fmt.Sprint(changed["networks"], changed["limits"]) != "[tron ethereum] [map[fiatCurrency:NGN maximum:500000.5]]" || changed["name"] != "Acme" {
		t.Errorf("change a merchant: got %v", changed)
	}
	for _, bad := range []string{
		`{"networks":["moon"]}`, `{"currencies":["USD"]}`, `{"types":["transfer","transfer"]}`, `{"limits":[{"fiatCurrency":"NGN"}]}`,
		`{"limits":[{"fiatCurrency":"NGN","maximum":1},{"fiatCurrency":"NGN","maximum":2}]}`, `{"limits":[{"fiatCurrency":"NGN","maximum":0.001}]}`,
		`{"dailyLimits":[{"fiatCurrency":"USD","maximum":1}]}`, `{"dailyLimits":[{"fiatCurrency":"NGN","maximum":0}]}`, `{"dailyLimits":{"NGN":"1"}}`,
		`{"logo":"AAAA"}`, `{"name":""}`,
	} {
		admin("PATCH", "/acme", bad).want(t, 400, "validation_failed")
	}
	names := func(query string) string {
		t.Helper()
		var ids []string
		list, _ := admin("GET", query, "").want(t, 200, "").body["merchants"].([]any)
		for _, m := range list {
			m, _ := m.(map[string]any)
			ids = append(ids, fmt.Sprint(m["merchantId"]))
		}
		return strings.Join(ids, " ")
	}
	for query, want := range map[string]string{
		"": "beta acme", "?status=draft": "beta", "?search=ACM": "acme", "?search=%25": "", "?status=suspended": "", "?limit=1": "beta",
	} {
		if got := names(query); got != want {
			t.Errorf("list merchants %s: got %q, want %q", query, got, want)
		}
	}
	page := admin("GET", "?limit=1", "").want(t, 200, "").object(t, "pagination")
	if got := names("?limit=1&cursor=" + fmt.Sprint(page["nextCursor"])); got != "acme" {
		t.Errorf("the second page: got %q, want acme", got)
	}
	for _, query := range []string{"?status=gone", "?cursor=!", "?cursor=bQ", "?limit=0"} {
		admin("GET", query, "").want(t, 400, "validation_failed")
	}
}

// A merchant sees itself. No key manages keys or the merchant, not even one with every permission.
func TestGateway_ownMerchant(t *testing.T) {
	t.Parallel()
	w := start(t)
	secret, _ := w.makeKey(t)
	a := w.call(t, "GET", "/v1/merchant", secret, "").want(t, 200, "")
	w.validate(t, a.Request, a)
	if m := a.object(t, "merchant"); m["merchantId"] != "acme" || m["status"] != "draft" || m["reason"] != nil {
		t.Errorf("ask for the own merchant: got %v, want the draft acme without what operators noted", m)
	}
	for _, r := range []string{
		"POST /v1/merchant", "PATCH /v1/merchant", "POST /v1/keys", "GET /v1/keys", "GET /v1/keys/1", "PATCH /v1/keys/1", "DELETE /v1/keys/1", "POST /v1/keys/1/rotate",
	} {
		method, path, _ := strings.Cut(r, " ")
		w.call(t, method, path, secret, "{}").want(t, 403, "permission_missing")
	}
	for _, p := range []string{"key:manage", "key:*", "merchant:manage", "merchant:create"} {
		w.call(t, "POST", "/v1/admin/keys", operatorToken, `{"merchantId":"acme","name":"shop","mode":"test","permissions":["`+p+`"]}`).want(t, 400, "validation_failed")
	}
}

// A person registers a merchant, changes what payers see of it, and manages its keys of one mode. Nobody gives a key
// more than they have, takes the secret of a stronger key, or sees the keys of another merchant or mode. Live keys wait
// for the approval, and an approved name stays.
func TestGateway_ownKeys(t *testing.T) {
	t.Parallel()
	w := startOn(t, pg.URL(t, migrations.FS), "CONSOLE_KEYS", doorKeys)
	ann := person.Assertion{
		Door: person.Merchant, User: "usr_ann", Name: "ann@shop.example", MerchantID: "acme", Mode: tenant.Test,
		Permissions: []string{"key:manage", "merchant:manage", "merchant:create", "payment:create", "payment:read"},
	}
	with := func(change func(*person.Assertion)) person.Assertion {
		p := ann
		change(&p)
		return p
	}
	const shop, order = `{"name":"Acme Stores","country":"NG"}`, `{"name":"till","permissions":["payment:create"]}`
	made := w.as(t, ann, "POST", "/v1/merchant", shop).want(t, 201, "")
	w.validate(t, made.Request, made)
	if m := made.object(t, "merchant"); m["merchantId"] != "acme" || m["status"] != "draft" {
		t.Errorf("register: got %v, want the draft acme", m)
	}
	w.as(t, ann, "POST", "/v1/merchant", shop).want(t, 409, "merchant_exists")
	w.as(t, with(func(p *person.Assertion) { p.Permissions = nil }), "POST", "/v1/merchant", shop).want(t, 403, "permission_missing")
	changed := w.as(t, ann, "PATCH", "/v1/merchant", `{"name":"Acme","supportContact":"help@acme.example"}`).want(t, 200, "").object(t, "merchant")
	if changed["name"] != "Acme" || changed["supportContact"] != "help@acme.example" {
		t.Errorf("change the draft: got %v", changed)
	}

	key := w.as(t, ann, "POST", "/v1/keys", order).want(t, 201, "").key(t)
	secret, _ := key["secret"].(string)
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 200, "")
	w.as(t, ann, "POST", "/v1/keys", `{"name":"till","permissions":["*"]}`).want(t, 403, "permission_missing")
	w.as(t, ann, "POST", "/v1/keys", `{"name":"till","permissions":["key:manage"]}`).want(t, 400, "validation_failed")
	live := with(func(p *person.Assertion) { p.Mode = tenant.Live })
	w.as(t, live, "POST", "/v1/keys", order).want(t, 409, "merchant_unknown")
	w.as(t, live, "POST", "/v1/payments", "{}").want(t, 403, "merchant_not_approved")
	one := fmt.Sprintf("/v1/keys/%v", key["id"])
	stranger := with(func(p *person.Assertion) { p.MerchantID = "beta" })
	w.as(t, stranger, "POST", "/v1/merchant", shop).want(t, 201, "")
	for _, who := range []person.Assertion{live, stranger} {
		w.as(t, who, "GET", one, "").want(t, 404, "api_key_not_found")
		w.as(t, who, "PATCH", one, `{"name":"x"}`).want(t, 404, "api_key_not_found")
		w.as(t, who, "POST", one+"/rotate", "").want(t, 404, "api_key_not_found")
		w.as(t, who, "DELETE", one, "").want(t, 404, "api_key_not_found")
	}
	if own := w.as(t, ann, "GET", one, "").want(t, 200, "").key(t); own["name"] != "till" || own["secret"] != nil {
		t.Errorf("read the key: got %v, want it without its secret", own)
	}
	w.as(t, ann, "PATCH", one, `{"name":"till 2","tier":"unlimited"}`).want(t, 200, "")
	fresh, _ := w.as(t, ann, "POST", one+"/rotate", `{"overlapMinutes":0}`).want(t, 200, "").key(t)["secret"].(string)
	w.call(t, "POST", "/v1/payments", secret, "{}").want(t, 401, "api_key_expired")
	w.call(t, "POST", "/v1/payments", fresh, "{}").want(t, 200, "")
	if own := w.as(t, ann, "GET", one, "").want(t, 200, "").key(t); own["name"] != "till 2" || own["tier"] != "standard" {
		t.Errorf("change the key: got %v, want another name and the same limits", own)
	}
	strong, _ := w.makeKey(t) // by an operator, with every permission
	me := w.call(t, "GET", "/v1/me", strong, "").want(t, 200, "").key(t)
	stronger := fmt.Sprintf("/v1/keys/%v", me["id"])
	w.as(t, ann, "POST", stronger+"/rotate", "").want(t, 403, "permission_missing")
	w.as(t, ann, "PATCH", stronger, `{"expiresAt":"never"}`).want(t, 403, "permission_missing")
	w.as(t, ann, "PATCH", stronger, `{"name":"back office"}`).want(t, 200, "")
	w.as(t, ann, "DELETE", one, "").want(t, 200, "")
	w.call(t, "POST", "/v1/payments", fresh, "{}").want(t, 401, "api_key_revoked")

	w.call(t, "POST", merchantsPath+"/acme/approve", operatorToken, "").want(t, 200, "")
	w.as(t, live, "POST", "/v1/keys", order).want(t, 201, "")
	w.as(t, ann, "PATCH", "/v1/merchant", `{"name":"GTBank"}`).want(t, 409, "merchant_name_fixed")
	w.as(t, ann, "PATCH", "/v1/merchant", `{"supportContact":""}`).want(t, 200, "")
	if a := w.call(t, "GET", "/v1/admin/audit?actor=person:ann@shop.example&act=key.created", operatorToken, "").want(t, 200, ""); strings.Count(string(a.raw), `"key.created"`) != 2 {
		t.Errorf("the audit of the person: got %s, want two keys", a.raw)
	}
}

// Anybody may register a merchant. Its people do nothing in live mode before operators have approved it, and a
// suspended merchant makes no payment links either.
func TestGateway_draftActsInTestModeAlone(t *testing.T) {
	t.Parallel()
	w := startOn(t, pg.URL(t, migrations.FS), "CONSOLE_KEYS", doorKeys)
	live := person.Assertion{Door: person.Merchant, User: "usr_ann", Name: "ann@shop.example", MerchantID: "acme", Mode: tenant.Live}
	acts := map[string]route.Route{}
	for _, r := range route.Table() {
		if r.Permission != "" && !slices.Contains(live.Permissions, string(r.Permission)) {
			live.Permissions = append(live.Permissions, string(r.Permission))
		}
		if r.Access == route.Keyed && r.Method != http.MethodGet && r.Upstream != route.Self && !r.TestOnly {
			acts[r.Name()] = r
		}
	}
	test := live
	test.Mode = tenant.Test
	w.as(t, test, "POST", "/v1/merchant", `{"name":"Acme Stores","country":"NG"}`).want(t, 201, "")
	for _, r := range acts {
		path := regexp.MustCompile(`{[^}]*}`).ReplaceAllString(r.Pattern, "x")
		w.as(t, live, r.Method, path, "{}").want(t, 403, "merchant_not_approved")
	}
	if len(acts) < 30 {
		t.Errorf("tried %d acts of merchants, want all", len(acts))
	}
	w.as(t, live, "GET", "/v1/payments", "").want(t, 200, "")
	w.as(t, test, "POST", "/v1/payment-links", "{}").want(t, 200, "")
	w.call(t, "POST", merchantsPath+"/acme/suspend", operatorToken, `{"reason":"fraud"}`).want(t, 200, "")
	eventually(t, func() bool {
		return w.as(t, test, "POST", "/v1/payment-links", "{}").StatusCode == http.StatusForbidden
	})
	w.as(t, test, "POST", "/v1/payment-links", "{}").want(t, 403, "merchant_suspended")
}

// A logo is drawn anew, and is served under the hash of its bytes.
func TestReadLogo(t *testing.T) {
	t.Parallel()
	sent := func(side int, more string) string {
		var out strings.Builder
		picture := image.NewRGBA(image.Rect(0, 0, side, side))
		picture.Set(1, 1, color.Black)
		if err := png.Encode(&out, picture); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString([]byte(out.String() + more))
	}
	plain, refusal := merchant.ReadLogo(sent(64, ""))
	if refusal != "" || len(plain.Image) == 0 || !strings.HasSuffix(plain.Name, ".png") {
		t.Fatalf("read a logo: got %q, want a picture", refusal)
	}
	if with, refusal := merchant.ReadLogo(sent(64, "<script>alert(1)</script>")); refusal != "" || with.Name != plain.Name {
		t.Errorf("read a logo with more behind it: got %s (%q), want %s: pixels alone", with.Name, refusal, plain.Name)
	}
	for name, text := range map[string]string{
		"no base64": "?", "no picture": "AAAA", "too wide": sent(513, ""), "too long": sent(64, strings.Repeat("x", merchant.LogoBytesMax)),
		"a vector": base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg"/>`)),
	} {
		if _, refusal := merchant.ReadLogo(text); refusal == "" {
			t.Errorf("read %s: got a logo, want a refusal", name)
		}
	}
}

// listener plays a payments that keeps the notices of gateways. While it is down it answers nothing.
type listener struct {
	t    *testing.T
	mu   sync.Mutex
	down bool
	got  []merchant.Notice
}

func (s *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	verifier := httpkit.Verifier{Audience: "payments", Keys: [][]byte{[]byte(strings.Repeat("k", 32))}, BoundOnly: true, Now: time.Now}
	who, err := verifier.Verify(r)
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path != "/v1/admin/merchants/terms" {
		_, _ = io.WriteString(w, `{"success":true}`)
		return
	}
	var n merchant.Notice
	if err != nil || who.Subject != httpkit.Operator || json.NewDecoder(r.Body).Decode(&n) != nil {
		s.t.Errorf("payments got by %+v (%v), want an operator's identity and a notice", who, err)
	}
	s.got = append(s.got, n)
	_, _ = io.WriteString(w, `{"success":true}`)
}

func (s *listener) set(down bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// take is what came since the last take.
func (s *listener) take() []merchant.Notice {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

func (s *listener) last() (n merchant.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.got) > 0 {
		n = s.got[len(s.got)-1]
	}
	return n
}

// A suspension stops creates on every replica, and reads go on. payments learns of it although it is down at first,
// and although the gateway that suspended dies; the resumption reaches it too.
func TestGateway_suspend(t *testing.T) {
	t.Parallel()
	service := &listener{t: t, down: true}
	payments := httptest.NewServer(service)
	t.Cleanup(payments.Close)
	database := pg.URL(t, migrations.FS)
	w := startOn(t, database, "PAYMENTS_URL", payments.URL)
	other := startOn(t, database, "PAYMENTS_URL", payments.URL)
	w.merchant(t, "acme")
	live, _ := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"acme","name":"shop","mode":"live","permissions":["*"]}`).want(t, 201, "").key(t)["secret"].(string)
	test, _ := w.makeKey(t)
	foreign, _ := w.call(t, "POST", "/v1/admin/keys", operatorToken,
		`{"merchantId":"beta","name":"shop","mode":"test","permissions":["*"]}`).want(t, 201, "").key(t)["secret"].(string)
	creates := []string{"POST /v1/payments", "POST /v1/wallets", "POST /v1/withdrawals", "POST /v1/wallets/withdrawals", "POST /v1/settlement-accounts"}
	refused := func(g *fixture, secret, code string) {
		t.Helper()
		for _, r := range creates {
			method, path, _ := strings.Cut(r, " ")
			if code == "" && path == "/v1/wallets" {
				continue // nobody plays wallets
			}
			a := g.call(t, method, path, secret, "{}")
			if code != "" {
				a.want(t, 403, code)
			} else if a.StatusCode == 403 {
				t.Errorf("%s: got %s, want it to pass", r, a.raw)
			}
		}
	}
	refused(w, live, "")
	refused(other, test, "") // both replicas remember the keys
	refused(other, live, "")
	if w.call(t, "POST", merchantsPath+"/acme/suspend", operatorToken, "{}").StatusCode != 400 {
		t.Error("a suspension without a reason is taken")
	}
	// The command line suspends, and no gateway has done it itself.
	suspend := command.Input{Args: []string{"--merchant", "acme", "--reason", "chargebacks"}, Environ: w.environ, Out: io.Discard}
	if err := verb(t, "merchants suspend").Run(t.Context(), suspend); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*fixture{w, other} {
		eventually(t, func() bool { return g.call(t, "POST", "/v1/payments", live, "{}").StatusCode == 403 })
		refused(g, live, "merchant_suspended")
		refused(g, test, "merchant_suspended")
		refused(g, foreign, "")
		if a := g.call(t, "GET", "/v1/payments", live, ""); a.StatusCode == 403 {
			t.Errorf("a suspended merchant reads: got %s, want it to pass", a.raw)
		}
		if a := g.call(t, "POST", "/v1/payments/CW-7KQ2M9XHTB4N/refunds", live, "{}"); a.StatusCode == 403 {
			t.Errorf("a suspended merchant refunds: got %s, want it to pass", a.raw)
		}
	}
	w.call(t, "POST", "/v1/admin/keys", operatorToken, `{"merchantId":"acme","name":"shop","mode":"live","permissions":["*"]}`).want(t, 403, "merchant_suspended")
	w.call(t, "POST", merchantsPath+"/acme/approve", operatorToken, "").want(t, 409, "merchant_is_suspended")
	read := func() map[string]any {
		t.Helper()
		return w.call(t, "GET", merchantsPath+"/acme", operatorToken, "").want(t, 200, "").object(t, "merchant")
	}
	if m := read(); m["inForce"] != false || m["reason"] != "chargebacks" {
		t.Errorf("while payments is down: got %v, want inForce false", m)
	}
	service.set(false)
	eventually(t, func() bool { return read()["inForce"] == true })
	n := service.last()
	if !n.Suspended || n.MerchantID != "acme" || n.Reason != "chargebacks" || n.Version < time.Now().Add(-time.Hour).UnixMicro() {
		t.Errorf("payments got %+v, want the suspension of acme", n)
	}
	w.call(t, "POST", merchantsPath+"/acme/resume", operatorToken, `{"reason":"settled"}`).want(t, 200, "")
	w.call(t, "POST", merchantsPath+"/acme/resume", operatorToken, `{"reason":"settled"}`).want(t, 409, "merchant_not_suspended")
	eventually(t, func() bool { return read()["inForce"] == true })
	if later := service.last(); later.Suspended || later.Version <= n.Version {
		t.Errorf("payments got %+v after %+v, want a newer end of the suspension", later, n)
	}
	for _, g := range []*fixture{w, other} {
		eventually(t, func() bool { return g.call(t, "POST", "/v1/payments", live, "{}").StatusCode != 403 })
	}
}

// A payments that was restored has forgotten merchants. The command has a gateway that runs send every merchant of
// which payments has to know something, and nothing of the others.
func TestGateway_tellAgain(t *testing.T) {
	t.Parallel()
	service := &listener{t: t}
	payments := httptest.NewServer(service)
	t.Cleanup(payments.Close)
	w := startOn(t, pg.URL(t, migrations.FS), "PAYMENTS_URL", payments.URL)
	w.merchant(t, "acme")
	w.merchant(t, "beta")
	w.call(t, "POST", merchantsPath, operatorToken, `{"merchantId":"draft","name":"m","country":"NG"}`).want(t, 201, "")
	inForce := func() bool {
		list, _ := w.call(t, "GET", merchantsPath, operatorToken, "").want(t, 200, "").body["merchants"].([]any)
		return len(list) == 3 && !slices.ContainsFunc(list, func(m any) bool {
			one, _ := m.(map[string]any)
			return one["inForce"] != true
		})
	}
	w.call(t, "POST", merchantsPath+"/acme/suspend", operatorToken, `{"reason":"fraud"}`).want(t, 200, "")
	w.call(t, "PATCH", merchantsPath+"/beta", operatorToken, `{"networks":["tron"]}`).want(t, 200, "")
	eventually(t, inForce)
	before := service.take()
	var out strings.Builder
	if err := verb(t, "merchants tell").Run(t.Context(), command.Input{Environ: w.environ, Out: &out}); err != nil || out.String() != "{\"merchants\":2}\n" {
		t.Fatalf("merchants tell: got %q, %v, want two merchants", out.String(), err)
	}
	var again []merchant.Notice
	eventually(t, func() bool { again = append(again, service.take()...); return len(again) >= 2 && inForce() })
	versions := func(of []merchant.Notice) map[string]int64 {
		all := map[string]int64{}
		for _, n := range of {
			all[n.MerchantID] = n.Version
		}
		return all
	}
	if got, want := versions(again), versions(before); len(want) != 2 || !maps.Equal(got, want) {
		t.Errorf("payments got the versions %v again, want %v", got, want)
	}
	if a := w.call(t, "GET", "/v1/admin/audit?act=merchant.told", operatorToken, "").want(t, 200, ""); strings.Count(string(a.raw), `"merchant.told"`) != 1 {
		t.Errorf("the audit of the command: got %s, want one entry", a.raw)
	}
}

// A daily limit of a merchant takes two operators, is in the audit, and reaches payments, as does its removal. The
// merchant sees it, and changes nothing of it.
func TestGateway_dailyLimits(t *testing.T) {
	t.Parallel()
	service := &listener{t: t}
	payments := httptest.NewServer(service)
	t.Cleanup(payments.Close)
	w := startOn(t, pg.URL(t, migrations.FS), "PAYMENTS_URL", payments.URL, "SECOND_OPERATOR", "true",
		"LIMITS_SKIP_LOOPBACK", "true", "CONSOLE_KEYS", doorKeys)
	ada, ben := w.person(t, "ada.obi"), w.person(t, "ben.ade")
	ann := person.Assertion{
		Door: person.Merchant, User: "usr_ann", Name: "ann@shop.example", MerchantID: "acme", Mode: tenant.Test, Permissions: []string{"merchant:manage"},
	}
	const path, limit = merchantsPath + "/acme", `{"dailyLimits":[{"fiatCurrency":"NGN","maximum":500000.5}]}`
	w.call(t, "POST", merchantsPath, ada, `{"merchantId":"acme","name":"Acme Stores","country":"NG"}`).want(t, 201, "")
	w.call(t, "POST", path+"/approve", ada, "").want(t, 202, "")
	w.call(t, "POST", path+"/approve", ben, "").want(t, 200, "")

	w.call(t, "PATCH", path, ada, limit).want(t, 202, "")
	w.call(t, "PATCH", path, ada, limit).want(t, 409, "second_operator_required")
	const want = "[map[fiatCurrency:NGN maximum:500000.5]]"
	if m := w.call(t, "PATCH", path, ben, limit).want(t, 200, "").object(t, "merchant"); fmt.Sprint(m["dailyLimits"]) != want {
		t.Errorf("limit the day of a merchant: got %v, want %s", m["dailyLimits"], want)
	}
	w.as(t, ann, "PATCH", "/v1/merchant", `{"dailyLimits":[],"supportContact":"help@acme.example"}`).want(t, 200, "")
	if m := w.as(t, ann, "GET", "/v1/merchant", "").want(t, 200, "").object(t, "merchant"); fmt.Sprint(m["dailyLimits"]) != want {
		t.Errorf("the merchant's own daily limits: got %v, want %s", m["dailyLimits"], want)
	}
	known := func(limits merchant.Limits) {
		t.Helper()
		eventually(t, func() bool {
			n := service.last()
			return n.DailyLimits != nil && n.DailyLimits.String() == limits.String()
		})
	}
	known(merchant.Limits{money.NGN: decimal.RequireFromString("500000.5")})
	w.call(t, "PATCH", path, ada, `{"dailyLimits":[]}`).want(t, 202, "")
	w.call(t, "PATCH", path, ben, `{"dailyLimits":[]}`).want(t, 200, "")
	known(nil)
	audit := w.call(t, "GET", "/v1/admin/audit?act=merchant.changed&object=merchant:acme", ada, "").want(t, 200, "")
	for _, want := range []string{`"dailyLimits":"none -> NGN 500000.5"`, `"dailyLimits":"NGN 500000.5 -> none"`} {
		if !strings.Contains(string(audit.raw), want) {
			t.Errorf("audit: got %s, want %s", audit.raw, want)
		}
	}
}

// Of two changes that were made for the same version of a merchant, one is made and the other is refused, also if it
// waits for a second operator meanwhile. A change that names no version is made as ever.
func TestGateway_merchantChangedMeanwhile(t *testing.T) {
	t.Parallel()
	database := pg.URL(t, migrations.FS)
	w, other := startOn(t, database), startOn(t, database)
	const path = merchantsPath + "/acme"
	w.call(t, "POST", merchantsPath, operatorToken, `{"merchantId":"acme","name":"Acme Stores","country":"NG"}`).want(t, 201, "")
	version := func() string {
		t.Helper()
		return versionOf(w.call(t, "GET", path, operatorToken, "").want(t, 200, "").object(t, "merchant"))
	}
	for round := range 8 {
		at := version()
		var wg sync.WaitGroup
		answers := make([]answer, 2)
		for i, one := range []*fixture{w, other} {
			wg.Go(func() {
				limit := fmt.Sprintf(`{"version":%s,"limits":[{"fiatCurrency":"NGN","maximum":%d}]}`, at, 2*round+i+1)
				answers[i] = one.call(t, "PATCH", path, operatorToken, limit)
			})
		}
		wg.Wait()
		won := slices.IndexFunc(answers, func(a answer) bool { return a.StatusCode == 200 })
		if won < 0 {
			t.Fatalf("two changes at once: got %d and %d, want one 200", answers[0].StatusCode, answers[1].StatusCode)
		}
		answers[1-won].want(t, 409, "merchant_changed")
		if got, want := version(), versionOf(answers[won].object(t, "merchant")); got != want || got == at {
			t.Errorf("after a change of version %s: got version %s, want that of its answer, %s", at, got, want)
		}
	}
	w.call(t, "PATCH", path, operatorToken, `{"limits":[]}`).want(t, 200, "")
	w.call(t, "PATCH", path, operatorToken, `{"version":0,"limits":[]}`).want(t, 400, "validation_failed")

	two := startOn(t, pg.URL(t, migrations.FS), "SECOND_OPERATOR", "true", "LIMITS_SKIP_LOOPBACK", "true")
	ada, ben := two.person(t, "ada.obi"), two.person(t, "ben.ade")
	two.call(t, "POST", merchantsPath, ada, `{"merchantId":"acme","name":"Acme Stores","country":"NG"}`).want(t, 201, "")
	two.call(t, "POST", path+"/approve", ada, "").want(t, 202, "")
	at := versionOf(two.call(t, "POST", path+"/approve", ben, "").want(t, 200, "").object(t, "merchant"))
	terms := `{"version":` + at + `,"types":["gift"]}`
	two.call(t, "PATCH", path, ada, terms).want(t, 202, "")
	two.call(t, "PATCH", path, ben, `{"supportContact":"help@acme.example"}`).want(t, 200, "")
	two.call(t, "PATCH", path, ben, terms).want(t, 409, "merchant_changed")
	two.call(t, "PATCH", path, ada, terms).want(t, 409, "merchant_changed")
}

func versionOf(merchant map[string]any) string { return fmt.Sprintf("%.0f", merchant["version"]) }

func verb(t *testing.T, name string) command.Verb {
	t.Helper()
	i := slices.IndexFunc(program.Verbs, func(v command.Verb) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("the program has no verb %s", name)
	}
	return program.Verbs[i]
}

// An approval and a suspension at once leave the merchant suspended, and a live key that is made meanwhile is made
// before the suspension or not at all.
func TestGateway_approveBesideSuspend(t *testing.T) {
	t.Parallel()
	database := pg.URL(t, migrations.FS)
	w, other := startOn(t, database), startOn(t, database)
	for i := range 8 {
		id := fmt.Sprintf("m%d", i)
		w.call(t, "POST", merchantsPath, operatorToken, `{"merchantId":"`+id+`","name":"m","country":"NG"}`).want(t, 201, "")
		var wg sync.WaitGroup
		var approved, suspended, keyed int
		wg.Go(func() { approved = w.call(t, "POST", merchantsPath+"/"+id+"/approve", operatorToken, "").StatusCode })
		wg.Go(func() {
			suspended = other.call(t, "POST", merchantsPath+"/"+id+"/suspend", operatorToken, `{"reason":"x"}`).StatusCode
		})
		wg.Go(func() {
			keyed = other.call(t, "POST", "/v1/admin/keys", operatorToken, `{"merchantId":"`+id+`","name":"n","mode":"live","permissions":["*"]}`).StatusCode
		})
		wg.Wait()
		m := w.call(t, "GET", merchantsPath+"/"+id, operatorToken, "").want(t, 200, "").object(t, "merchant")
		if m["status"] != "suspended" || suspended != 200 || (approved != 200 && approved != 409) || (approved == 200) != (m["approvedAt"] != nil) {
			t.Errorf("approve (%d) beside suspend (%d): got %v, want suspended", approved, suspended, m)
		}
		if keyed == 201 && approved != 200 {
			t.Errorf("a live key was made (%d) and the approval refused (%d)", keyed, approved)
		}
	}
}

// A gateway that died after it had taken a change leaves it to another one.
func TestGateway_tellsForADeadGateway(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.call(t, "POST", merchantsPath, operatorToken, `{"merchantId":"acme","name":"m","country":"NG"}`).want(t, 201, "")
	// a gateway has taken the change and died before payments acknowledged it, or before it noted that
	w.sql(t, `UPDATE merchants SET status = 'suspended', suspended_at = now(), tell = version, told = 0, tell_at = now() + interval '1 second'`)
	eventually(t, func() bool {
		return w.call(t, "GET", merchantsPath+"/acme", operatorToken, "").want(t, 200, "").object(t, "merchant")["inForce"] == true
	})
}
