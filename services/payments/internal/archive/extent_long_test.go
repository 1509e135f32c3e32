//go:build integration && long

package archive_test

func killsAt(int) []int { return []int{1, 2} }
