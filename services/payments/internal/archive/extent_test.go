//go:build integration && !long

package archive_test

// payments24 is how many payments two years have. `make test` pays for each of them.
const payments24 = 1_200
