//go:build integration && long

package store_test

// The broad extents. `make test/long` sets -rapid.checks, which livesTried gives way to.
const (
	livesTried        = "25"
	railScripts       = 24
	settlementsListed = 20_000
)
