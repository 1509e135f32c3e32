package apikey

import (
	"context"
	"fmt"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/fault"
)

// The refusals of an adoption.
var (
	errNotRevoked = fault.New(fault.Conflict, "api_key_in_use", "Only the wallets of a revoked key can be adopted.")
	errNotHeir    = fault.New(fault.Conflict, "api_key_no_heir", "Wallets can only be adopted by a working key of the same merchant and mode.")
)

// Adopt records that a key takes over the wallets of a revoked one, and returns the old key. The caller moves the
// wallets afterwards.
func (r *Registry) Adopt(ctx context.Context, from, to int64, by audit.Entry) (Key, error) {
	old, err := r.Get(ctx, from)
	if err != nil {
		return Key{}, err
	}
	if old.RevokedAt.IsZero() {
		return Key{}, errNotRevoked
	}
	by.Act, by.Object = audit.KeyAdopted, object(from)
	by.Detail = map[string]string{"heir": object(to)}
	_, err = r.store.Update(ctx, to, func(heir Key) (Key, *audit.Entry, error) {
		if heir.MerchantID != old.MerchantID || heir.Mode != old.Mode || !heir.RevokedAt.IsZero() {
			return Key{}, nil, errNotHeir
		}
		return heir, &by, nil
	})
	if err != nil {
		return Key{}, fmt.Errorf("adopt the wallets of API key %d: %w", from, err)
	}
	return old, nil
}
