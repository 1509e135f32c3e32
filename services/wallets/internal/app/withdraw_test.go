package app

import (
	"log/slog"
	"testing"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

// A cancelled refund ends, or payments hears that it goes on. A message that names no refund is no message.
func TestWithdrawRefund(t *testing.T) {
	good := order.Order{ID: "rfd_1", Mode: tenant.Live, Network: "ethereum", Amount: "5"}
	for name, c := range map[string]struct {
		change func(o *order.Order)
		signed bool
		ended  string
		kept   string
		fault  bool
	}{
		"that waits":          {ended: wire.RefundCancelled},
		"that may be signed":  {signed: true, kept: "rfd_1"},
		"without an amount":   {change: func(o *order.Order) { o.Amount = "" }, fault: true},
		"without an id":       {change: func(o *order.Order) { o.ID = "" }, fault: true},
		"in an unknown mode":  {change: func(o *order.Order) { o.Mode = "demo" }, fault: true},
		"without its network": {change: func(o *order.Order) { o.Network = "" }, fault: true},
	} {
		o, kept := good, &tray{signed: c.signed}
		if c.change != nil {
			c.change(&o)
		}
		a := New(nil, nil, Settings{Log: slog.New(slog.DiscardHandler), Refunds: kept})
		err := a.WithdrawRefund(t.Context(), o)
		if fault.IsPermanent(err) != c.fault || !c.fault && err != nil || kept.ended != c.ended || kept.kept != c.kept {
			t.Errorf("withdraw a refund %s: got %v, ended as %q, kept %q, want ended as %q, kept %q, a permanent fault %t",
				name, err, kept.ended, kept.kept, c.ended, c.kept, c.fault)
		}
	}
}
