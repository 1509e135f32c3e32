//go:build integration && long

package main

import "testing"

// TestHooks plays the scenario hooks where all roles share a process: kills of callback-dispatcher among endpoints that
// misbehave. TestMix plays it with a process for each role.
func TestHooks(t *testing.T) {
	t.Parallel()
	launch(t, nil, "--scenario", "hooks", "--duration", hooksFor.String(), "--rate", "2")
}
