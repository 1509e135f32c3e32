//go:build integration

package e2e

import (
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
)

// reportFields are those of the schema Report.
var reportFields = []string{
	"id", "reportId", "apiKeyId", "merchantId", "sessionReference", "complaintType", "name", "phoneNumber", "walletAddress",
	"fraudsterWalletAddress", "description", "status", "confirmer", "adminNotes", "createdAt", "updatedAt",
}

var reportID = regexp.MustCompile(`^RPT-[ABCDEFGHJKMNPQRSTUVWXYZ23456789]{6}$`)

// filing is a good body of a report with a phone that no other test has; changes replace its fields, nil removes one.
func filing(changes api.Object) api.Object {
	body := api.Object{"complaintType": "fraud", "name": "Ada Obi", "phoneNumber": freshPhone()}
	for name, value := range changes {
		if value == nil {
			delete(body, name)
			continue
		}
		body[name] = value
	}
	return body
}

// freshPhone has 15 digits.
func freshPhone() string {
	n, _ := new(big.Int).SetString(strings.TrimPrefix(unique("x"), "x-"), 16)
	return "2" + new(big.Int).Add(n, big.NewInt(1e14)).String()[:14]
}

func file(t testing.TB, c *api.Client, changes api.Object) *api.Answer {
	t.Helper()
	return c.Call(t, http.MethodPost, "/v1/reports", filing(changes)).Want(t, http.StatusCreated)
}

// TestReports_create: docs/api-contract.md#reports with every field, and with as few as it takes.
func TestReports_create(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := unique("filer")
	made := c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/keys", api.Object{
		"merchantId": merchant, "name": "reports", "mode": "test", "permissions": []string{"report:create"}, "tier": "unlimited",
	}).Want(t, http.StatusCreated)
	mine := c.With(made.Text(t, "key.secret"))

	for name, wallet := range map[string]string{"full": "  0xAbCdEf0123  ", "exotic": " kükü🙂 "} {
		phone := freshPhone()
		a := mine.Call(t, http.MethodPost, "/v1/reports", api.Object{
			"complaintType": "stolen_funds", "name": "Ada \"Q\" Obi <b>", "phoneNumber": "+" + phone[:3] + " (" + phone[3:6] + ") " + phone[6:9] + "-" + phone[9:12] + "." + phone[12:],
			"walletAddress": wallet, "sessionReference": " CW-7KQ2M9XHTB4N ", "fraudsterWalletAddress": "\tTJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC\n",
			"description": strings.Repeat("🙂", 5000), "status": "resolved", "apiKeyId": 1, "merchantId": "somebody", "confirmer": "me",
		}).Want(t, http.StatusCreated)
		sameSet(t, "the answer", a.Keys(t, ""), "success", "data")
		sameSet(t, "data", a.Keys(t, "data"), "report")
		sameSet(t, name, a.Keys(t, "data.report"), reportFields...)
		for field, want := range map[string]string{
			"complaintType": "stolen_funds", "name": "Ada \"Q\" Obi <b>", "phoneNumber": phone, "walletAddress": strings.TrimSpace(wallet), "merchantId": merchant,
			"sessionReference": "CW-7KQ2M9XHTB4N", "fraudsterWalletAddress": "TJRyWwFs9wTFGZg3JbrVriFbNfCug5tDeC", "description": strings.Repeat("🙂", 5000), "status": "pending",
		} {
			if got := a.Text(t, "data.report."+field); got != want {
				t.Errorf("%s is %q, want %q", field, got, want)
			}
		}
		if got, want := a.Number(t, "data.report.apiKeyId"), made.Number(t, "key.id"); got.Cmp(want) != 0 {
			t.Errorf("apiKeyId is %s, want %s", got, want)
		}
		if got := a.Text(t, "data.report.reportId"); !reportID.MatchString(got) {
			t.Errorf("reportId %q", got)
		}
		if at, updated := a.Text(t, "data.report.createdAt"), a.Text(t, "data.report.updatedAt"); !instant.MatchString(at) || updated != at {
			t.Errorf("createdAt %q, updatedAt %q", at, updated)
		}
		if n := a.Number(t, "data.report.id"); !n.IsInt() || n.Sign() <= 0 || !a.Null("data.report.confirmer") || !a.Null("data.report.adminNotes") {
			t.Errorf("create a report: got %s, want a positive id, no confirmer and no notes", a.Body)
		}
	}
	bare := file(t, mine, api.Object{"sessionReference": "", "description": nil, "walletAddress": ""})
	for _, field := range []string{"sessionReference", "walletAddress", "fraudsterWalletAddress", "description", "confirmer", "adminNotes"} {
		if !bare.Null("data.report." + field) {
			t.Errorf("%s is not null: %s", field, bare.Body)
		}
	}
	if wallet := file(t, mine, api.Object{"phoneNumber": nil, "walletAddress": unique("T")}); !wallet.Null("data.report.phoneNumber") {
		t.Errorf("phoneNumber is not null: %s", wallet.Body)
	}
	for _, kind := range []string{"track_transaction", "stolen_funds", "fraud"} {
		if got := file(t, mine, api.Object{"complaintType": kind}).Text(t, "data.report.complaintType"); got != kind {
			t.Errorf("complaintType %q, want %q", got, kind)
		}
	}
}

