// Package messaging subscribes the handlers of payments at the broker. A payload that cannot be read is a permanent
// fault; the bus retries after every other failure.
package messaging

import (
	"context"
	"encoding/json"
	"fmt"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
)

// The number of messages of a queue that are handled at once, of which each may be a pack. The row lock orders deposits
// of one payment.
const (
	depositsAtOnce  = 8
	addressesAtOnce = 2
)

// Handlers handle the messages that payments reads, each with its id.
type Handlers struct {
	DepositChanged     func(ctx context.Context, id string, m wire.DepositChanged) error
	AddressesAllocated func(ctx context.Context, id string, m wire.AddressesAllocated) error
	AddressesOwned     func(ctx context.Context, id string, m wire.AddressesOwned) error
	ScannedThrough     func(ctx context.Context, id string, m wire.ScannedThrough) error
	OutgoingFinal      func(ctx context.Context, ids []string, pack []wire.OutgoingFinal) error // all or none
	FraudSignal        func(ctx context.Context, id string, m wire.FraudSignal) error
	TransferFound      func(ctx context.Context, id string, m wire.TransferFound) error
	RefundChanged      func(ctx context.Context, id string, m wire.RefundChanged) error
	HoldingsRead       func(ctx context.Context, id string, m wire.HoldingsRead) error
}

// Handle subscribes the handlers to every message that payments reads.
func Handle(link *bus.Link, h Handlers) {
	on(link, wire.DepositChangedV1, depositsAtOnce, h.DepositChanged)
	on(link, wire.AddressesAllocatedV1, addressesAtOnce, h.AddressesAllocated)
	on(link, wire.AddressesOwnedV1, 1, h.AddressesOwned)
	on(link, wire.ScannedThroughV1, 1, h.ScannedThrough)
	onPacks(link, wire.OutgoingFinalV1, 1, h.OutgoingFinal)
	on(link, wire.FraudSignalV1, 1, h.FraudSignal)
	on(link, wire.TransferFoundV1, 1, h.TransferFound)
	on(link, wire.RefundChangedV1, 1, h.RefundChanged)
	on(link, wire.HoldingsReadV1, 1, h.HoldingsRead)
}

// on subscribes a handler to one message.
func on[T any](link *bus.Link, name wire.Name, parallel int, f func(ctx context.Context, id string, m T) error) {
	link.Handle(queue(name), parallel, func(ctx context.Context, m bus.Message) error {
		payload, err := read[T](m)
		if err != nil {
			return err
		}
		return f(ctx, m.ID, payload)
	})
}

// onPacks subscribes a handler that takes the messages of a pack in one transaction.
func onPacks[T any](link *bus.Link, name wire.Name, parallel int, f func(ctx context.Context, ids []string, pack []T) error) {
	link.HandleAll(queue(name), parallel, bus.AllOrNone(func(ctx context.Context, pack []bus.Message) (err error) {
		ids, payloads := make([]string, len(pack)), make([]T, len(pack))
		for n, m := range pack {
			ids[n] = m.ID
			if payloads[n], err = read[T](m); err != nil {
				return err
			}
		}
		return f(ctx, ids, payloads)
	}))
}

func read[T any](m bus.Message) (payload T, err error) {
	if err := json.Unmarshal(m.Body, &payload); err != nil {
		return payload, fault.Permanent(fmt.Errorf("read %s %s: %w", m.Name, m.ID, err))
	}
	return payload, nil
}

// queue is the queue from which payments reads a message.
func queue(name wire.Name) string {
	for _, r := range wire.Topology() {
		if r.Name == name && r.Consumer == wire.Payments {
			return r.Queue
		}
	}
	panic("payments reads no " + string(name)) // a defect of the topology, seen at start-up
}
