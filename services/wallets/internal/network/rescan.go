package network

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/scanner"
)

const (
	// rescanStep is the blocks of a rescan between two notes of its progress. A crash repeats them, which changes nothing.
	rescanStep = 32
	// leaveTime bounds the last note of a process that stops.
	leaveTime = 2 * time.Second
)

// Endpoints is the health of the RPC hosts that this process asks.
func (c *Chains) Endpoints() []app.Endpoint {
	states := c.endpoints.States()
	out := make([]app.Endpoint, len(states))
	for i, s := range states {
		out[i] = app.Endpoint(s)
	}
	return out
}

// Rescan scans the blocks again that operators have ordered, one order after the other. Any number of replicas may call
// it: each order is taken by one of those that read its network.
func (c *Chains) Rescan(ctx context.Context, worker string) error {
	chains := slices.SortedFunc(maps.Keys(c.readers), func(a, b scanner.Chain) int { return strings.Compare(a.String(), b.String()) })
	for ctx.Err() == nil {
		order, found, err := c.Book.TakeRescan(ctx, worker, chains)
		if err != nil || !found {
			return err
		}
		if err := c.rescan(ctx, worker, order); err != nil {
			return err
		}
	}
	return nil
}

// rescan carries out one order until its end, its failure, or the end of the process.
func (c *Chains) rescan(ctx context.Context, worker string, order app.Rescan) error {
	chain := scanner.Chain{Mode: order.Mode, Network: order.Network}
	reader := c.readers[chain]
	log := c.Telemetry.Log.With("chain", chain.String(), "rescan", order.ID)
	log.InfoContext(ctx, "rescan going on", "next", order.Next, "to", order.To, "operator", order.Operator)
	for order.Next <= order.To {
		last := min(order.Next+rescanStep-1, order.To)
		looked, err := reader.Again(ctx, c.Book, order.Next, last, log)
		if ctx.Err() != nil {
			end, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
			defer stop()
			return c.Book.LeaveRescan(end, order, worker)
		}
		if err != nil {
			log.WarnContext(ctx, "rescan interrupted", "next", order.Next, "err", err)
			return c.Book.FailRescan(ctx, order, worker, err)
		}
		moved, err := c.Book.MoveRescan(ctx, order, worker, last+1, looked)
		if err != nil || !moved {
			return err
		}
		order.Next = last + 1
	}
	log.InfoContext(ctx, "rescan done", "from", order.From, "to", order.To)
	return nil
}
