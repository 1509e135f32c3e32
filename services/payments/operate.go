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
