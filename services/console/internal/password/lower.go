//go:build integration

package password

// Lower makes a hash cost a sixteenth, for tests that sign in hundreds of times. The product is built without it.
func Lower() { memory = 4 << 10 }

// Fill takes every place for a hash until free is called, for tests of what happens then.
func Fill() (free func()) {
	for range cap(places) {
		places <- struct{}{}
	}
	return func() {
		for range cap(places) {
			<-places
		}
	}
}
