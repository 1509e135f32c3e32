package main

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
	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/draw"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/refund"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/store"
)

// lines makes a verb without flags that prints the values of each, one JSON object a line.
func lines[T any](each func(*store.Store, context.Context, func(T) error) error) func(in command.Input) (operation, error) {
	return func(in command.Input) (operation, error) {
		if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *store.Store) error {
			return each(s, ctx, func(x T) error { return json.NewEncoder(in.Out).Encode(x) })
		}, nil
	}
}

// balances adds up the ledger and counts the payments. It fails where the ledger does not balance.
func balances(in command.Input) (operation, error) {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error {
		out := json.NewEncoder(in.Out)
		var wrong []string
		err := s.AssetSums(ctx, func(a store.AssetSum) error {
			if !a.Sum.IsZero() {
				wrong = append(wrong, a.Asset)
			}
			return out.Encode(a)
		})
		if err == nil {
			err = s.PaymentStates(ctx, func(c store.Count) error { return out.Encode(c) })
		}
		if err == nil && len(wrong) > 0 {
			err = fmt.Errorf("the ledger does not balance: %s", strings.Join(wrong, ", "))
		}
		return err
	}, nil
}

// modeFlag reads a mode, live without one.
func modeFlag(f *flag.FlagSet) *string { return f.String("mode", string(tenant.Live), "live or test") }

// journals writes the journals of a month for accountants, as the API does.
func journals(in command.Input) (operation, error) {
	var month string
	var mode *string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&month, "month", "", "the month, such as 2026-10")
		mode = modeFlag(f)
	}); err != nil {
		return nil, err
	}
	from, err := time.Parse(books.MonthLayout, month)
	if err != nil || *mode != string(tenant.Live) && *mode != string(tenant.Test) {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		report, err := (&books.Books{Store: s}).Journals(ctx, tenant.Mode(*mode), from)
		if err != nil {
			return err
		}
		return report(ctx, in.Out)
	}, nil
}

// treasury writes the report of the treasury as a CSV: the last one, or that of a closed day.
func treasury(in command.Input) (operation, error) {
	var day string
	var mode *string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&day, "day", "", "a closed day, such as 2026-10-31")
		mode = modeFlag(f)
	}); err != nil {
		return nil, err
	}
	if _, err := time.Parse(time.DateOnly, day); day != "" && err != nil || *mode != string(tenant.Live) && *mode != string(tenant.Test) {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		t, err := (&books.Books{Store: s}).TreasuryOf(ctx, tenant.Mode(*mode), day)
		if err != nil {
			return err
		}
		return t.CSV(ctx, in.Out)
	}, nil
}

// sequences prints the payments that have changed since a time.
func sequences(in command.Input) (operation, error) {
	var from time.Time
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.TextVar(&from, "from", time.Time{}, "payments that have changed from this time on, such as 2026-04-01T13:30:00Z")
	})
	switch {
	case err != nil:
		return nil, err
	case from.IsZero():
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		out := json.NewEncoder(in.Out)
		return s.ChangedSince(ctx, from, func(q store.Sequence) error { return out.Encode(q) })
	}, nil
}

// unmarkedGifts prints the newest gifts that can still be claimed by a reference without a mark, and how many there
// are.
func unmarkedGifts(in command.Input) (operation, error) {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error {
		out := json.NewEncoder(in.Out)
		n, err := s.UnmarkedGifts(ctx, func(g store.UnmarkedGift) error { return out.Encode(g) })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "%d gifts without a mark can still be claimed\n", n)
		return err
	}, nil
}

// referencesAtOnce bounds the references of one query.
const referencesAtOnce = 1000

