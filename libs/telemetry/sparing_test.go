package telemetry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/telemetry"
)

// A thousand lines of a kind in a second are ten, another kind is not held back by them, and the next second tells.
func TestSparing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	now := time.Unix(1_000, 0)
	s := telemetry.NewSparing(slog.New(slog.NewTextHandler(&out, nil)), func() time.Time { return now })
	for range 1_000 {
		s.Log(t.Context(), slog.LevelError, "down", "request failed", "code", "down")
	}
	s.Log(t.Context(), slog.LevelError, "panic", "request failed", "code", "panic")
	if n := strings.Count(out.String(), "code=down"); n != 10 || strings.Count(out.String(), "code=panic") != 1 || strings.Contains(out.String(), "left_out") {
		t.Fatalf("%d lines of one kind:\n%s", n, out.String())
	}
	out.Reset()
	now = now.Add(time.Second)
	for range 2 {
		s.Log(t.Context(), slog.LevelError, "down", "request failed", "code", "down")
	}
	if n := strings.Count(out.String(), "left_out=990"); n != 1 || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("the next second:\n%s", out.String())
	}
}
