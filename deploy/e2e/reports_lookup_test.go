//go:build integration

package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
)

func look(t testing.TB, c *api.Client, query string) *api.Answer {
	t.Helper()
	return c.With("").Call(t, http.MethodGet, "/v1/reports/lookup?"+query, nil).Want(t, http.StatusOK)
}

// listed are the ids of a page.
func listed(t testing.TB, a *api.Answer) []string {
	t.Helper()
	ids := []string{}
	for i := range a.Len(t, "data.reports") {
		ids = append(ids, a.Text(t, fmt.Sprintf("data.reports.%d.reportId", i)))
	}
	return ids
}

// newestFirst: by time, then by id.
func newestFirst(t testing.TB, a *api.Answer) {
	t.Helper()
	for i := 1; i < a.Len(t, "data.reports"); i++ {
		newer, older := fmt.Sprintf("data.reports.%d.", i-1), fmt.Sprintf("data.reports.%d.", i)
		first, second := a.Text(t, newer+"createdAt"), a.Text(t, older+"createdAt")
		if first < second || first == second && a.Number(t, newer+"id").Cmp(a.Number(t, older+"id")) < 0 {
			t.Errorf("%d is listed before %d: %s, %s", i-1, i, first, second)
		}
	}
}

// TestReports_lookup: docs/api-contract.md#reports: by phone and wallet in any spelling, both filters, limits and
// pages, without a key.
func TestReports_lookup(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	phone, wallet, tron := freshPhone(), "0xAb"+strings.TrimPrefix(unique("x"), "x-"), unique("TxY")
	var made []string // newest first
	for i, changes := range []api.Object{
		{"phoneNumber": phone, "complaintType": "fraud"},
		{"phoneNumber": phone, "walletAddress": wallet, "complaintType": "stolen_funds"},
		{"phoneNumber": nil, "walletAddress": strings.ToUpper(wallet[2:3]) + wallet[3:], "complaintType": "fraud"}, // another address
		{"phoneNumber": phone, "walletAddress": tron, "complaintType": "fraud"},
		{"phoneNumber": nil, "walletAddress": "0X" + strings.ToUpper(wallet[2:]), "complaintType": "fraud"},
	} {
		id := file(t, c, changes).Text(t, "data.report.reportId")
		if i != 2 {
			made = slices.Insert(made, 0, id)
		}
	}
	c.Call(t, http.MethodPatch, "/v1/reports/"+made[1], api.Object{"status": "processing"}).Want(t, http.StatusOK)
	byPhone := []string{made[1], made[2], made[3]}
	spelt := "+" + phone[:3] + " (" + phone[3:7] + ") " + phone[7:]
	for query, want := range map[string][]string{
		"phoneNumber=" + phone:                                                       byPhone,
		"phoneNumber=" + url.QueryEscape(spelt):                                      byPhone,
		"phoneNumber=+" + phone:                                                      byPhone,
		"walletAddress=" + wallet:                                                    {made[0], made[2]},
		"walletAddress=" + strings.ToLower(wallet):                                   {made[0], made[2]},
		"walletAddress=%20" + tron + "%20":                                           {made[1]},
		"walletAddress=" + strings.ToLower(tron):                                     {},
		"phoneNumber=" + phone + "&walletAddress=" + wallet:                          made,
		"phoneNumber=nonsense&walletAddress=" + tron:                                 {made[1]},
		"phoneNumber=" + phone + "&status=pending":                                   {made[2], made[3]},
		"phoneNumber=" + phone + "&status=processing":                                {made[1]},
		"phoneNumber=" + phone + "&status=all":                                       byPhone,
		"phoneNumber=" + phone + "&status=dismissed":                                 {},
		"phoneNumber=" + phone + "&complaintType=fraud":                              {made[1], made[3]},
		"phoneNumber=" + phone + "&walletAddress=" + wallet + "&complaintType=fraud": {made[0], made[1], made[3]},
		"phoneNumber=" + phone + "&status=pending&complaintType=stolen_funds":        {made[2]},
		"phoneNumber=" + phone + "&complaintType=track_transaction":                  {},
		"phoneNumber=" + phone[:14]:                                                  {},
		"phoneNumber=" + phone[:14] + "%25":                                          {},
		"walletAddress=%25":                                                          {},
		"walletAddress=" + wallet[:8] + "%2A":                                        {},
		"phoneNumber=%00&walletAddress=%FF%00":                                       {},
		"walletAddress=" + strings.Repeat("long", 100):                               {},
		"phoneNumber=12":                                                             {},
	} {
		a := look(t, c, query)
		sameSet(t, "data", a.Keys(t, "data"), "reports", "total", "limit", "offset")
		if got := listed(t, a); !slices.Equal(got, want) || a.Number(t, "data.total").Cmp(api.Rat(fmt.Sprint(len(want)))) != 0 {
			t.Errorf("%s: %v of %s, want %v", query, got, a.Number(t, "data.total").RatString(), want)
		}
		if a.Number(t, "data.limit").RatString() != "50" || a.Number(t, "data.offset").RatString() != "0" {
			t.Errorf("%s: the defaults are %s", query, a.Body)
		}
		newestFirst(t, a)
		for i := range a.Len(t, "data.reports") {
			sameSet(t, "a listed report", a.Keys(t, fmt.Sprintf("data.reports.%d", i)), reportFields...)
		}
	}
	for query, want := range map[string][]string{
		"&limit=1": byPhone[:1], "&limit=2": byPhone[:2], "&limit=200": byPhone, "&limit=2&offset=1": byPhone[1:], "&offset=3": {}, "&offset=1000000000": {},
	} {
		if a := look(t, c, "phoneNumber="+phone+query); !slices.Equal(listed(t, a), want) || a.Number(t, "data.total").RatString() != "3" {
			t.Errorf("look up with %s: got %s, want %v of 3 reports", query, a.Body, want)
		}
	}
	var walked []string
	for cursor, pages := "", 1; ; pages++ {
		a := look(t, c, "limit=1&phoneNumber="+phone+"&cursor="+url.QueryEscape(cursor))
		sameSet(t, "data", a.Keys(t, "data"), "reports", "total", "limit", "offset", "nextCursor", "hasMore")
		walked = append(walked, listed(t, a)...)
		if more, _ := a.At("data.hasMore"); more != true {
			if pages != 3 || !a.Null("data.nextCursor") {
				t.Errorf("page %d is the last: %s", pages, a.Body)
			}
			break
		}
		cursor = a.Text(t, "data.nextCursor")
	}
	if !slices.Equal(walked, byPhone) {
		t.Errorf("by cursor %v, want %v", walked, byPhone)
	}
	// The credential makes no difference, valid or not.
	for _, credential := range []string{c.Key, "sk_test_nonsense", "nonsense"} {
		if a := c.With(credential).Call(t, http.MethodGet, "/v1/reports/lookup?phoneNumber="+phone, nil, api.Header("Origin", "https://shop.example")).Want(t, http.StatusOK); a.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("no CORS on a public route: %v", a.Header)
		}
	}
}