// TestReports_createRefused: docs/api-contract.md#fixed-texts to the letter, and every broken rule at once.
func TestReports_createRefused(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	const neither = "At least one of phoneNumber or walletAddress must be provided"
	for name, test := range map[string]struct {
		body    any
		message string
		fields  []string
	}{
		"neither":           {filing(api.Object{"phoneNumber": nil}), neither, []string{"phoneNumber", "walletAddress"}},
		"both empty":        {filing(api.Object{"phoneNumber": "", "walletAddress": "  "}), neither, []string{"phoneNumber", "walletAddress"}},
		"nothing at all":    {"{}", neither, []string{"complaintType", "name", "phoneNumber", "walletAddress"}},
		"no body":           {nil, neither, []string{"complaintType", "name", "phoneNumber", "walletAddress"}},
		"other type":        {filing(api.Object{"complaintType": "theft"}), "", []string{"complaintType"}},
		"no name":           {filing(api.Object{"name": ""}), "", []string{"name"}},
		"long name":         {filing(api.Object{"name": strings.Repeat("n", 256)}), "", []string{"name"}},
		"short phone":       {filing(api.Object{"phoneNumber": "12-34-5"}), "", []string{"phoneNumber"}},
		"letters":           {filing(api.Object{"phoneNumber": "0801CALLME"}), "", []string{"phoneNumber"}},
		"phone as a number": {filing(api.Object{"phoneNumber": 2348012345678}), "", []string{"phoneNumber"}},
		"long wallet":       {filing(api.Object{"walletAddress": strings.Repeat("w", 129)}), "", []string{"walletAddress"}},
		"long fraudster":    {filing(api.Object{"fraudsterWalletAddress": strings.Repeat("w", 129)}), "", []string{"fraudsterWalletAddress"}},
		"long session":      {filing(api.Object{"sessionReference": strings.Repeat("w", 65)}), "", []string{"sessionReference"}},
		"long description":  {filing(api.Object{"description": strings.Repeat("é", 5001)}), "", []string{"description"}},
		"all wrong": {
			api.Object{"complaintType": 7, "phoneNumber": "x", "description": []int{}},
			"",
			[]string{"complaintType", "description", "name", "phoneNumber"},
		},
		"not JSON": {`{"complaintType":`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := c.Call(t, http.MethodPost, "/v1/reports", test.body, bad).Want(t, http.StatusBadRequest)
			if got := a.Text(t, "message"); test.message != "" && got != test.message {
				t.Errorf("message %q, want %q", got, test.message)
			}
			if got := slices.Sorted(slices.Values(a.FieldErrors())); !slices.Equal(got, test.fields) {
				t.Errorf("fields %v, want %v", got, test.fields)
			}
		})
	}
	c.With("").Call(t, http.MethodPost, "/v1/reports", filing(nil)).Want(t, http.StatusUnauthorized)
	a := key(t, s, c, "test", unique("perm"), "report:manage").Call(t, http.MethodPost, "/v1/reports", filing(nil)).Want(t, http.StatusForbidden)
	if !strings.Contains(a.Text(t, "message"), "report:create") {
		t.Errorf("the refusal does not name the permission: %s", a.Body)
	}
}

// TestReports_createParallel: 200 at once on one phone and one wallet are 200 reports with distinct ids, all of them
// found.
func TestReports_createParallel(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	phone, wallet := freshPhone(), unique("T")
	var mu sync.Mutex
	ids, numbers := map[string]bool{}, map[string]bool{}
	var wait sync.WaitGroup
	for range 200 {
		wait.Go(func() {
			a, err := c.Try(t.Context(), http.MethodPost, "/v1/reports", filing(api.Object{"phoneNumber": phone, "walletAddress": wallet, "fraudsterWalletAddress": wallet}))
			if err != nil || a.Status != http.StatusCreated {
				t.Errorf("create a report beside 199 others: got %+v, %v, want 201", a, err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			ids[a.Text(t, "data.report.reportId")] = true
			numbers[a.Number(t, "data.report.id").String()] = true
		})
	}
	wait.Wait()
	if len(ids) != 200 || len(numbers) != 200 {
		t.Errorf("%d report ids, %d record ids", len(ids), len(numbers))
	}
	list := c.Call(t, http.MethodGet, "/v1/reports/lookup?limit=200&phoneNumber="+phone+"&walletAddress="+wallet, nil).Want(t, http.StatusOK)
	if list.Number(t, "data.total").Cmp(api.Rat("200")) != 0 || list.Len(t, "data.reports") != 200 {
		t.Errorf("total %s, %d listed", list.Number(t, "data.total"), list.Len(t, "data.reports"))
	}
	newestFirst(t, list)
}

// TestReports_createOnce: the same request again is answered and not done again.
func TestReports_createOnce(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	mine := key(t, s, c, "test", unique("once"), "report:create")
	body, id := filing(nil), api.Header("Idempotency-Key", unique("key"))
	first := mine.Call(t, http.MethodPost, "/v1/reports", body, id).Want(t, http.StatusCreated)
	again := mine.Call(t, http.MethodPost, "/v1/reports", body, id).Want(t, http.StatusCreated)
	if string(again.Body) != string(first.Body) || again.Header.Get("Idempotent-Replayed") != "true" || first.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("%s, again %s", first.Body, again.Body)
	}
	mine.Call(t, http.MethodPost, "/v1/reports", filing(nil), id).Want(t, http.StatusUnprocessableEntity)
	if other := key(t, s, c, "test", unique("once"), "report:create").Call(t, http.MethodPost, "/v1/reports", body, id).Want(t, http.StatusCreated); string(other.Body) == string(first.Body) {
		t.Error("another merchant's key was answered with the first one's report")
	}
}
