//go:build integration

package browser

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/testkit/stack"
)

// tablet is the third size of the console's pages.
var tablet = size{"tablet", 768, 1024, nil}

// openConsole opens a tab by the name of the host, which passkeys need.
func openConsole(t *testing.T, s size) *tab {
	t.Helper()
	takeTab(t)
	running := *stack.Shared(t)
	running.BaseURL = strings.Replace(running.BaseURL, "127.0.0.1", "localhost", 1)
	return openOn(t, s, &running, running.APIKey)
}

// consoleLink runs a command of a console that prints a link, and returns the link's path.
func consoleLink(t *testing.T, service string, words ...string) string {
	t.Helper()
	args := append([]string{"do", service, "--dir", os.Getenv("CAUSEWAY_STACK_DIR"), "--"}, words...)
	out, err := exec.Command(os.Getenv("CAUSEWAY_STACK"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("type %v: %v\n%s", words, err, out)
	}
	link, err := url.Parse(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return link.Path
}

// follow opens a one-time link and uses it.
func (b *tab) follow(path string) {
	b.t.Helper()
	b.visit(path)
	b.submit("main form .button")
}

// authenticator gives the tab a device that makes passkeys.
func (b *tab) authenticator() {
	b.t.Helper()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
}

// choose takes an option of a list.
func (b *tab) choose(selector, value string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS(selector), value))
}

// once is a part of names that no other run has.
func once() string { return fmt.Sprintf("%d", time.Now().UnixNano()) }

// TestConsoleSignUp: a newcomer opens an account by a passkey, registers a business, makes a test key, and signs in
// again.
func TestConsoleSignUp(t *testing.T) {
	t.Parallel()
	for _, s := range []size{phone, desktop} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := openConsole(t, s)
			b.authenticator()
			b.visit("/console/sign-in")
			b.submit(`a[href="/console/register"]`)
			b.enter("#f-email", "ada"+once()+"@acme.example")
			b.submit("main form .button")
			b.shoot("link-shown")
			b.submit("main a.button")
			b.submit("main form .button")
			b.see("#f-name")
			b.shoot("enrol")
			b.enter("#f-name", "Ada <b>Obi</b>")
			b.submit("[data-passkey]")
			b.see("#f-country")
			b.shoot("business")
			b.enter("#f-name", `Acme "Stores" <i>`+s.name)
			b.choose("#f-country", "NG")
			b.submit("main form .button")
			b.see(`a[href="/console/keys/new"]`)
			b.shows("is registered", `Acme "Stores" <i>`+s.name)
			b.submit(`a[href="/console/keys/new"]`)
			b.enter("#f-name", "checkout")
			b.submit("main form .button")
			b.shows("sk_test_")
			b.shoot("secret")
			b.visit("/console/account")
			b.shows("Ada <b>Obi</b>", "Passkeys")
			b.click("#who summary")
			b.submit("#who form button")
			b.see("#f-login")
			b.submit("[data-passkey]")
			b.shows(`Acme "Stores" <i>` + s.name)
		})
	}
}

// TestConsoleInvitation: an owner invites somebody, who joins by a passkey and sees what the role allows.
func TestConsoleInvitation(t *testing.T) {
	t.Parallel()
	owner, guest := openConsole(t, desktop), openConsole(t, phone)
	guest.authenticator()
	owner.follow(consoleLink(t, "console", "create-owner", "--merchant", "local", "--email", "owner"+once()+"@local.example"))
	owner.visit("/console/team/invite")
	owner.enter("#f-login", "guest"+once()+"@local.example")
	owner.choose("#f-role", "finance")
	owner.submit("main form .button")
	link, err := url.Parse(js[string](owner, `document.querySelector("#c-invitation").dataset.text`))
	if err != nil {
		t.Fatal(err)
	}
	guest.follow(link.Path)
	guest.enter("#f-name", "Guest")
	guest.submit("[data-passkey]")
	guest.shows("Overview")
	guest.click("#menu summary")
	if js[bool](guest, `!!document.querySelector('.menu a[href="/console/keys"]')`) {
		t.Error("finance sees the keys in the navigation")
	}
	guest.expect("403")
	guest.visit("/console/keys")
	guest.shows("Your role does not allow this")
	guest.expect("404")
	guest.visit(link.Path)
	guest.shows("no longer works")
}

// TestConsoleExpiry: a session that ends in the middle of a form loses no input.
func TestConsoleExpiry(t *testing.T) {
	t.Parallel()
	b := openConsole(t, desktop)
	b.authenticator()
	login := "expiring" + once() + "@local.example"
	b.follow(consoleLink(t, "console", "create-owner", "--merchant", "local", "--email", login))
	b.visit("/console/account")
	b.submit("[data-passkey]")
	b.shows("The passkey is added")
	b.visit("/console/team/invite")
	b.enter("#f-login", "kept@local.example")
	b.choose("#f-role", "support")
	conn, err := pgx.Connect(t.Context(), b.stack.Databases["console"])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	_, err = conn.Exec(t.Context(), `UPDATE sessions SET seen_at = now() - interval '13 hours'
		WHERE person_id = (SELECT id FROM people WHERE login = $1)`, login)
	if err != nil {
		t.Fatal(err)
	}
	b.submit("main form .button")
	b.see("#f-password")
	b.submit("[data-passkey]")
	b.see("#f-login")
	if got := js[string](b, `document.querySelector("#f-login").value + " " + document.querySelector("#f-role").value`); got != "kept@local.example support" {
		t.Errorf("after the sign-in the form holds %q, want what was typed", got)
	}
	b.shows("back where you were")
	b.shoot("kept")
}
