//go:build integration

package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"causeway.internal/libs/config"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/telemetry/telemetrytest"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/migrations"
)

// simulatedLive opens live mode with simulated providers.
func simulatedLive(more ...string) map[string]string {
	out := map[string]string{"RATES_LIVE": "fixed", "RAIL_LIVE": "sim", "ALLOW_SIMULATED_LIVE": "true"}
	for _, setting := range more {
		name, value, _ := strings.Cut(setting, "=")
		out[name] = value
	}
	return out
}

// A process that serves gives the use cases every part that they have.
func TestParts(t *testing.T) {
	environ := simulatedLive("DAILY_LIMIT_KEY=NGN=1000", "MARK_GIFTS=false", "CREDIT_BALANCES=false", "PUBLIC_URL=https://pay.example", "ADDRESS_FAMILIES_LIVE=tron")
	environ["DATABASE_URL"] = pg.URL(t, migrations.FS)
	environ["IDENTITY_KEYS"] = base64.StdEncoding.EncodeToString(identityKey)
	environ["ORDER_AUTOMATIC_KEY"] = environ["IDENTITY_KEYS"]
	environ["ORDER_OPERATOR_KEY"] = base64.StdEncoding.EncodeToString([]byte("another seed with 32 bytes......"))
	environ["REFUND_NETWORKS"] = "ethereum,polygon,tron"
	environ["RECOVERY"] = "true"
	environ["MASTER_KEYS"] = "k1:" + environ["IDENTITY_KEYS"]
	cfg, err := config.Read[settings](environ)
	if err != nil {
		t.Fatalf("read the settings: %v", err)
	}
	p, err := open(t.Context(), cfg, telemetrytest.ForTest(t), func() {})
	if err != nil {
		t.Fatalf("open the process: %v", err)
	}
	t.Cleanup(func() { p.close(t.Context()) })
	if shown, want := counted(t, p.tel), len(alert.Codes())*len(tenant.Modes()); shown != want {
		t.Errorf("open the process: got %d alerts in its metrics, want all %d of both modes in each role", shown, want)
	}
	a, err := p.openAPI(t.Context(), environ)
	if err != nil {
		t.Fatalf("open the API: %v", err)
	}
	parts := reflect.ValueOf(p.parts(a))
	for _, f := range reflect.VisibleFields(parts.Type()) {
		if v := parts.FieldByIndex(f.Index); v.IsZero() || v.Kind() == reflect.Map && v.Len() == 0 {
			t.Errorf("put the parts together: got no %s, want one", f.Name)
		}
	}
}

// counted counts the alerts in a process' metrics.
func counted(t *testing.T, tel *telemetry.Telemetry) int {
	t.Helper()
	families, err := tel.Registry.Gather()
	if err != nil {
		t.Fatalf("read the metrics: %v", err)
	}
	for _, f := range families {
		if f.GetName() == "payments_alerts_total" {
			return len(f.GetMetric())
		}
	}
	return 0
}

// Each daily limit of the settings refuses a payment of live mode that exceeds it.
func TestFlow_dailyLimits(t *testing.T) {
	t.Parallel()
	s := startOn(t, pg.URL(t, migrations.FS), simulatedLive(
		"DAILY_LIMIT_KEY=NGN=160000", "DAILY_LIMIT_PAYER=NGN=90000", "DAILY_LIMIT_RECEIVER=NGN=90000", "ADDRESS_FAMILIES_LIVE=tron",
	))
	create := func(payer, account string) (int, string) {
		body := strings.NewReplacer(`"chat"`, fmt.Sprintf("%q", payer), "0123456789", account).Replace(good)
		status, answer, _ := s.call(tenant.Live, "POST", "/v1/payments", body)
		var got struct{ Error struct{ Code string } }
		if err := json.Unmarshal([]byte(answer), &got); err != nil {
			t.Fatalf("create a payment: got %d %s, %v, want JSON", status, answer, err)
		}
		return status, got.Error.Code
	}
	s.until("live mode to take a payment", func() bool {
		status, code := create("one", "0123456781")
		if status != 201 && status != 503 {
			t.Fatalf("create the first payment: got %d %s, want 201", status, code)
		}
		return status == 201
	})
	for _, c := range []struct {
		what, payer, account string
		status               int
	}{
		{"the payer's second payment", "one", "0123456782", 400},
		{"the account's second payment", "two", "0123456781", 400},
		{"a payment of others", "two", "0123456782", 201},
		{"the key's third payment", "three", "0123456783", 201},
		{"the key's fourth payment", "four", "0123456784", 400},
	} {
		status, code := create(c.payer, c.account)
		if status != c.status || (code == "daily_limit_exceeded") != (c.status == 400) {
			t.Errorf("create %s: got %d %q, want %d", c.what, status, code, c.status)
		}
	}
}
