package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/user"

	"causeway.internal/libs/config"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/app"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/store"
	"causeway.internal/services/payments/migrations"
)

// operations are the verbs of operators. Each works on the database alone, while the service runs, and leaves a note in
// the audit.
var operations = map[string]func(ctx context.Context, s *store.Store, args []string, out io.Writer) error{
	"pause": func(ctx context.Context, s *store.Store, args []string, out io.Writer) error {
		return pause(ctx, s, args, out, false)
	},
	"resume": func(ctx context.Context, s *store.Store, args []string, out io.Writer) error {
		return pause(ctx, s, args, out, true)
	},
	"pauses":        pauses,
	"book":          book,
	"erase":         erase,
	"rotate-master": rotateMaster,
}

func isOperation(verb string) bool { return operations[verb] != nil }

func operate(ctx context.Context, verb string, args []string, environ map[string]string, out io.Writer) error {
	cfg, err := config.Read[operateSettings](environ)
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
	s := store.New(db, app.Renderer{}, keys, slog.New(slog.DiscardHandler), func() {}, func(string) {})
	return operations[verb](ctx, s, args, out)
}

// commandLine is how the audit names who typed a verb.
func commandLine() string {
	if u, err := user.Current(); err == nil {
		return "cli:" + u.Username
	}
	return "cli:unknown"
}

// flagsOf reads the flags of a verb, which takes nothing else.
func flagsOf(verb string, args []string, define func(*flag.FlagSet)) error {
	flags := flag.NewFlagSet("payments "+verb, flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	define(flags)
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w", verb, err)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q", verb, flags.Arg(0))
	}
	return nil
}

// pause stops or resumes quotes or payouts.
func pause(ctx context.Context, s *store.Store, args []string, out io.Writer, resume bool) error {
	p := app.Pause{Operator: commandLine()}
	verb := "pause"
	if resume {
		verb = "resume"
	}
	if len(args) == 0 || (args[0] != app.PauseQuotes && args[0] != app.PausePayouts) {
		return errUsage
	}
	p.What = args[0]
	err := flagsOf(verb, args[1:], func(f *flag.FlagSet) {
		f.StringVar((*string)(&p.Currency), "currency", "", "only this fiat currency")
		f.StringVar(&p.Network, "network", "", "only this network")
		f.StringVar(&p.Rail, "rail", "", "only payouts over this rail")
	})
	if err != nil {
		return err
	}
	if p.Network != "" {
		n, ok := money.NetworkOf(p.Network)
		if !ok {
			return fmt.Errorf("%s: %q is no network", verb, p.Network)
		}
		p.Network = n.Name
	}
	switch {
	case p.Currency != "" && !p.Currency.Valid():
		return fmt.Errorf("%s: %q is no currency; known: NGN, GHS, KES, ZAR", verb, p.Currency)
	case p.Rail != "" && p.What == app.PauseQuotes:
		return fmt.Errorf("%s: quotes have no rail", verb)
	}
	if err := s.Pause(ctx, p, resume); err != nil {
		return err
	}
	return pauses(ctx, s, nil, out)
}

// pauses lists what is stopped.
func pauses(ctx context.Context, s *store.Store, args []string, out io.Writer) error {
	if err := flagsOf("pauses", args, func(*flag.FlagSet) {}); err != nil {
		return err
	}
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
		if _, err := fmt.Fprintf(out, "%s paused: currency %s, network %s, rail %s, since %s by %s\n",
			p.What, all(string(p.Currency)), all(p.Network), all(p.Rail), app.Timestamp(p.At), p.Operator); err != nil {
			return err
		}
	}
	return nil
}

// errOpen tells that an erasure is not complete.
var errOpen = errors.New("some payments of this payer are not over: run the same again later")

func erase(ctx context.Context, s *store.Store, args []string, out io.Writer) error {
	var merchant, payer, mode string
	err := flagsOf("erase", args, func(f *flag.FlagSet) {
		f.StringVar(&merchant, "merchant", "", "merchant whose payer it is")
		f.StringVar(&payer, "payer", "", "payer.chatId, as the merchant sent it")
		f.StringVar(&mode, "mode", string(payment.Live), "live or test")
	})
	switch {
	case err != nil:
		return err
	case merchant == "" || payer == "" || (mode != string(payment.Live) && mode != string(payment.Test)):
		return errors.New("erase: --merchant, --payer and a --mode of live or test are needed")
	}
	done, err := s.Erase(ctx, commandLine(), payment.Mode(mode), merchant, payer, payment.Defaults().LateGrace)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(out, "%d payments erased, %d not over yet\n", done.Payments, done.Open); err != nil {
		return err
	}
	if done.Open > 0 {
		return errOpen
	}
	return nil
}

func rotateMaster(ctx context.Context, s *store.Store, args []string, out io.Writer) error {
	if err := flagsOf("rotate-master", args, func(*flag.FlagSet) {}); err != nil {
		return err
	}
	changed, err := s.Reseal(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d rows sealed under the first master key\n", changed)
	return err
}
