package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/store"
)

// scopeFlags reads for whose payments a schedule is.
func scopeFlags(f *flag.FlagSet, scope *fees.Scope) {
	f.StringVar((*string)(&scope.Currency), "currency", "", "the fiat currency")
	f.StringVar((*string)(&scope.Mode), "mode", "", "live or test")
	f.StringVar(&scope.MerchantID, "merchant", "", "only this merchant")
}

// linesMost bounds the schedules that the command lists.
const linesMost = 100

// listFees prints the newest fee schedules.
func listFees(in command.Input) (operation, error) {
	f := operators.FeeFilter{Most: linesMost}
	if err := in.FlagsOnly(func(flags *flag.FlagSet) { scopeFlags(flags, &f.Scope) }); err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error { return printFees(ctx, s, f, in.Out) }, nil
}

func printFees(ctx context.Context, s *store.Store, f operators.FeeFilter, out io.Writer) error {
	found, err := s.FeeSchedules(ctx, f)
	if err != nil {
		return err
	}
	for _, p := range found {
		if _, err := fmt.Fprintln(out, operators.FeeLine(p)); err != nil {
			return err
		}
	}
	return nil
}

// publishFees publishes a fee schedule, or with end ends a merchant's own fees.
func publishFees(end bool) func(in command.Input) (operation, error) {
	return func(in command.Input) (operation, error) {
		d := operators.FeeOrder{Operator: in.Operator(), Tiers: []quote.Tier{}}
		var tiers, from string
		err := in.FlagsOnly(func(f *flag.FlagSet) {
			scopeFlags(f, &d.Scope)
			f.StringVar(&from, "from", "", "when it begins to hold, such as 2026-04-01T00:00:00Z; as soon as possible without it")
			f.StringVar(&d.Note, "note", "", "why")
			if !end {
				f.StringVar(&tiers, "tiers", "", "bound and fee of each tier, such as 100000=500,rest=7.5bp or rest=100+150bp>=200<=2000")
			}
		})
		if err != nil {
			return nil, err
		}
		if end && d.MerchantID == "" {
			return nil, errors.New("fees end: --merchant is needed")
		}
		if !end {
			if d.Tiers, err = quote.ParseTiers(tiers); err != nil {
				return nil, fmt.Errorf("--tiers: %w", err)
			}
		}
		if from != "" {
			if d.ValidFrom, err = time.Parse(time.RFC3339Nano, from); err != nil {
				return nil, fmt.Errorf("--from: %q is no time such as 2026-04-01T00:00:00Z", from)
			}
		}
		cfg, err := config.Read[placeSettings](in.Environ)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *store.Store) error {
			cases := operators.Operators{Store: s, Shard: cfg.Shard}
			if _, err := cases.PublishFees(ctx, d, &fault.Problems{}, idempotency.Key{}); err != nil {
				return err
			}
			return printFees(ctx, s, operators.FeeFilter{Scope: d.Scope, Most: 1}, in.Out)
		}, nil
	}
}
