package command_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"causeway.internal/libs/command"
)

// said is a verb that prints its name and what it was given.
func said(name, args string) command.Verb {
	return command.Verb{Name: name, Args: args, Run: func(_ context.Context, in command.Input) error {
		limit := 0
		rest, err := in.Flags(func(f *flag.FlagSet) { f.IntVar(&limit, "limit", 7, "how many") })
		if err != nil {
			return err
		}
		if len(rest) > 1 {
			return in.Usage()
		}
		_, err = fmt.Fprint(in.Out, name, " ", limit, rest)
		return err
	}}
}

var program = command.Program{Name: "shop", Verbs: []command.Verb{
	said("", ""), said("serve", ""), said("keys", "[id]"), said("keys create", "[--limit n] [id]"),
}}

func TestRun(t *testing.T) {
	for line, want := range map[string]string{
		"":                          " 7 []",
		"serve":                     "serve 7 []",
		"keys":                      "keys 7 []",
		"keys 12":                   "keys 7 [12]",
		"keys create":               "keys create 7 []",
		"keys create --limit 3 abc": "keys create 3 [abc]",
	} {
		var out strings.Builder
		if err := program.Run(t.Context(), command.Input{Args: strings.Fields(line), Out: &out}); err != nil || out.String() != want {
			t.Errorf("run %q: got %q, %v, want %q", line, out.String(), err, want)
		}
	}
}

func TestRun_refuses(t *testing.T) {
	for line, want := range map[string]string{
		"sreve":                  "usage: shop [serve]\n       shop keys [id]\n       shop keys create [--limit n] [id]",
		"serve now":              "usage: shop [serve]",
		"--limit 1":              "usage: shop [serve]",
		"keys create one two":    "usage: shop keys create [--limit n] [id]",
		"keys create --limt 3":   "shop keys create: flag provided but not defined: -limt\n  -limit int\n    \thow many (default 7)",
		"keys create --limit ay": `shop keys create: invalid value "ay"`,
	} {
		err := program.Run(t.Context(), command.Input{Args: strings.Fields(line), Out: io.Discard})
		if err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, command.ErrUsage) {
			t.Errorf("run %q: got %v, want %q", line, err, want)
		}
	}
}

func TestRun_helps(t *testing.T) {
	all := "usage: shop [serve]\n       shop keys [id]\n       shop keys create [--limit n] [id]\n"
	for line, want := range map[string]string{
		"-h":               all,
		"--help":           all,
		"help":             all,
		"serve -h":         all,
		"keys create -h":   "usage: shop keys create [--limit n] [id]\n  -limit int\n    \thow many (default 7)\n",
		"keys -limit 3 -h": "usage: shop keys [id]\n  -limit int\n    \thow many (default 7)\n",
	} {
		var out strings.Builder
		if err := program.Run(t.Context(), command.Input{Args: strings.Fields(line), Out: &out}); err != nil || out.String() != want {
			t.Errorf("run %q: got %q, %v, want %q", line, out.String(), err, want)
		}
	}
}

func TestFlagsOnly_refusesMore(t *testing.T) {
	p := command.Program{Name: "shop", Verbs: []command.Verb{{Name: "close", Args: "[--now]", Run: func(_ context.Context, in command.Input) error {
		return in.FlagsOnly(func(f *flag.FlagSet) { f.Bool("now", false, "at once") })
	}}}}
	if err := p.Run(t.Context(), command.Input{Args: []string{"close", "--now"}}); err != nil {
		t.Error(err)
	}
	err := p.Run(t.Context(), command.Input{Args: []string{"close", "shop"}})
	if err == nil || err.Error() != `shop close: unexpected argument "shop"` {
		t.Error(err)
	}
}

// A service started as one role must not take on the other.
func TestRoles(t *testing.T) {
	var got string
	p := command.Program{Name: "shop", Verbs: command.Roles(func(_ context.Context, environ map[string]string, serves, works bool) error {
		got = fmt.Sprint(environ["A"], serves, works)
		return nil
	})}
	for line, want := range map[string]string{"": "1true true", "serve": "1true false", "work": "1false true"} {
		if err := p.Run(t.Context(), command.Input{Args: strings.Fields(line), Environ: map[string]string{"A": "1"}}); err != nil || got != want {
			t.Errorf("run %q: got %q, %v, want %q", line, got, err, want)
		}
	}
}

