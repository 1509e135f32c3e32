package httpkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

var (
	oldKey = []byte("old key, old key, old key, old key")
	newKey = []byte("new key, new key, new key, new key")
)

type echoRequest struct{ Name string }

func (e *echoRequest) Read(in *httpkit.Input) { e.Name = in.Body().RequiredText("name", 20) }

type echoAnswer struct {
	Name string `json:"name"`
	Ref  string `json:"ref"`
}

func (echoAnswer) Status() int { return http.StatusCreated }

func echo(ctx context.Context, r echoRequest) (echoAnswer, error) {
	switch r.Name {
	case "panic":
		panic("a secret detail")
	case "database away":
		return echoAnswer{}, fmt.Errorf("look for an answer: %w", &net.OpError{Op: "write", Err: errors.New("a secret detail")})
	case "database stops":
		return echoAnswer{}, fmt.Errorf("look for an answer: %w", sqlError("57P01"))
	case "password changed":
		return echoAnswer{}, fmt.Errorf("look for an answer: %w", sqlError("28P01"))
	case "database gone":
		return echoAnswer{}, closedError{}
	case "database cut":
		return echoAnswer{}, fmt.Errorf("look for an answer: %w", io.ErrUnexpectedEOF)
	case "bad query":
		return echoAnswer{}, fmt.Errorf("look for an answer: %w", sqlError("42601"))
	case "conflict":
		return echoAnswer{}, fault.New(fault.Conflict, "busy", "It is busy.")
	}
	return echoAnswer{Name: r.Name, Ref: httpkit.From(ctx).Identity.MerchantID}, nil
}

// closedError is the error of a statement on a connection that was lost before, as a driver shows it.
type closedError struct{}

func (closedError) Error() string     { return "conn closed" }
func (closedError) SafeToRetry() bool { return true }

// sqlError is an error of a database as its driver shows it.
type sqlError string

func (e sqlError) Error() string    { return "a secret detail" }
func (e sqlError) SQLState() string { return string(e) }

func newServer() *httpkit.Server {
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(),
		httpkit.Verifier{Audience: "payments", Keys: [][]byte{newKey, oldKey}, Now: time.Now})
	httpkit.Handle(s, "POST /v1/things", httpkit.ForMerchants, echo)
	return s
}

func identity() httpkit.Identity {
	return httpkit.Identity{
		Subject: httpkit.Merchant, MerchantID: "m1", Mode: tenant.Test, RequestID: "req_1",
		Method: http.MethodPost, Path: "/v1/things?x=1", Audience: "payments", IssuedAt: time.Now().UnixMilli(),
	}
}

func send(t *testing.T, header, contentType, body string) *http.Response {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "/v1/things?x=1", strings.NewReader(body))
	r.Header.Set(httpkit.IdentityHeader, header)
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	newServer().ServeHTTP(w, r)
	return w.Result()
}

func sign(t *testing.T, id httpkit.Identity, key []byte) string {
	t.Helper()
	header, err := id.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return header
}

