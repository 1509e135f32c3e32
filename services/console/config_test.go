package main

import (
	"net/url"
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

// Anybody may make an account if a letter proves the address, or on a developer's own machine.
func TestSignUp(t *testing.T) {
	for _, tc := range []struct {
		asked   bool
		scheme  string
		letters bool
		want    bool
	}{{true, "https", true, true}, {true, "https", false, false}, {true, "http", false, true}, {false, "https", true, false}} {
		if got := (settings{SignUp: tc.asked}).signUp(&url.URL{Scheme: tc.scheme, Host: "pay.example"}, tc.letters); got != tc.want {
			t.Errorf("sign-up with %+v: got %t", tc, got)
		}
	}
}
