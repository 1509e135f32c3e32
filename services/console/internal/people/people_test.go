package people_test

import (
	"crypto/ed25519"
	"crypto/sha256"
	"regexp"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/person"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/console/internal/people"
)

func TestLogin(t *testing.T) {
	long := strings.Repeat("a", 30)
	for typed, want := range map[string]struct {
		door  people.Door
		login string // "" is refused
	}{
		" Ada@Acme.Example ":                {people.Merchants, "ada@acme.example"},
		"ada+till@acme.example":             {people.Merchants, "ada+till@acme.example"},
		"josé@acme.example":                 {people.Merchants, ""},
		"ada@acmé.example":                  {people.Merchants, ""},
		"ada@acme":                          {people.Merchants, ""},
		"Ada <ada@acme.example>":            {people.Merchants, ""},
		`"ada e"@acme.example`:              {people.Merchants, ""},
		"ada\x00@acme.example":              {people.Merchants, ""},
		" Ada.Eze ":                         {people.Operators, "ada.eze"},
		"a":                                 {people.Operators, ""},
		"1a":                                {people.Operators, ""},
		long + "." + long:                   {people.Operators, long + "." + long},
		long + "." + long + "." + "abc":     {people.Operators, ""},
		long + "." + long + "." + long[:1]:  {people.Operators, long + "." + long + ".a"},
		"ada..eze":                          {people.Operators, ""},
		strings.Repeat("a", 250) + "@b.com": {people.Merchants, ""},
	} {
		got, ok := people.Login(want.door, typed)
		if ok != (want.login != "") || ok && got != want.login {
			t.Errorf("login %q: got %q, %t, want %q", typed, got, ok, want.login)
		}
	}
}

// named is what the gateway demands of the name of an operator in person.
var named = regexp.MustCompile(`^[a-z][a-z0-9._-]{1,62}$`)

// A person who has an account can use it: an assertion carries each login that is taken.
func FuzzLogin(f *testing.F) {
	for _, typed := range []string{"ada@acme.example", "josé@acme.example", "ada.eze", "a", strings.Repeat("a", 31) + ".b"} {
		f.Add(typed)
	}
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	hash := sha256.Sum256(nil)
	f.Fuzz(func(t *testing.T, typed string) {
		for door, a := range map[people.Door]person.Assertion{
			people.Merchants: {Door: person.Merchant, MerchantID: "acme", Mode: tenant.Test},
			people.Operators: {Door: person.Operator},
		} {
			login, ok := people.Login(door, typed)
			if !ok {
				continue
			}
			if door == people.Operators && !named.MatchString(login) {
				t.Errorf("the gateway knows no operator %q", login)
			}
			a.User, a.Name, a.Nonce, a.Method, a.Path, a.BodyHash, a.IssuedAt = "usr_1", login, "n", "GET", "/", hash[:], time.Now().Unix()
			if _, err := a.Sign(key); err != nil {
				t.Errorf("no assertion carries %q: %v", login, err)
			}
		}
	})
}
