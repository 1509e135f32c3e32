package operator

import (
	"context"
	"flag"
	"fmt"

	"causeway.internal/libs/command"
	"causeway.internal/services/wallets/internal/scanner"
)

// Sweeps prints the open sweeps with their reasons. --release ends a block, and --give-up ends a sweep whose money the
// transaction that --foreign names has taken.
func Sweeps(in command.Input) (Operation, error) {
	var release string
	var end giveUp
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&release, "release", "", "sweep to release")
		end.flags(f, "sweep to end whose money is gone", "hash of the foreign transaction that has taken the money of the sweep to give up")
	})
	if err != nil {
		return nil, err
	}
	if !end.complete(release) || end.id != "" && end.foreign == "" {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		var err error
		switch {
		case release != "":
			err = p.Store.Sweeps().ReleaseSweep(ctx, release)
		case end.id != "":
			if err = p.giveUpSweep(ctx, end, in.Operator()); err == nil {
				p.Log.InfoContext(ctx, "sweep given up by operator", "sweep", end.id, "foreign", end.foreign, "operator", in.Operator())
			}
		}
		if err != nil {
			return err
		}
		list, err := p.Store.Sweeps().Unfinished(ctx)
		if err != nil {
			return err
		}
		return show(in.Out, list)
	}, nil
}

// giveUpSweep ends a sweep when the chain proves that a foreign transaction has taken its money.
func (p Parts) giveUpSweep(ctx context.Context, end giveUp, operator string) error {
	sweeps := p.Store.Sweeps()
	if done, err := sweeps.LostBy(ctx, end.id, end.foreign); err != nil || done {
		return err
	}
	o, found, err := sweeps.Missed(ctx, end.id)
	if err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%.80q is not a live sweep that has not ended", end.id)
	}
	judge, err := p.Judge(o.Sweep.Network)
	if err != nil {
		return err
	}
	by, err := judge.Lost(ctx, o, end.hash(o.Sweep.Family))
	if err != nil {
		return fmt.Errorf("sweep %s goes on: %w", end.id, err)
	}
	return sweeps.EndLost(ctx, o.Sweep, by, scanner.Note{Operator: operator, Reason: end.reason})
}
