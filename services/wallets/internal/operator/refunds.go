package operator

import (
	"context"
	"flag"

	"causeway.internal/libs/command"
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
