package main

import (
	"testing"

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
	page.Section(t, "../../docs/config.md", "callback-dispatcher", config.Describe[all]("callback-dispatcher"))
}
