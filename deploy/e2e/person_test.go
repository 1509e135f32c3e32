//go:build integration

package e2e

import (
	"io"
	"net/http"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/stack"
)

// member is a person of a merchant in test mode, as the merchants' console names it.
func member(merchantID string, permissions ...string) person.Assertion {
	return person.Assertion{
		Door: person.Merchant, User: "usr_" + merchantID, Name: "ada@" + merchantID + ".example", MerchantID: merchantID, Mode: tenant.Test, Permissions: permissions,
	}
}

// as sends a request as a person. It is the last option of a call, because the assertion names the whole request.
func as(t *testing.T, s *stack.Stack, who person.Assertion) api.Option {
	t.Helper()
	key, err := person.ParseKey(s.Doors["console"].DoorKey)
	if err != nil {
		t.Fatal(err)
	}
	return func(r *http.Request) {
		var body []byte
		if r.GetBody != nil {
			copied, err := r.GetBody()
			if err == nil {
				body, err = io.ReadAll(copied)
			}
			if err != nil {
				t.Errorf("read a body again: %v", err)
			}
		}
		text, err := who.Bind(r, body, time.Now()).Sign(key)
		if err != nil {
			t.Errorf("assert a person: %v", err)
		}
		r.Header.Set("Authorization", "Bearer "+text)
	}
}
