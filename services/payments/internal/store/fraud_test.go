//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
)

// The newest signal of an address counts, whatever order they come in, and one mode's says nothing of the other.
func TestFraudSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	note := func(m wire.FraudSignal) error {
		m.OccurredAt = time.Now()
		return app.FraudSignalled(t.Context(), w.store, m)
	}
	for _, m := range []wire.FraudSignal{
		{Mode: wire.Test, Address: "0xbad", Merchants: 1, Reports: 1, Version: 1},
		{Mode: wire.Test, Address: "0xbad", Merchants: 3, Reports: 5, Version: 5},
		{Mode: wire.Test, Address: "0xbad", Merchants: 2, Reports: 4, Version: 4},
		{Mode: wire.Test, Address: "0xbad", Merchants: 3, Reports: 5, Version: 5},
		{Mode: wire.Live, Address: "0xbad", Merchants: 7, Reports: 7, Version: 7},
		{Mode: wire.Test, Address: "TxAbC", Merchants: 2, Reports: 2, Version: 2},
	} {
		if err := note(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		mode      payment.Mode
		addresses []string
		want      int64
	}{
		{payment.Test, []string{"0xBAD"}, 3},
		{payment.Live, []string{"0XbAd"}, 7},
		{payment.Test, []string{"TxAbC"}, 2},
		{payment.Test, []string{"txabc"}, 0},
		{payment.Test, []string{"TxAbC", "0xbad", "nobody"}, 3},
		{payment.Test, nil, 0},
		{payment.Live, []string{"TxAbC"}, 0},
	} {
		if got, err := w.store.FraudMerchants(t.Context(), tc.mode, tc.addresses); err != nil || got != tc.want {
			t.Errorf("%s %v: %d %v, want %d", tc.mode, tc.addresses, got, err, tc.want)
		}
	}
	for _, m := range []wire.FraudSignal{{Mode: "both", Address: "a", Version: 1}, {Mode: wire.Test, Version: 1}, {Mode: wire.Test, Address: "a"}} {
		if err := note(m); !fault.IsPermanent(err) {
			t.Errorf("%+v: %v, want a permanent fault", m, err)
		}
	}
}
