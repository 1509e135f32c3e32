//go:build integration

package browser

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// command runs a command of a service on the shared stack.
func command(t *testing.T, service string, words ...string) string {
	t.Helper()
	args := append([]string{"do", service, "--dir", os.Getenv("CAUSEWAY_STACK_DIR"), "--"}, words...)
	out, err := exec.Command(os.Getenv("CAUSEWAY_STACK"), args...).CombinedOutput()
	if err != nil {
		t.Fatalf("run %v: %v\n%s", words, err, out)
	}
	return string(out)
}

// TestConsoleApproval: what an operator decides takes the operator's passkey, and one that the console alone knows does
// not do. Once a command has put it into the gateway, the decision that waited is approved, and the audit names who.
func TestConsoleApproval(t *testing.T) {
	t.Parallel()
	for _, s := range []size{phone, desktop} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			b := openConsole(t, s)
			b.authenticator()
			name := "ada.n" + once()
			b.follow(consoleLink(t, "console-operators", "create-operator", "--name", name))
			b.visit("/operators/account")
			b.submit("[data-passkey]")
			b.shows("The passkey is added")
			b.visit("/operators/keys/new")
			b.shoot("decide")
			b.enter("#f-merchantId", "local")
			b.enter("#f-name", "made by "+name)
			b.choose("#f-mode", "test")
			b.enter("#f-permissions", "payment:read, report:create")
			b.choose("#f-tier", "standard")
			b.submit("main form .button")
			b.shows("The services know none of your passkeys")
			b.shoot("unknown-passkey")
			words := strings.Fields(js[string](b, `document.querySelector("#c-add-0").dataset.text`))
			command(t, "gateway", words[1:]...)
			b.visit("/operators/approve")
			b.shows("Your passkey signs exactly this", "made by "+name)
			b.shoot("approve")
			b.submit("[data-passkey]")
			b.shows("Done", "sk_test_", "made by "+name)
			b.visit("/operators/audit?actor=operator:" + name)
			b.shows("key.created")
			b.visit("/operators/search?q=local")
			b.shows("Merchant local")
			b.visit("/operators/merchants/local")
			b.shows("Suspend")
		})
	}
}
