//go:build integration

package web_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/pquerna/otp/totp"
	"github.com/prometheus/client_golang/prometheus"

	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/libs/testkit/postbox"
	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/mail"
	"causeway.internal/services/console/internal/password"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/store"
	"causeway.internal/services/console/internal/web"
	"causeway.internal/services/console/migrations"
)

func TestMain(m *testing.M) {
	password.Lower()
	os.Exit(m.Run())
}

// site is a console with its own database, behind a proxy that signs as the gateway does.
type site struct {
	url   string
	pool  *pgxpool.Pool
	store *store.Store
	later atomic.Int64 // nanoseconds by which the console's clock is ahead

	api http.HandlerFunc // the gateway; nil has empty lists
}

func newSite(t *testing.T, door people.Door) *site {
	t.Helper()
	return newMailingSite(t, door, mail.Sender{})
}

func newMailingSite(t *testing.T, door people.Door, letters mail.Sender) *site {
	t.Helper()
	s := &site{pool: pg.New(t, migrations.FS)}
	now := func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }
	ring, err := keyring.Parse("k1:" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("k"), 32)))
	if err != nil {
		t.Fatal(err)
	}
	s.store = store.New(s.pool, ring, time.Now)
	key := bytes.Repeat([]byte("i"), 32)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.api != nil {
			s.api(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"merchant":{"name":"Acme Renamed"}}`) // which has nothing yet; deploy/e2e runs the pages on a real one
	}))
	t.Cleanup(gateway.Close)
	var pages http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		id := httpkit.Identity{Subject: httpkit.Public, Audience: "console", ClientIP: r.Header.Get(addressHeader), RequestID: "req_1", IssuedAt: time.Now().UnixMilli()}
		signed, err := id.Bind(r, body).Sign(key)
		if err != nil {
			t.Error(err)
		}
		r.Header.Set(httpkit.IdentityHeader, signed)
		pages.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	origin, err := url.Parse(strings.Replace(server.URL, "127.0.0.1", "localhost", 1)) // passkeys need a name
	if err != nil {
		t.Fatal(err)
	}
	console, err := web.New(web.Parts{
		Door: door, Origin: origin, Store: s.store, Ring: ring, Area: doors[door], Log: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Gateway: api.New(gateway.URL, ed25519.NewKeyFromSeed(key), time.Now), Mail: letters, Now: now, Stopping: func() error { return nil }, SignUp: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	pages = httpkit.Verified(slog.New(slog.DiscardHandler), httpkit.Verifier{Audience: "console", Keys: [][]byte{key}, BoundOnly: true, Now: time.Now}, console)
	s.url = server.URL + web.Base(door)
	return s
}

// browser keeps cookies and follows redirects.
type browser struct {
	t       *testing.T
	site    *site
	http    *http.Client
	address string // as the gateway sees it
	referer string // below the door
}

// at moves a browser to an address.
func (b *browser) at(address string) *browser { b.address = address; return b }

// from makes a page the one that the browser's next requests come from.
func (b *browser) from(path string) *browser { b.referer = path; return b }

func (s *site) browser(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, site: s, http: &http.Client{Jar: jar}, address: "203.0.113.7"}
}

// page is an answer.
type page struct {
	status int
	path   string // below the door, where the redirects ended
	body   string
}

func (b *browser) do(r *http.Request) page {
	b.t.Helper()
	r.Header.Set("Accept", "text/html")
	r.Header.Set(addressHeader, b.address)
	if b.referer != "" {
		r.Header.Set("Referer", b.site.url+b.referer)
	}
	answer, err := b.http.Do(r)
	if err != nil {
		b.t.Fatalf("send %s %s: %v", r.Method, r.URL, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	at := strings.TrimPrefix(answer.Request.URL.Path, "/console")
	return page{answer.StatusCode, strings.TrimPrefix(at, "/operators"), string(body)}
}

func (b *browser) get(path string) page {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.site.url+path, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.do(r)
}

// send sends the form of a page with the hidden fields that it has.
func (b *browser) send(from page, path string, fields ...string) page {
	b.t.Helper()
	form := url.Values{}
	for _, m := range hidden.FindAllStringSubmatch(from.body, -1) {
		form.Set(m[1], html.UnescapeString(m[2]))
	}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.site.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

var (
	hidden   = regexp.MustCompile(`<input type="hidden" name="([a-z]+)" value="([^"]*)">`)
	secretIn = regexp.MustCompile(`id="c-secret"[^>]*data-text="([A-Z2-7]+)"`)
	codesIn  = regexp.MustCompile(`<li><code>([A-Z2-7-]+)</code>`)
)

