//go:build integration

package store_test

import (
	"fmt"
	"testing"
	"time"

	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
)

// Only the wallets of that key, merchant and mode move, and moving them again moves none.
func TestReassign(t *testing.T) {
	s, pool := open(t)
	now := time.Now()
	for i := range 3 {
		makeWallet(t, s, draft(id.New(id.Wallet, now.Add(time.Duration(i))), now), idempotency.Key{})
	}
	other := draft(id.New(id.Wallet, now), now)
	other.KeyID = 8
	makeWallet(t, s, other, idempotency.Key{})
	of := func(key int64) (n int) {
		t.Helper()
		if err := pool.QueryRow(t.Context(), `SELECT count(*) FROM wallets WHERE key_id = $1`, key).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, wrong := range []tenant.Owner{
		{MerchantID: "acme", KeyID: 7, Mode: tenant.Live}, {MerchantID: "emca", KeyID: 7, Mode: tenant.Test}, {MerchantID: "acme", KeyID: 9, Mode: tenant.Test},
	} {
		if n, err := s.Reassign(t.Context(), wrong, 8); n != 0 || err != nil {
			t.Errorf("%+v: %d moved, %v", wrong, n, err)
		}
	}
	for _, want := range []int64{3, 0} {
		if n, err := s.Reassign(t.Context(), owner, 8); n != want || err != nil {
			t.Errorf("%d moved, want %d (%v)", n, want, err)
		}
	}
	if of(7) != 0 || of(8) != 4 {
		t.Errorf("count the wallets of keys 7 and 8: got %s, want 0 and 4", fmt.Sprint(of(7), of(8)))
	}
	heir := owner
	heir.KeyID = 8
	if list, err := s.ListWallets(t.Context(), heir, app.ListQuery{Limit: 10}); err != nil || len(list) != 4 {
		t.Errorf("the heir lists %d wallets (%v)", len(list), err)
	}
}