// unmatchedReferences prints the references of a rail's statement that no payout has.
func unmatchedReferences(in command.Input) (operation, error) {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error {
		looked, unmatched := 0, 0
		whole := func(line string) (string, error) { return line, nil }
		err := command.Batches(in.In, referencesAtOnce, whole, func(references []string) error {
			found, err := s.UnmatchedReferences(ctx, references)
			for _, r := range found {
				fmt.Fprintln(in.Out, r)
			}
			looked, unmatched = looked+len(references), unmatched+len(found)
			return err
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "%d of %d references have no payout here\n", unmatched, looked)
		return err
	}, nil
}

// unmatchedRefunds prints the refunds of wallets' list that have another state here.
func unmatchedRefunds(in command.Input) (operation, error) {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error {
		looked, unmatched := 0, 0
		read := func(line string) (r store.RefundState, err error) {
			if err = json.Unmarshal([]byte(line), &r); err != nil || r.ID == "" {
				return r, errors.New("is no refund of `wallets tell-refunds`")
			}
			return r, nil
		}
		err := command.Batches(in.In, referencesAtOnce, read, func(list []store.RefundState) error {
			found, err := s.UnmatchedRefunds(ctx, list)
			for _, r := range found {
				if r.State == "" {
					r.State = "unknown"
				}
				fmt.Fprintln(in.Out, r.ID, "is", r.State, "here")
			}
			looked, unmatched = looked+len(list), unmatched+len(found)
			return err
		})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "%d of %d refunds have another state here\n", unmatched, looked)
		return err
	}, nil
}

// sendOrders sends the orders of open refunds again, to a wallets whose database was restored, and prints their ids,
// with the reason where one could not be sent.
func sendOrders(in command.Input) (operation, error) {
	var from string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&from, "from", "", "since when withdrawals from wallets that are sent again were confirmed, such as 2026-04-01T00:00:00Z")
	}); err != nil {
		return nil, err
	}
	since, err := time.Parse(time.RFC3339Nano, from)
	if err != nil {
		return nil, fmt.Errorf("--from: %q is no time such as 2026-04-01T00:00:00Z", from)
	}
	settings, err := config.Read[refundSettings](in.Environ)
	if err != nil {
		return nil, err
	}
	keys, err := settings.keys()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error {
		return errors.Join(s.SendOrders(ctx, func(r refund.Refund) (change.Command, error) {
			if err := signable(keys, r.Mode); err != nil {
				return change.Command{}, err
			}
			return keys.Command(r, "", time.Now()) // without its currency any pause holds it
		}, func(r refund.Refund, failed error) { tellOrder(in.Out, r, failed) }), s.SendDraws(ctx, since, func(w draw.Draw) (change.Command, error) {
			if err := signable(keys, w.Mode); err != nil {
				return change.Command{}, err
			}
			return draws.Command(keys, w, time.Now())
		}, func(w draw.Draw, failed error) { tellOrder(in.Out, w.Refund, failed) }))
	}, nil
}

// signable refuses an order of live mode where no key signs it: in a cluster, workers have none.
func signable(keys refunds.Keys, mode tenant.Mode) error {
	if keys == nil && mode == tenant.Live {
		return errors.New("ORDER_AUTOMATIC_KEY and ORDER_OPERATOR_KEY are not set here, so no order of live mode is signed")
	}
	return nil
}

// tellOrder prints a refund whose order was sent again, or could not be. A cancelled one waits at wallets for a person.
func tellOrder(out io.Writer, r refund.Refund, failed error) {
	text := ""
	switch {
	case failed != nil:
		text = fmt.Sprintf(" not sent: %v", failed)
	case r.Cancelled == refund.CancelRequested:
		text = " cancelled"
	}
	fmt.Fprintln(out, r.ID, string(r.State)+text)
}

// skipExpiry lets a network's payments expire again after deposit messages were lost for good.
func skipExpiry(in command.Input) (operation, error) {
	var mode, network, reason string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
		f.StringVar(&network, "network", "", "network or alias")
		f.StringVar(&reason, "reason", "", "why no deposit is lost, for the audit")
	})
	if err != nil {
		return nil, err
	}
	n, known := money.NetworkOf(network)
	if !known || strings.TrimSpace(reason) == "" || mode != string(tenant.Live) && mode != string(tenant.Test) {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		skipped, err := s.SkipDeposits(ctx, in.Operator(), mode, n.Name, reason)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "%d missing deposit messages skipped; expiry goes on in a minute, once later deposits are taken in\n", skipped)
		return err
	}, nil
}
