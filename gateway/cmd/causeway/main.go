// Command causeway is the merchants' tool: it makes and plays test payments, shows webhooks and forwards them to a
// program under development, and manages keys. It uses the public API alone and imports nothing of the services.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"causeway.internal/libs/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	environ := map[string]string{}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		environ[name] = value
	}
	status := run(ctx, os.Args[1:], environ, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// The statuses with which the program ends.
const (
	statusDone   = 0
	statusFailed = 1
	statusUsage  = 2
)

// usage is an error in the command line.
type usage struct{ text string }

func (u usage) Error() string { return u.text }

func misused(format string, args ...any) error { return usage{fmt.Sprintf(format, args...)} }

// command is one verb.
type command struct {
	name string
	line string // its purpose in one line
	help string // its synopsis and examples
	run  func(ctx context.Context, c *cli, args []string) error
}

// commands is every verb, in the order of the help.
func commands() []command {
	return []command{listenCommand(), payCommand(), triggerCommand(), keysCommand()}
}

// cli is what every verb works with.
type cli struct {
	out, errs io.Writer
	environ   map[string]string
	now       func() time.Time

	url, key, admin string
	json            bool
}

func run(ctx context.Context, args []string, environ map[string]string, out, errs io.Writer) int {
	c := &cli{out: out, errs: errs, environ: environ, now: time.Now}
	err := c.dispatch(ctx, args)
	var wrong usage
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return statusDone
	case errors.As(err, &wrong):
		fmt.Fprintf(errs, "causeway: %s\nTry: causeway help\n", wrong.text)
		return statusUsage
	case ctx.Err() != nil:
		return statusDone // interrupted: that is how listen ends
	}
	fmt.Fprintf(errs, "causeway: %v\n", err)
	return statusFailed
}

func (c *cli) dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return misused("say what to do")
	}
	name, args := args[0], args[1:]
	for _, v := range commands() {
		if v.name == name {
			return v.run(ctx, c, args)
		}
	}
	if name == "version" || name == "--version" {
		_, err := fmt.Fprintln(c.out, version.Read())
		return err
	}
	if name != "help" && name != "--help" && name != "-h" {
		return misused("there is no command %q", name)
	}
	for _, v := range commands() {
		if len(args) > 0 && v.name == args[0] {
			return v.run(ctx, c, []string{"--help"})
		}
	}
	c.help()
	return nil
}

func (c *cli) help() {
	fmt.Fprint(c.out, `causeway: make test payments, play their payers, watch and forward webhooks, manage keys.

usage: causeway COMMAND [flags]

`)
	for _, v := range commands() {
		fmt.Fprintf(c.out, "  %-9s %s\n", v.name, v.line)
	}
	fmt.Fprint(c.out, `
causeway help COMMAND shows flags and examples, causeway version what this program was built from.

settings, as flags or from the environment:
  --url          CAUSEWAY_URL, else BASE_URL            where the API is
  --key          CAUSEWAY_API_KEY, else API_KEY         secret of an API key
  --admin-token  CAUSEWAY_ADMIN_TOKEN, else ADMIN_TOKEN operator's token, for keys
  --json         print JSON, one object a line

With a local product: make up && . .stack/env, and no setting is needed. Secrets are better kept in the environment than
typed as flags, which other users of the machine can see.
`)
}

// flags makes the flag set of a verb with the settings that all have.
func (c *cli) flags(v command) *flag.FlagSet {
	f := flag.NewFlagSet("causeway "+v.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {
		fmt.Fprintf(c.out, "%s\n\nflags:\n", strings.TrimSpace(v.help))
		f.SetOutput(c.out)
		f.PrintDefaults()
		f.SetOutput(io.Discard)
	}
	f.StringVar(&c.url, "url", c.setting("CAUSEWAY_URL", "BASE_URL"), "base URL of the API (CAUSEWAY_URL)")
	f.StringVar(&c.key, "key", "", "secret of an API key (CAUSEWAY_API_KEY)")
	f.BoolVar(&c.json, "json", false, "print JSON, one object a line")
	return f
}

// setting is the first of these variables that is set.
func (c *cli) setting(names ...string) string {
	for _, name := range names {
		if v := c.environ[name]; v != "" {
			return v
		}
	}
	return ""
}

// parse reads flags at any position and returns the other words.
func (c *cli) parse(f *flag.FlagSet, args []string) ([]string, error) {
	var words []string
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, flag.ErrHelp
			}
			return nil, misused("%v", err)
		}
		if f.NArg() == 0 {
			break
		}
		words, args = append(words, f.Arg(0)), f.Args()[1:]
	}
	if c.key == "" {
		c.key = c.setting("CAUSEWAY_API_KEY", "API_KEY")
	}
	if c.admin == "" {
		c.admin = c.setting("CAUSEWAY_ADMIN_TOKEN", "ADMIN_TOKEN")
	}
	c.url = strings.TrimRight(c.url, "/")
	if c.url == "" {
		return nil, misused("say where the API is: --url or CAUSEWAY_URL")
	}
	return words, nil
}

// line prints one line for a person.
func (c *cli) line(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }
