//go:build integration

package store_test

import (
	"errors"
	"sync"
	"testing"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/sweeper"
)

// An order that is refused for good ends its refund once, and no later order under its id is carried out. One for which
// something may be signed stays open.
func TestRefuseRefund(t *testing.T) {
	t.Parallel()
	s, pool := open(t)
	ctx := t.Context()
	strange := approved("rfd_1", tenant.Live)
	strange.Ordered.Network = "dogecoin"
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := s.RefuseRefund(ctx, strange.Ordered, wire.RefundOrderInvalid); err != nil {
				t.Errorf("refuse one order eight times: got %v, want no error", err)
			}
		})
	}
	wg.Wait()
	tells(t, pool, "refuse one order eight times", "rfd_1 failed 1 5 0 order_invalid")
	if err := s.TakeRefund(ctx, approved("rfd_1", tenant.Live)); !errors.Is(err, app.ErrOtherOrder) {
		t.Errorf("take an order under the id of a refused one: got %v, want ErrOtherOrder", err)
	}

	if err := s.KeepAccounts(ctx, []wire.OwnedAddress{{Mode: tenant.Live, Family: money.EVM, Address: payer}}); err != nil {
		t.Fatal(err)
	}
	own := approved("rfd_2", tenant.Live)
	if err := s.TakeRefund(ctx, own); !errors.Is(err, app.ErrOwnDestination) {
		t.Errorf("take an order to an own address: got %v, want ErrOwnDestination", err)
	}
	if err := s.RefuseRefund(ctx, own.Ordered, wire.RefundDestinationOwned); err != nil {
		t.Errorf("refuse an order to an own address: got %v, want no error", err)
	}
	tells(t, pool, "refuse an order to an own address", "rfd_2 failed 1 5 0 destination_owned")
	if _, err := pool.Exec(ctx, `DELETE FROM own_accounts`); err != nil {
		t.Fatal(err)
	}

	for _, id := range []string{"rfd_3", "rfd_4", "rfd_5"} {
		if err := s.TakeRefund(ctx, approved(id, tenant.Live)); err != nil {
			t.Fatal(err)
		}
	}
	changes(t, pool)
	idle, err := s.Refunds().Idle(ctx, "ethereum", 10)
	if err != nil || len(idle) != 3 {
		t.Fatalf("list the refunds that wait: got %+v, %v, want three", idle, err)
	}
	if err := s.Refunds().Plan(ctx, plannedRefund("out_1", idle[0], 0)); err != nil {
		t.Fatal(err)
	}
	changed := approved(idle[0].ID, tenant.Live)
	changed.Ordered.Amount = "6"
	if err := s.RefuseRefund(ctx, changed.Ordered, wire.RefundOrderChanged); !errors.Is(err, app.ErrOtherOrder) {
		t.Errorf("refuse a changed order of a refund with a transaction: got %v, want ErrOtherOrder", err)
	}
	if err := s.Refunds().Refuse(ctx, idle[0], wire.RefundOrderRefused); !errors.Is(err, sweeper.ErrStale) {
		t.Errorf("end a refund that another process has planned: got %v, want ErrStale", err)
	}
	tells(t, pool, "refuse what may be signed")
	changed.Ordered.ID = idle[1].ID
	if err := s.RefuseRefund(ctx, changed.Ordered, wire.RefundOrderChanged); err != nil {
		t.Errorf("refuse a changed order of a refund that waits: got %v, want no error", err)
	}
	tells(t, pool, "refuse a changed order of a refund that waits", idle[1].ID+" failed 2 6 0 order_changed")
	if err := s.Refunds().Refuse(ctx, idle[2], wire.RefundAssetRefused); err != nil {
		t.Errorf("end a refund that the signer refuses: got %v, want no error", err)
	}
	tells(t, pool, "end a refund that the signer refuses", idle[2].ID+" failed 2 5 0 asset_refused")
	if left, err := s.Refunds().Idle(ctx, "ethereum", 10); err != nil || len(left) != 0 {
		t.Errorf("list the refunds that wait at the end: got %+v, %v, want none", left, err)
	}
}
