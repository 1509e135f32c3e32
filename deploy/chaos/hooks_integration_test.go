//go:build integration

package main

import "testing"

// TestHooks plays the scenario hooks: kills of callback-dispatcher among endpoints that misbehave.
func TestHooks(t *testing.T) {
	t.Parallel()
	launch(t, nil, "--scenario", "hooks", "--duration", hooksFor.String(), "--rate", "2")
}
