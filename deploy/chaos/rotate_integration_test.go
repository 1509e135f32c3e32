//go:build integration && long

package main

import "testing"

// TestRotate replaces every secret of every service under load: no old one is of use afterwards, and every payment
// settles.
func TestRotate(t *testing.T) {
	t.Parallel()
	launch(t, []string{"--split", "--replicas", "2"}, "--scenario", "rotate", "--duration", "1m", "--rate", "2")
}
