//go:build integration

package web_test

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

// Parallel guesses are as limited as guesses one by one, because each counts before the console verifies it.
func TestConsole_guessesAtOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	ada, _ := s.invited(t, s.browser(t), "ada@acme.example", people.Owner)
	thief := s.browser(t)
	at := thief.send(thief.get("/sign-in"), "/sign-in", "login", ada.login, "password", phrase).want(t, 200, "/sign-in/code")
	var looked, limited atomic.Int32
	var all sync.WaitGroup
	for range 40 {
		all.Go(func() {
			switch body := thief.send(at, "/sign-in/code", "code", "000000").body; {
			case strings.Contains(body, "does not work"):
				looked.Add(1)
			case strings.Contains(body, "Too many failed attempts"):
				limited.Add(1)
			}
		})
	}
	all.Wait()
	if looked.Load() > 10 || looked.Load()+limited.Load() != 40 {
		t.Errorf("40 codes were guessed at once: %d were looked at and %d limited, want 10 at most and all others", looked.Load(), limited.Load())
	}
}

// A successful attempt leaves no count behind, however often a person signs in.
func TestConsole_successCountsNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	ada, _ := s.invited(t, s.browser(t), "ada@acme.example", people.Owner)
	s.browser(t).signIn(ada, 1).want(t, 200, "/overview")
	var n int
	if err := s.pool.QueryRow(t.Context(), `SELECT coalesce(sum(n), 0) FROM attempts`).Scan(&n); err != nil || n != 0 {
		t.Errorf("after sign-ins that all succeeded %d attempts count, %v, want none", n, err)
	}
}

// A thief of the database reads no secret in the sessions of the pages that show it.
func TestConsole_sealsSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	shown := regexp.MustCompile(`data-text="([A-Z2-7]{32})"`).FindStringSubmatch(b.get("/account/app").want(t, 200, "/account/app").body)
	if shown == nil {
		t.Fatal("the page of a new app shows no secret")
	}
	rows, err := s.pool.Query(t.Context(), `SELECT data FROM sessions`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var data []byte
		if err := rows.Scan(&data); err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(data, []byte(shown[1])) || bytes.Contains(data, []byte("person")) {
			t.Errorf("a session is stored in the clear: %q", data)
		}
	}
}

// An invitation from before a change of role does not restore the earlier role, and a person who may no longer invite
// has no open invitations.
func TestConsole_endsInvitations(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	owner, other := s.browser(t), s.browser(t)
	s.invited(t, owner, "ada@acme.example", people.Owner)
	s.invited(t, other, "uche@acme.example", people.Owner)
	for secret, login := range map[string]string{"again": "uche@acme.example", "friend": "friend@evil.example", "good": "good@acme.example"} {
		link := people.Link{
			Purpose: people.Join, Login: login, MerchantID: "acme", MerchantName: "Acme", Role: people.Owner, CreatedBy: "uche@acme.example", ExpiresAt: time.Now().Add(time.Hour),
		}
		if secret == "good" {
			link.CreatedBy = "ada@acme.example"
		}
		if err := s.store.MakeLink(t.Context(), link, web.LinkHash(secret)); err != nil {
			t.Fatal(err)
		}
	}
	who := must(s.store.PersonOf(t.Context(), "uche@acme.example"))
	at := owner.get("/team/members/" + who.ID)
	owner.send(at, "/team/members/"+who.ID, "role", "read_only").want(t, 200, "/team")
	for _, secret := range []string{"again", "friend"} {
		other.get("/link/"+secret).want(t, 404, "/link/"+secret, "no longer works")
	}
	owner.get("/link/good").want(t, 200, "/link/good")
}

// An export that breaks off does not look complete.
func TestConsole_cutsHalfAnswers(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	s.api = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = io.WriteString(w, "reference,type\n")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	for _, path := range []string{"/payments/export", "/settlements/2026-01/csv"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := b.http.Do(r)
		if err != nil {
			continue // cut before the first byte
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err == nil {
			t.Errorf("%s, whose source broke off, came as a whole file: %d %q", path, answer.StatusCode, got)
		}
	}
}

// The console stores no form of a person who was never signed in. A person whose session has ended finds theirs again
// (TestConsole_keepsInput).
func TestConsole_keepsNothingUnknown(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	s.browser(t).send(page{}, "/team/invite", "login", strings.Repeat("x", 60<<10)).want(t, 200, "/sign-in")
	forged := s.browser(t)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/team/invite", strings.NewReader("login="+strings.Repeat("x", 60<<10)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Cookie", "console=made-up")
	forged.do(r).want(t, 200, "/sign-in")
	var most int
	if err := s.pool.QueryRow(t.Context(), `SELECT coalesce(max(octet_length(data)), 0) FROM sessions`).Scan(&most); err != nil || most > 4<<10 {
		t.Errorf("the session of one who was never signed in has %d bytes, %v, want few", most, err)
	}
}

