//go:build integration && long

package main

import "time"

// watchRevoked is how long a revoked key is tried at the other replica, which must refuse it after a second.
const watchRevoked = 5 * time.Second
