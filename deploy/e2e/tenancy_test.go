//go:build integration

package e2e

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/deploy/e2e/internal/contract"
	"causeway.internal/libs/testkit/stack"
)

// operation is a line of the route table as the document shows it; gateway's own test compares the two both ways.
type operation struct {
	method, pattern string
	access          string // open, keyed or operated
	permission      string
	body            any // an example that the document gives
}

var permissionNamed = regexp.MustCompile("permission `([a-z:]+)`")

func operations(t testing.TB) (out []operation) {
	t.Helper()
	path, err := contract.Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, item := range doc.Paths.Map() {
		for method, op := range item.Operations() {
			o := operation{method: method, pattern: pattern, access: "keyed"}
			if op.Security != nil {
				o.access = "open"
				for _, need := range *op.Security {
					if _, operated := need["operatorToken"]; operated {
						o.access = "operated"
					}
				}
			}
			if m := permissionNamed.FindStringSubmatch(op.Description); m != nil {
				o.permission = m[1]
			}
			if op.RequestBody != nil {
				for _, media := range op.RequestBody.Value.Content {
					for _, example := range media.Examples {
						o.body = example.Value.Value
					}
				}
			}
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b operation) int { return strings.Compare(a.pattern+a.method, b.pattern+b.method) })
	return out
}

// victim is a merchant with one of everything, each marked so that it is recognised wherever it turns up.
type victim struct {
	client  *api.Client
	keyID   string
	name    string
	secrets []string          // texts that no other merchant may see
	ids     map[string]string // by the beginning of the patterns that take it
	watched []string          // what must read the same afterwards
}

func newVictim(t testing.TB, s *stack.Stack, c *api.Client) *victim {
	t.Helper()
	v := &victim{name: unique("victim"), ids: map[string]string{}}
	mark := unique("marked")
	v.secrets = []string{v.name, mark}
	made := c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/keys", api.Object{
		"merchantId": v.name, "name": mark, "mode": "test", "permissions": []string{"*"}, "tier": "unlimited",
	}).Want(t, http.StatusCreated)
	v.client, v.keyID = c.With(made.Text(t, "key.secret")), made.Number(t, "key.id").Num().String()

	r := receive(t)
	hook := endpoint(t, v.client, r, "/"+mark)
	body := transfer(api.Object{"metadata": api.Object{"mark": mark}})
	settled := create(t, v.client, body).Text(t, "payment.reference")
	deposit(t, v.client, settled, nil)
	awaitStatus(t, v.client, settled, "settled")
	pending := create(t, v.client, body).Text(t, "payment.reference")
	wallet := v.client.Call(t, http.MethodPost, "/v1/wallets", api.Object{"network": "tron", "crypto": "USDT", "metadata": api.Object{"mark": mark}}).
		Want(t, http.StatusCreated)
	report := file(t, v.client, nil).Text(t, "data.report.reportId")
	replay := v.client.Call(t, http.MethodPost, "/v1/webhooks/replays", api.Object{"from": "2026-01-01T00:00:00.000Z", "endpointId": hook}).
		Want(t, http.StatusOK, http.StatusCreated, http.StatusAccepted).Text(t, "replay.id")
	delivery := ""
	api.Eventually(t, soon, "a delivery", func() bool {
		list := v.client.Call(t, http.MethodGet, "/v1/webhooks/deliveries?limit=1", nil).Want(t, http.StatusOK)
		if list.Len(t, "deliveries") == 0 {
			return false
		}
		delivery = list.Text(t, "deliveries.0.id")
		return true
	})
	v.client.Call(t, http.MethodPatch, settlementSettings, api.Object{"merchantPayments": "balance"}).Want(t, http.StatusOK)
	credit(t, v.client)
	account := settlementAccount(t, v.client, "0123456789")
	withdrawal := v.client.Call(t, http.MethodPost, withdrawalsPath, api.Object{"currency": "NGN", "amount": 100, "settlementAccountId": account}).
		Want(t, http.StatusCreated).Text(t, "withdrawal.id")
	webhookSecret := v.client.Call(t, http.MethodGet, "/v1/webhooks/secret", nil).Want(t, http.StatusOK).Text(t, "secret")

	v.secrets = append(v.secrets, settled, pending, wallet.Text(t, "wallet.id"), wallet.Text(t, "wallet.address"), hook, replay, delivery, webhookSecret, account, withdrawal)
	v.ids = map[string]string{
		"/v1/payments/": pending, "/v1/sandbox/payments/": pending, "/v1/sandbox/payouts/": settled,
		"/v1/wallets/": wallet.Text(t, "wallet.id"), "/v1/sandbox/wallets/": wallet.Text(t, "wallet.id"), "/v1/reports/": report,
		"/v1/settlement-accounts/": account, "/v1/withdrawals/": withdrawal,
		"/v1/webhooks/endpoints/": hook, "/v1/webhooks/deliveries/": delivery, "/v1/webhooks/replays/": replay,
	}
	entry := v.client.Call(t, http.MethodPost, "/v1/wallets/address-book", api.Object{"network": "tron", "address": anotherTron, "label": mark}).
		Want(t, http.StatusCreated).Text(t, "address.id")
	drawn := v.client.Call(t, http.MethodPost, "/v1/wallets/withdrawals", api.Object{"crypto": "USDT", "network": "tron", "amount": "7", "addressId": entry}).
		Want(t, http.StatusCreated).Text(t, "withdrawal.id")
	v.ids["/v1/wallets/address-book/"], v.ids["/v1/wallets/withdrawals/"], v.ids["/v1/admin/wallets/withdrawals/"] = entry, drawn, drawn
	v.secrets = append(v.secrets, entry, drawn)
	offer := paymentLink(t, v.client, api.Object{"description": mark}).Want(t, http.StatusCreated).Text(t, "paymentLink.id")
	v.ids["/v1/payment-links/"], v.ids["/v1/links/"] = offer, offer
	v.watched = []string{paymentLinks + "/" + offer, settlementAccounts + "/" + account, settlementSettings, "/v1/payments/" + settled, "/v1/payments/" + pending, "/v1/wallets/" + v.ids["/v1/wallets/"], "/v1/webhooks/endpoints/" + hook, "/v1/webhooks/secret", "/v1/webhooks/endpoints/" + hook + "/secret", "/v1/reports/" + report}
	return v
}

