package operator

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/wire"
)

// Refunds prints the refunds that have not ended, with their reasons. --release tries one again, and --give-up ends one
// that no transaction can carry out.
func Refunds(in command.Input) (Operation, error) {
	var release, giveUp string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&release, "release", "", "refund to try again")
		f.StringVar(&giveUp, "give-up", "", "refund to end without a transaction")
	})
	if err != nil {
		return nil, err
	}
	if release != "" && giveUp != "" {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		refunds := p.Store.Refunds()
		var err error
		switch {
		case release != "":
			err = refunds.ReleaseRefund(ctx, release)
		case giveUp != "":
			if err = refunds.GiveUpRefund(ctx, giveUp); err == nil {
				p.Log.InfoContext(ctx, "refund given up by operator", "refund", giveUp, "operator", in.Operator())
			}
		}
		if err != nil {
			return err
		}
		list, err := refunds.UnfinishedRefunds(ctx)
		if err != nil {
			return err
		}
		return show(in.Out, list)
	}, nil
}

// TellRefunds reports again every refund that has changed since a time to payments, and prints these, one JSON object a
// line.
func TellRefunds(in command.Input) (Operation, error) {
	var from string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&from, "from", "", "when the earliest change was, such as 2026-04-01T00:00:00Z")
	}); err != nil {
		return nil, err
	}
	since, err := time.Parse(time.RFC3339Nano, from)
	if err != nil {
		return nil, fmt.Errorf("--from: %q is no time such as 2026-04-01T00:00:00Z", from)
	}
	return func(ctx context.Context, p Parts) error {
		lines := json.NewEncoder(in.Out)
		if err := p.Store.TellRefunds(ctx, since, func(c wire.RefundChanged) error { return lines.Encode(c) }); err != nil {
			return err
		}
		p.Log.InfoContext(ctx, "refunds republished by operator", "from", from, "operator", in.Operator())
		return nil
	}, nil
}
