//go:build integration

package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/testkit/mq"
	"causeway.internal/libs/testkit/pg"
	"causeway.internal/services/reports/migrations"
)

func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) (status int, body map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil
	}
	defer resp.Body.Close()
	_ = json.NewDecoder(resp.Body).Decode(&body) // the caller looks at what it expects
	return resp.StatusCode, body
}

func TestReports_runsAndAnswersInTheErrorShape(t *testing.T) {
	pg.Holds(t, migrations.FS, outbox.Schema)
	pg.Holds(t, migrations.FS, idempotency.Schema)
	url, api, ops := pg.URL(t, migrations.FS), freeAddr(t), freeAddr(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, nil, map[string]string{
			"DATABASE_URL": url, "AMQP_URL": mq.New(t), "HTTP_ADDR": api, "OPS_ADDR": ops,
			"IDENTITY_KEYS": base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 32))),
		})
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(20 * time.Second)
	for status := 0; status != http.StatusOK; status, _ = get(t, "http://"+ops+"/readyz") {
		select {
		case err := <-done:
			t.Fatalf("ended with %v", err)
		case <-deadline:
			t.Fatal("not ready within 20 s")
		case <-tick.C:
		}
	}
	if status, body := get(t, "http://"+api+"/v1/reports/RPT-ABCDEF"); status != http.StatusNotFound || body["success"] != false || body["error"] == nil {
		t.Errorf("got %d %v", status, body)
	}
	cancel()
	if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