// want fails unless a page has a status, a path and some words.
func (p page) want(t *testing.T, status int, path string, words ...string) page {
	t.Helper()
	if p.status != status || p.path != path {
		t.Fatalf("came to %s with status %d, want %s with %d:\n%s", p.path, p.status, path, status, p.body)
	}
	for _, w := range words {
		if !strings.Contains(p.body, w) {
			t.Fatalf("%s lacks %q:\n%s", path, w, p.body)
		}
	}
	return p
}

// addressHeader tells the proxy before the console the address of a browser.
const addressHeader = "X-Test-Address"

const phrase = "correct horse battery staple"

// account is a person with a password and an app.
type account struct{ login, secret string }

// invited makes an account by an invitation, and returns a browser that is signed in.
func (s *site) invited(t *testing.T, b *browser, login string, role people.Role) (account, page) {
	t.Helper()
	secret := "secret-of-" + login
	link := people.Link{Purpose: people.Join, Login: login, MerchantID: "acme", MerchantName: "Acme", Role: role, CreatedBy: "test", ExpiresAt: time.Now().Add(time.Hour)}
	if err := s.store.MakeLink(t.Context(), link, web.LinkHash(secret)); err != nil {
		t.Fatal(err)
	}
	path := "/link/" + url.PathEscape(secret)
	at := b.get(path).want(t, 200, "/link/"+secret, "Join Acme", login)
	at = b.send(at, path).want(t, 200, "/enrol")
	at = b.send(at, "/enrol", "name", "Ada <script>", "password", phrase, "again", phrase).want(t, 200, "/enrol/code")
	found := secretIn.FindStringSubmatch(at.body)
	if found == nil {
		t.Fatalf("no secret of an app on the page:\n%s", at.body)
	}
	at = b.send(at, "/enrol/code", "code", code(t, found[1], 0)).want(t, 200, "/account/codes", "Recovery codes")
	return account{login, found[1]}, at
}

