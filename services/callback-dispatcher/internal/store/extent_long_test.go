//go:build integration && long

package store

// borders are transaction ids that have one digit more than those before them.
var borders = []int64{10_000, 100_000}
