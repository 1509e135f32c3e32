//go:build integration

package screen_test

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/fixture"
	"causeway.internal/services/payments/internal/screen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The newest signal of an address counts, in any order of arrival, for its mode only. However many merchants report an
// address, only an operator's confirmation blocks it.
func TestFraudSignals(t *testing.T) {
	t.Parallel()
	w := fixture.New(t)
	note := func(m wire.FraudSignal) error {
		m.OccurredAt = time.Now()
		return screen.Signalled(w.Store.NoteFraud)(t.Context(), "signal", m)
	}
	for _, m := range []wire.FraudSignal{
		{Mode: tenant.Test, Address: "0xcrowd", Merchants: 900, Reports: 900, Version: 1, Confirmed: new(false)},
		{Mode: tenant.Test, Address: "0xearlier", Merchants: 3, Reports: 3, Version: 1}, // of a release without confirmations
		{Mode: tenant.Test, Address: "0xbad", Merchants: 1, Reports: 1, Version: 1, Confirmed: new(false)},
		{Mode: tenant.Test, Address: "0xbad", Merchants: 3, Reports: 5, Version: 5, Confirmed: new(true)},
		{Mode: tenant.Test, Address: "0xbad", Merchants: 2, Reports: 4, Version: 4, Confirmed: new(false)},
		{Mode: tenant.Test, Address: "0xbad", Merchants: 4, Reports: 6, Version: 6}, // of such a release, side by side
		{Mode: tenant.Live, Address: "TxAbC", Merchants: 1, Reports: 1, Version: 7, Confirmed: new(true)},
		{Mode: tenant.Live, Address: "TxGone", Merchants: 1, Reports: 1, Version: 1, Confirmed: new(true)},
		{Mode: tenant.Live, Address: "TxGone", Merchants: 1, Reports: 1, Version: 2, Confirmed: new(false)},
		{Mode: tenant.Live, Address: "TxGone", Merchants: 1, Reports: 1, Version: 1, Confirmed: new(true)},
	} {
		if err := note(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		mode      tenant.Mode
		addresses []string
		want      bool
	}{
		{tenant.Test, []string{"0xcrowd"}, false},
		{tenant.Test, []string{"0xearlier"}, false},
		{tenant.Test, []string{"0xBAD"}, true},
		{tenant.Live, []string{"0XbAd"}, false},
		{tenant.Live, []string{"TxAbC"}, true},
		{tenant.Live, []string{"txabc"}, false},
		{tenant.Live, []string{"TxGone"}, false},
		{tenant.Live, []string{"nobody", "TxGone", "TxAbC"}, true},
		{tenant.Test, nil, false},
	} {
		if got, err := w.Store.FraudConfirmed(t.Context(), tc.mode, tc.addresses); err != nil || got != tc.want {
			t.Errorf("%s %v: %t %v, want %t", tc.mode, tc.addresses, got, err, tc.want)
		}
	}
	for _, m := range []wire.FraudSignal{{Mode: "both", Address: "a", Version: 1}, {Mode: tenant.Test, Version: 1}, {Mode: tenant.Test, Address: "a"}} {
		if err := note(m); !fault.IsPermanent(err) {
			t.Errorf("%+v: %v, want a permanent fault", m, err)
		}
	}
}