// path fills a pattern with what is the victim's; object says that there was something to fill.
func (v *victim) path(t testing.TB, o operation) (path string, object bool) {
	t.Helper()
	at := strings.Index(o.pattern, "{")
	if at < 0 {
		return o.pattern, false
	}
	id, known := v.ids[o.pattern[:at]]
	if !known {
		t.Errorf("%s %s: the walk has nothing of the victim's to put into it", o.method, o.pattern)
	}
	return o.pattern[:at] + id + o.pattern[strings.Index(o.pattern, "}")+1:], true
}

// growing is what moves by itself.
var growing = regexp.MustCompile(`"confirmations":[0-9]+,?`)

func (v *victim) read(t testing.TB) (out []string) {
	t.Helper()
	for _, path := range v.watched {
		body := v.client.Call(t, http.MethodGet, path, nil).Want(t, http.StatusOK).Body
		out = append(out, string(growing.ReplaceAll(body, nil)))
	}
	return out
}

// bodies are requests that would be good if the caller might make them, where the document's example does not fit.
var bodies = map[string]any{
	"POST /v1/payments":                              transfer(nil),
	"POST /v1/withdrawals":                           api.Object{"currency": "NGN", "amount": 0, "settlementAccountId": "sac_none"},
	"PATCH /v1/settlement-settings":                  api.Object{"merchantPayments": "self"},
	"POST /v1/sandbox/payouts/{id}/outcome":          api.Object{"outcome": "return"},
	"POST /v1/sandbox/wallets/{id}/deposits":         api.Object{"amount": 1},
	"POST /v1/payments/{reference}/refund-address":   api.Object{"address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"},
	"POST /v1/payments/{reference}/settle":           api.Object{"settlementToken": "stl_6dY0sI0w1m0c6Yc8Yx7m0Jm1x1b7T6q0Z3n9K5r2u4E"},
	"POST /v1/wallets/address-book":                  api.Object{"network": "tron", "address": payersTron},
	"POST /v1/wallets/withdrawals":                   api.Object{"crypto": "USDT", "network": "tron", "amount": "7", "addressId": ""}, // whose entry would be a 404
	"PATCH /v1/webhooks/endpoints/{id}":              api.Object{"enabled": false},
	"PATCH /v1/reports/{reportId}":                   api.Object{"status": "dismissed"},
	"POST /v1/webhooks/endpoints":                    api.Object{"url": "http://127.0.0.1:9/none", "types": []string{}},
	"POST /v1/sandbox/payments/{reference}/expire":   nil,
	"POST /v1/payments/{reference}/cancel":           nil,
	"POST /v1/webhooks/endpoints/{id}/test":          nil,
	"POST /v1/webhooks/deliveries/{id}/retry":        nil,
	"POST /v1/webhooks/replays/{id}/pause":           nil,
	"POST /v1/webhooks/replays/{id}/resume":          nil,
	"POST /v1/webhooks/endpoints/{id}/secret/rotate": nil,
}

