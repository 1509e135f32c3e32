package provider

import (
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
)

// Modes are the modes, the one that counts first.
var Modes = tenant.Modes()

// Front is the set of the mode that routes without a mode mean: the live one where it is open.
func Front(sets map[tenant.Mode]Set) (tenant.Mode, Set, error) {
	for _, mode := range Modes {
		if w, ok := sets[mode]; ok {
			return mode, w, nil
		}
	}
	return "", Set{}, change.ErrLiveDisabled
}
