//go:build integration

package password

// Lower makes a hash cost a sixteenth, for tests that sign in hundreds of times. The product is built without it.
func Lower() { memory = 4 << 10 }
