package contract

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

func published(t *testing.T) *Contract {
	t.Helper()
	path, err := Find("gateway/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const (
	payment = `"reference":"CW-7KQ2M9XHTB4N","type":"transfer","status":"pending","exception":null,"fiatAmount":1,"fiatCurrency":"NGN",
		"expiresAt":"2026-04-01T13:30:00.000Z","createdAt":"2026-04-01T13:00:00.000Z","txHash":"","confirmations":0,"receivedAmount":0,
		"confirmedAt":null,"settledAt":null,"metadata":{"any":1},"transfers":[]`
	event = `{"id":"evt_01jqs8m2v4t6x8z0b2d4f6h8j0","type":"payment.pending","createdAt":"2026-04-01T13:00:00.000Z","mode":"test",
		"data":{"payment":{"sequence":1,` + payment + `}}}`
)

// TestDocument: against the published document, what an answer or event holds beside what is described is found, also
// where a schema is put together of others.
func TestDocument(t *testing.T) {
	t.Parallel()
	c := published(t)
	change := func(text, from, to string) string {
		if !strings.Contains(text, from) {
			t.Fatalf("nothing to change in %s", text)
		}
		return strings.Replace(text, from, to, 1)
	}
	for name, body := range map[string]string{
		"field more":        change(event, `"sequence":1`, `"sequence":1,"secret":"x"`),
		"field more around": change(event, `"mode":"test"`, `"mode":"test","secret":"x"`),
		"field missing":     change(event, `"txHash":"",`, ""),
		"field retyped":     change(event, `"confirmations":0`, `"confirmations":"0"`),
		"no sequence":       change(event, `"sequence":1,`, ""),
		"unknown type":      change(event, "payment.pending", "payment.lost"),
		"another's type":    change(event, "payment.pending", "wallet.watching"),
		"no JSON":           "<html>",
	} {
		var e *EventError
		if err := c.Event([]byte(body)); !errors.As(err, &e) {
			t.Errorf("check an event with %s: got %v, want an EventError", name, err)
		}
	}
	if err := c.Event([]byte(event)); err != nil {
		t.Error(err)
	}
	answer := `{"success":true,"payment":{` + payment + `}}`
	for body, bad := range map[string]bool{answer: false, change(answer, `"txHash"`, `"secret":1,"txHash"`): true, change(answer, `true,`, `true,"secret":1,`): true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://gateway/v1/payments/CW-7KQ2M9XHTB4N", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}, "X-Request-Id": {"req_1"}}}
		if err := c.check(r, nil, response, []byte(body)); (err != nil) != bad {
			t.Errorf("check the answer %s: got %v", body, err)
		}
	}
}
