package httpkit

import (
	"context"
	"strconv"
	"time"

	"github.com/go-kit/kit/endpoint"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
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
	return tenant.Owner{MerchantID: i.MerchantID, KeyID: i.KeyID, Mode: i.Mode, Person: i.Person != ""}, nil
}

// OperatorName is the operator that the gateway names, or ErrNoOperator.
func (i Identity) OperatorName() (string, error) {
	if i.Subject != Operator || i.Operator == "" {
		return "", ErrNoOperator
	}
	return i.Operator, nil
}

// ForMerchants is the middleware of a route that needs a merchant. All keys of a merchant share their stored answers.
func ForMerchants(next endpoint.Endpoint) endpoint.Endpoint {
	return admitted(next, func(r *Request) (err error) {
		r.scope = func(r *Request) string { return idempotency.Scope(r.Owner.MerchantID, string(r.Owner.Mode)) }
		r.Owner, err = r.Identity.Owner()
		return err
	})
}

// ForKeys is the middleware of a route that needs a merchant's key. Stored answers belong to the key: another key of
// the merchant must not see an answer that it may not read.
func ForKeys(next endpoint.Endpoint) endpoint.Endpoint {
	return admitted(next, func(r *Request) (err error) {
		r.scope = func(r *Request) string {
			return idempotency.Scope(r.Owner.MerchantID, string(r.Owner.Mode), strconv.FormatInt(r.Owner.KeyID, 10))
		}
		if r.Owner, err = r.Identity.Owner(); err == nil && r.Owner.KeyID == 0 {
			return ErrNoMerchant
		}
		return err
	})
}

// ForOperators is the middleware of a route that needs an operator, who has to approve a change through the operators'
// console with a passkey.
func ForOperators(next endpoint.Endpoint) endpoint.Endpoint {
	return admitted(next, func(r *Request) error {
		r.scope = func(r *Request) string { return idempotency.Scope("operator", r.Identity.Operator) }
		if _, err := r.Identity.OperatorName(); err != nil {
			return err
		}
		return r.approved(time.Now())
	})
}

// ForAll is the middleware of a route that anybody may call. A merchant is its owner all the same. A stored answer
// belongs to the object that the path names.
func ForAll(next endpoint.Endpoint) endpoint.Endpoint {
	return admitted(next, func(r *Request) error {
		r.scope = func(*Request) string { return "public" }
		if o, err := r.Identity.Owner(); err == nil {
			r.Owner = o
		}
		return nil
	})
}

func admitted(next endpoint.Endpoint, check func(*Request) error) endpoint.Endpoint {
	return func(ctx context.Context, request any) (any, error) {
		if err := check(From(ctx)); err != nil {
			return nil, err
		}
		return next(ctx, request)
	}
}
