//go:build integration

package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-webauthn/webauthn/webauthn"

	"causeway.internal/libs/passkey"
	"causeway.internal/libs/testkit/authenticator"
	"causeway.internal/services/console/internal/password"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
	"causeway.internal/services/console/internal/web"
)

const wrong = "wrong horse battery"

// tries sends the form of a sign-in.
func (b *browser) tries(login, typed string) page {
	b.t.Helper()
	return b.send(b.get("/sign-in"), "/sign-in", "login", login, "password", typed)
}

// Nobody can guess a password: after ten wrong ones from a network the console refuses every password that comes from
// there for that account. This locks out neither another network nor a browser that signed in to the account before.
func TestConsole_limits(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	known := s.browser(t)
	ada, _ := s.invited(t, known, "ada@acme.example", people.Owner)
	bola, _ := s.invited(t, s.browser(t), "bola@acme.example", people.Owner)
	known.send(known.get("/account"), "/sign-out").want(t, 200, "/sign-in")
	b := s.browser(t)
	for range 10 {
		b.tries(ada.login, wrong).want(t, 422, "/sign-in", "The account or the password is wrong")
	}
	b.tries(ada.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts")
	s.browser(t).tries(ada.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts")
	known.tries(ada.login, phrase).want(t, 200, "/sign-in/code")
	s.browser(t).at("198.51.100.9").tries(ada.login, phrase).want(t, 200, "/sign-in/code")
	s.browser(t).tries(bola.login, phrase).want(t, 200, "/sign-in/code")

	// From an IPv6 address all of its /64 counts.
	for i := range 10 {
		s.browser(t).at(fmt.Sprintf("2001:db8:1:2::%x", i+1)).tries(ada.login, wrong).want(t, 422, "/sign-in", "is wrong")
	}
	s.browser(t).at("2001:db8:1:2::ff").tries(ada.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts")
	s.browser(t).at("2001:db8:1:3::1").tries(ada.login, phrase).want(t, 200, "/sign-in/code")
}

// Nobody can guess a one-time link, neither by looking at it nor by using it.
func TestConsole_limitsOfLinks(t *testing.T) {
	t.Parallel()
	for way, try := range map[string]func(b *browser, at page) page{
		"look": func(b *browser, _ page) page { return b.get("/link/guessed") },
		"use":  func(b *browser, at page) page { return b.send(at, "/link/guessed") },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, people.Merchants)
			b := s.browser(t)
			at := b.get("/sign-in")
			for range 60 {
				try(b, at).want(t, 404, "/link/guessed", "no longer works")
			}
			try(b, at).want(t, 429, "/link/guessed")
			s.invited(t, s.browser(t).at("198.51.100.9"), "ada@acme.example", people.Owner)
		})
	}
}

