//go:build !long

package check

// everyRule says whether promtool judges every rule of a file in each case of its tests. Else it judges those that the
// case is about.
const everyRule = false