// TestReports_lookupRefused: docs/api-contract.md#fixed-texts to the letter, and docs/api-contract.md#pagination.
func TestReports_lookupRefused(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	const neither = "At least one of phoneNumber or walletAddress is required"
	for query, want := range map[string]struct{ message, fields string }{
		"":                                       {neither, "phoneNumber walletAddress"},
		"phoneNumber=&walletAddress=":            {neither, "phoneNumber walletAddress"},
		"status=open&limit=0":                    {neither, "limit phoneNumber status walletAddress"},
		"phone=123456&page=2":                    {neither, "phoneNumber walletAddress"},
		"limit=1&limit=2&phoneNumber=":           {neither, "phoneNumber walletAddress"},
		"phoneNumber=123456&page=2":              {"", "page"},
		"phoneNumber=123456&limit=0":             {"", "limit"},
		"phoneNumber=123456&limit=201":           {"", "limit"},
		"phoneNumber=123456&limit=many":          {"", "limit"},
		"phoneNumber=123456&offset=-1":           {"", "offset"},
		"phoneNumber=123456&status=open":         {"", "status"},
		"phoneNumber=123456&complaintType=theft": {"", "complaintType"},
		"phoneNumber=123456&cursor=nonsense":     {"", "cursor"},
		"phoneNumber=123456&cursor=&offset=5":    {"", "offset"},
		"phoneNumber=123456&status=x&complaintType=y&limit=-5&offset=x": {"", "complaintType limit offset status"},
	} {
		a := c.With("").Call(t, http.MethodGet, "/v1/reports/lookup?"+query, nil, bad).Want(t, http.StatusBadRequest)
		if got := a.Text(t, "message"); want.message != "" && got != want.message {
			t.Errorf("%s: message %q, want %q", query, got, want.message)
		}
		if got := strings.Join(slices.Sorted(slices.Values(a.FieldErrors())), " "); got != want.fields {
			t.Errorf("%s: fields %s, want %s", query, got, want.fields)
		}
	}
}

// TestReports_lookupLimit: 50 look-ups of one subject at once, whatever the spelling; then 429 with Retry-After.
// Another subject is not concerned.
func TestReports_lookupLimit(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	phone := freshPhone()
	began, passed := time.Now(), 0
	for _, a := range atOnce(t, 120, func(i int) (*api.Answer, error) {
		spelling := phone
		if i%2 == 1 {
			spelling = "%2B" + phone[:5] + "-" + phone[5:]
		}
		return c.With("").Try(t.Context(), http.MethodGet, "/v1/reports/lookup?phoneNumber="+spelling, nil)
	}) {
		if a.Want(t, http.StatusOK, http.StatusTooManyRequests).Status == http.StatusOK {
			passed++
		} else if a.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
	}
	if most := 51 + int(5*time.Since(began).Seconds()); passed < 50 || passed > most {
		t.Errorf("%d look-ups of one phone passed, want 50 and at most the %d that came back meanwhile", passed, most-50)
	}
	look(t, c, "phoneNumber="+freshPhone())
}
