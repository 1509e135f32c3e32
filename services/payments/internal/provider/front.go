package provider

import (
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

// Modes lists the modes, live mode first.
var Modes = tenant.Modes()

// Front is the mode of routes without a mode, with its set: live where it is open.
func Front(sets map[tenant.Mode]Set) (tenant.Mode, Set, error) {
	for _, mode := range Modes {
		if w, ok := sets[mode]; ok {
			return mode, w, nil
		}
	}
	return "", Set{}, change.ErrLiveDisabled
}
