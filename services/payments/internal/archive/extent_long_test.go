//go:build integration && long

package archive_test

const payments24 = 48_000

func killsAt(int) []int { return []int{1, 2} }
