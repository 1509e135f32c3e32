//go:build integration && long

package bus

import "causeway.internal/libs/wire"

// refusedLines are the lines whose names every user tries: all.
func refusedLines() []wire.Route { return wire.Topology() }