func TestServer_answers(t *testing.T) {
	for name, tc := range map[string]struct {
		contentType, body string
		status            int
		holds             string
	}{
		"created":       {"application/json", `{"name":"bob"}`, 201, `{"success":true,"name":"bob","ref":"m1"}`},
		"no type":       {"", `{"name":"bob"}`, 201, `"name":"bob"`},
		"charset":       {"application/json; charset=utf-8", `{"name":"bob"}`, 201, `"name":"bob"`},
		"missing field": {"", `{}`, 400, `"fields":[{"field":"name","message":"is required"}]`},
		"other type":    {"text/xml", `<a/>`, 415, `"code":"unsupported_media_type"`},
		"too large":     {"", `{"name":"` + strings.Repeat("x", httpkit.BodyMax) + `"}`, 413, `"code":"body_too_large"`},
		"conflict":      {"", `{"name":"conflict"}`, 409, `"message":"It is busy."`},
		"panic":         {"", `{"name":"panic"}`, 500, `"code":"internal"`},
		"bad query":     {"", `{"name":"bad query"}`, 500, `"code":"internal"`},

		"database away":  {"", `{"name":"database away"}`, 503, `"code":"service_unavailable"`},
		"database stops": {"", `{"name":"database stops"}`, 503, `"code":"service_unavailable"`},
		"other password": {"", `{"name":"password changed"}`, 503, `"code":"service_unavailable"`},
		"database cut":   {"", `{"name":"database cut"}`, 503, `"code":"service_unavailable"`},
		"database gone":  {"", `{"name":"database gone"}`, 503, `"code":"service_unavailable"`},
	} {
		t.Run(name, func(t *testing.T) {
			res := send(t, sign(t, identity(), oldKey), tc.contentType, tc.body)
			got, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != tc.status || !strings.Contains(string(got), tc.holds) || strings.Contains(string(got), "secret detail") {
				t.Errorf("%d %s, want %d with %s", res.StatusCode, got, tc.status, tc.holds)
			}
			if (res.StatusCode == http.StatusServiceUnavailable) != (res.Header.Get("Retry-After") != "") {
				t.Errorf("%d with Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
			}
			if res.Header.Get(httpkit.RequestIDHeader) != "req_1" {
				t.Error("the request id is missing")
			}
		})
	}
}

// A PATCH without a body asks for nothing. Its caller forgot the fields, or lost them on the way.
func TestServer_emptyPatch(t *testing.T) {
	s := newServer()
	httpkit.Handle(s, "PATCH /v1/things", httpkit.ForMerchants, change)
	for body, want := range map[string]int{"": http.StatusBadRequest, " \n": http.StatusBadRequest, `{}`: http.StatusCreated} {
		i := identity()
		i.Method = http.MethodPatch
		r := httptest.NewRequest(http.MethodPatch, i.Path, strings.NewReader(body))
		r.Header.Set(httpkit.IdentityHeader, sign(t, i, newKey))
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != want || want == http.StatusBadRequest && !strings.Contains(w.Body.String(), `"code":"invalid_json"`) {
			t.Errorf("PATCH with the body %q: %d %s, want %d", body, w.Code, w.Body, want)
		}
	}
}

type changeRequest struct{}

func (changeRequest) Read(in *httpkit.Input) { in.Body().Text("name", 20) }

func change(context.Context, changeRequest) (echoAnswer, error) { return echoAnswer{}, nil }

// A caller that disconnects is no defect of the service: nothing is logged as an error and no 500 is counted.
func TestServer_callerGone(t *testing.T) {
	var logged strings.Builder
	s := httpkit.NewServer(slog.New(slog.NewTextHandler(&logged, nil)), prometheus.NewRegistry(),
		httpkit.Verifier{Audience: "payments", Keys: [][]byte{newKey}, Now: time.Now})
	ctx, hangUp := context.WithCancel(t.Context())
	httpkit.Handle(s, "POST /v1/things", httpkit.ForMerchants, func(ctx context.Context, _ echoRequest) (echoAnswer, error) {
		hangUp()
		<-ctx.Done()
		return echoAnswer{}, ctx.Err()
	})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/things?x=1", strings.NewReader(`{"name":"bob"}`))
	r.Header.Set(httpkit.IdentityHeader, sign(t, identity(), newKey))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code != 499 || logged.Len() > 0 {
		t.Errorf("status %d, logged %q", w.Code, logged.String())
	}
}

func TestServer_identity(t *testing.T) {
	change := func(f func(*httpkit.Identity)) httpkit.Identity {
		id := identity()
		f(&id)
		return id
	}
	for name, header := range map[string]string{
		"absent":         "",
		"garbage":        "x.y",
		"other key":      sign(t, identity(), []byte("somebody else's key, 32 bytes long")),
		"other audience": sign(t, change(func(i *httpkit.Identity) { i.Audience = "wallets" }), newKey),
		"other path":     sign(t, change(func(i *httpkit.Identity) { i.Path = "/v1/things" }), newKey),
		"other method":   sign(t, change(func(i *httpkit.Identity) { i.Method = "GET" }), newKey),
		"old":            sign(t, change(func(i *httpkit.Identity) { i.IssuedAt -= 31_000 }), newKey),
		"future":         sign(t, change(func(i *httpkit.Identity) { i.IssuedAt += 31_000 }), newKey),
	} {
		if res := send(t, header, "", `{"name":"bob"}`); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %d, want 401", name, res.StatusCode)
		}
	}
}

func TestServer_unknownRouteAndMethod(t *testing.T) {
	for target, want := range map[string]int{"GET /nowhere": 404, "GET /v1/things": 405} {
		method, path, _ := strings.Cut(target, " ")
		w := httptest.NewRecorder()
		newServer().ServeHTTP(w, httptest.NewRequest(method, path, nil))
		var body struct {
			Success bool
			Error   struct{ Code, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Success || body.Error.Code == "" || w.Code != want {
			t.Errorf("%s: %d %s (%v), want %d in the error shape", target, w.Code, w.Body, err, want)
		}
		if want == 405 && w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: Allow %q", target, w.Header().Get("Allow"))
		}
	}
}
