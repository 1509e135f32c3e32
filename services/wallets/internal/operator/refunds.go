package operator

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/money"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
)

// Refunds prints the refunds that have not ended, with their reasons. --release tries one again, and --give-up ends one
// that no transaction can carry out; --foreign names the transaction of somebody else that took the place of its own.
func Refunds(in command.Input) (Operation, error) {
	var release string
	var end giveUp
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&release, "release", "", "refund to try again")
		f.StringVar(&end.refund, "give-up", "", "refund to end without a transaction")
		f.StringVar(&end.foreign, "foreign", "", "hash of the foreign transaction that took the place of the refund to give up")
		f.StringVar(&end.reason, "reason", "", "why, for the audit; needed with --foreign")
	})
	if err != nil {
		return nil, err
	}
	if release != "" && end.refund != "" || end.foreign != "" && (end.refund == "" || strings.TrimSpace(end.reason) == "") {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		var err error
		switch {
		case release != "":
			err = p.Store.Refunds().ReleaseRefund(ctx, release)
		case end.refund != "":
			if err = p.giveUp(ctx, end, in.Operator()); err == nil {
				p.Log.InfoContext(ctx, "refund given up by operator", "refund", end.refund, "foreign", end.foreign, "operator", in.Operator())
			}
		}
		if err != nil {
			return err
		}
		list, err := p.Store.Refunds().UnfinishedRefunds(ctx)
		if err != nil {
			return err
		}
		return show(in.Out, list)
	}, nil
}

// giveUp is a refund that an operator ends.
type giveUp struct{ refund, foreign, reason string }

// giveUp ends a refund: one for which nothing may be signed at once, and one that is signed when the chain proves that
// no form of it can land.
func (p Parts) giveUp(ctx context.Context, end giveUp, operator string) error {
	refunds := p.Store.Refunds()
	if end.foreign != "" {
		if done, err := refunds.GivenUpBeside(ctx, end.refund, end.foreign); err != nil || done {
			return err
		}
	}
	o, signed, err := refunds.Carried(ctx, end.refund)
	if err != nil {
		return err
	}
	if !signed && end.foreign != "" {
		return fmt.Errorf("the live refund %.80q has no transaction in whose place another could be", end.refund)
	}
	if !signed || end.foreign == "" && (o.Sweep.Family != money.Tron || o.State == sweep.Replaced) {
		return refunds.GiveUpRefund(ctx, end.refund)
	}
	hash := end.foreign
	if o.Sweep.Family != money.Solana {
		hash = strings.ToLower(hash)
	}
	judge, err := p.Judge(o.Sweep.Network)
	if err != nil {
		return err
	}
	var by sweep.Rival
	if hash != "" {
		by, err = judge.Rival(ctx, o, hash)
	} else {
		by, err = judge.Expired(ctx, o)
	}
	if err != nil {
		return fmt.Errorf("refund %s goes on: %w", end.refund, err)
	}
	return refunds.EndBeaten(ctx, o, by, scanner.Note{Operator: operator, Reason: end.reason})
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
