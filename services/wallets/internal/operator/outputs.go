package operator

import (
	"context"
	"flag"
	"strings"

	"causeway.internal/libs/command"
	"causeway.internal/services/wallets/internal/scanner"
)

// Outputs prints the outputs of bitcoin that somebody else has spent. --accept takes one off the list, once a person
// knows where its money went.
func Outputs(in command.Input) (Operation, error) {
	var accept, reason string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&accept, "accept", "", "output that is explained, as the list writes it")
		f.StringVar(&reason, "reason", "", "where the money went, for the audit; needed with --accept")
	})
	if err != nil {
		return nil, err
	}
	if (accept == "") != (strings.TrimSpace(reason) == "") {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		refunds := p.Store.Refunds()
		if accept != "" {
			if err := refunds.AcceptOutput(ctx, accept, scanner.Note{Operator: in.Operator(), Reason: reason}); err != nil {
				return err
			}
			p.Log.InfoContext(ctx, "spent output accepted by operator", "output", accept, "operator", in.Operator())
		}
		list, err := refunds.SpentElsewhere(ctx)
		if err != nil {
			return err
		}
		return show(in.Out, list)
	}, nil
}
