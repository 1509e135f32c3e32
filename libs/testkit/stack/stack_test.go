package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeLauncher is a fake of the launcher: it records its arguments and prints the answer for its verb.
const fakeLauncher = `#!/bin/sh
echo "$@" >> "$CALLS"
case "$1" in
up|status) echo '{"baseUrl":"http://127.0.0.1:1","apiKey":"k","adminToken":"a","webhookSecret":"w","databases":{"payments":"postgres://x"}}';;
esac
`

func useFake(t *testing.T) (calls func() string) {
	t.Helper()
	dir := t.TempDir()
	binary, log := filepath.Join(dir, "stack"), filepath.Join(dir, "calls")
	if err := os.WriteFile(binary, []byte(fakeLauncher), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CALLS", log)
	t.Setenv(launcherVariable, binary)
	return func() string {
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

func TestPrivateStackRunsTheLauncher(t *testing.T) {
	calls := useFake(t)
	t.Run("private", func(t *testing.T) {
		s := New(t, Options{Env: map[string]map[string]string{
			"wallets": {"EVM_ETHEREUM_RPC_URLS": "http://x"}, "payments": {"RAIL_LIVE": "sim", "RATES_LIVE": "fixed"},
		}})
		if s.BaseURL != "http://127.0.0.1:1" || s.Databases["payments"] != "postgres://x" {
			t.Errorf("read %+v", s)
		}
		s.Kill(t, "payments")
		s.Start(t, "payments")
	})
	got := strings.Split(strings.TrimSpace(calls()), "\n")
	want := []string{
		"up --dir D --json --env payments:ADDRESS_STOCK=320 --env payments:ADDRESS_BLOCK=32 --env payments:RAIL_LIVE=sim --env payments:RATES_LIVE=fixed --env wallets:EVM_ETHEREUM_RPC_URLS=http://x",
		"status --dir D --json", // whose ports are held from now on
		"kill payments -9 --dir D",
		"start payments --dir D",
		"down --dir D",
	}
	if len(got) != len(want) {
		t.Fatalf("calls %q", got)
	}
	for i := range want {
		fields := strings.Fields(got[i])
		for j := range fields {
			if j > 0 && fields[j-1] == "--dir" {
				fields[j] = "D"
			}
		}
		if line := strings.Join(fields, " "); line != want[i] {
			t.Errorf("call %d: %q, want %q", i, line, want[i])
		}
	}
}

func TestSharedStackIsReadFromTheEnvironment(t *testing.T) {
	useFake(t)
	for _, name := range []string{"BASE_URL", "API_KEY", "ADMIN_TOKEN", "WEBHOOK_SECRET", dirVariable} {
		t.Setenv(name, "of "+name)
	}
	s := Shared(t)
	if s.BaseURL != "of BASE_URL" || s.APIKey != "of API_KEY" || s.AdminToken != "of ADMIN_TOKEN" || s.WebhookSecret != "of WEBHOOK_SECRET" {
		t.Errorf("read %+v", s)
	}
	if s.Databases["payments"] != "postgres://x" {
		t.Errorf("databases %v", s.Databases)
	}
}
