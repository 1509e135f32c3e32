package main

import (
	"testing"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/testkit/page"
)

func TestConfigPage(t *testing.T) {
	type all struct {
		Serve   settings
		Migrate command.MigrateSettings
	}
	page.Section(t, "../../docs/config.md", "console", config.Describe[all]("console"))
}
