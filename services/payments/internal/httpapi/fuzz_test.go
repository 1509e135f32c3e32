package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/httpapi"
	"causeway.internal/services/payments/internal/payment"
)

// checked runs the checks of a create that need no price, address or database.
type checked struct{ httpapi.Intake }

func (checked) Create(_ context.Context, o tenant.Owner, c payment.Command, problems *fault.Problems, _ idempotency.Key) (idempotency.Answer, error) {
	terms, err := c.Check(o.Mode, payment.Defaults().Limits, problems)
	if err != nil {
		return idempotency.Answer{}, err
	}
	if draft := terms.Draft(); !draft.Type.Valid() || !draft.Currency.Valid() || draft.Metadata == nil {
		return idempotency.Answer{}, fault.New(fault.Internal, "unchecked", "a draft that breaks a rule was let through")
	}
	return idempotency.Answer{Status: http.StatusCreated, Body: []byte(`{"success":true}`)}, nil
}

// FuzzCreate: no body of a create causes a 500, and no accepted body breaks a rule.
func FuzzCreate(f *testing.F) {
	for _, seed := range []string{
		`{"type":"transfer","fiatAmount":50000,"fiatCurrency":"NGN","crypto":"USDT","network":"trc20","chargeFrom":"fiat","payer":{"chatId":"1","phone":"2"},"receiver":{"bankCode":"058","accountNumber":"0123456789"},"metadata":{"a":[1,{"b":null}]},"callbackUrl":"http://x/"}`,
		`{"type":"request","fiatAmount":1e2,"fiatCurrency":"KES","receiver":{"bankCode":"01","accountNumber":"12345"},"bankRef":""}`,
		`{"type":"bank_confirmation","cryptoAmount":0.00000001,"fiatCurrency":"ZAR","crypto":"BTC","network":"BTC","bankRef":"x"}`,
		`{"fiatAmount":NaN}`, `{"fiatAmount":-0}`, `{"fiatAmount":1e999999999}`, `{"type":{},"payer":[],"receiver":"x","metadata":1}`, `[]`, `null`, `{"type":"gift","type":"gift"}`, "",
		`{"metadata":` + string(bytes.Repeat([]byte(`{"a":`), 40)) + `1` + string(bytes.Repeat([]byte(`}`), 40)) + `}`, "{\"type\":\"\\u0000\xff\"}",
	} {
		f.Add([]byte(seed), false)
		f.Add([]byte(seed), true)
	}
	key := []byte("a key of 32 bytes, a key of 32 b")
	s := httpkit.NewServer(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), httpkit.Verifier{Audience: wire.Payments, Keys: [][]byte{key}, Now: time.Now})
	httpapi.Routes(s, httpapi.UseCases{Intake: checked{}})
	f.Fuzz(func(t *testing.T, body []byte, live bool) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/payments", bytes.NewReader(body))
		mode := tenant.Test
		if live {
			mode = tenant.Live
		}
		signed, err := httpkit.Identity{
			Subject: httpkit.Merchant, MerchantID: "m", KeyID: 1, Mode: mode, RequestID: "req_1", Method: http.MethodPost, Path: "/v1/payments", Audience: wire.Payments, IssuedAt: time.Now().UnixMilli(),
		}.Sign(key)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(httpkit.IdentityHeader, signed)
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, r)
		switch answer.Code {
		case http.StatusCreated, http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		default:
			t.Errorf("create with %q = %d %s, want 201, 400 or 413", body, answer.Code, answer.Body)
		}
	})
}
