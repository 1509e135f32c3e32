//go:build integration

package store_test

import (
	"testing"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/screen"
)

// The newest signal of an address counts, whatever order they come in, and one mode's says nothing of the other. However many
// merchants say it, only what an operator has confirmed blocks anybody.
func TestFraudSignals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	note := func(m wire.FraudSignal) error {
		m.OccurredAt = time.Now()
		return screen.Signalled(w.store.NoteFraud)(t.Context(), "signal", m)
	}
	for _, m := range []wire.FraudSignal{
		{Mode: wire.Test, Address: "0xcrowd", Merchants: 900, Reports: 900, Version: 1, Confirmed: new(false)},
		{Mode: wire.Test, Address: "0xearlier", Merchants: 3, Reports: 3, Version: 1}, // of a release without confirmations
		{Mode: wire.Test, Address: "0xbad", Merchants: 1, Reports: 1, Version: 1, Confirmed: new(false)},
		{Mode: wire.Test, Address: "0xbad", Merchants: 3, Reports: 5, Version: 5, Confirmed: new(true)},
		{Mode: wire.Test, Address: "0xbad", Merchants: 2, Reports: 4, Version: 4, Confirmed: new(false)},
		{Mode: wire.Test, Address: "0xbad", Merchants: 4, Reports: 6, Version: 6}, // of such a release, side by side
		{Mode: wire.Live, Address: "TxAbC", Merchants: 1, Reports: 1, Version: 7, Confirmed: new(true)},
		{Mode: wire.Live, Address: "TxGone", Merchants: 1, Reports: 1, Version: 1, Confirmed: new(true)},
		{Mode: wire.Live, Address: "TxGone", Merchants: 1, Reports: 1, Version: 2, Confirmed: new(false)},
		{Mode: wire.Live, Address: "TxGone", Merchants: 1, Reports: 1, Version: 1, Confirmed: new(true)},
	} {
		if err := note(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		mode      payment.Mode
		addresses []string
		want      bool
	}{
		{payment.Test, []string{"0xcrowd"}, false},
		{payment.Test, []string{"0xearlier"}, false},
		{payment.Test, []string{"0xBAD"}, true},
		{payment.Live, []string{"0XbAd"}, false},
		{payment.Live, []string{"TxAbC"}, true},
		{payment.Live, []string{"txabc"}, false},
		{payment.Live, []string{"TxGone"}, false},
		{payment.Live, []string{"nobody", "TxGone", "TxAbC"}, true},
		{payment.Test, nil, false},
	} {
		if got, err := w.store.FraudConfirmed(t.Context(), tc.mode, tc.addresses); err != nil || got != tc.want {
			t.Errorf("%s %v: %t %v, want %t", tc.mode, tc.addresses, got, err, tc.want)
		}
	}
	for _, m := range []wire.FraudSignal{{Mode: "both", Address: "a", Version: 1}, {Mode: wire.Test, Version: 1}, {Mode: wire.Test, Address: "a"}} {
		if err := note(m); !fault.IsPermanent(err) {
			t.Errorf("%+v: %v, want a permanent fault", m, err)
		}
	}
}
