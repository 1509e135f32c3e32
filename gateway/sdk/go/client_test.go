package causeway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	secret = "sk_test_Xq3vT9mZ2kLw8RbY5nHc1JdF7sGpAe4eEy9X"
	live   = "sk_live_Xq3vT9mZ2kLw8RbY5nHc1JdF7sGpAe0NV9Xw"
	public = "pk_test_0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT2Rfwir"
)

// server answers with f, and a client of it waits for no repetition.
func server(t *testing.T, o Options, f http.HandlerFunc) *Client {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	o.BaseURL = s.URL
	if o.APIKey == "" {
		o.APIKey = secret
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestNew_refuses(t *testing.T) {
	for name, o := range map[string]Options{
		"no URL":                   {APIKey: secret},
		"an URL of another scheme": {BaseURL: "ftp://api.example", APIKey: secret},
		"an URL with a password":   {BaseURL: "https://a:b@api.example", APIKey: secret},
		"a key with a typo":        {BaseURL: "https://api.example", APIKey: strings.Replace(secret, "X", "Y", 1)},
		"keys of two modes":        {BaseURL: "https://api.example", APIKey: live, PublicKey: public},
		"a live key for test mode": {BaseURL: "https://api.example", APIKey: live, Mode: "test"},
		"no key for test mode":     {BaseURL: "https://api.example", Mode: "test"},
		"a live key over http":     {BaseURL: "http://api.example", APIKey: live},
	} {
		if _, err := New(o); err == nil || strings.Contains(err.Error(), "Xq3vT9") {
			t.Errorf("%s: New() = %v, want an error without the key", name, err)
		}
	}
	if _, err := New(Options{BaseURL: "http://127.0.0.1:1", APIKey: live}); err != nil {
		t.Errorf("a live key on the machine itself: %v", err)
	}
}

func TestClient_repeatsUnderOneKey(t *testing.T) {
	var keys []string
	c := server(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) < 3 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, `{"success":false,"error":{"code":"overloaded","message":"Busy.","requestId":"req_1"}}`)
			return
		}
		body, _ := io.ReadAll(r.Body)
		if string(body) != `{"description":"<a&b>","fiatAmount":1234567.89,"fiatCurrency":"NGN","type":"transfer"}` {
			t.Errorf("sent %s", body)
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"success":true,"payment":{"reference":"CW-1","fiatAmount":1234567.89,"cryptoAmount":0.000000000000000001}}`)
	})
	made, err := c.CreatePayment(t.Context(), CreatePayment{Type: "transfer", FiatAmount: MustDecimal("1234567.89"), FiatCurrency: "NGN", Description: "<a&b>"}, IdempotencyKey("order-17"))
	if err != nil || !slices.Equal(keys, []string{"order-17", "order-17", "order-17"}) {
		t.Fatalf("CreatePayment() = %v with the keys %v", err, keys)
	}
	if p := made.Payment; p.FiatAmount.String() != "1234567.89" || p.CryptoAmount == nil || p.CryptoAmount.String() != "0.000000000000000001" {
		t.Errorf("read %+v", made.Payment)
	}
	if _, err := c.CreatePayment(t.Context(), CreatePayment{}, IdempotencyKey("a\nb")); err == nil || len(keys) != 3 {
		t.Errorf("a broken key: got %v after %d calls", err, len(keys))
	}
}

func TestClient_refusals(t *testing.T) {
	calls := 0
	c := server(t, Options{}, func(w http.ResponseWriter, _ *http.Request) {
		calls++
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"success":false,"error":{"code":"validation_failed","message":"type: is required","requestId":"req_9","fields":[{"field":"type","message":"is required"}]}}`)
	})
	_, err := c.GetPayment(t.Context(), "CW-1")
	e, ok := errors.AsType[*APIError](err)
	if !ok || e.Status != 400 || e.Code != CodeValidationFailed || e.RequestID != "req_9" || len(e.Fields) != 1 || e.Fields[0].Field != "type" || calls != 1 {
		t.Errorf("got %#v after %d calls", err, calls)
	}
	if _, err := c.GetPayment(t.Context(), ".."); err == nil || calls != 1 {
		t.Errorf("a path of dots: got %v after %d calls", err, calls)
	}
	c = server(t, Options{MaxRetries: -1}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://evil.example/")
		w.WriteHeader(http.StatusFound)
	})
	if e, ok := errors.AsType[*APIError](func() error { _, err := c.GetPayment(t.Context(), "CW-1"); return err }()); !ok || e.Code != CodeUnreadable {
		t.Errorf("a redirect: got %v", e)
	}
}