// code is the code of an app some steps from now.
func code(t *testing.T, secret string, steps int) string {
	t.Helper()
	c, err := totp.GenerateCode(secret, time.Now().Add(time.Duration(steps)*30*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (b *browser) signIn(a account, steps int) page {
	b.t.Helper()
	at := b.send(b.get("/sign-in"), "/sign-in", "login", a.login, "password", phrase).want(b.t, 200, "/sign-in/code")
	return b.send(at, "/sign-in/code", "code", code(b.t, a.secret, steps))
}

// A form of the sign-in that is older than the session signs in once more. The session before it ends.
func TestConsole_signsInFromAnOldForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	old := b.get("/sign-in")
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	at := b.send(old, "/sign-in", "login", ada.login, "password", phrase).want(t, 200, "/sign-in/code")
	b.get("/account").want(t, 200, "/sign-in")
	b.send(at, "/sign-in/code", "code", code(t, ada.secret, 1)).want(t, 200, "/account") // the page that it wanted
	n := 0
	if err := s.pool.QueryRow(t.Context(), `SELECT count(*) FROM sessions WHERE person_id <> '' AND revoked_at IS NULL`).Scan(&n); err != nil || n != 1 {
		t.Errorf("%d sessions may be used, %v; want the new one", n, err)
	}
}

// One invitation makes one account. Its password works again and again, a code or recovery code once.
func TestConsole_signsIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	ada, codes := s.invited(t, b, "ada@acme.example", people.Owner)
	b.get("/link/secret-of-ada@acme.example").want(t, 404, "/link/secret-of-ada@acme.example", "no longer works")
	b.get("/").want(t, 200, "/overview", "Acme", "Ada &lt;script&gt;")
	b.get("/account/codes").want(t, 200, "/account/codes", "New codes replace")

	other := s.browser(t)
	other.get("/team").want(t, 200, "/sign-in")
	at := other.send(other.get("/sign-in"), "/sign-in", "login", ada.login, "password", "wrong horse battery").want(t, 422, "/sign-in", "wrong")
	other.send(at, "/sign-in", "login", "nobody@acme.example", "password", phrase).want(t, 422, "/sign-in", "wrong")
	other.signIn(ada, 1).want(t, 200, "/team", "Ada &lt;script&gt;") // the page that it wanted
	third := s.browser(t)
	third.signIn(ada, 1).want(t, 422, "/sign-in/code", "does not work") // the code was used
	spare := codesIn.FindStringSubmatch(codes.body)[1]
	third.send(third.get("/sign-in/code"), "/sign-in/code", "code", strings.ToLower(spare)).want(t, 200, "/overview")
	fourth := s.browser(t)
	at = fourth.send(fourth.get("/sign-in"), "/sign-in", "login", ada.login, "password", phrase)
	fourth.send(at, "/sign-in/code", "code", spare).want(t, 422, "/sign-in/code")

	third.send(third.get("/account"), "/account/sessions").want(t, 200, "/account", "ended")
	other.get("/team").want(t, 200, "/sign-in")
	third.send(third.get("/account"), "/sign-out").want(t, 200, "/sign-in")
	third.get("/account").want(t, 200, "/sign-in")
}

// If a session ends in the middle of a form, or is no longer fresh, the input is not lost.
func TestConsole_keepsInput(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	form := b.get("/team/invite").want(t, 200, "/team/invite")
	if _, err := s.pool.Exec(t.Context(), `UPDATE sessions SET seen_at = now() - interval '12 hours 1 minute'`); err != nil {
		t.Fatal(err)
	}
	b.send(form, "/team/invite", "login", "bola@acme.example", "role", "finance").want(t, 200, "/sign-in")
	at := b.signIn(ada, 1).want(t, 200, "/team/invite", `value="bola@acme.example"`, `value="finance" selected`, "back where you were")

	s.later.Store(int64(6 * time.Minute))
	b.send(at, "/team/invite", "login", "chi@acme.example", "role", "support").want(t, 200, "/prove", "Confirm that it is you")
	if _, err := s.pool.Exec(t.Context(), `UPDATE people SET totp_used = 0`); err != nil {
		t.Fatal(err)
	}
	at = b.send(at, "/prove", "password", phrase, "code", code(t, ada.secret, 12)).want(t, 200, "/team/invite", `value="chi@acme.example"`)
	b.send(at, "/team/invite", "login", "chi@acme.example", "role", "support").want(t, 200, "/team", "chi@acme.example", "/link/")
	if strings.Contains(b.get("/team").body, "/link/") {
		t.Error("the link of an invitation is shown twice")
	}
}

// A session alone, with a proof six minutes old, changes nothing that lasts: each of these forms asks for a new proof,
// sends nothing to the API, and comes back as it was typed.
func TestConsole_provesWhatLasts(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	s.api = func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			t.Errorf("the API got %s %s, want nothing before the proof", r.Method, r.URL.Path)
		}
		_, _ = io.WriteString(w, `{"merchant":{"name":"Acme"}}`)
	}
	const thief = "https://thief.example/hook"
	for i, c := range []struct {
		page, path string // where the form is, and where it goes
		fields     []string
		kept       string // on the page after the proof
	}{
		{"/webhooks/new", "/webhooks/new", []string{"url", thief}, thief},
		{"/webhooks/we_1/edit", "/webhooks/we_1/edit", []string{"url", thief, "enabled", "yes"}, thief},
		{"/webhooks/we_1", "/webhooks/we_1/delete", nil, "Deliveries"},
		{"/replays/new", "/replays/new", []string{"status", "all", "from", "2026-01-02T03:04", "do", "send"}, "2026-01-02T03:04"},
		{"/settings/branding", "/settings/branding", []string{"support", "help@thief.example"}, "help@thief.example"},
		{"/accounts", "/accounts/sa_1/delete", nil, "Bank accounts"},
		{"/addresses", "/addresses/wa_1/remove", nil, "Address book"},
	} {
		form := b.get(c.page).want(t, 200, c.page)
		s.later.Add(int64(6 * time.Minute))
		at := b.from(c.page).send(form, c.path, c.fields...).want(t, 200, "/prove", "Confirm that it is you")
		if _, err := s.pool.Exec(t.Context(), `UPDATE people SET totp_used = 0`); err != nil {
			t.Fatal(err)
		}
		b.from("").send(at, "/prove", "password", phrase, "code", code(t, ada.secret, 12*(i+1))).want(t, 200, c.page, c.kept)
	}
}

