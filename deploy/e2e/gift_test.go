//go:build integration

package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/otlp"
	"causeway.internal/libs/testkit/receiver"
	"causeway.internal/libs/testkit/stack"
)

var (
	giftReference  = regexp.MustCompile(`^CW-GAA[ABCDEFGHJKMNPQRSTUVWXYZ23456789]{12}$`)
	otherReference = regexp.MustCompile(`^CW-AA[ABCDEFGHJKMNPQRSTUVWXYZ23456789]{12}$`)
)

// TestReferences_tellGifts: a gift's reference begins with CW-G, and no other payment's does. Both carry
// the code of the shard.
func TestReferences_tellGifts(t *testing.T) {
	t.Parallel()
	_, c := shared(t)
	for range 10 {
		if ref := create(t, c, gift(nil)).Text(t, "payment.reference"); !giftReference.MatchString(ref) {
			t.Errorf("a gift is called %s", ref)
		}
		for _, body := range []api.Object{transfer(nil), request(nil), merchant(nil), bankConfirmation(nil)} {
			if ref := create(t, c, body).Text(t, "payment.reference"); !otherReference.MatchString(ref) {
				t.Errorf("a %s is called %s", body["type"], ref)
			}
		}
	}
}

// giftIsSecret: a whole life of a gift, with reports about it, and nobody who did not bring its reference is shown it:
// by no answer of a route that takes none, also to an operator, no event of another merchant, no title, link or
// referrer of a page, no line of a log, no metric and no span.
func giftIsSecret(t *testing.T, s *stack.Stack, collector *otlp.Collector) {
	attempts := func(spans []otlp.Span) (n int) {
		for _, span := range named(spans) {
			if span.Name == "webhook attempt payment.settled" {
				n++
			}
		}
		return n
	}
	before := attempts(collector.Spans())
	nobody := client(t, s).With("")
	giver := unique("giver")
	mine, own := key(t, s, nobody, "test", giver, "*"), key(t, s, nobody, "test", giver, "report:create")
	other, live := key(t, s, nobody, "test", unique("other"), "*"), key(t, s, nobody, "live", giver, "*")
	hook := receive(t)
	endpoint(t, mine, hook, "/mine")
	endpoint(t, other, hook, "/others")

	ref := create(t, mine, gift(nil)).Text(t, "payment.reference")
	late := create(t, mine, gift(nil)).Text(t, "payment.reference")
	codes := []string{ref[len(ref)-12:], late[len(late)-12:]}
	holds := func(text []byte) bool {
		return slices.ContainsFunc(codes, func(code string) bool { return bytes.Contains(bytes.ToUpper(text), []byte(code)) })
	}

	phone := freshPhone()
	filed := []*api.Answer{
		file(t, mine, api.Object{"phoneNumber": phone, "sessionReference": ref, "description": "I gave " + ref + " away."}),
		file(t, mine, api.Object{"phoneNumber": phone, "sessionReference": "https://x.example/claim/" + strings.ToLower(ref), "name": ref}),
		file(t, mine, api.Object{"phoneNumber": phone, "walletAddress": ref, "fraudsterWalletAddress": ref}),
	}
	if filed[0].Text(t, "data.report.sessionReference") != ref {
		t.Errorf("who files a report is answered %s", filed[0].Body)
	}
	reportPath := "/v1/reports/" + filed[0].Text(t, "data.report.reportId")
	lookup := "/v1/reports/lookup?phoneNumber=" + phone

	cancel(t, mine, late)
	deposit(t, mine, late, nil)
	awaitStatus(t, mine, late, "needs_review")

	pages(t, s, ref, "/pay/"+ref)
	deposit(t, mine, ref, nil)
	awaitStatus(t, mine, ref, "confirmed")
	pages(t, s, ref, "/pay/"+ref, "/claim/"+ref)
	refuse(t, nobody, claimPath(ref), account("12"), http.StatusBadRequest, "")
	nobody.Call(t, http.MethodPost, claimPath(ref), account("0000000002"), api.Once).Want(t, http.StatusServiceUnavailable)

	operator := nobody.With(s.AdminToken)
	others := map[string]*api.Client{"nobody": nobody, "another merchant": other, "the other mode": live, "an operator": operator}
	reading := append(readable(t), reportPath, lookup, lookup+"&cursor=", "/v1/reports/lookup?walletAddress="+url.QueryEscape(ref), "/v1/admin/payments?status=all")
	search := func(when string) {
		t.Helper()
		for name, who := range others {
			for _, path := range reading {
				a, err := who.Try(t.Context(), http.MethodGet, path, nil, bad)
				if err != nil {
					t.Fatal(err)
				}
				if holds(a.Body) || holds(fmt.Append(nil, a.Header)) {
					t.Errorf("%s: GET %s shows %s the gift: %s", when, path, name, a.Body)
				}
			}
			if one := who.Call(t, http.MethodGet, reportPath, nil).Want(t, http.StatusOK); !one.Null("data.report.sessionReference") {
				t.Errorf("%s: the report shows %s %s", when, name, one.Body)
			}
			if n := who.Call(t, http.MethodGet, lookup, nil).Want(t, http.StatusOK).Len(t, "data.reports"); n != len(filed) {
				t.Errorf("%s: %s finds %d reports, want %d", when, name, n, len(filed))
			}
		}
		for name, who := range map[string]*api.Client{"the key that filed it": mine, "another key of its merchant": own} {
			one, list := who.Call(t, http.MethodGet, reportPath, nil).Want(t, http.StatusOK), who.Call(t, http.MethodGet, lookup, nil).Want(t, http.StatusOK)
			last := fmt.Sprintf("data.reports.%d.", len(filed)-1)
			if one.Text(t, "data.report.sessionReference") != ref || list.Text(t, last+"sessionReference") != ref || list.Text(t, last+"description") != "I gave "+ref+" away." {
				t.Errorf("%s: %s is shown %s and %s", when, name, one.Body, list.Body)
			}
		}
	}
	search("while it may be claimed")
	nobody.Call(t, http.MethodPost, claimPath(ref), account("0123456789")).Want(t, http.StatusOK)
	refuse(t, nobody, claimPath(ref), account("0123456789"), http.StatusBadRequest, "Gift has already been claimed")
	awaitStatus(t, mine, ref, "settled")
	held := operator.Call(t, http.MethodGet, "/v1/admin/holds", nil).Want(t, http.StatusOK)
	operatorClaims(t, operator, mine, late, held.Text(t, "payments.0.id"), holds)
	search("once its payout has failed")
	operatorRetries(t, operator, mine, late)
	mine.Call(t, http.MethodPatch, reportPath, api.Object{"status": "processing"}).Want(t, http.StatusOK)
	pages(t, s, ref, "/pay/"+ref, "/claim/"+ref)
	for _, path := range []string{claimPath(ref + "X"), "/pay/" + ref + "/nothing", "/v1/checkout/" + strings.ToLower(ref), "/v1/payments/" + ref} {
		if a, err := other.Try(t.Context(), http.MethodPost, path, nil, bad); err != nil || a.Status < 400 || holds(a.Body) {
			t.Errorf("POST %s: %v %+v", path, err, a)
		}
	}
	search("once it is settled")

	hook.Await(t, settle, "payment.settled", func([]receiver.Delivery) bool { return slices.Contains(accepted(hook, "/mine"), "payment.settled") })
	for _, d := range events(hook, "/others") {
		t.Errorf("another merchant is sent %s: %s", d.Type, d.Body)
	}
	collector.Await(t, soon, "the last attempt's span", func(spans []otlp.Span) bool { return attempts(spans) > before })
	for line := range bytes.Lines(s.Logs(t)) {
		if holds(line) {
			t.Errorf("a log holds the gift: %s", line)
		}
	}
	for line := range bytes.Lines(s.Metrics(t)) {
		if holds(line) {
			t.Errorf("a metric holds the gift: %s", line)
		}
	}
	collector.Await(t, soon, "any span", func(spans []otlp.Span) bool {
		for _, span := range spans {
			if holds(fmt.Append(nil, span)) {
				t.Errorf("a span holds the gift: %+v", span)
			}
		}
		return true
	})
}

