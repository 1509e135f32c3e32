package credential_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/tenant"
)

func TestParse_roundTrip(t *testing.T) {
	seen := map[string]bool{}
	for range 500 {
		for _, mode := range tenant.Modes() {
			for _, kind := range []credential.Kind{credential.Secret, credential.Public} {
				text := credential.Generate(kind, mode)
				gotKind, gotMode, ok := credential.Parse(text)
				if !ok || gotKind != kind || gotMode != mode || seen[text] || len(text) != 44 {
					t.Fatalf("parse the new key %q: got %c, %s, %v; want the kind and mode that it was made with, and 44 characters once", text, gotKind, gotMode, ok)
				}
				seen[text] = true
			}
		}
	}
}

// One wrong character anywhere is refused without a look-up, and so are swapped neighbours.
func TestParse_typo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := []byte(credential.Generate(credential.Secret, tenant.Test))
		at := rapid.IntRange(0, len(key)-1).Draw(t, "at")
		other := rapid.ByteRange(0x20, 0x7e).Draw(t, "other")
		if other == key[at] {
			return
		}
		key[at] = other
		if _, _, ok := credential.Parse(string(key)); ok {
			t.Fatalf("%s is taken with a typo at %d", key, at)
		}
	})
	key := []byte(credential.Generate(credential.Secret, tenant.Test))
	for i := range len(key) - 1 {
		if key[i] == key[i+1] {
			continue
		}
		swapped := append([]byte(nil), key...)
		swapped[i], swapped[i+1] = key[i+1], key[i]
		if _, _, ok := credential.Parse(string(swapped)); ok {
			t.Errorf("%s is taken with %d and %d swapped", swapped, i, i+1)
		}
	}
}

// The published rule: CRC-32 (IEEE) of everything before it, six base62 digits. The value is computed by hand.
func TestParse_vector(t *testing.T) {
	if _, _, ok := credential.Parse("sk_test_0000000000000000000000000000002OMZgq"); !ok {
		t.Error("the documented key is refused")
	}
	for _, bad := range []string{
		"", "sk_test_", strings.Repeat("x", 44), "sk_live_0000000000000000000000000000002OMZgq", "pk_test_0000000000000000000000000000002OMZgq",
		"sk_test_0000000000000000000000000000002OMZgq ", "sk_test_000000000000000000000000000000-OMZgq", "SK_TEST_0000000000000000000000000000002OMZgq",
	} {
		if _, _, ok := credential.Parse(bad); ok {
			t.Errorf("%q is taken", bad)
		}
	}
}

// A token of an operator has the form of a key. Its digest is no token.
func TestIsToken(t *testing.T) {
	token := credential.GenerateToken()
	if !credential.IsToken(token) || !strings.HasPrefix(token, "op_") {
		t.Errorf("%s is no token", token)
	}
	for _, bad := range []string{"", "op_", token + "x", token[:len(token)-1], credential.TokenDigest(token), "op_" + credential.TokenDigest(token), credential.Generate(credential.Secret, tenant.Live)} {
		if credential.IsToken(bad) {
			t.Errorf("%q is taken for a token", bad)
		}
	}
}
