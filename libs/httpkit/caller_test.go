package httpkit_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-kit/kit/endpoint"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// An identity is a merchant's, an operator's or nobody's; each refusal has one status and one code.
func TestIdentity_caller(t *testing.T) {
	merchant := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Live}
	operator := httpkit.Identity{Subject: httpkit.Operator, Operator: "ada"}
	if o, err := merchant.Owner(); err != nil || o != (tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}) {
		t.Errorf("the owner of a merchant's request: got %+v, %v", o, err)
	}
	if name, err := operator.OperatorName(); err != nil || name != "ada" {
		t.Errorf("the name of an operator's request: got %q, %v", name, err)
	}
	for name, i := range map[string]httpkit.Identity{
		"public": {Subject: httpkit.Public}, "no merchant": {Subject: httpkit.Merchant, Mode: tenant.Live},
		"no mode": {Subject: httpkit.Merchant, MerchantID: "acme"}, "unknown mode": {Subject: httpkit.Merchant, MerchantID: "acme", Mode: "both"},
		"an operator without a name": {Subject: httpkit.Operator}, "an operator's merchant": {Subject: httpkit.Operator, MerchantID: "acme", Mode: tenant.Live},
	} {
		_, err := i.Owner()
		if f := fault.As(err); !errors.Is(err, httpkit.ErrNoMerchant) || httpkit.Status(f.Kind) != http.StatusUnauthorized || f.Code != "key_required" {
			t.Errorf("%s as a merchant: got %v, want 401 key_required", name, err)
		}
		_, err = i.OperatorName()
		if f := fault.As(err); !errors.Is(err, httpkit.ErrNoOperator) || httpkit.Status(f.Kind) != http.StatusUnauthorized || f.Code != "operator_required" {
			t.Errorf("%s as an operator: got %v, want 401 operator_required", name, err)
		}
	}
}

// A route for keys refuses a merchant without one; a route for merchants does not.
func TestForKeys_needsAKey(t *testing.T) {
	for keyID, want := range map[int64]int{0: http.StatusUnauthorized, 7: http.StatusCreated} {
		s := newServer()
		httpkit.Handle(s, "POST /v1/kept", httpkit.ForKeys, echo)
		for path, want := range map[string]int{"/v1/kept": want, "/v1/things": http.StatusCreated} {
			who := identity()
			who.KeyID, who.Path = keyID, path
			r := post(http.MethodPost, path, thing, "")
			r.Header.Set(httpkit.IdentityHeader, sign(t, who, newKey))
			w := httptest.NewRecorder()
			if s.ServeHTTP(w, r); w.Code != want {
				t.Errorf("POST %s with key %d = %d %s, want %d", path, keyID, w.Code, w.Body, want)
			}
		}
	}
}

// Two requests share a key within the caller, the route and the object that the path names, and nowhere else.
func TestRequest_key(t *testing.T) {
	s := newServer()
	var got []string
	keep := func(ctx context.Context, _ echoRequest) (echoAnswer, error) {
		k := httpkit.From(ctx).Key()
		got = append(got, strings.ReplaceAll(k.Scope, "\x1f", "|")+" "+k.Key)
		return echoAnswer{}, nil
	}
	for path, callers := range map[string]endpoint.Middleware{
		"/merchants/{id}/x/{name}": httpkit.ForMerchants, "/keys": httpkit.ForKeys, "/operators/{id}": httpkit.ForOperators, "/all/{id}": httpkit.ForAll,
	} {
		httpkit.Handle(s, "POST "+path, callers, keep)
	}
	for _, path := range []string{"/merchants/pay_1/x/n", "/keys", "/operators/7", "/all/CW-1"} {
		who := identity()
		who.KeyID, who.Path = 7, path
		if strings.HasPrefix(path, "/operators") {
			who.Subject, who.Operator = httpkit.Operator, "ada"
		}
		r := post(http.MethodPost, path, thing, "k1")
		r.Header.Set(httpkit.IdentityHeader, sign(t, who, newKey))
		s.ServeHTTP(httptest.NewRecorder(), r)
	}
	want := []string{
		"m1|test|POST /merchants/{id}/x/{name}|pay_1|n k1", "m1|test|7|POST /keys k1", "operator|ada|POST /operators/{id}|7 k1", "public|POST /all/{id}|CW-1 k1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the scopes of four keyed requests: got %q, want %q", got, want)
	}
}
