package books

import (
	"context"
	"testing"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// A reading is kept in whole units, with nil for a place that was not read. A message that no wallets would send is
// refused for good.
func TestHoldings(t *testing.T) {
	sound := func() wire.HoldingsRead {
		return wire.HoldingsRead{Mode: tenant.Live, Network: "ethereum", ReadAt: time.Unix(1_700_000_000, 0), Holdings: []wire.Holding{
			{Asset: "USDT", Deposits: "1500000", GasStation: "0", Treasury: "7", Expected: "-2000000", Standalone: "1", Unread: 3},
		}}
	}
	var kept Reading
	take := Holdings(func(_ context.Context, _ tenant.Mode, r Reading) error {
		kept = r
		return nil
	})
	if err := take(t.Context(), "msg_1", sound()); err != nil {
		t.Fatalf("taking %+v: %v", sound(), err)
	}
	want := func(text string) decimal.Decimal { return decimal.RequireFromString(text) }
	h := kept.Holdings[0]
	if kept.Network != "ethereum" || h.RefundStation != nil || !h.Deposits.Equal(want("1.5")) || !h.GasStation.IsZero() || !h.Treasury.Equal(want("0.000007")) ||
		!h.Expected.Equal(want("-2")) || !h.Standalone.Equal(want("0.000001")) || h.Unread != 3 {
		t.Errorf("kept %+v, want 1.5 on deposit addresses, 0.000007 in the treasury, -2 expected, and no refund station", kept)
	}
	lost := sound()
	lost.Holdings[0].Deposits = "-1500000"
	if err := take(t.Context(), "msg_1", lost); err != nil || !kept.Holdings[0].Deposits.Equal(want("-1.5")) {
		t.Errorf("a reading with less than nothing on deposit addresses: kept %+v, %v, want -1.5 there", kept.Holdings, err)
	}
	for name, change := range map[string]func(*wire.HoldingsRead){
		"a mode":       func(m *wire.HoldingsRead) { m.Mode = "" },
		"a network":    func(m *wire.HoldingsRead) { m.Network = "moon" },
		"a time":       func(m *wire.HoldingsRead) { m.ReadAt = time.Time{} },
		"an asset":     func(m *wire.HoldingsRead) { m.Holdings[0].Asset = "DOGE" },
		"a balance":    func(m *wire.HoldingsRead) { m.Holdings[0].Treasury = "-1" },
		"digits":       func(m *wire.HoldingsRead) { m.Holdings[0].Deposits = "1.5" },
		"expectations": func(m *wire.HoldingsRead) { m.Holdings[0].Expected = "" },
		"a standalone": func(m *wire.HoldingsRead) { m.Holdings[0].Standalone = "x" },
		"an address":   func(m *wire.HoldingsRead) { m.Holdings[0].Unread = -1 },
	} {
		m := sound()
		change(&m)
		if err := take(t.Context(), "msg_2", m); !fault.IsPermanent(err) {
			t.Errorf("a reading without %s: %v, want a permanent fault", name, err)
		}
	}
}
