//go:build integration

package main

import "testing"

// TestHooks is the short form of the scenario hooks: a few kills of callback-dispatcher among endpoints that misbehave.
func TestHooks(t *testing.T) {
	launch(t, nil, "--scenario", "hooks", "--duration", "15s", "--rate", "2")
}
