package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/banks"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/migrations"
)

// operation is an operator's verb. It uses the database alone, may run beside the service, and writes the audit.
type operation func(ctx context.Context, s *store.Store) error

var operations = []command.Verb{
	{Name: "pause quotes", Args: "[--currency NGN] [--network tron] [--merchant m1] [--reason TEXT] [--until TIME]", Run: operate(pause(admission.PauseQuotes))},
	{Name: "pause payouts", Args: "[--currency NGN] [--network tron] [--rail paystack] [--merchant m1] [--reason TEXT] [--until TIME]", Run: operate(pause(admission.PausePayouts))},
	{Name: "pause refunds", Args: "[--currency NGN] [--network tron] [--reason TEXT] [--until TIME]", Run: operate(pause(admission.PauseRefunds))},
	{Name: "resume refunds", Args: "[--currency NGN] [--network tron] [--reason TEXT]", Run: operate(resume(admission.PauseRefunds))},
	{Name: "resume quotes", Args: "[--currency NGN] [--network tron] [--merchant m1] [--reason TEXT]", Run: operate(resume(admission.PauseQuotes))},
	{Name: "resume payouts", Args: "[--currency NGN] [--network tron] [--rail paystack] [--merchant m1] [--reason TEXT]", Run: operate(resume(admission.PausePayouts))},
	{Name: "pauses", Run: operate(pauses)},
	{Name: "book topup", Args: "--ref ID --rail paystack --currency NGN --amount 1000", Run: operate(book("topup"))},
	{Name: "book sale", Args: "--ref ID --network tron --crypto USDT --amount 1000", Run: operate(book("sale"))},
	{Name: "book spread", Args: "--ref ID --currency NGN --amount 1000", Run: operate(book("spread"))},
	{Name: "book gas", Args: "--ref ID --network tron --amount 27.6", Run: operate(book("gas"))},
	{Name: "book sweep", Args: "--ref ID --network tron --crypto USDT --amount 1000 [--gas 27.6]", Run: operate(book("sweep"))},
	{Name: "book capital", Args: "--ref ID --network tron --crypto TRX --amount 1000", Run: operate(book("capital"))},
	{Name: "book merchant", Args: "--ref ID --merchant m1 --rail paystack --currency NGN --amount 1000 [--overdraw TEXT] | --undo ID", Run: operate(book("merchant"))},
	{Name: "fees", Args: "[--currency NGN] [--mode live] [--merchant m1]", Run: operate(listFees)},
	{Name: "fees publish", Args: "--currency NGN --mode live [--merchant m1] --tiers TIERS [--from TIME] --note TEXT", Run: operate(publishFees(false))},
	{Name: "fees end", Args: "--currency NGN --mode live --merchant m1 [--from TIME] --note TEXT", Run: operate(publishFees(true))},
	{Name: "banks", Run: operate(lines((*store.Store).BankLists))},
	{Name: "banks trust", Args: "--rail paystack --currency NGN --reason TEXT", Run: operate(trustBanks)},
	{Name: "payouts", Run: operate(lines((*store.Store).PayoutStates))},
	{Name: "payouts unmatched", Args: "< REFERENCES", Run: operate(unmatchedReferences)},
	{Name: "refunds cancel", Args: "--refund ID --reason TEXT", Run: operate(cancelRefund)},
	{Name: "refunds send", Args: "--from TIME", Run: operate(sendOrders)},
	{Name: "refunds unmatched", Args: "< REFUNDS", Run: operate(unmatchedRefunds)},
	{Name: "journals", Args: "--month 2026-10 [--mode live|test]", Run: operate(journals)},
	{Name: "treasury", Args: "[--day 2026-10-31] [--mode live|test]", Run: operate(treasury)},
	{Name: "books", Run: operate(balances)},
	{Name: "sequences", Args: "--from TIME", Run: operate(sequences)},
	{Name: "unclaimed", Run: operate(lines((*store.Store).EachUnclaimed))},
	{Name: "unmarked-gifts", Run: operate(unmarkedGifts)},
	{Name: "accused", Run: operate(lines((*store.Store).ConfirmedAddresses))},
	{Name: "expiry", Run: operate(lines((*store.Store).Expiries))},
	{Name: "expiry skip", Args: "--network tron [--mode live|test] --reason TEXT", Run: operate(skipExpiry)},
	{Name: "erase", Args: "--merchant ID --payer CHAT_ID [--mode live|test]", Run: operate(erase)},
	{Name: "archive", Args: "--month 2026-01 --directory DIR [--after-days 90] [--dry-run]", Run: operate(archiveMonth)},
	{Name: "archive verify", Args: "--directory DIR", Run: operate(verifyArchives)},
	{Name: "archive list", Run: operate(listArchives)},
	{Name: "archive attach", Args: "--payment ID | --archive 2026-01.1", Run: operate(attachArchived)},
	{Name: "rotate-master", Run: operate(rotateMaster)},
}

