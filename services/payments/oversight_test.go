package main

import (
	"strings"
	"testing"

	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/refunds"
)

// A pod without the keys of orders says which settings it lacks.
func TestSignable(t *testing.T) {
	if err := signable(nil, tenant.Live); err == nil || !strings.Contains(err.Error(), "ORDER_OPERATOR_KEY") {
		t.Errorf("signable(no keys, live) = %v, want an error that names the settings", err)
	}
	if err := signable(nil, tenant.Test); err != nil {
		t.Errorf("signable(no keys, test) = %v, want no error: the simulated chains have no signer", err)
	}
	if err := signable(refunds.Keys{}, tenant.Live); err != nil {
		t.Errorf("signable(keys, live) = %v, want no error", err)
	}
}
