//go:build integration && !long

package store_test

// A representative part: `make test` pays for each of these on two cores.
const (
	livesTried        = "8"  // of a property over the store
	railScripts       = 8    // of faults of two rails
	settlementsListed = 6000 // several pages of the report
)