// operate makes a verb of a function that reads its flags and returns the operation.
func operate(read func(in command.Input) (operation, error)) func(ctx context.Context, in command.Input) error {
	return func(ctx context.Context, in command.Input) error {
		do, err := read(in)
		if err != nil {
			return err
		}
		cfg, err := config.Read[operateSettings](in.Environ)
		if err != nil {
			return err
		}
		keys, err := keyring.Parse(cfg.MasterKeys.Reveal())
		if err != nil {
			return fmt.Errorf("MASTER_KEYS: %w", err)
		}
		db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, telemetry.Discard(wire.Payments))
		if err != nil {
			return err
		}
		defer db.Close()
		return do(ctx, store.New(db, store.Options{Keys: keys, Log: slog.New(slog.DiscardHandler)}))
	}
}

// readPause reads the scope of a pause.
func readPause(in command.Input, what string, more func(f *flag.FlagSet)) (p admission.Pause, err error) {
	p = admission.Pause{What: what, Operator: in.Operator()}
	err = in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar((*string)(&p.Currency), "currency", "", "only this fiat currency")
		f.StringVar(&p.Network, "network", "", "only this network")
		if what == admission.PausePayouts {
			f.StringVar(&p.Rail, "rail", "", "only payouts over this rail")
		}
		if what != admission.PauseRefunds {
			f.StringVar(&p.MerchantID, "merchant", "", "only of this merchant")
		}
		f.StringVar(&p.Reason, "reason", "", "why, for other operators")
		more(f)
	})
	if err != nil {
		return p, err
	}
	if p.Network != "" {
		n, ok := money.NetworkOf(p.Network)
		if !ok {
			return p, fmt.Errorf("%q is no network", p.Network)
		}
		p.Network = n.Name
	}
	if p.Currency != "" && !p.Currency.Valid() {
		return p, fmt.Errorf("%q is no currency; known: NGN, GHS, KES, ZAR", p.Currency)
	}
	return p, nil
}

// errNothing refuses a second pause and a resume without a pause.
var errNothing = errors.New("nothing changed: `payments pauses` lists the pauses")

// pause stops quotes, payouts or refunds.
func pause(what string) func(in command.Input) (operation, error) {
	return func(in command.Input) (operation, error) {
		var until string
		p, err := readPause(in, what, func(f *flag.FlagSet) {
			f.StringVar(&until, "until", "", "RFC 3339 time at which it ends by itself; empty: never")
		})
		if err != nil {
			return nil, err
		}
		if until != "" {
			if p.Until, err = time.Parse(time.RFC3339, until); err != nil {
				return nil, fmt.Errorf("--until: %w", err)
			}
			if !p.Until.After(time.Now()) {
				return nil, errors.New("--until: the time has passed")
			}
		}
		return func(ctx context.Context, s *store.Store) error {
			if _, err := s.Pause(ctx, p, idempotency.Key{}, nil); err != nil {
				return cmp.Or(nothing(err), err)
			}
			return listPauses(ctx, s, in.Out)
		}, nil
	}
}

