//go:build integration && long

package main

import "testing"

// TestSweeps: live networks of every family on private chains, under load, with everything killed that takes part in
// sweeps. The auditor asks the chains: what they hold is what the ledger says, and no money went anywhere but to the
// treasuries.
func TestSweeps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	perform(t, dir, program(t), "live", "--", "--private", "--dir", dir, "--split", "--toxic", "--",
		"--scenario", "sweeps", "--duration", sweepsFor, "--patience", "10m", "--rate", "1", "--live-rate", "1")
}
