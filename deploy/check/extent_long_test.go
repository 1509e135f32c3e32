//go:build long

package check

const (
	everyRule = true
	stopEvery = 1
)
