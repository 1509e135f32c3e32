// Package command is the command line of every service: a table of verbs, which determines the arguments, the usage and
// the exit code. It knows the verbs that all services share and no others.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/libs/config"
	"causeway.internal/libs/lifecycle"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/version"
)

// ErrUsage is in the error of Run when the arguments are wrong.
var ErrUsage = errors.New("usage")

// misuse is an ErrUsage with its own text.
type misuse string

func (m misuse) Error() string        { return string(m) }
func (m misuse) Is(target error) bool { return target == ErrUsage }

// help is the usage of a verb, returned to Run when it was requested.
type help string

func (h help) Error() string { return string(h) }

// Input is the argument of a verb.
type Input struct {
	Args    []string // the words after the verb
	Environ map[string]string
	In      io.Reader
	Out     io.Writer
	Log     *slog.Logger // progress; the error goes to Run's caller

	as    string // the person who types, where the system does not know
	verb  string // as typed, with the program
	usage string // the words that may follow
}

// Verb is one action of a program.
type Verb struct {
	Name    string // its words, such as "keys create"; "" runs without a verb
	Args    string // the words that may follow, for the usage; "" allows none
	Endless bool   // runs until it is stopped; a stop before the end is a failure of any other verb
	Run     func(ctx context.Context, in Input) error
}

// Program is a service's command line.
type Program struct {
	Name  string
	Verbs []Verb
}

// Main runs the process: SIGINT and SIGTERM end the verb's context, a second one ends the process. An error is logged,
// as a line of JSON unless a person at a terminal reads it, and gives exit code 1. A usage error is plain text for a
// person and gives exit code 2.
func (p Program) Main() {
	lifecycle.Memory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil)) // not the default, which telemetry.Start silences
	if about, err := os.Stderr.Stat(); err != nil || about.Mode()&os.ModeCharDevice == 0 {
		log = telemetry.To(os.Stderr, p.Name).Log
	}
	err := p.Run(ctx, Input{Args: os.Args[1:], Environ: config.Environ(), In: os.Stdin, Out: os.Stdout, Log: log})
	stop()
	switch {
	case errors.Is(err, ErrUsage):
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case err != nil:
		log.Error("stopped", "err", err)
		os.Exit(1)
	}
}

// Run runs the verb of the arguments; the verb with the most words wins. -h after it, or alone, prints the usage.
func (p Program) Run(ctx context.Context, in Input) error {
	if len(in.Args) > 1 && in.Args[0] == "--as" {
		if !person.MatchString(in.Args[1]) {
			return misuse(fmt.Sprintf("%s: --as takes a person's name, such as ada.obi, not %q", p.Name, in.Args[1]))
		}
		in.as, in.Args = in.Args[1], in.Args[2:]
	}
	if in.Log == nil {
		in.Log = slog.New(slog.DiscardHandler)
	}
	var chosen *Verb
	words := -1
	for i, v := range p.Verbs {
		name := strings.Fields(v.Name)
		if len(name) > words && len(name) <= len(in.Args) && slices.Equal(name, in.Args[:len(name)]) {
			chosen, words = &p.Verbs[i], len(name)
		}
	}
	if chosen == nil || chosen.Args == "" && len(in.Args) > words {
		if asksHelp(in.Args[max(words, 0):]) {
			_, err := fmt.Fprintln(in.Out, p.usage())
			return err
		}
		return p.usage()
	}
	in.verb = strings.TrimSpace(p.Name + " " + chosen.Name)
	in.usage, in.Args = chosen.Args, in.Args[words:]
	err := chosen.Run(ctx, in)
	if asked, ok := errors.AsType[help](err); ok {
		_, err := fmt.Fprint(in.Out, asked)
		return err
	}
	if chosen.Endless && ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped while starting
	}
	return err
}

func asksHelp(rest []string) bool {
	return len(rest) == 1 && slices.Contains([]string{"-h", "-help", "--help", "help"}, rest[0])
}

