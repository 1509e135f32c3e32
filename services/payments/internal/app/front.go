package app

import (
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/provider"
)

// modes are the modes, the one that counts first.
var modes = tenant.Modes()

// Front is the set of the mode that routes without a mode mean: the live one where it is open.
func Front(sets map[tenant.Mode]provider.Set) (tenant.Mode, provider.Set, error) {
	for _, mode := range modes {
		if w, ok := sets[mode]; ok {
			return mode, w, nil
		}
	}
	return "", provider.Set{}, change.ErrLiveDisabled
}
