//go:build integration && long

package main

import "causeway.internal/deploy/stack/internal/infra"

// withoutLent names the servers that the killed launcher starts itself: all.
var withoutLent = []string{infra.PostgresURL, infra.AMQPURL, infra.AMQPAPI}

// ownServers are the processes of it: PostgreSQL, and the broker with its port mapper.
const ownServers = 3