// Guesses from many networks together are limited too, except in a browser that signed in to the account before.
func TestConsole_limitsOfManyNetworks(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	known := s.browser(t)
	ada, _ := s.invited(t, known, "ada@acme.example", people.Owner)
	known.send(known.get("/account"), "/sign-out")
	b := s.browser(t)
	for i := range 100 {
		b.at(fmt.Sprintf("198.51.100.%d", i/10)).tries(ada.login, wrong).want(t, 422, "/sign-in", "is wrong")
	}
	b.at("198.51.100.200").tries(ada.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts")
	known.tries(ada.login, phrase).want(t, 200, "/sign-in/code")
}

// A browser is known by a cookie that no script reads, for the account that signed in there, for thirty days. It has
// ten wrong passwords of its own.
func TestConsole_knownBrowser(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	known := s.browser(t)
	ada, _ := s.invited(t, known, "ada@acme.example", people.Owner)
	bola, _ := s.invited(t, s.browser(t), "bola@acme.example", people.Owner)
	known.send(known.get("/account"), "/sign-out")
	at, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, c := range known.http.Jar.Cookies(at) {
		found = found || c.Name == "console-browser"
		if strings.Contains(c.Value, "ada") {
			t.Errorf("the cookie %s names the account: %s", c.Name, c.Value)
		}
	}
	if !found {
		t.Fatal("a browser that signed in has no cookie console-browser")
	}
	outsider := s.browser(t)
	for range 10 {
		outsider.tries(ada.login, wrong)
		outsider.tries(bola.login, wrong)
	}
	known.tries(bola.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts") // it knows another account
	for range 10 {
		known.tries(ada.login, wrong).want(t, 422, "/sign-in", "is wrong")
	}
	known.tries(ada.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts")
	if _, err := s.pool.Exec(t.Context(), `DELETE FROM attempts WHERE subject LIKE 'browser %'`); err != nil {
		t.Fatal(err)
	}
	known.tries(ada.login, phrase).want(t, 200, "/sign-in/code")
	s.later.Store(int64(30*24*time.Hour + time.Minute))
	known.tries(ada.login, phrase).want(t, 422, "/sign-in", "Too many failed attempts")

	// A forged cookie is none.
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/sign-in", strings.NewReader(url.Values{"login": {ada.login}, "password": {phrase}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", "console-browser=AWsxAAAAAAAAAAAAAAAA")
	outsider.do(r).want(t, 422, "/sign-in", "Too many failed attempts")
}

// Outsiders cannot keep a person who is signed in from proving who it is; only wrong proofs of that session count.
func TestConsole_provesBesideOutsiders(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b, other := s.browser(t), s.browser(t)
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	other.signIn(ada, 1).want(t, 200, "/overview")
	outsider := s.browser(t)
	for i := range 61 {
		outsider.tries([]string{ada.login, fmt.Sprintf("nobody%d@acme.example", i/10)}[min(i%7, 1)], wrong)
	}
	outsider.tries("nobody@acme.example", wrong).want(t, 422, "/sign-in", "Too many failed attempts")
	s.later.Store(int64(6 * time.Minute))
	form := b.get("/team/invite").want(t, 200, "/prove")
	if _, err := s.pool.Exec(t.Context(), `UPDATE people SET totp_used = 0`); err != nil {
		t.Fatal(err)
	}
	b.send(form, "/prove", "password", phrase, "code", code(t, ada.secret, 12)).want(t, 200, "/team/invite")

	form = other.get("/team/invite").want(t, 200, "/prove")
	for range 10 {
		other.send(form, "/prove", "password", wrong, "code", "000000").want(t, 422, "/prove", "is wrong")
	}
	other.send(form, "/prove", "password", phrase, "code", code(t, ada.secret, 13)).want(t, 422, "/prove", "Too many failed attempts")
	b.send(b.get("/prove"), "/prove", "password", phrase, "code", code(t, ada.secret, 13)).want(t, 200, "/overview")
}

// Wrong passwords of others behind an address, which lock its passwords, lock neither its passkeys nor its links:
// nobody can guess these.
func TestConsole_passkeyBesideOutsiders(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	ada, _ := s.invited(t, s.browser(t), "ada@acme.example", people.Owner)
	origin := strings.TrimSuffix(strings.Replace(s.url, "127.0.0.1", "localhost", 1), web.Base(people.Merchants))
	device := authenticator.New(t, passkey.Site{RPID: "localhost", Origin: origin})
	who, err := s.store.PersonOf(t.Context(), ada.login)
	if err != nil {
		t.Fatal(err)
	}
	credential, err := json.Marshal(webauthn.Credential{ID: device.ID, PublicKey: device.Key(t).Public})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := s.store.AddPasskey(t.Context(), store.Passkey{CredentialID: device.ID, PersonID: who.ID, Name: "laptop", Credential: credential}); err != nil || !ok {
		t.Fatalf("store a passkey: %t, %v", ok, err)
	}
	outsider := s.browser(t)
	for i := range 60 {
		outsider.tries(fmt.Sprintf("nobody%d@acme.example", i/10), wrong).want(t, 422, "/sign-in", "is wrong")
	}
	outsider.tries("nobody@acme.example", wrong).want(t, 422, "/sign-in", "Too many failed attempts")

	b := s.browser(t)
	post := func(path string, body []byte) page {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		return b.do(r)
	}
	var options struct {
		PublicKey struct{ Challenge string }
	}
	at := post("/sign-in/passkey/begin", nil).want(t, 200, "/sign-in/passkey/begin")
	if err := json.Unmarshal([]byte(at.body), &options); err != nil {
		t.Fatal(err)
	}
	post("/sign-in/passkey/finish", device.SignIn(t, options.PublicKey.Challenge, who.Handle)).want(t, 200, "/sign-in/passkey/finish", `"to"`)
	b.get("/account").want(t, 200, "/account", ada.login)
	s.invited(t, s.browser(t), "bola@acme.example", people.Owner) // by a link

	for range 60 {
		outsider.get("/link/guessed").want(t, 404, "/link/guessed")
	}
	outsider.get("/link/guessed").want(t, 429, "/link/guessed")
	s.browser(t).at("198.51.100.9").tries(ada.login, phrase).want(t, 200, "/sign-in/code")
}

// If more passwords wait than the console can hash, a further one is not looked at and does not count.
func TestConsole_tooManyPasswords(t *testing.T) { // alone: it takes all places for hashes
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	b.send(b.get("/account"), "/sign-out")
	free := password.Fill()
	b.tries(ada.login, phrase).want(t, 503, "/sign-in", "Too much at once", "Wait a moment")
	free()
	var n int
	if err := s.pool.QueryRow(t.Context(), `SELECT coalesce(sum(n), 0) FROM attempts`).Scan(&n); err != nil || n != 0 {
		t.Errorf("after a password that was not looked at %d attempts count, %v, want none", n, err)
	}
	b.tries(ada.login, phrase).want(t, 200, "/sign-in/code")
}
