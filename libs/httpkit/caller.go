package httpkit

import (
	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
)

// Refusals of a caller of the wrong kind: every service gives the same.
var (
	ErrNoMerchant = fault.New(fault.Unauthenticated, "key_required", "This route needs an API key.")
	ErrNoOperator = fault.New(fault.Unauthenticated, "operator_required", "This route needs an operator's token.")
)

// Owner is the merchant, key and mode that the gateway names, or ErrNoMerchant.
func (i Identity) Owner() (tenant.Owner, error) {
	if i.Subject != Merchant || i.MerchantID == "" || !i.Mode.Valid() {
		return tenant.Owner{}, ErrNoMerchant
	}
	return tenant.Owner{MerchantID: i.MerchantID, KeyID: i.KeyID, Mode: i.Mode}, nil
}

// OperatorName is the operator that the gateway names, or ErrNoOperator.
func (i Identity) OperatorName() (string, error) {
	if i.Subject != Operator || i.Operator == "" {
		return "", ErrNoOperator
	}
	return i.Operator, nil
}
