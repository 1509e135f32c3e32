//go:build integration && !long

package archive_test

// killsAt are the times that a run is killed at a step: when it comes there first, or the second time. A run of `make
// test` takes one of them for each step.
func killsAt(step int) []int { return []int{1 + step%2} }