// operatorClaims lets an operator accept a late gift by its id, of which he is shown no reference, and somebody claim
// it for an account that fails.
func operatorClaims(t *testing.T, operator, mine *api.Client, ref, id string, holds func([]byte) bool) {
	t.Helper()
	accept := api.Object{"action": "accept", "reason": "the giver calls"}
	for _, none := range []string{"pay_00000000000000000000000000", "pay_", "pay_%00"} {
		refuse(t, operator, "/v1/admin/payments/"+none+"/resolve", accept, http.StatusNotFound, "")
	}
	for _, path := range []string{"/v1/checkout/" + id, "/v1/payments/" + id} {
		mine.Call(t, http.MethodGet, path, nil, bad).Want(t, http.StatusNotFound)
	}
	refuse(t, mine, claimPath(id), account("0123456789"), http.StatusNotFound, "")
	api.Eventually(t, settle, "money that can be accepted", func() bool {
		a := operator.Call(t, http.MethodPost, "/v1/admin/payments/"+id+"/resolve", accept).Want(t, http.StatusOK, http.StatusConflict)
		if holds(a.Body) || a.Status == http.StatusOK && !a.Null("payment.reference") {
			t.Errorf("an operator who brought an id is answered %s", a.Body)
		}
		return a.Status == http.StatusOK
	})
	awaitStatus(t, mine, ref, "confirmed")
	mine.With("").Call(t, http.MethodPost, claimPath(ref), account("0000000003")).Want(t, http.StatusOK)
	awaitStatus(t, mine, ref, "needs_review")
}

