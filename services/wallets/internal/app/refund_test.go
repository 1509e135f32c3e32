package app

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/address"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/order"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/intent"
)

// tray keeps the last refund, and why the last one ended that was refused.
type tray struct {
	got    Refund
	err    error
	ended  string
	signed bool // something may be signed for the refund
	kept   string
}

func (t *tray) RefuseRefund(_ context.Context, _ intent.Ordered, reason string) error {
	if t.signed {
		return ErrOtherOrder
	}
	t.ended = reason
	return nil
}

func (t *tray) KeepRefund(_ context.Context, id string) error {
	t.kept = id
	return nil
}

func (t *tray) PauseRefunds(context.Context, wire.RefundsPaused) error { return nil }

func (t *tray) TakeRefund(_ context.Context, r Refund) error {
	t.got = r
	return t.err
}

func TestTakeRefund(t *testing.T) {
	const checked, token = "0x9858EfFD232B4033E47d90003D41EC34EcaEda94", "0xdAC17F958D2ee523a2206206994597C13D831ec7"
	good := order.Order{
		Kind: order.Refund, ID: "rfd_1", Mode: tenant.Live, Network: "ethereum", Asset: "USDT", Contract: token, Amount: "5", To: checked,
		Approval: order.Automatic,
	}
	for name, c := range map[string]struct {
		change func(o *order.Order)
		stored error
		signed bool
		want   bool   // taken
		ended  string // why it has failed; "" for a permanent fault
		calm   bool   // and no refusal that operators hear of
	}{
		"as it should be":         {want: true},
		"lower case":              {change: func(o *order.Order) { o.To, o.Contract = strings.ToLower(checked), strings.ToLower(token) }, want: true},
		"test mode":               {change: func(o *order.Order) { o.Mode = tenant.Test }, want: true},
		"no amount":               {change: func(o *order.Order) { o.Amount = "0" }},
		"a mistyped address":      {change: func(o *order.Order) { o.To = checked[:41] + "5" }, ended: wire.RefundOrderInvalid},
		"the address of zeros":    {change: func(o *order.Order) { o.To = "0x" + strings.Repeat("0", 40) }, ended: wire.RefundOrderInvalid},
		"of another family":       {change: func(o *order.Order) { o.To = "TNPeeaaFB7K9cmo4uQpcU32zGK8G1NYqeL" }, ended: wire.RefundOrderInvalid},
		"a mistyped contract":     {change: func(o *order.Order) { o.Contract = token[:41] }, ended: wire.RefundOrderInvalid},
		"on a strange network":    {change: func(o *order.Order) { o.Network = "dogecoin" }, ended: wire.RefundOrderInvalid},
		"known under other terms": {stored: ErrOtherOrder, ended: wire.RefundOrderChanged},
		"known and signed":        {stored: ErrOtherOrder, signed: true},
		"after its cancellation":  {stored: ErrCancelled, ended: wire.RefundCancelled, calm: true},
		"to an own address":       {stored: ErrOwnDestination, ended: wire.RefundDestinationOwned},
	} {
		o, refused, kept := good, 0, &tray{err: c.stored, signed: c.signed}
		if c.change != nil {
			c.change(&o)
		}
		a := New(nil, nil, Settings{
			Nets: map[tenant.Mode]address.Net{tenant.Live: address.Mainnet, tenant.Test: address.Testnet},
			Log:  slog.New(slog.DiscardHandler), Refunds: kept, Refused: func() { refused++ },
		})
		sent := order.Approved{Order: o, Signature: "s", ApprovedAt: time.Unix(1_900_000_000, 0).UTC(), TimedSignature: "t"}
		err := a.TakeRefund(t.Context(), wire.RefundApproved{Approved: sent, Currency: money.NGN})
		if c.want && (err != nil || refused != 0 || kept.got.To != checked || kept.got.Contract != token || kept.got.Ordered != sent) {
			t.Errorf("take a refund %s: got %v, %+v, want the canonical addresses and the order unchanged", name, err, kept.got)
		}
		if !c.want && (fault.IsPermanent(err) != (c.ended == "") || kept.ended != c.ended || (refused == 1) == c.calm) {
			t.Errorf("take a refund %s: got %v, ended as %q, counted %d times, want %q counted, or a permanent fault", name, err, kept.ended, refused, c.ended)
		}
	}
	down := errors.New("the database is down")
	a := New(nil, nil, Settings{
		Nets: map[tenant.Mode]address.Net{tenant.Live: address.Mainnet}, Log: slog.New(slog.DiscardHandler), Refunds: &tray{err: down},
	})
	if err := a.TakeRefund(t.Context(), wire.RefundApproved{Approved: order.Approved{Order: good}, Currency: money.NGN}); !errors.Is(err, down) || fault.IsPermanent(err) {
		t.Errorf("take a refund while the database is down: got %v, want an error that is tried again", err)
	}
}
