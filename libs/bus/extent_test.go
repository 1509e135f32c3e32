//go:build integration && !long

package bus

import (
	"slices"

	"causeway.internal/libs/wire"
)

// refusedLines are the lines whose names every user tries: the first of each producer and consumer. Rights go by the
// beginning of a name, and each operation on each name costs the broker a channel.
func refusedLines() (lines []wire.Route) {
	for _, line := range wire.Topology() {
		if !slices.ContainsFunc(lines, func(l wire.Route) bool { return l.Exchange == line.Exchange && l.Consumer == line.Consumer }) {
			lines = append(lines, line)
		}
	}
	return lines
}
