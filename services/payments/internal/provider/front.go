package provider

import (
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

// Modes lists the modes, live mode first.
var Modes = tenant.Modes()

// Front is a mode with its set, and without one that of callers who name none: live where it is open.
func Front(sets map[tenant.Mode]Set, mode tenant.Mode) (tenant.Mode, Set, error) {
	if mode != "" {
		w, open := sets[mode]
		if !open {
			return mode, w, change.ErrLiveDisabled
		}
		return mode, w, nil
	}
	for _, mode := range Modes {
		if w, ok := sets[mode]; ok {
			return mode, w, nil
		}
	}
	return "", Set{}, change.ErrLiveDisabled
}