// intruder is a caller who must not get at the victim's.
type intruder struct {
	name   string
	client func(operation) *api.Client // nil: not for this operation
	header []api.Option
	own    bool // of the same merchant, who may know his own name
	status func(o operation, object bool) []int
}

// personal are the permissions of people, which no key has.
var personal = []string{"key:manage", "merchant:manage", "merchant:create"}

func intruders(t testing.TB, s *stack.Stack, c *api.Client, v *victim) []intruder {
	t.Helper()
	all := []string{"payment:create", "payment:read", "wallet:create", "wallet:read", "report:create", "report:manage", "webhook:manage", "refund:create", "settlement:manage", "withdrawal:create", "wallet:withdraw"}
	lacking := map[string]*api.Client{}
	for _, p := range all {
		others := slices.DeleteFunc(slices.Clone(all), func(o string) bool { return o == p })
		lacking[p] = key(t, s, c, "test", v.name, others...)
	}
	is := func(codes ...int) func(operation, bool) []int { return func(operation, bool) []int { return codes } }
	keyed := func(client *api.Client) func(operation) *api.Client {
		return func(o operation) *api.Client {
			if o.access != "keyed" {
				return nil
			}
			return client
		}
	}
	closed := func(client *api.Client) func(operation) *api.Client {
		return func(o operation) *api.Client {
			if o.access == "open" {
				return nil
			}
			return client
		}
	}
	notFound := func(o operation, object bool) []int {
		if slices.Contains(personal, o.permission) {
			return []int{http.StatusForbidden}
		}
		if object {
			return []int{http.StatusNotFound}
		}
		return []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusBadRequest, http.StatusServiceUnavailable}
	}
	forged := []api.Option{
		api.Header("X-Causeway-Identity", forgedIdentity(v)), api.Header("X_Causeway_Identity", forgedIdentity(v)),
		api.Header("X-Forwarded-For", "127.0.0.1"), api.Header("X-Merchant-Id", v.name), api.Header("X-Api-Key-Id", v.keyID),
	}
	return []intruder{
		{"another merchant", keyed(key(t, s, c, "test", unique("other"), "*")), nil, false, notFound},
		{"another merchant with a forged identity", keyed(key(t, s, c, "test", unique("forger"), "*")), forged, false, notFound},
		{"the other mode", keyed(key(t, s, c, "live", v.name, "*")), nil, true, func(o operation, object bool) []int {
			return notFound(o, object || strings.HasPrefix(o.pattern, "/v1/sandbox/")) // live mode has no sandbox
		}},
		{"a key that lacks the permission", func(o operation) *api.Client {
			if o.access != "keyed" || o.permission == "" {
				return nil
			}
			return lacking[o.permission]
		}, nil, true, is(http.StatusForbidden)},
		{"no key", closed(c.With("")), nil, false, is(http.StatusUnauthorized)},
		{"no key and a forged identity", closed(c.With("")), forged, false, is(http.StatusUnauthorized)},
		{"the victim's key for an operator's", func(o operation) *api.Client {
			if o.access != "operated" {
				return nil
			}
			return v.client
		}, nil, true, is(http.StatusUnauthorized)},
		{"another key of the same merchant", func(o operation) *api.Client {
			ofMerchant := strings.Contains(o.pattern, "/address-book") || strings.Contains(o.pattern, "/withdrawals")
			if !strings.Contains(o.pattern, "/wallets") || ofMerchant || o.access != "keyed" {
				return nil // everything but wallets is the merchant's
			}
			return lacking["webhook:manage"]
		}, nil, true, notFound},
	}
}

