package operator

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/services/wallets/internal/scanner"
)

// Scans prints how far every network has been scanned, one JSON object a line.
func Scans(in command.Input) (Operation, error) {
	return func(ctx context.Context, p Parts) error {
		scans, err := p.Store.Scans(ctx)
		lines := json.NewEncoder(in.Out)
		for _, c := range scans {
			if err := lines.Encode(c); err != nil {
				return err
			}
		}
		return err
	}, nil
}

// Recovery prints the remaining work of a recovery.
func Recovery(in command.Input) (Operation, error) {
	return func(ctx context.Context, p Parts) error {
		since, err := p.Store.Recovering(ctx)
		if err != nil {
			return err
		}
		if since == nil {
			_, err := fmt.Fprintln(in.Out, "no recovery is under way")
			return err
		}
		waits, err := p.Store.PendingRescans(ctx)
		if err != nil {
			return err
		}
		if len(waits) == 0 {
			_, err := fmt.Fprintf(in.Out, "in recovery since %s, and done: restart without RECOVERY\n",
				since.UTC().Format(time.RFC3339))
			return err
		}
		for _, w := range waits {
			if _, err := fmt.Fprintf(in.Out, "the second look at %s (%s) is not done\n", w.Chain.Network, w.Chain.Mode); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Rescan scans a range of blocks a second time.
func Rescan(in command.Input) (Operation, error) {
	var of place
	var from, to int64
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		of.flags(f)
		f.Int64Var(&from, "from", -1, "first block")
		f.Int64Var(&to, "to", -1, "last block")
	})
	if err != nil {
		return nil, err
	}
	if !of.complete() || from < 0 || to < from {
		return nil, in.Usage()
	}
	c, err := of.chain()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p Parts) error {
		reader, err := p.Reader(c)
		if err != nil {
			return err
		}
		looked, err := reader.Again(ctx, p.Store, from, to, p.Log)
		if err != nil {
			return err
		}
		return show(in.Out, map[string]any{
			"mode": c.Mode, "network": c.Network, "from": from, "to": to, "blocks": looked.Blocks, "found": looked.Found,
			"told": looked.Told,
		})
	}, nil
}

// Rewind rewinds a scan to the fork between the scanned blocks and the endpoints' present chain.
func Rewind(in command.Input) (Operation, error) {
	var of place
	var reason string
	var to int64
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		of.flags(f)
		f.Int64Var(&to, "to", -1, "height at which the scan goes on; without it, the fork")
		f.StringVar(&reason, "reason", "", "why, for the audit")
	})
	if err != nil {
		return nil, err
	}
	if !of.complete() || strings.TrimSpace(reason) == "" {
		return nil, in.Usage()
	}
	c, err := of.chain()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, p Parts) error {
		return p.rewind(ctx, c, to, scanner.Note{Operator: in.Operator(), Reason: reason}, in.Out)
	}, nil
}

// rewindTries bounds the searches for the fork that are repeated because the scan moved.
const rewindTries = 5

func (p Parts) rewind(ctx context.Context, c scanner.Chain, to int64, note scanner.Note, out io.Writer) error {
	reader, err := p.Reader(c)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		plan, err := scanner.PlanRewind(ctx, c, reader.Driver, p.Store, to)
		switch {
		case errors.Is(err, scanner.ErrOnChain):
			return show(out, map[string]any{
				"mode": c.Mode, "network": c.Network, "from": plan.From.Height, "fork": plan.From.Height, "reverted": 0,
			})
		case err != nil:
			return err
		}
		taken, err := p.Store.TakeBack(ctx, c, plan, note)
		if errors.Is(err, scanner.ErrMoved) && try < rewindTries {
			continue
		}
		if err != nil {
			return err
		}
		return show(out, map[string]any{
			"mode": c.Mode, "network": c.Network, "from": plan.From.Height, "fork": plan.Fork, "to": plan.To.Height,
			"hash": plan.To.Hash, "reverted": taken.Reverted, "outgoing": taken.Outgoing,
		})
	}
}
