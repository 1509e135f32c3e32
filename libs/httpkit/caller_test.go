package httpkit_test

import (
	"errors"
	"net/http"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
)

// An identity is a merchant's, an operator's or nobody's; each refusal has one status and one code.
func TestIdentity_caller(t *testing.T) {
	merchant := httpkit.Identity{Subject: httpkit.Merchant, MerchantID: "acme", KeyID: 7, Mode: tenant.Live}
	operator := httpkit.Identity{Subject: httpkit.Operator, Operator: "ada"}
	if o, err := merchant.Owner(); err != nil || o != (tenant.Owner{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}) {
		t.Errorf("the owner of a merchant's request: got %+v, %v", o, err)
	}
	if name, err := operator.OperatorName(); err != nil || name != "ada" {
		t.Errorf("the name of an operator's request: got %q, %v", name, err)
	}
	for name, i := range map[string]httpkit.Identity{
		"public": {Subject: httpkit.Public}, "no merchant": {Subject: httpkit.Merchant, Mode: tenant.Live},
		"no mode": {Subject: httpkit.Merchant, MerchantID: "acme"}, "unknown mode": {Subject: httpkit.Merchant, MerchantID: "acme", Mode: "both"},
		"an operator without a name": {Subject: httpkit.Operator}, "an operator's merchant": {Subject: httpkit.Operator, MerchantID: "acme", Mode: tenant.Live},
	} {
		_, err := i.Owner()
		if f := fault.As(err); !errors.Is(err, httpkit.ErrNoMerchant) || httpkit.Status(f.Kind) != http.StatusUnauthorized || f.Code != "key_required" {
			t.Errorf("%s as a merchant: got %v, want 401 key_required", name, err)
		}
		_, err = i.OperatorName()
		if f := fault.As(err); !errors.Is(err, httpkit.ErrNoOperator) || httpkit.Status(f.Kind) != http.StatusUnauthorized || f.Code != "operator_required" {
			t.Errorf("%s as an operator: got %v, want 401 operator_required", name, err)
		}
	}
}