// A form that was opened for one mode does nothing in another.
func TestConsole_scope(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	form := b.get("/team/invite").want(t, 200, "/team/invite", "Nothing here is real money.")
	b.send(b.get("/"), "/scope", "mode", "live").want(t, 200, "/overview", "Real money moves here.")
	b.send(form, "/team/invite", "login", "bola@acme.example", "role", "finance").want(t, 200, "/team/invite", "Nothing was done", `value="bola@acme.example"`)
	if n := len(must(s.store.Invitations(t.Context(), "acme"))); n != 0 {
		t.Errorf("a form for test mode made %d invitations in live mode, want none", n)
	}
	b.send(form, "/scope", "merchant", "other").want(t, 403, "/scope")
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// A request from another site changes nothing, and a person sees no page beyond its role.
func TestConsole_refuses(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	owner, reader := s.browser(t), s.browser(t)
	s.invited(t, owner, "ada@acme.example", people.Owner)
	s.invited(t, reader, "uche@acme.example", people.ReadOnly)
	reader.get("/team").want(t, 200, "/team")
	reader.get("/team/invite").want(t, 403, "/team/invite", "Your role does not allow this")
	reader.send(owner.get("/team/invite"), "/team/invite", "login", "x@acme.example", "role", "owner").want(t, 403, "/team/invite")

	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/sign-out", strings.NewReader("scope=acme/test"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if at := owner.do(r); at.status != 403 {
		t.Errorf("a form of another site got %d, want 403", at.status)
	}
	owner.get("/team").want(t, 200, "/team")

	// The last owner cannot leave.
	who := must(s.store.PersonOf(t.Context(), "ada@acme.example"))
	at := owner.get("/team/members/"+who.ID).want(t, 200, "/team/members/"+who.ID)
	owner.send(at, "/team/members/"+who.ID, "role", "owner", "do", "remove").want(t, 422, "/team/members/"+who.ID, "Somebody else")

	// A changed role of another member counts from the next request on.
	who = must(s.store.PersonOf(t.Context(), "uche@acme.example"))
	at = owner.get("/team/members/" + who.ID)
	owner.send(at, "/team/members/"+who.ID, "role", "owner").want(t, 200, "/team")
	reader.get("/team/invite").want(t, 200, "/team/invite")
	if raw := owner.get("/team").body; strings.Contains(raw, "<script>") || !strings.Contains(raw, "&lt;script&gt;") {
		t.Error("a name is shown as HTML")
	}
}

