package tenant_test

import (
	"testing"

	"causeway.internal/libs/tenant"
)

// Two keys of a merchant are one key of a map once they are left out.
func TestOwner_withoutKey(t *testing.T) {
	one := tenant.Owner{MerchantID: "m", KeyID: 1, Mode: tenant.Live}
	other := tenant.Owner{MerchantID: "m", KeyID: 2, Mode: tenant.Live}
	if one.WithoutKey() != other.WithoutKey() {
		t.Errorf("leave the keys out of %+v and %+v: got %+v and %+v, want the same", one, other, one.WithoutKey(), other.WithoutKey())
	}
	other.Mode = tenant.Test
	if one.WithoutKey() == other.WithoutKey() {
		t.Errorf("leave the keys out of %+v and %+v: got the same, want two modes", one, other)
	}
}