// usage lists the verbs: those without arguments in the first line, the others on lines of their own.
func (p Program) usage() error {
	var alone, lines []string
	for _, v := range p.Verbs {
		switch {
		case v.Args != "":
			lines = append(lines, "\n       "+p.Name+" "+v.Name+" "+v.Args)
		case v.Name != "":
			alone = append(alone, v.Name)
		}
	}
	return fmt.Errorf("%w: %s [%s]%s", ErrUsage, p.Name, strings.Join(alone, " | "), strings.Join(lines, ""))
}

// Usage is the error of wrong words after the verb.
func (in Input) Usage() error { return fmt.Errorf("%w: %s %s", ErrUsage, in.verb, in.usage) }

// Flags reads the verb's flags and returns the other words.
func (in Input) Flags(define func(*flag.FlagSet)) (rest []string, err error) {
	flags := flag.NewFlagSet(in.verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the error carries the message once
	define(flags)
	if err := flags.Parse(in.Args); err != nil {
		var options strings.Builder
		flags.SetOutput(&options)
		flags.PrintDefaults()
		if errors.Is(err, flag.ErrHelp) {
			return nil, help(in.Usage().Error() + "\n" + options.String())
		}
		return nil, misuse(fmt.Sprintf("%s: %v\n%s", in.verb, err, options.String()))
	}
	return flags.Args(), nil
}

// FlagsOnly is Flags for a verb that takes flags alone.
func (in Input) FlagsOnly(define func(*flag.FlagSet)) error {
	rest, err := in.Flags(define)
	if err == nil && len(rest) > 0 {
		err = misuse(fmt.Sprintf("%s: unexpected argument %q", in.verb, rest[0]))
	}
	return err
}

// Roles are the verbs of a service with two roles: serve answers its API, work does the rest, and no verb does both.
func Roles(start func(ctx context.Context, environ map[string]string, serves, works bool) error) []Verb {
	role := func(name string, serves, works bool) Verb {
		return Verb{Name: name, Endless: true, Run: func(ctx context.Context, in Input) error { return start(ctx, in.Environ, serves, works) }}
	}
	return []Verb{role("", true, true), role("serve", true, false), role("work", false, true)}
}

// MigrateSettings are those of the verb migrate.
type MigrateSettings struct {
	OwnerURL config.Secret `env:"DATABASE_OWNER_URL,required" doc:"PostgreSQL URL of the database in the role that owns the schema; used by migrate alone"`
	Wait     time.Duration `env:"MIGRATE_WAIT" envDefault:"30m" doc:"How long migrate waits for a database that does not answer, at most 6h. migrate ends at once if the database refuses it, by a wrong password or a missing right"`
	TLS      postgres.TLS
}

// waitMax bounds MIGRATE_WAIT.
const waitMax = 6 * time.Hour

// Standard are the verbs of every service: migrate brings its database to the schema of files, health asks the process
// beside it whether it is ready, version names the build.
func Standard(files fs.FS) []Verb {
	return []Verb{
		{Name: "migrate", Run: func(ctx context.Context, in Input) error {
			cfg, err := config.Read[MigrateSettings](in.Environ)
			if err != nil {
				return err
			}
			if cfg.Wait <= 0 || cfg.Wait > waitMax {
				return fmt.Errorf("MIGRATE_WAIT is %s, not between 0 and %s", cfg.Wait, waitMax)
			}
			database := postgres.Config{URL: cfg.OwnerURL, TLS: cfg.TLS}
			if err := postgres.Await(ctx, database, cfg.Wait, in.Log); err != nil {
				return err
			}
			return postgres.Migrate(ctx, database, files)
		}},
		{Name: "health", Run: func(ctx context.Context, in Input) error { return telemetry.Probe(ctx, in.Environ["OPS_ADDR"]) }},
		{Name: "version", Run: func(_ context.Context, in Input) error {
			_, err := fmt.Fprintln(in.Out, version.Read())
			return err
		}},
	}
}
