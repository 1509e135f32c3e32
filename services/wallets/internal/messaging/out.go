// Package messaging is the service's side of the broker: out.go turns changes into the payloads of libs/wire, in.go
// turns messages into calls of the use cases. It decides nothing.
package messaging

import (
	"context"
	"fmt"
	"math/big"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/wallet"
)

// Out makes outgoing messages. A message about one version of an object always has the same id, so consumers recognise
// repetitions.
type Out struct {
	Now      func() time.Time
	Untraced map[string]bool  // live networks whose contract-sent coin is not seen
	Events   keyring.Optional // seals the bodies of events
}

// DepositChanged publishes one version of a deposit; the number counts these messages of the mode and network.
func (Out) DepositChanged(ctx context.Context, d wallet.Deposit, number int64) (outbox.Message, error) {
	ctx, span := telemetry.Continue(ctx, d.Trace, "deposit "+string(d.State),
		trace.WithAttributes(attribute.String("chain", d.Network), attribute.Int64("deposit.depth", d.Depth)))
	defer span.End()
	return outbox.Encode(ctx, wire.DepositChangedV1, fmt.Sprintf("%s:%s:%d", d.Mode, d.Key(), d.Version), wire.DepositChanged{
		Key: d.Key(), Version: d.Version, Mode: d.Mode, Family: d.Family, Network: d.Network, Address: d.Address, Asset: d.Asset,
		Contract: d.Contract, TxHash: d.TxHash, State: wire.DepositState(d.State), BlockHeight: d.BlockHeight, BlockHash: d.BlockHash,
		BlockTime: d.BlockTime.UTC(), Amount: d.Amount.String(), Depth: d.Depth, Head: d.Head, Finalized: d.Finalized,
		FirstSeenAt: d.FirstSeenAt.UTC(), Senders: d.Senders, Number: number, Witness: wire.Witness(d.Witness),
	})
}

// ScannedThrough publishes how far a network is scanned, the number of the last deposit message before it, and the
// health of the scan.
func (o Out) ScannedThrough(ctx context.Context, p wallet.Progress) (outbox.Message, error) {
	m := wire.ScannedThrough{
		Mode: p.Mode, Network: p.Network, Height: p.Height, Finalized: p.Finalized, BlockTime: p.BlockTime.UTC(), Deposits: p.Deposits,
		State: wire.ScanState(p.State), Head: p.Head, ToldAt: p.ToldAt.UTC(),
		Untraced: p.Mode == tenant.Live && o.Untraced[p.Network],
	}
	if !p.HeadTime.IsZero() {
		m.HeadTime = p.HeadTime.UTC()
	}
	return outbox.Encode(ctx, wire.ScannedThroughV1, id.New(id.Message, o.Now()), m)
}

// OutgoingFinal publishes the end of a transaction, once for each: after a restore of the database it publishes it
// again under the same id.
func (Out) OutgoingFinal(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, amount *big.Int) (outbox.Message, error) {
	m := wire.OutgoingFinal{
		Mode: o.Sweep.Mode, Network: o.Sweep.Network, TxHash: r.TxHash, Kind: kindOf(o.Kind), Asset: o.Sweep.Asset,
		Amount: amount.String(), Fee: r.Fee.String(),
	}
	if o.Presented {
		m.Part = o.Sweep.ID
	}
	if r.Returned != nil && r.Returned.Sign() > 0 {
		m.Returned = r.Returned.String()
	}
	return outbox.Encode(ctx, wire.OutgoingFinalV1, fmt.Sprintf("%s:%s", o.Sweep.Mode, o.ID), m)
}

// TransferFound publishes the answer to a request, under the id of the request.
func (Out) TransferFound(ctx context.Context, found wire.TransferFound) (outbox.Message, error) {
	return outbox.Encode(ctx, wire.TransferFoundV1, found.RequestID, found)
}

// kindOf is the kind of a transaction for payments, where lending energy and taking it back are fundings: they cost a
// fee at most.
func kindOf(k intent.Kind) wire.OutgoingKind {
	if k == intent.Sweep {
		return wire.OutgoingSweep
	}
	return wire.OutgoingFund
}

// AddressesAllocated publishes issued addresses, in as many messages as their limit requires.
func (Out) AddressesAllocated(ctx context.Context, a wallet.Allocation) ([]outbox.Message, error) {
	parts := (len(a.Addresses) + wire.AddressesMax - 1) / wire.AddressesMax
	out := make([]outbox.Message, 0, parts)
	for part := range parts {
		some := a.Addresses[part*wire.AddressesMax : min((part+1)*wire.AddressesMax, len(a.Addresses))]
		payload := wire.AddressesAllocated{
			RequestID: a.ID, Mode: a.Mode, Family: a.Family, Part: part + 1, Parts: parts, Addresses: make([]wire.Address, len(some)),
		}
		for i, each := range some {
			payload.Addresses[i] = wire.Address{WalletID: each.WalletID, Address: each.Address}
		}
		m, err := outbox.Encode(ctx, wire.AddressesAllocatedV1, fmt.Sprintf("%s:%d", a.ID, part+1), payload)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// AddressesOwned publishes addresses that no refund may go to.
func (o Out) AddressesOwned(ctx context.Context, addresses []wire.OwnedAddress) (outbox.Message, error) {
	return outbox.Encode(ctx, wire.AddressesOwnedV1, id.New(id.Message, o.Now()), wire.AddressesOwned{Addresses: addresses})
}

// HoldingsRead publishes what a chain has; a later message replaces it.
func (o Out) HoldingsRead(ctx context.Context, read wire.HoldingsRead) (outbox.Message, error) {
	return outbox.Encode(ctx, wire.HoldingsReadV1, id.New(id.Message, o.Now()), read)
}

// RefundChanged publishes one version of a refund.
func (o Out) RefundChanged(ctx context.Context, c wire.RefundChanged) (outbox.Message, error) {
	c.OccurredAt = o.Now().UTC()
	return outbox.Encode(ctx, wire.RefundChangedV1, fmt.Sprintf("%s:%d", c.RefundID, c.Version), c)
}

// WalletChanged publishes to the merchant the status that a standalone wallet has entered.
func (o Out) WalletChanged(ctx context.Context, w wallet.Wallet) (outbox.Message, error) {
	ctx, span := telemetry.Continue(ctx, w.Trace, "wallet "+string(w.Status), trace.WithAttributes(attribute.String("wallet.id", w.ID)))
	defer span.End()
	ctx = telemetry.With(ctx, telemetry.MerchantID, w.MerchantID)
	now := o.Now().UTC()
	kind := "wallet." + string(w.Status)
	// After a restore of the database the same event is made again; its id must not change for the merchant.
	eventID := id.Derived(id.Event, w.ID, w.CreatedAt, w.Sequence, kind)
	body, err := app.EventBody(eventID, kind, now, w)
	if err != nil {
		return outbox.Message{}, err
	}
	return outbox.Encode(ctx, wire.WalletStatusChangedV1, eventID, wire.StatusChanged{
		EventID: eventID, Type: kind, MerchantID: w.MerchantID, Mode: w.Mode, ObjectID: w.ID, Sequence: w.Sequence, OccurredAt: now,
		Body: o.Events.Seal(body, wire.BodyPlace(eventID)),
	})
}
