//go:build integration && long

package main

import "testing"

// TestFailover is the scenario in small: a few failovers of PostgreSQL and of RabbitMQ, and a clean audit.
func TestFailover(t *testing.T) {
	t.Parallel()
	launch(t, []string{"--split", "--replicas", "2", "--standby", "--cluster"}, "--scenario", "failover", "--duration", failoverFor.String(), "--rate", "4")
}
