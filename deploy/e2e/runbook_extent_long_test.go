//go:build integration && long

package e2e

var slowPages []string
