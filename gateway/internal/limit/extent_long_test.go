//go:build long

package limit_test

const flooders = 1_000_000
