package main

import (
	"testing"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/testkit/page"
)

func TestConfigPage(t *testing.T) {
	type all struct {
		Every   settings
		Serve   serveSettings
		Work    workSettings
		Migrate command.MigrateSettings
	}
	page.Section(t, "../../docs/config.md", "reports", config.Describe[all]("reports"))
}

// An installation without the setting has had marked gifts only; an upgraded one names a time.
func TestSettings_giftsMarkedSince(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Time{"": {}, "2026-12-22T23:00:00+01:00": time.Date(2026, 12, 22, 22, 0, 0, 0, time.UTC)} {
		cfg, err := config.Read[serveSettings](map[string]string{"IDENTITY_KEYS": "key", "GIFTS_MARKED_SINCE": text})
		if err != nil || !cfg.MarkedSince.Equal(want) {
			t.Errorf("%q is read as %v: %v", text, cfg.MarkedSince, err)
		}
	}
	if _, err := config.Read[serveSettings](map[string]string{"IDENTITY_KEYS": "key", "GIFTS_MARKED_SINCE": "soon"}); err == nil {
		t.Error("a text that is no time is taken")
	}
}