// Two hundred people at once sign in and get their pages.
func TestConsole_manySessions(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	who := must(s.store.Admit(t.Context(), "ada@acme.example", "Ada"))
	if err := s.store.Join(t.Context(), people.Membership{PersonID: who.ID, MerchantID: "acme", Role: people.Owner}, "test"); err != nil {
		t.Fatal(err)
	}
	const sessions = 200
	var all sync.WaitGroup
	began := time.Now()
	for i := range sessions {
		secret := fmt.Sprintf("secret-%d", i)
		link := people.Link{Purpose: people.SignIn, Login: who.Login, CreatedBy: "test", ExpiresAt: time.Now().Add(time.Hour)}
		if err := s.store.MakeLink(t.Context(), link, web.LinkHash(secret)); err != nil {
			t.Fatal(err)
		}
		b := s.browser(t)
		all.Go(func() {
			at := b.send(b.get("/link/"+secret), "/link/"+secret)
			for range 3 {
				if at.status != 200 || at.path == "/sign-in" {
					t.Errorf("session %d came to %s with %d", i, at.path, at.status)
				}
				at = b.get("/team")
			}
		})
	}
	all.Wait()
	t.Logf("%d sessions with four pages each in %s", sessions, time.Since(began))
	if n := must(s.store.Sessions(t.Context(), who.ID)); len(n) != 100 { // a list shows a hundred
		t.Errorf("the list shows %d sessions, want the newest hundred", len(n))
	}
}

// A reader without an account chooses a language by a link, which the browser keeps; one with an account chooses it for
// every browser.
func TestConsole_speaks(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	b.get("/sign-in").want(t, 200, "/sign-in", `<html lang="en" dir="ltr">`, `href="?lang=ar" lang="ar"`)
	b.get("/sign-in?lang=ar").want(t, 200, "/sign-in", `<html lang="ar" dir="rtl">`, "تسجيل الدخول")
	b.get("/register").want(t, 200, "/register", `<html lang="ar" dir="rtl">`)
	b.get("/sign-in?lang=en")
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	at := b.get("/account/name").want(t, 200, "/account/name", `<option value="yo" lang="yo">Yorùbá</option>`)
	b.send(at, "/account/name", "name", "Ada", "locale", "tlh").want(t, 400, "/account/name")
	b.send(at, "/account/name", "name", "Ada", "locale", "fr").want(t, 200, "/account", `<html lang="fr"`, "Votre compte", "Enregistré.")
	other := s.browser(t)
	other.signIn(ada, 1)
	other.get("/account").want(t, 200, "/account", `<html lang="fr"`, "Clés d’accès")
	other.get("/account?lang=sw").want(t, 200, "/account", `<html lang="sw"`)
	other.get("/account").want(t, 200, "/account", `<html lang="fr"`)
	operators := newSite(t, people.Operators).operator(t, "ben.ade", people.Operator)
	operators.get("/attention").want(t, 200, "/attention", `<html lang="en" dir="ltr">`, "What waits")
	operators.get("/attention?lang=ar").want(t, 200, "/attention", `<html lang="ar" dir="rtl">`, "ما ينتظر")
}