// Another person who signs in on the same browser does not get the form of the person whose session has ended.
func TestConsole_keepsFormsApart(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	bola, _ := s.invited(t, s.browser(t), "bola@acme.example", people.Owner)
	form := b.get("/team/invite").want(t, 200, "/team/invite")
	if _, err := s.pool.Exec(t.Context(), `UPDATE sessions SET seen_at = now() - interval '12 hours 1 minute'`); err != nil {
		t.Fatal(err)
	}
	b.send(form, "/team/invite", "login", "secret@acme.example", "role", "finance").want(t, 200, "/sign-in")
	if at := b.signIn(bola, 1); strings.Contains(at.body, "secret@acme.example") {
		t.Errorf("another person got the form at %s", at.path)
	}
	if strings.Contains(b.get("/team/invite").want(t, 200, "/team/invite").body, "secret@acme.example") {
		t.Error("another person got the form at its own path")
	}
}

// Nobody can flood an address with letters, neither by registrations nor by invitations.
func TestConsole_letters(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	owner := s.browser(t)
	s.invited(t, owner, "ada@acme.example", people.Owner)
	form := owner.get("/team/invite")
	for range 5 {
		owner.send(form, "/team/invite", "login", "guest@acme.example", "role", "read_only").want(t, 200, "/team")
	}
	owner.send(form, "/team/invite", "login", "guest@acme.example", "role", "read_only").want(t, 422, "/team/invite", "Too many letters")
	b := s.browser(t)
	at := b.get("/register")
	for range 5 {
		b.send(at, "/register", "email", "victim@acme.example").want(t, 200, "/register")
	}
	b.send(at, "/register", "email", "victim@acme.example").want(t, 429, "/register")
	b.send(at, "/register", "email", "other@acme.example").want(t, 200, "/register")
}

// operator is a browser in which an operator is signed in.
func (s *site) operator(t *testing.T, name string, role people.Role) *browser {
	t.Helper()
	who := must(s.store.Admit(t.Context(), name, ""))
	if err := s.store.Join(t.Context(), people.Membership{PersonID: who.ID, Role: role}, "test"); err != nil {
		t.Fatal(err)
	}
	link := people.Link{Purpose: people.SignIn, Login: name, CreatedBy: "test", ExpiresAt: time.Now().Add(time.Hour)}
	if err := s.store.MakeLink(t.Context(), link, web.LinkHash("link-of-"+name)); err != nil {
		t.Fatal(err)
	}
	b := s.browser(t)
	b.send(b.get("/link/link-of-"+name), "/link/link-of-"+name)
	return b
}

// A page approves the decision that it shows, even if another page has replaced it in the session.
func TestApprove_whatIsShown(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Operators)
	s.api = func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"passkeys":[{"name":"ada.obi","label":"laptop","credentialId":"eA","revokedAt":null}]}`)
	}
	b := s.operator(t, "ada.obi", people.Operator)
	decide := func(refund string) (decision string) {
		t.Helper()
		path := "/refunds/" + refund + "/approve"
		at := b.send(b.get(path).want(t, 200, path), path, "reason", "as agreed").want(t, 200, "/approve", refund)
		if m := regexp.MustCompile(`name="decision" value="([0-9a-f]+)"`).FindStringSubmatch(at.body); m != nil {
			decision = m[1]
		}
		return decision
	}
	begin := func(decision string) page {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/approve/begin", strings.NewReader(`{"decision":"`+decision+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		return b.do(r)
	}
	shown := decide("rfd_small")
	begin(shown).want(t, 200, "/approve/begin", "challenge")
	later := decide("rfd_large") // in another window
	begin(shown).want(t, 409, "/approve/begin", "other_decision")
	begin(later).want(t, 200, "/approve/begin", "challenge")
}

// A former operator learns nothing about the operators.
func TestConsole_formerOperator(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Operators)
	s.operator(t, "ben.ade", people.Operator)
	b := s.operator(t, "ada.obi", people.Operator)
	b.get("/team").want(t, 200, "/team", "ben.ade")
	who := must(s.store.PersonOf(t.Context(), "ada.obi"))
	if err := s.store.ChangeRole(t.Context(), "", who.ID, "", people.Operator); err != nil {
		t.Fatal(err)
	}
	b.get("/team").want(t, 403, "/team")
	b.get("/team/acts").want(t, 403, "/team/acts")
}
