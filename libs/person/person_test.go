package person_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
)

var (
	merchantKey = ed25519.NewKeyFromSeed([]byte(strings.Repeat("m", 32)))
	operatorKey = ed25519.NewKeyFromSeed([]byte(strings.Repeat("o", 32)))
	now         = time.UnixMilli(1775000000000)
	body        = []byte(`{"a":1}`)
)

func verifier(t *testing.T, keys ...string) *person.Verifier {
	t.Helper()
	v, err := person.NewVerifier(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func bound(t *testing.T) person.Assertion {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://gateway/v1/payments?a=%20b", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Idempotency-Key", "k")
	return person.Assertion{
		Door: person.Merchant, User: "usr_1", Name: "ann@shop.example", MerchantID: "acme", Mode: tenant.Test, Permissions: []string{"payment:create"},
	}.Bind(r, body, now)
}

var request = person.Request{Method: "POST", Path: "/v1/payments?a=%20b", IdempotencyKey: "k", Body: body}

func signed(t *testing.T, a person.Assertion, key ed25519.PrivateKey) string {
	t.Helper()
	text, err := a.Sign(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An assertion passes once, for the request that it names, from a key of the door that it names.
func TestVerifier(t *testing.T) {
	v := verifier(t, person.Public(person.Merchant, merchantKey), person.Public(person.Operator, operatorKey))
	a, err := v.Open(signed(t, bound(t), merchantKey), now.Add(person.Life))
	if err != nil || a.Name != "ann@shop.example" || a.MerchantID != "acme" || a.Mode != tenant.Test {
		t.Fatalf("open: got %+v, %v", a, err)
	}
	for name, change := range map[string]func(*person.Request){
		"method": func(r *person.Request) { r.Method = "PUT" }, "path": func(r *person.Request) { r.Path = "/v1/payments?a=%20c" },
		"key": func(r *person.Request) { r.IdempotencyKey = "" }, "body": func(r *person.Request) { r.Body = nil },
	} {
		other := request
		change(&other)
		if err := v.Take(a, other, now); !errors.Is(err, person.ErrForeign) {
			t.Errorf("another %s: got %v, want foreign", name, err)
		}
	}
	if err := v.Take(a, request, now.Add(person.Life+1)); !errors.Is(err, person.ErrExpired) {
		t.Errorf("take too late: got %v, want expired", err)
	}
	if err := v.Take(a, request, now); err != nil {
		t.Errorf("take: got %v", err)
	}
	if err := v.Take(a, request, now); !errors.Is(err, person.ErrUsed) {
		t.Errorf("take again: got %v, want used", err)
	}
}

func TestVerifier_refuses(t *testing.T) {
	v := verifier(t, person.Public(person.Merchant, merchantKey), person.Public(person.Operator, operatorKey))
	operator := bound(t)
	operator.Door, operator.Name, operator.MerchantID, operator.Mode, operator.Permissions = person.Operator, "ada.obi", "", "", nil
	good := signed(t, bound(t), merchantKey)
	body, sum, _ := strings.Cut(good, ".")
	for name, text := range map[string]string{
		"nothing":                           "",
		"no signature":                      body,
		"an empty signature":                body + ".",
		"another prefix":                    "cwq_" + strings.TrimPrefix(good, person.Prefix),
		"another payload":                   strings.Replace(body, "A", "B", 1) + "." + sum,
		"a merchant by the operators' key":  signed(t, bound(t), operatorKey),
		"an operator by the merchants' key": signed(t, operator, merchantKey),
		"an unknown key":                    signed(t, bound(t), ed25519.NewKeyFromSeed([]byte(strings.Repeat("x", 32)))),
		"padding":                           good + "=",
		"beyond all bounds":                 body + strings.Repeat("A", 20<<10) + "." + sum,
	} {
		if a, err := v.Open(text, now); !errors.Is(err, person.ErrForged) {
			t.Errorf("%s: got %+v, %v, want forged", name, a, err)
		}
	}
	if _, err := v.Open(signed(t, operator, operatorKey), now); err != nil {
		t.Errorf("an operator by the operators' key: got %v", err)
	}
	for _, off := range []time.Duration{person.Life + 1, -person.Life - 1} {
		if _, err := v.Open(good, now.Add(off)); !errors.Is(err, person.ErrExpired) {
			t.Errorf("%s from its time: got %v, want expired", off, err)
		}
	}
	if _, err := verifier(t).Open(good, now); !errors.Is(err, person.ErrForged) {
		t.Errorf("without keys: got %v, want forged", err)
	}
}

// A console learns at once that it signs what no gateway takes.
func TestSign_refuses(t *testing.T) {
	for name, change := range map[string]func(*person.Assertion){
		"not bound":                   func(a *person.Assertion) { a.Nonce = "" },
		"no door":                     func(a *person.Assertion) { a.Door = "" },
		"no user":                     func(a *person.Assertion) { a.User = "" },
		"a line in the name":          func(a *person.Assertion) { a.Name = "a\nb" },
		"no merchant":                 func(a *person.Assertion) { a.MerchantID = "" },
		"no mode":                     func(a *person.Assertion) { a.Mode = "" },
		"an operator with a merchant": func(a *person.Assertion) { a.Door = person.Operator },
	} {
		a := bound(t)
		change(&a)
		if text, err := a.Sign(merchantKey); err == nil {
			t.Errorf("%s: got %s, want an error", name, text)
		}
	}
}

func TestKeys(t *testing.T) {
	both := person.Public(person.Merchant, merchantKey)
	for _, bad := range []string{"merchant", "merchant:x", "clerk:" + strings.TrimPrefix(both, "merchant:"), both + ",", both + ",operator:" + strings.TrimPrefix(both, "merchant:")} {
		if _, err := person.NewVerifier(bad); err == nil {
			t.Errorf("read the keys %q: got no error", bad)
		}
	}
	seed := base64.StdEncoding.EncodeToString(merchantKey.Seed())
	if key, err := person.ParseKey(seed); err != nil || !key.Equal(merchantKey) {
		t.Errorf("read a seed: got %v", err)
	}
	if _, err := person.ParseKey(seed[4:]); err == nil || strings.Contains(err.Error(), seed[4:]) {
		t.Errorf("read a short seed: got %v, want an error without it", err)
	}
	v := verifier(t, person.Public(person.Merchant, operatorKey), both)
	if _, err := v.Open(signed(t, bound(t), merchantKey), now); err != nil {
		t.Errorf("the second key of a door: got %v", err)
	}
}
