//go:build integration && !long

package archive_test

// payments24 is how many payments two years have. `make test` pays for each of them.
const payments24 = 1_200

// killsAt are the times that a run is killed at a step: when it comes there first, or the second time. A run of `make
// test` takes one of them for each step.
func killsAt(step int) []int { return []int{1 + step%2} }