// operatorRetries lets an operator who was given the reference pay again, and shows it to him.
func operatorRetries(t *testing.T, operator, mine *api.Client, ref string) {
	t.Helper()
	again := api.Object{"action": "retry_payout", "receiver": api.Object{"bankCode": "044", "accountNumber": "1111111111"}, "reason": "account closed"}
	a := operator.Call(t, http.MethodPost, "/v1/admin/payments/"+ref+"/resolve", again).Want(t, http.StatusOK)
	if a.Text(t, "payment.reference") != ref {
		t.Errorf("an operator who brought the reference is answered %s", a.Body)
	}
	awaitStatus(t, mine, ref, "settled")
}

// readable are the paths of every GET of the API that takes no object.
func readable(t testing.TB) (paths []string) {
	t.Helper()
	for _, o := range operations(t) {
		if o.method == http.MethodGet && strings.HasPrefix(o.pattern, "/v1/") && !strings.Contains(o.pattern, "{") && o.pattern != "/v1/reports/lookup" {
			paths = append(paths, o.pattern)
		}
	}
	return paths
}

var (
	titled = regexp.MustCompile(`(?s)<title>(.*?)</title>`)
	linked = regexp.MustCompile(`(?:href|src|action|content|data-[a-z]+)="([^"]*)"`)
)

// pages reads the pages of a reference, which lead to no other site, name it in no title, and send it on in no
// referrer.
func pages(t *testing.T, s *stack.Stack, ref string, paths ...string) {
	t.Helper()
	for _, path := range paths {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/html")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		title := titled.FindSubmatch(body)
		if err != nil || answer.StatusCode != http.StatusOK || title == nil {
			t.Fatalf("GET %s: %d %v\n%s", path, answer.StatusCode, err, body)
		}
		if bytes.Contains(title[1], []byte(ref[3:])) {
			t.Errorf("the title of %s is %q", path, title[1])
		}
		if h := answer.Header; h.Get("Referrer-Policy") != "no-referrer" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: referrer policy %q, cache control %q", path, h.Get("Referrer-Policy"), h.Get("Cache-Control"))
		}
		for _, link := range linked.FindAllSubmatch(body, -1) {
			to, err := url.Parse(string(link[1]))
			if err == nil && to.Host != "" && to.Host != strings.TrimPrefix(s.BaseURL, "http://") {
				t.Errorf("%s leads to %s", path, link[1])
			}
		}
	}
}
