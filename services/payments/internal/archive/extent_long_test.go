//go:build integration && long

package archive_test

const payments24 = 48_000