func nothing(err error) error {
	if errors.Is(err, admission.ErrPaused) || errors.Is(err, admission.ErrNoPause) {
		return errNothing
	}
	return nil
}

// resume ends the pause of exactly the given scope.
func resume(what string) func(in command.Input) (operation, error) {
	return func(in command.Input) (operation, error) {
		p, err := readPause(in, what, func(*flag.FlagSet) {})
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, s *store.Store) error {
			found, err := s.FindPause(ctx, p)
			if err == nil {
				_, err = s.Resume(ctx, found.ID, p.Operator, p.Reason)
			}
			if err != nil {
				return cmp.Or(nothing(err), err)
			}
			return listPauses(ctx, s, in.Out)
		}, nil
	}
}

func pauses(in command.Input) (operation, error) {
	return func(ctx context.Context, s *store.Store) error { return listPauses(ctx, s, in.Out) }, nil
}

// listPauses prints the pauses.
func listPauses(ctx context.Context, s *store.Store, out io.Writer) error {
	found, err := s.Pauses(ctx)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "nothing is paused")
		return err
	}
	all := func(text string) string {
		if text == "" {
			return "all"
		}
		return text
	}
	for _, p := range found {
		line := fmt.Sprintf("%s paused: currency %s, network %s, rail %s, since %s by %s",
			p.What, all(string(p.Currency)), all(p.Network), all(p.Rail), timestamp.Text(p.At), p.Operator)
		if p.MerchantID != "" {
			line += ", merchant " + p.MerchantID
		}
		if !p.Until.IsZero() {
			line += ", until " + timestamp.Text(p.Until)
		}
		if p.Reason != "" {
			line += ": " + p.Reason
		}
		if _, err := fmt.Fprintln(out, line); err != nil {
			return err
		}
	}
	return nil
}

func erase(in command.Input) (operation, error) {
	var merchant, payer, mode string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&merchant, "merchant", "", "merchant whose payer it is")
		f.StringVar(&payer, "payer", "", "payer.chatId, as the merchant sent it")
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
	})
	switch {
	case err != nil:
		return nil, err
	case merchant == "" || payer == "" || (mode != string(tenant.Live) && mode != string(tenant.Test)):
		return nil, errors.New("erase: --merchant, --payer and a --mode of live or test are needed")
	}
	cfg, err := config.Read[Erasing](in.Environ)
	if err != nil {
		return nil, err
	}
	keep, err := erasure.Keep(cfg.Laundering)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, s *store.Store) error {
		done, err := s.AskErasure(ctx, in.Operator(), store.Payer{MerchantID: merchant, Mode: tenant.Mode(mode), ChatID: payer}, keep)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(in.Out, done.Tell("payments"))
		return err
	}, nil
}

func rotateMaster(in command.Input) (operation, error) {
	return func(ctx context.Context, s *store.Store) error {
		changed, err := s.Reseal(ctx)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(in.Out, "%d rows sealed under the first master key\n", changed)
		return err
	}, nil
}

// trustBanks lets the next list of banks of a rail be taken however short it is.
func trustBanks(in command.Input) (operation, error) {
	var p banks.Place
	var reason string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&p.Rail, "rail", "", "the rail")
		f.StringVar((*string)(&p.Currency), "currency", "", "the currency of the list")
		f.StringVar(&reason, "reason", "", "why, for other operators")
	})
	if err == nil && (p.Rail == "" || !p.Currency.Valid() || reason == "") {
		err = errors.New("name a rail, a currency and a reason")
	}
	return func(ctx context.Context, s *store.Store) error {
		found, err := s.TrustBanks(ctx, p, in.Operator(), reason)
		if err == nil && !found {
			err = fmt.Errorf("no list of %s in %s is kept: `payments banks` lists them", p.Rail, p.Currency)
		}
		return err
	}, err
}