// forgedIdentity is what the gateway would say of the victim, under a key that is not the gateway's.
func forgedIdentity(v *victim) string {
	raw, _ := json.Marshal(map[string]any{"sub": "operator", "mer": v.name, "key": v.keyID, "mod": "test", "opr": "ops", "aud": "payments"})
	mac := hmac.New(sha256.New, []byte("a key that is not the gateway's."))
	body := base64.RawURLEncoding.EncodeToString(raw)
	mac.Write([]byte(body))
	return body + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// inTheOpen reads a public route about the victim's payment, with a forged identity: a payer learns what he needs, and
// neither who the merchant is nor what the merchant notes.
func (v *victim) inTheOpen(t testing.TB, c *api.Client, o operation) {
	t.Helper()
	if o.method != http.MethodGet || !strings.Contains(o.pattern, "{reference}") {
		return
	}
	path := strings.Replace(o.pattern, "{reference}", v.ids["/v1/payments/"], 1)
	r, err := http.NewRequestWithContext(t.Context(), o.method, c.Base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Causeway-Identity", forgedIdentity(v))
	answer, err := http.DefaultClient.Do(r) // pages too, which are no JSON
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode >= http.StatusInternalServerError {
		t.Errorf("call %s: got %d %s, %v, want an answer below 500", o.pattern, answer.StatusCode, body, err)
	}
	for _, secret := range v.secrets[:2] {
		if strings.Contains(string(body), secret) {
			t.Errorf("%s shows %s to the public: %s", o.pattern, secret, body)
		}
	}
}

// TestTenancy_walk: the table of routes is walked with every kind of wrong caller; nobody sees, changes or even
// learns of what is the victim's.
func TestTenancy_walk(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	v := newVictim(t, s, c)
	v.ids["/v1/admin/keys/"], v.ids["/v1/keys/"] = v.keyID, v.keyID
	v.ids["/v1/admin/merchants/"], v.ids["/v1/admin/pauses/"], v.ids["/v1/admin/operators/passkeys/"] = v.name, "1", "1"
	v.ids["/v1/admin/operators/"] = c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/operators", api.Object{"name": "tenancy.walk", "days": 1}).
		Want(t, http.StatusCreated).Number(t, "operator.id").RatString()
	v.ids["/v1/admin/payments/"] = v.ids["/v1/payments/"]
	v.ids["/v1/admin/refunds/"] = refunded(t, v.client)
	v.ids["/v1/admin/withdrawals/"] = v.ids["/v1/withdrawals/"]
	v.ids["/v1/admin/fee-schedules/"] = "fee_ngn_1"
	v.ids["/v1/admin/unclaimed/"] = "unc_none"
	v.ids["/v1/admin/deliveries/"], v.ids["/v1/admin/dead-messages/"] = v.ids["/v1/webhooks/deliveries/"], "1"
	v.ids["/v1/admin/networks/"], v.ids["/v1/admin/sweeps/"] = "ethereum", "swp_none" // no merchant's
	v.ids["/v1/admin/payouts/"] = v.client.Call(t, http.MethodGet, "/v1/payments/"+v.ids["/v1/sandbox/payouts/"], nil).Want(t, http.StatusOK).Text(t, "payment.payout.id")
	callers := intruders(t, s, c, v)
	before := v.read(t)
	probes := 0
	for _, o := range operations(t) {
		if o.access == "open" {
			v.inTheOpen(t, c, o)
			continue
		}
		path, object := v.path(t, o)
		body, fits := bodies[o.method+" "+o.pattern]
		if !fits {
			body = o.body
		}
		for _, who := range callers {
			client := who.client(o)
			if client == nil {
				continue
			}
			probes++
			a, err := client.Try(contract.WithBadRequest(context.WithoutCancel(t.Context())), o.method, path, body, who.header...)
			if err != nil {
				t.Errorf("call as %s: %s %s: %v", who.name, o.method, o.pattern, err)
				continue
			}
			if want := who.status(o, object); !slices.Contains(want, a.Status) {
				t.Errorf("%s: %s %s: %d %s, want %v", who.name, o.method, o.pattern, a.Status, a.Body, want)
			}
			secrets := v.secrets
			if who.own {
				secrets = secrets[1:]
			}
			for _, secret := range secrets {
				if strings.Contains(string(a.Body), secret) {
					t.Errorf("%s: %s %s shows %s: %s", who.name, o.method, o.pattern, secret, a.Body)
				}
			}
		}
	}
	if after := v.read(t); !slices.Equal(before, after) {
		t.Errorf("what is the victim's has changed\nfrom %v\nto   %v", before, after)
	}
	t.Logf("%d probes", probes)
}
