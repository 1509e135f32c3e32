package operator_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/limit"
	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/telemetry"
)

// book is a store with some tokens that counts look-ups.
type book struct {
	operator.Store
	known map[apikey.Digest]operator.Token
	asked int
	down  error
}

func (b *book) TokensByDigest(_ context.Context, digests []apikey.Digest) ([]operator.Token, error) {
	b.asked++
	t, ok := b.known[digests[0]]
	if !ok {
		return nil, b.down
	}
	return []operator.Token{t}, b.down
}

// A wrong token costs its address a try before it is looked up, is counted, and is logged without its text. A token
// that was valid recently needs no try, until it is not valid any more.
func TestDoor(t *testing.T) {
	peppers, err := apikey.ParsePeppers(base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	good, other, revoked, expired, unknown := credential.GenerateToken(), credential.GenerateToken(), credential.GenerateToken(), credential.GenerateToken(), credential.GenerateToken()
	b := &book{known: map[apikey.Digest]operator.Token{
		peppers.Digest(good):    {Name: "ada"},
		peppers.Digest(other):   {Name: "dan"},
		peppers.Digest(revoked): {Name: "ben", RevokedAt: time.Now()},
		peppers.Digest(expired): {Name: "cy", Expired: true},
	}}
	var log bytes.Buffer
	now := time.Unix(1_000_000, 0)
	clock := func() time.Time { return now }
	door, err := operator.NewDoor(nil, b, peppers, limit.NewTokens(false, clock), telemetry.To(&log, "test"), clock)
	if err != nil {
		t.Fatal(err)
	}
	here, there := netip.MustParseAddr("203.0.113.7"), netip.MustParseAddr("203.0.113.8")
	for range 100 { // a good token costs no try
		if name, err := door.Operator(t.Context(), good, here); name != "ada" || err != nil {
			t.Fatalf("let a good token in: got %q, %v, want ada", name, err)
		}
	}
	for token, code := range map[string]string{
		revoked: "operator_token_invalid", expired: "operator_token_expired", unknown: "operator_token_invalid",
		good + "x": "operator_token_invalid", "hello": "operator_token_invalid", "sk_live_" + good[3:]: "operator_token_invalid",
	} {
		if name, err := door.Operator(t.Context(), token, here); name != "" || fault.As(err).Code != code {
			t.Errorf("refuse the token %s: got %q, %v, want the code %s", token, name, err, code)
		}
	}
	for range 100 {
		_, err = door.Operator(t.Context(), unknown, here)
	}
	asked := b.asked
	if f := fault.As(err); f.Kind != fault.RateLimited || f.RetryAfter <= 0 || asked > 100+25 {
		t.Errorf("%v after %d look-ups", err, asked)
	}
	if _, err := door.Operator(t.Context(), other, here); fault.As(err).Kind != fault.RateLimited || b.asked != asked {
		t.Errorf("beyond the limit a token that nobody has seen is looked up: %v", err)
	}
	for range 100 { // a wrong token locks out no known token, and a known token allows no further wrong ones
		if name, err := door.Operator(t.Context(), good, here); name != "ada" || err != nil {
			t.Fatalf("a known token behind the address of wrong ones: %q, %v", name, err)
		}
	}
	if _, err := door.Operator(t.Context(), unknown, here); fault.As(err).Kind != fault.RateLimited {
		t.Errorf("good tokens gave tries of wrong ones back: %v", err)
	}
	if name, err := door.Operator(t.Context(), other, there); name != "dan" || err != nil {
		t.Errorf("another address: %q, %v", name, err)
	}
	b.known[peppers.Digest(good)] = operator.Token{Name: "ada", RevokedAt: time.Now()}
	for _, code := range []string{"operator_token_invalid", "too_many_guesses"} { // it is no longer known as good
		if _, err := door.Operator(t.Context(), good, here); fault.As(err).Code != code {
			t.Errorf("a revoked token: %v, want %s", err, code)
		}
	}
	b.known[peppers.Digest(good)] = operator.Token{Name: "ada"}
	now = now.Add(10 * time.Second)
	if name, err := door.Operator(t.Context(), good, here); name != "ada" || err != nil {
		t.Errorf("later: %q, %v", name, err)
	}
	b.down = errors.New("gone")
	for range 50 { // an outage counts as no wrong token
		if _, err := door.Operator(t.Context(), good, there); fault.As(err).Kind != fault.Unavailable {
			t.Fatal(err)
		}
	}
	for _, token := range []string{good, other, revoked, expired, unknown} {
		if strings.Contains(log.String(), token) || strings.Contains(log.String(), token[3:20]) {
			t.Error("a token is in the log")
		}
	}
	for _, part := range []string{`"address":"203.0.113.7"`, `"operator":"ben"`, `"reason":"expired"`, `"reason":"limited"`} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("the log lacks %s:\n%s", part, log.String())
		}
	}
}
