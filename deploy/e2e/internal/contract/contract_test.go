package contract

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const document = `
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /v1/things:
    post:
      requestBody:
        content:
          application/json:
            schema: {type: object, required: [name], properties: {name: {type: string}}}
      responses:
        "201":
          description: made
          content:
            application/json:
              schema:
                type: object
                required: [success, amount]
                additionalProperties: false
                properties: {success: {type: boolean}, amount: {type: number}}
        "400":
          description: bad
          content: {application/json: {schema: {type: object}}}
`

const goodError = `{"success":false,"message":"no name","error":{"code":"invalid_request","message":"no name","requestId":"req_1","fields":[{"field":"name","message":"is missing"}]}}`

func TestExchanges(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path, request string
		bad           bool
		status        int
		answer        string
		noID          bool
		problem       string
	}{
		"good":                {request: `{"name":"a"}`, status: 201, answer: `{"success":true,"amount":1.5}`},
		"additional field":    {request: `{"name":"a"}`, status: 201, answer: `{"success":true,"amount":1,"extra":1}`, problem: "extra"},
		"wrong type":          {request: `{"name":"a"}`, status: 201, answer: `{"success":true,"amount":"1"}`, problem: "amount"},
		"undocumented status": {request: `{"name":"a"}`, status: 200, answer: `{"success":true,"amount":1}`, problem: "status"},
		"no success":          {request: `{"name":"a"}`, status: 201, answer: `{"amount":1}`, problem: "success"},
		"bad request":         {request: `{}`, status: 201, answer: `{"success":true,"amount":1}`, problem: "request breaks"},
		"bad on purpose":      {request: `{}`, bad: true, status: 400, answer: goodError},
		"unknown route":       {path: "/v1/other", request: `{}`, status: 404, answer: goodError},
		"undocumented route":  {path: "/v1/other", request: `{}`, status: 200, answer: `{"success":true}`, problem: "not in the document"},
		"error shape":         {request: `{"name":"a"}`, status: 400, answer: `{"success":false,"message":"x"}`, problem: "messages differ"},
		"error leaks":         {request: `{"name":"a"}`, status: 400, answer: strings.ReplaceAll(goodError, "no name", "SQLSTATE 23505"), problem: "leaks"},
		"error of html":       {request: `{"name":"a"}`, status: 400, answer: `<html>`, problem: "one shape"},
		"no request id":       {request: `{"name":"a"}`, status: 201, answer: `{"success":true,"amount":1}`, noID: true, problem: "X-Request-Id"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if !test.noID {
					w.Header().Set("X-Request-Id", "req_1")
				}
				if raw, _ := io.ReadAll(r.Body); string(raw) != test.request {
					t.Errorf("the server read %q", raw)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.answer)
			}))
			defer server.Close()
			path := "/v1/things"
			if test.path != "" {
				path = test.path
			}
			ctx := context.Background()
			if test.bad {
				ctx = WithBadRequest(ctx)
			}
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader(test.request))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			response, err := (&http.Client{Transport: c.Transport(http.DefaultTransport)}).Do(r)
			var violation *Violation
			switch {
			case test.problem == "" && err != nil:
				t.Fatal(err)
			case test.problem != "" && (!errors.As(err, &violation) || !strings.Contains(err.Error(), test.problem)):
				t.Fatalf("want a violation about %q, got %v", test.problem, err)
			case err == nil:
				defer response.Body.Close()
				if raw, _ := io.ReadAll(response.Body); string(raw) != test.answer {
					t.Errorf("the client read %q", raw)
				}
			}
		})
	}
}

// An optional member that is "" counts as not supplied, at any depth; everything else is judged as it was sent.
func TestSupplied(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		`{"to":"","from":"a"}`:                  `{"from":"a"}`,
		`{"receiver":{"name":"","bank":"044"}}`: `{"receiver":{"bank":"044"}}`,
		`{"list":[{"a":""},""],"amount":1.10}`:  `{"amount":1.10,"list":[{},""]}`,
		`{"from" : "a"}`:                        `{"from" : "a"}`,
		`{"from":""}{}`:                         `{"from":""}{}`,
		`{"from":`:                              `{"from":`,
		``:                                      ``,
	} {
		if got := string(supplied([]byte(sent))); got != want {
			t.Errorf("supplied(%s) = %s, want %s", sent, got, want)
		}
	}
}
