//go:build integration

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/port"
	"causeway.internal/libs/testkit/stack"
)

// tool is the merchants' command, which is built beside the launcher, with the settings of a stack.
func tool(t testing.TB, s *stack.Stack, key string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(os.Getenv("CAUSEWAY_STACK")), "causeway"), args...)
	cmd.Env = []string{"CAUSEWAY_URL=" + s.BaseURL, "CAUSEWAY_API_KEY=" + key, "CAUSEWAY_ADMIN_TOKEN=" + s.AdminToken}
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

func output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run %v: %v\n%s", cmd.Args, err, out)
	}
	return string(out)
}

// TestTool: from a key to a settled payment with the command alone, while listen forwards every webhook to a program,
// signed as the real delivery is.
func TestTool(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	var made struct {
		Key struct {
			ID     int64
			Secret string
		}
	}
	merchant := unique("tool")
	raw := output(t, tool(t, s, "", "keys", "create", "--merchant", merchant, "--name", "cli", "--tier", "unlimited", "--json"))
	if err := json.Unmarshal([]byte(raw), &made); err != nil {
		t.Fatal(err)
	}
	secret := made.Key.Secret
	if me := output(t, tool(t, s, secret, "keys", "me")); !strings.Contains(me, merchant) {
		t.Errorf("keys me: %s", me)
	}

	program := receive(t)
	program.Secrets("", c.With(secret).Call(t, "GET", "/v1/webhooks/secret", nil).Want(t, 200).Text(t, "secret"))
	path := "/" + unique("hook")
	listen := tool(t, s, secret, "listen", "--forward", program.URL(path), "--since", "1m", "--json")
	lines, err := listen.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}

	var payment struct{ Reference string }
	if err := json.Unmarshal([]byte(output(t, tool(t, s, secret, "pay", "--json"))), &payment); err != nil {
		t.Fatal(err)
	}
	output(t, tool(t, s, secret, "trigger", "deposit", payment.Reference))
	awaitStatus(t, c.With(secret), payment.Reference, "settled")
	program.AwaitAccepted(t, settle, path, len(walkEvents))
	for scanner := bufio.NewScanner(lines); scanner.Scan(); {
		a := api.Parse(t, scanner.Bytes())
		if a.Text(t, "forwarded") != "200" {
			t.Errorf("forwarded: %s", a.Body)
		}
		if a.Text(t, "event.type") == "payment.settled" {
			break
		}
	}
	if err := listen.Process.Signal(os.Interrupt); err != nil {
		t.Error(err)
	}
	if err := listen.Wait(); err != nil {
		t.Errorf("listen ends with %v when it is interrupted", err)
	}
	clean(t, program)
	output(t, tool(t, s, "", "keys", "revoke", api.Rat("0").SetInt64(made.Key.ID).Num().String()))
}

// TestTool_objects: the command reads, lists and changes what a merchant has.
func TestTool_objects(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := key(t, s, c, "test", unique("tool"), "*")
	run := func(line string) *api.Answer {
		t.Helper()
		return api.Parse(t, []byte(output(t, tool(t, s, merchant.Key, append(strings.Fields(line), "--json")...))))
	}
	paid := run("pay --simulate full").Text(t, "reference")
	awaitStatus(t, merchant, paid, "settled")
	unpaid := run("pay --amount 1234567.89").Text(t, "reference")
	wallet := run("wallets create --network tron --crypto USDT").Text(t, "id")
	run("trigger deposit " + wallet + " --amount 12.5")
	report := run("reports create --type fraud --name Ada --phone "+freshPhone()+" --payment "+paid).Text(t, "reportId")
	run("webhooks replay --from 2026-01-01T00:00:00Z --dry-run")
	printed := ""
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the last command printed %s", printed)
		}
	})
	for line, want := range map[string]string{
		"payments get " + paid:            `"status":"settled"`,
		"payments list --status settled":  paid,
		"payments get " + unpaid:          `"fiatAmount":1234567.89,`,
		"payments cancel " + unpaid:       `"status":"cancelled"`,
		"wallets get " + wallet:           `"network":"tron"`,
		"wallets list":                    wallet,
		"reports list":                    report,
		"reports get " + report:           paid,
		"events --type payment.settled":   paid,
		"get /v1/payments?status=settled": paid,
		`post /v1/payments/verify-receiver --data {"bankCode":"058","accountNumber":"0123456789"}`: `"accountName"`,
		"get /v1/payments/export":                    paid,
		"get /v1/settlements?format=csv":             paid,
		"webhooks endpoints":                         "",
		"webhooks deliveries --status all --limit 1": "",
	} {
		api.Eventually(t, soon, fmt.Sprintf("%q to print %s", line, want), func() bool { // events and statements come after the payment
			printed = output(t, tool(t, s, merchant.Key, append(strings.Fields(line), "--json")...))
			return strings.Contains(printed, want)
		})
	}
}

// TestToolReceive: as an endpoint of its own the command verifies what the product really sends.
func TestToolReceive(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := key(t, s, c, "test", unique("tool"), "*")
	address, heard := hear(t, tool(t, s, merchant.Key, "listen", "--receive", "127.0.0.1:0", "--count", "2"))
	ref := create(t, merchant, transfer(api.Object{"callbackUrl": address + "/hook"})).Text(t, "payment.reference")
	deposit(t, merchant, ref, nil)
	heard(ref)
}

// TestToolReceive_registered: as a registered endpoint the command verifies with the secret of that endpoint. A replay
// that names no endpoint says how to name one.
func TestToolReceive_registered(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	merchant := key(t, s, c, "test", unique("tool"), "*")
	at := port.Free(t)
	id := merchant.Call(t, http.MethodPost, "/v1/webhooks/endpoints", api.Object{"url": "http://" + at + "/hook", "types": []string{}}).
		Want(t, http.StatusOK).Text(t, "endpoint.id")
	_, heard := hear(t, tool(t, s, merchant.Key, "listen", "--receive", at, "--endpoint", id, "--count", "2"))
	ref := create(t, merchant, transfer(nil)).Text(t, "payment.reference")
	deposit(t, merchant, ref, nil)
	heard(ref)

	replay := tool(t, s, merchant.Key, "webhooks", "replay", "--from", "2026-01-01T00:00:00Z", "--dry-run")
	var said strings.Builder
	replay.Stderr = &said
	if output(t, replay); !strings.Contains(said.String(), "--endpoint") {
		t.Errorf("replay to callbackUrls beside an endpoint: the command says %q, want --endpoint", said.String())
	}
}

// hear starts a command that receives webhooks, and returns its address, and a wait for its end in which every webhook
// that it prints must be genuine and of the payment.
func hear(t *testing.T, listen *exec.Cmd) (address string, heard func(reference string)) {
	t.Helper()
	listen.Stderr = nil
	said, err := listen.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := listen.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := listen.Start(); err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(said)
	if !scanner.Scan() {
		t.Fatal("listen says nothing")
	}
	address = strings.Fields(scanner.Text())[4]
	return address, func(reference string) {
		t.Helper()
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if !strings.Contains(lines.Text(), reference) || !strings.Contains(lines.Text(), "signature ok") {
				t.Errorf("heard %q", lines.Text())
			}
		}
		if err := listen.Wait(); err != nil {
			t.Error(err)
		}
	}
}