// A service that is stopped has not failed; an interrupted migration or operator's act has: its caller must not
// continue as if it were done.
func TestRun_brokenOff(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	broken := func(ctx context.Context) error { return fmt.Errorf("open the database: %w", ctx.Err()) }
	p := command.Program{Name: "shop", Verbs: append(command.Roles(func(ctx context.Context, _ map[string]string, _, _ bool) error { return broken(ctx) }),
		command.Verb{Name: "migrate", Run: func(ctx context.Context, _ command.Input) error { return broken(ctx) }})}
	for _, role := range []string{"", "serve", "work"} {
		if err := p.Run(ctx, command.Input{Args: strings.Fields(role)}); err != nil {
			t.Errorf("%q was asked to stop: %v", role, err)
		}
	}
	if err := p.Run(ctx, command.Input{Args: []string{"migrate"}}); !errors.Is(err, context.Canceled) {
		t.Errorf("a migration was broken off: %v", err)
	}
}

func TestStandard(t *testing.T) {
	p := command.Program{Name: "shop", Verbs: command.Standard(fstest.MapFS{})}
	var out strings.Builder
	if err := p.Run(t.Context(), command.Input{Args: []string{"version"}, Out: &out}); err != nil || strings.TrimSpace(out.String()) == "" {
		t.Errorf("version: %q, %v", out.String(), err)
	}
	if err := p.Run(t.Context(), command.Input{Args: []string{"migrate"}}); err == nil || !strings.Contains(err.Error(), "DATABASE_OWNER_URL") {
		t.Errorf("migrate without a database: %v", err)
	}
	var log strings.Builder
	environ := map[string]string{"DATABASE_OWNER_URL": "postgres://u@127.0.0.1:1/x?sslmode=disable", "MIGRATE_WAIT": "1s"}
	in := command.Input{Args: []string{"migrate"}, Environ: environ, Log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := p.Run(t.Context(), in); err == nil || !strings.Contains(log.String(), "database not reachable, waiting") {
		t.Errorf("migrate did not wait for its database: %v, %s", err, &log)
	}
	for _, wait := range []string{"0s", "7h"} {
		environ := map[string]string{"DATABASE_OWNER_URL": "postgres://u@127.0.0.1:1/x", "MIGRATE_WAIT": wait}
		if err := p.Run(t.Context(), command.Input{Args: []string{"migrate"}, Environ: environ}); err == nil || !strings.Contains(err.Error(), "MIGRATE_WAIT") {
			t.Errorf("migrate waits for %s: %v", wait, err)
		}
	}
	if err := p.Run(t.Context(), command.Input{Args: []string{"health"}, Environ: map[string]string{"OPS_ADDR": "127.0.0.1:1"}}); err == nil {
		t.Error("a process that is not there is healthy")
	}
}

// TestRun_as: in a container the person who types says so before the verb.
func TestRun_as(t *testing.T) {
	p := command.Program{Name: "shop", Verbs: []command.Verb{{Name: "who", Run: func(_ context.Context, in command.Input) error {
		_, err := fmt.Fprint(in.Out, in.Operator())
		return err
	}}}}
	var out strings.Builder
	if err := p.Run(t.Context(), command.Input{Args: []string{"--as", "ada.obi", "who"}, Out: &out}); err != nil || out.String() != "cli:ada.obi" {
		t.Errorf("run as ada.obi: got %q, %v, want cli:ada.obi", out.String(), err)
	}
	out.Reset()
	if err := p.Run(t.Context(), command.Input{Args: []string{"who"}, Out: &out}); err != nil || !strings.HasPrefix(out.String(), "cli:") {
		t.Errorf("run as nobody named: got %q, %v, want cli: and the user", out.String(), err)
	}
	for _, name := range []string{"", "ada obi", "-x", "a\nb"} {
		if err := p.Run(t.Context(), command.Input{Args: []string{"--as", name, "who"}, Out: io.Discard}); !errors.Is(err, command.ErrUsage) {
			t.Errorf("--as %q: %v", name, err)
		}
	}
}

func TestBatches(t *testing.T) {
	var got []string
	whole := func(line string) (string, error) {
		if line == "Ada Obi" {
			return "", errors.New("is no letter")
		}
		return line, nil
	}
	err := command.Batches(strings.NewReader("a\n\n b \nc\nd\ne"), 2, whole, func(lines []string) error {
		got = append(got, strings.Join(lines, "+"))
		return nil
	})
	if err != nil || strings.Join(got, " ") != "a+b c+d e" {
		t.Errorf("read in batches: got %q, %v, want a+b c+d e", got, err)
	}
	err = command.Batches(strings.NewReader("a\n\nAda Obi\n"), 2, whole, func([]string) error { return nil })
	if err == nil || err.Error() != "line 3 is no letter" {
		t.Errorf("a broken line: %v", err)
	}
}
