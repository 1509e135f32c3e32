//go:build integration

package main

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/testkit/pg"
)

// A console tells operators of its own processes, whatever it says whose they are. One that does not answer so, such as
// one of an earlier release, is a part that is away, and a console that there is not has no processes.
func TestGateway_healthOfConsoles(t *testing.T) {
	t.Parallel()
	key := []byte(strings.Repeat("c", 32))
	verifier := httpkit.Verifier{Audience: "console", Keys: [][]byte{key}, BoundOnly: true, Now: time.Now}
	type reply struct {
		status int
		body   string
	}
	var says atomic.Pointer[reply]
	console := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who, err := verifier.Verify(r); err != nil || who.Subject != httpkit.Operator || who.Operator != "ops" {
			t.Errorf("ask the console for its processes as %+v: %v", who, err)
		}
		answer := says.Load()
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body)
	}))
	t.Cleanup(console.Close)
	w := startOn(t, pg.URL(t, migrations.FS), "CONSOLE_URL", console.URL, "CONSOLE_IDENTITY_KEYS", base64.StdEncoding.EncodeToString(key))
	const health, process = "/v1/admin/health/", `{"success":true,"processes":[{"service":"payments","name":"a b","role":"serve","version":"v1","revision":"r",
		"startedAt":"2026-11-22T15:16:23.913Z","ready":true,"checks":[{"name":"running","problem":null}],"queues":[],"toldAt":"2026-11-22T15:16:23.913Z"}]}`

	says.Store(&reply{200, process})
	w.call(t, "GET", health+"console", "", "").want(t, 401, "operator_token_missing")
	told, _ := w.call(t, "GET", health+"console", operatorToken, "").want(t, 200, "").body["processes"].([]any)
	if len(told) != 1 {
		t.Fatalf("read the processes of the console: got %v, want one", told)
	}
	if one, _ := told[0].(map[string]any); one["service"] != "console" || one["name"] != "a b" {
		t.Errorf("read the processes of the console: got %v, want the console's own", one)
	}
	for name, away := range map[string]reply{
		"a page": {404, "<h1>Not found</h1>"}, "a failure": {500, `{"success":false}`}, "nonsense": {200, "<h1>Welcome</h1>"}, "something else": {200, `{"success":true}`},
	} {
		says.Store(&away)
		t.Run(name, func(t *testing.T) {
			w.call(t, "GET", health+"console", operatorToken, "").want(t, 503, "upstream_unavailable")
		})
	}
	if none, ok := w.call(t, "GET", health+"console-operators", operatorToken, "").want(t, 200, "").body["processes"].([]any); !ok || len(none) != 0 {
		t.Errorf("read the processes of a console that there is not: got %v, want none", none)
	}
}