func TestClient_noAnswer(t *testing.T) {
	c := server(t, Options{MaxRetries: -1, Timeout: 200 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err := c.GetPayment(t.Context(), "CW-7KQ2M9XHTB4N")
	if _, ok := errors.AsType[*ConnectionError](err); !ok || strings.Contains(err.Error(), "7KQ2M9XHTB4N") {
		t.Errorf("got %v, want a ConnectionError without the reference", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.GetPayment(ctx, "CW-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was given up: got %v", err)
	}
	small := server(t, Options{MaxAnswer: 10}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"success":true}`) })
	if _, err := small.GetPayment(t.Context(), "CW-1"); err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Errorf("a long answer: got %v", err)
	}
}

func TestClient_signs(t *testing.T) {
	c := server(t, Options{PublicKey: public}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var at int64
		_ = json.Unmarshal([]byte(r.Header.Get("X-Timestamp")), &at)
		if want := requestSignature(secret, at, r.Method, r.RequestURI, body); r.Header.Get("X-Signature") != want || r.Header.Get("Authorization") != "" || r.Header.Get("X-API-Key") != public {
			t.Errorf("signed %s with %v", r.RequestURI, r.Header)
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	})
	if _, err := c.ListPayments(t.Context(), ListPaymentsQuery{Status: []string{"settled", "expired"}, PayerChatID: "a b"}); err != nil {
		t.Error(err)
	}
	if _, err := c.CreatePayment(t.Context(), CreatePayment{Type: "gift"}); err != nil {
		t.Error(err)
	}
}

// A proxy may serve the API under a path that it strips: the gateway verifies the path that is left.
func TestClient_signsBehindPath(t *testing.T) {
	gateway := http.StripPrefix("/causeway", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		at, _ := strconv.ParseInt(r.Header.Get("X-Timestamp"), 10, 64)
		if want := requestSignature(secret, at, r.Method, r.URL.RequestURI(), body); r.Header.Get("X-Signature") != want {
			t.Errorf("signed %s with %v, want %s", r.URL.RequestURI(), r.Header, want)
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
	s := httptest.NewServer(gateway)
	defer s.Close()
	c, err := New(Options{BaseURL: s.URL + "/causeway/", APIKey: secret, PublicKey: public})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.ListPayments(t.Context(), ListPaymentsQuery{PayerChatID: "a b"}); err != nil {
		t.Error(err)
	}
	if _, err := c.GetPayment(t.Context(), "CW/1 ~é:%"); err != nil {
		t.Error(err)
	}
}

func TestIterate(t *testing.T) {
	c := server(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.RawQuery {
		case "limit=2&status=settled":
			_, _ = io.WriteString(w, `{"success":true,"payments":[{"reference":"CW-3"},{"reference":"CW-2"}],"pagination":{"limit":2,"nextCursor":"x","hasMore":true}}`)
		case "cursor=x&limit=2&status=settled":
			_, _ = io.WriteString(w, `{"success":true,"payments":[{"reference":"CW-1"}],"pagination":{"limit":2,"nextCursor":null,"hasMore":false}}`)
		case "cursor=":
			_, _ = io.WriteString(w, `{"success":true,"wallets":[{"id":"wal_1","amount":"1.5"}],"pagination":{"limit":50,"offset":0,"returned":1,"nextCursor":null,"hasMore":false}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	var got []string
	for p, err := range c.IteratePayments(t.Context(), ListPaymentsQuery{Status: []string{"settled"}, Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Reference)
	}
	if !slices.Equal(got, []string{"CW-3", "CW-2", "CW-1"}) {
		t.Errorf("walked through %v", got)
	}
	for _, err := range c.IterateWallets(t.Context(), ListWalletsQuery{}) {
		if err != nil {
			t.Error(err)
		}
	}
	failed := 0
	for _, err := range c.IteratePayments(t.Context(), ListPaymentsQuery{Type: "gift"}) {
		if err == nil {
			t.Error("got an item where the API refuses")
		}
		failed++
	}
	if failed != 1 {
		t.Errorf("got %d errors of a refused list, want 1", failed)
	}
}

// A list with a page that cannot be read ends with an error, wherever the answer has the cursor, and never as if it
// were whole.
func TestIterate_unreadable(t *testing.T) {
	for name, page := range map[string]string{
		"a cursor that is no text": `"nextCursor":7,"hasMore":true`, "more as text": `"nextCursor":"x","hasMore":"true"`, "more as a number": `"nextCursor":"x","hasMore":1`,
	} {
		t.Run(name, func(t *testing.T) {
			answers := map[string]string{
				"/v1/payments":       `{"success":true,"payments":[{"reference":"CW-1"}],"pagination":{"limit":1,` + page + `}}`,
				"/v1/events":         `{"success":true,"events":[{"id":"evt_1"}],` + page + `}`,
				"/v1/reports/lookup": `{"success":true,"data":{"reports":[{"reportId":"RPT-1"}],"total":2,"limit":1,"offset":0,` + page + `}}`,
			}
			calls := 0
			c := server(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				calls++
				_, _ = io.WriteString(w, answers[r.URL.Path])
			})
			wantError(t, "payments", c.IteratePayments(t.Context(), ListPaymentsQuery{}))
			wantError(t, "events", c.IterateEvents(t.Context(), ListEventsQuery{}))
			wantError(t, "reports", c.IterateLookupReports(t.Context(), LookupReportsQuery{PhoneNumber: "2348030000000"}))
			if calls != len(answers) {
				t.Errorf("asked for %d pages, want %d", calls, len(answers))
			}
		})
	}
}

// wantError walks through a list that has an error in the place of its items.
func wantError[T any](t *testing.T, list string, all iter.Seq2[T, error]) {
	t.Helper()
	items, failed := 0, 0
	for _, err := range all {
		if err == nil {
			items++
		} else {
			failed++
		}
	}
	if items != 0 || failed != 1 {
		t.Errorf("walk through %s: got %d items and %d errors, want one error", list, items, failed)
	}
}