// If there is a mail server, the console mails links. If the server does not take the letter, the inviter gets the link
// of an invitation; nobody gets the link of a registration, because it proves an address.
func TestConsole_mails(t *testing.T) {
	t.Parallel()
	letters := func(address string) mail.Sender {
		sender, err := mail.New(mail.Config{URL: config.Secret("smtp://" + address + "?tls=none"), From: "Causeway <no-reply@pay.example>", Timeout: 10 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return sender
	}
	box := postbox.New(t, postbox.Options{Security: postbox.None})
	s := newMailingSite(t, people.Merchants, letters(box.Address))
	owner := s.browser(t)
	s.invited(t, owner, "ada@acme.example", people.Owner)
	at := owner.get("/team/invite")
	at = owner.send(at, "/team/invite", "login", "obi@acme.example", "role", "finance").want(t, 200, "/team", "on its way to obi@acme.example")
	if strings.Contains(at.body, "/link/") {
		t.Error("a link that was mailed is shown")
	}
	at = s.browser(t).get("/register")
	at = s.browser(t).send(at, "/register", "email", "eve@shop.example").want(t, 200, "/register", "on its way to eve@shop.example")
	if strings.Contains(at.body, "/link/") {
		t.Error("a link that proves an address is shown")
	}
	got := box.Letters()
	if len(got) != 2 || got[0].To != "obi@acme.example" || got[1].To != "eve@shop.example" {
		t.Fatalf("invite and register: %+v came", got)
	}
	link := regexp.MustCompile(`/console(/link/\S+)`).FindStringSubmatch(got[0].Text)
	if link == nil {
		t.Fatalf("the letter has no link:\n%s", got[0].Text)
	}
	s.browser(t).get(link[1]).want(t, 200, link[1], "obi@acme.example", "Finance")

	refusing := postbox.New(t, postbox.Options{Security: postbox.None, Refuse: true})
	s = newMailingSite(t, people.Merchants, letters(refusing.Address))
	owner = s.browser(t)
	s.invited(t, owner, "ada@acme.example", people.Owner)
	owner.send(owner.get("/team/invite"), "/team/invite", "login", "obi@acme.example", "role", "finance").
		want(t, 200, "/team", "No letter could be sent to obi@acme.example", "/link/")
	guest := s.browser(t)
	at = guest.send(guest.get("/register"), "/register", "email", "eve@shop.example")
	if at.status != http.StatusInternalServerError || strings.Contains(at.body, "/link/") {
		t.Errorf("register without a letter: got %d, want a page without the link:\n%s", at.status, at.body)
	}
}

// The console has the API's name of a merchant, once one of its people has opened the page of the business.
func TestConsole_namesMerchants(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b, other := s.browser(t), s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	s.invited(t, other, "obi@acme.example", people.Finance)
	b.get("/overview").want(t, 200, "/overview", ">Acme<")
	b.get("/settings").want(t, 200, "/settings", ">Acme Renamed<")
	other.get("/overview").want(t, 200, "/overview", ">Acme Renamed<")
}

// A person whose ways to sign in were removed is signed out everywhere, and can come back only by a new link.
func TestConsole_resets(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	ada, _ := s.invited(t, b, "ada@acme.example", people.Owner)
	link := func(secret string) string {
		t.Helper()
		l := people.Link{Purpose: people.SignIn, Login: ada.login, CreatedBy: "test", ExpiresAt: time.Now().Add(time.Hour)}
		if err := s.store.MakeLink(t.Context(), l, web.LinkHash(secret)); err != nil {
			t.Fatal(err)
		}
		return "/link/" + secret
	}
	stolen := link("stolen")
	who, err := s.store.PersonOf(t.Context(), ada.login)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Reset(t.Context(), who, "operator:obi"); err != nil {
		t.Fatal(err)
	}
	b.get("/team").want(t, 200, "/sign-in")
	b.send(b.get("/sign-in"), "/sign-in", "login", ada.login, "password", phrase).want(t, 422, "/sign-in", "is wrong")
	b.get(stolen).want(t, 404, stolen, "no longer works")
	again := link("again")
	b.send(b.get(again).want(t, 200, again, ada.login), again).want(t, 200, "/overview")
	b.get("/team/acts").want(t, 200, "/team/acts", "Took away every way to sign in", "operator:obi")
}

// The form of a new key ticks nothing that moves money or manages webhooks: a key gets that by choice alone.
func TestConsole_newKey(t *testing.T) {
	t.Parallel()
	s := newSite(t, people.Merchants)
	b := s.browser(t)
	s.invited(t, b, "ada@acme.example", people.Owner)
	at := b.get("/keys/new").want(t, 200, "/keys/new")
	ticked := map[string]bool{}
	for _, box := range regexp.MustCompile(`name="permissions" value="([a-z:]+)"( checked)?`).FindAllStringSubmatch(at.body, -1) {
		ticked[box[1]] = box[2] != ""
	}
	want := map[string]bool{
		"payment:create": true, "payment:read": true, "wallet:create": true, "wallet:read": true, "report:create": true, "report:manage": true,
		"refund:create": false, "settlement:manage": false, "withdrawal:create": false, "wallet:withdraw": false, "webhook:manage": false,
	}
	if !maps.Equal(ticked, want) {
		t.Errorf("the boxes of a new key: got %v, want %v", ticked, want)
	}
}
