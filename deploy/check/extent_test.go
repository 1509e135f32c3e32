//go:build !long

package check

const (
	// everyRule says whether promtool judges every rule of a file in each case of its tests. Else it judges those that
	// the case is about.
	everyRule = false

	// stopEvery is how many calls lie between two at which a rollout is stopped.
	stopEvery = 3
)
