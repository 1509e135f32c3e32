package messaging

import (
	"context"
	"encoding/json"
	"fmt"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/order"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

// Cases are the use cases that messages call.
type Cases interface {
	Allocate(ctx context.Context, messageID string, r wallet.Request) error
	Simulate(ctx context.Context, messageIDs []string, all []app.Simulate) error // all or none
	NoteTraces(ctx context.Context, used []wire.UsedAddress) error
	LookAtTransaction(ctx context.Context, l app.LookAt, again bool) error
	TakeRefund(ctx context.Context, m wire.RefundApproved) error
	PauseRefunds(ctx context.Context, p wire.RefundsPaused) error
	WithdrawRefund(ctx context.Context, o order.Order) error
	FindTransfer(ctx context.Context, messageID string, f wire.FindTransfer) error
}

// Consumer is the part of the bus that handlers are added to.
type Consumer interface {
	Handle(queue string, parallel int, h func(ctx context.Context, m bus.Message) error)
	HandleAll(queue string, parallel int, h func(ctx context.Context, pack []bus.Message) []error)
}

// Messages in flight at a time. Allocations of one family wait for each other, so four are enough for all families.
const (
	allocateParallel = 4
	simulateParallel = 8
	usedParallel     = 1
	lookAtParallel   = 1
	refundParallel   = 4
	findParallel     = 4
)

// Consume adds the handlers of every message that this service reads.
func Consume(link Consumer, cases Cases) {
	link.Handle(queue(wire.AllocateAddressesV1), allocateParallel, func(ctx context.Context, m bus.Message) error {
		var p wire.AllocateAddresses
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.Allocate(ctx, m.ID, wallet.Request{ID: p.RequestID, Mode: p.Mode, Family: p.Family, Count: p.Count})
	})
	link.HandleAll(queue(wire.SimulateDepositV1), simulateParallel, bus.AllOrNone(simulate(cases)))
	link.Handle(queue(wire.AddressesUsedV1), usedParallel, used(cases))
	link.Handle(queue(wire.LookAtTransactionV1), lookAtParallel, func(ctx context.Context, m bus.Message) error {
		var p wire.LookAtTransaction
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.LookAtTransaction(ctx, app.LookAt{Mode: p.Mode, Network: p.Network, Address: p.Address, Asset: p.Asset, TxHash: p.TxHash}, false)
	})
	link.Handle(queue(wire.RefundApprovedV1), refundParallel, func(ctx context.Context, m bus.Message) error {
		var p wire.RefundApproved
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.TakeRefund(ctx, p)
	})
	link.Handle(queue(wire.RefundWithdrawnV1), refundParallel, func(ctx context.Context, m bus.Message) error {
		var p wire.RefundWithdrawn
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.WithdrawRefund(ctx, p.Order)
	})
	link.Handle(queue(wire.RefundsPausedV1), 1, func(ctx context.Context, m bus.Message) error {
		var p wire.RefundsPaused
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.PauseRefunds(ctx, p)
	})
	link.Handle(queue(wire.FindTransferV1), findParallel, func(ctx context.Context, m bus.Message) error {
		var p wire.FindTransfer
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.FindTransfer(ctx, m.ID, p)
	})
}

func simulate(cases Cases) func(ctx context.Context, pack []bus.Message) error {
	return func(ctx context.Context, pack []bus.Message) error {
		ids, all := make([]string, len(pack)), make([]app.Simulate, len(pack))
		for n, m := range pack {
			var p wire.SimulateDeposit
			if err := decode(m, &p); err != nil {
				return err
			}
			ids[n], all[n] = m.ID, app.Simulate{
				RequestID: p.RequestID, Address: p.Address, Network: p.Network, Asset: p.Asset, Amount: p.Amount, Confirmations: p.Confirmations,
				Sender: p.Sender, LeavesAfter: p.LeavesAfter, Returns: p.Returns,
			}
		}
		return cases.Simulate(ctx, ids, all)
	}
}

// used passes the traces of used addresses on.
func used(cases Cases) func(ctx context.Context, m bus.Message) error {
	return func(ctx context.Context, m bus.Message) error {
		var p wire.AddressesUsed
		if err := decode(m, &p); err != nil {
			return err
		}
		return cases.NoteTraces(ctx, p.Addresses)
	}
}

// queue is this service's queue of a message, from the common table.
func queue(name wire.Name) string {
	for _, r := range wire.Topology() {
		if r.Name == name && r.Consumer == wire.Wallets {
			return r.Queue
		}
	}
	panic("messaging: " + string(name) + " has no queue of " + wire.Wallets)
}

func decode(m bus.Message, into any) error {
	if err := json.Unmarshal(m.Body, into); err != nil {
		return fault.Permanent(fmt.Errorf("reading %s %s: %w", m.Name, m.ID, err))
	}
	return nil
}
