//go:build integration && !long

package main

import "causeway.internal/deploy/stack/internal/infra"

// withoutLent names the server that the killed launcher starts itself: PostgreSQL. The broker is lent to it, since a
// start of one takes ten seconds of a processor.
var withoutLent = []string{infra.PostgresURL}

// ownServers are the processes of it.
const ownServers = 1
