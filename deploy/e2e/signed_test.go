//go:build integration

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"causeway.internal/deploy/e2e/internal/api"
	"causeway.internal/libs/testkit/stack"
)

// step is one request of the incumbent's client (testdata/incumbent/client.mjs).
type step struct {
	Method         string `json:"method"`
	Path           string `json:"path"`
	Body           any    `json:"body,omitempty"`
	IdempotencyKey string `json:"idempotencyKey,omitempty"`
	SignQuery      bool   `json:"signQuery,omitempty"`
	Repeat         int    `json:"repeat,omitempty"`
	Tamper         bool   `json:"tamper,omitempty"`

	status []int
	code   string // of the last answer
}

type nodeAnswer struct {
	Status  int
	Headers map[string]any
	Body    map[string]any
}

// runNode sends the steps with the incumbent's client.
func runNode(t testing.TB, s *stack.Stack, public, secret string, steps []step) []nodeAnswer {
	t.Helper()
	script, err := json.Marshal(steps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "testdata/incumbent/client.mjs", s.BaseURL, public, secret)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(script), &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("the incumbent's client: %v\n%s", err, stderr.Bytes())
	}
	var answers []nodeAnswer
	if err := json.Unmarshal(stdout.Bytes(), &answers); err != nil {
		t.Fatal(err)
	}
	return answers
}

// pairOf makes a key and returns both of its halves.
func pairOf(t testing.TB, s *stack.Stack, c *api.Client, merchant string, permissions ...string) (public, secret string) {
	t.Helper()
	made := c.With(s.AdminToken).Call(t, http.MethodPost, "/v1/admin/keys", api.Object{
		"merchantId": merchant, "name": t.Name(), "mode": "test", "permissions": permissions, "tier": "unlimited",
	}).Want(t, http.StatusCreated)
	return made.Text(t, "key.publicKey"), made.Text(t, "key.secret")
}

// TestIncumbentClient: docs/api-contract.md#signed-requests: a client of the incumbent engine works with nothing
// changed but the base address: it creates, reads, lists and simulates under its own signatures, and what was sent once
// is not taken twice.
func TestIncumbentClient(t *testing.T) {
	t.Parallel()
	s, c := shared(t)
	public, secret := pairOf(t, s, c, unique("incumbent"), "payment:*", "wallet:*")
	steps := []step{
		{Method: "POST", Path: "/v1/payments", Body: transfer(nil), status: []int{201}},
		{Method: "GET", Path: "/v1/payments/{last}", status: []int{200}},
		{Method: "GET", Path: "/v1/payments?limit=1&status=all", status: []int{200}},
		{Method: "GET", Path: "/v1/payments?limit=1&status=all", SignQuery: true, Repeat: 2, status: []int{200, 200}},
		{Method: "POST", Path: "/v1/payments", Body: transfer(nil), Repeat: 3, status: []int{201, 401, 401}, code: "signature_replayed"},
		{Method: "POST", Path: "/v1/payments", Body: transfer(nil), Repeat: 3, IdempotencyKey: unique("once"), status: []int{201, 201, 201}},
		{Method: "POST", Path: "/v1/payments", Body: transfer(nil), Tamper: true, status: []int{401}, code: "signature_invalid"},
		{Method: "POST", Path: "/v1/sandbox/payments/{last}/simulate-deposit", status: []int{200}},
		{Method: "GET", Path: "/v1/wallets", status: []int{200}},
		{Method: "GET", Path: "/v1/me", status: []int{200}},
		{Method: "GET", Path: "/v1/webhooks/endpoints", status: []int{403}, code: "permission_missing"},
	}
	answers := runNode(t, s, public, secret, steps)
	var replayed []any
	for i, step := range steps {
		for n, want := range step.status {
			if len(answers) == 0 {
				t.Fatalf("no answer to step %d", i)
			}
			a := answers[0]
			answers = answers[1:]
			if a.Status != want {
				t.Errorf("step %d, %s %s: %d %v, want %d", i, step.Method, step.Path, a.Status, a.Body, want)
			}
			if e, _ := a.Body["error"].(map[string]any); n == len(step.status)-1 && step.code != "" && e["code"] != step.code {
				t.Errorf("step %d: %v, want %s", i, a.Body, step.code)
			}
			if step.IdempotencyKey != "" {
				payment, _ := a.Body["payment"].(map[string]any)
				if replayed = append(replayed, payment["reference"]); payment["reference"] != replayed[0] || (n > 0) != (a.Headers["idempotent-replayed"] == "true") {
					t.Errorf("step %d: %v is no replay of %v", i, a, replayed[0])
				}
			}
		}
	}
	other, _ := pairOf(t, s, c, unique("other"), "*")
	for _, a := range runNode(t, s, other, secret, []step{{Method: "GET", Path: "/v1/payments"}}) {
		if a.Status != http.StatusUnauthorized {
			t.Errorf("signed with another key's secret: %d %v", a.Status, a.Body)
		}
	}
}
