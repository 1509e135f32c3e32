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
		end.flags(f, "refund to end without a transaction", "hash of the foreign transaction that took the place of the refund to give up")
	})
	if err != nil {
		return nil, err
	}
	if !end.complete(release) {
		return nil, in.Usage()
	}
	return func(ctx context.Context, p Parts) error {
		var err error
		switch {
		case release != "":
			err = p.Store.Refunds().ReleaseRefund(ctx, release)
		case end.id != "":
			if err = p.giveUp(ctx, end, in.Operator()); err == nil {
				p.Log.InfoContext(ctx, "refund given up by operator", "refund", end.id, "foreign", end.foreign, "operator", in.Operator())
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

// giveUp is a refund or a sweep that an operator ends.
type giveUp struct{ id, foreign, reason string }

func (e *giveUp) flags(f *flag.FlagSet, id, foreign string) {
	f.StringVar(&e.id, "give-up", "", id)
	f.StringVar(&e.foreign, "foreign", "", foreign)
	f.StringVar(&e.reason, "reason", "", "why, for the audit; needed with --foreign")
}

// complete reports whether the flags make sense together, and with the id to release.
func (e giveUp) complete(release string) bool {
	return (release == "" || e.id == "") && (e.foreign == "" || e.id != "" && strings.TrimSpace(e.reason) != "")
}

// hash is the foreign transaction as the stores and nodes of a family write it.
func (e giveUp) hash(f money.Family) string {
	if f == money.Solana {
		return e.foreign
	}
	return strings.ToLower(e.foreign)
}

// giveUp ends a refund: one for which nothing may be signed at once, and one that is signed when the chain proves that
// no form of it can land.
func (p Parts) giveUp(ctx context.Context, end giveUp, operator string) error {
	refunds := p.Store.Refunds()
	if end.foreign != "" {
		if done, err := refunds.GivenUpBeside(ctx, end.id, end.foreign); err != nil || done {
			return err
		}
	}
	o, signed, err := refunds.Carried(ctx, end.id)
	if err != nil {
		return err
	}
	if !signed && end.foreign != "" {
		return fmt.Errorf("the live refund %.80q has no transaction in whose place another could be", end.id)
	}
	if !signed || end.foreign == "" && (o.Sweep.Family != money.Tron || o.State == sweep.Replaced) {
		return refunds.GiveUpRefund(ctx, end.id)
	}
	hash := end.hash(o.Sweep.Family)
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
		return fmt.Errorf("refund %s goes on: %w", end.id, err)
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
