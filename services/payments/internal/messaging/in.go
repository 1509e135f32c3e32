// Package messaging is payments' face to the broker: it reads messages and calls the use cases. A payload that cannot be
// read is a permanent fault; everything else that fails waits and is tried again by the bus.
package messaging

import (
	"context"
	"encoding/json"
	"fmt"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/app"
)

// How many messages of each queue are handled at once. Deposits of one payment meet at its row lock.
const (
	depositsAtOnce  = 8
	addressesAtOnce = 2
)

// Link is the part of *bus.Link that is used here.
type Link interface {
	Handle(queue string, parallel int, h func(ctx context.Context, m bus.Message) error)
}

// Handle subscribes to everything that payments reads.
func Handle(link Link, a *app.App, shelves app.Shelves, progress app.Progress, signals app.FraudSignals, treasury app.Treasury, own app.OwnAddresses) {
	on(link, wire.DepositChangedV1, depositsAtOnce, a.DepositChanged)
	on(link, wire.AddressesAllocatedV1, addressesAtOnce, func(ctx context.Context, id string, m wire.AddressesAllocated) error {
		return app.AddressesAllocated(ctx, shelves, id, m)
	})
	on(link, wire.ScannedThroughV1, 1, func(ctx context.Context, _ string, m wire.ScannedThrough) error {
		return app.ScannedThrough(ctx, progress, m)
	})
	on(link, wire.OutgoingFinalV1, 1, func(ctx context.Context, id string, m wire.OutgoingFinal) error {
		return app.OutgoingFinal(ctx, treasury, id, m)
	})
	on(link, wire.AddressesOwnedV1, 1, func(ctx context.Context, _ string, m wire.AddressesOwned) error {
		return app.AddressesOwned(ctx, own, m)
	})
	on(link, wire.FraudSignalV1, 1, func(ctx context.Context, _ string, m wire.FraudSignal) error {
		return app.FraudSignalled(ctx, signals, m)
	})
}

// on subscribes a use case to one message.
func on[T any](link Link, name wire.Name, parallel int, f func(ctx context.Context, id string, m T) error) {
	link.Handle(queue(name), parallel, func(ctx context.Context, m bus.Message) error {
		var payload T
		if err := json.Unmarshal(m.Body, &payload); err != nil {
			return fault.Permanent(fmt.Errorf("read %s %s: %w", m.Name, m.ID, err))
		}
		return f(ctx, m.ID, payload)
	})
}

// queue is the one that payments reads a message from.
func queue(name wire.Name) string {
	for _, r := range wire.Topology() {
		if r.Name == name && r.Consumer == wire.Payments {
			return r.Queue
		}
	}
	panic("payments reads no " + string(name)) // a defect of the topology, seen at start-up
}
