// Command causeway is the merchants' tool: it makes and plays test payments, reads and changes what the key's merchant
// has, shows webhooks and forwards them to a program under development, and manages keys. It uses the public API alone
// and imports nothing of the services.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	environ := map[string]string{}
	for _, line := range os.Environ() {
		name, value, _ := strings.Cut(line, "=")
		environ[name] = value
	}
	out := &output{to: os.Stdout}
	c := &cli{in: os.Stdin, out: out, errs: os.Stderr, environ: environ, now: time.Now}
	c.terminal = term.IsTerminal(int(os.Stdout.Fd()))
	c.colour = c.terminal && environ["NO_COLOR"] == "" && environ["TERM"] != "dumb"
	status := c.run(ctx, os.Args[1:])
	stop()
	if out.err != nil && status == statusDone { // a list that is cut short, or a secret that is shown once and lost
		fmt.Fprintf(os.Stderr, "causeway: write the output: %v\n", out.err)
		status = statusFailed
	}
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

// cli is what every command works with.
type cli struct {
	in        io.Reader
	out, errs io.Writer
	environ   map[string]string
	now       func() time.Time
	terminal  bool // the output is one
	colour    bool // and it shows colours

	url, key, admin string // settings, as flags give them
	profile         string
	live, json      bool
	settled         bool // the settings are complete
}

func (c *cli) run(ctx context.Context, args []string) int {
	root := c.root()
	root.SetArgs(args)
	ran, err := root.ExecuteContextC(ctx)
	var wrong usage
	switch {
	case err == nil:
		return statusDone
	case errors.As(err, &wrong):
		c.fail(err, slices.Contains(args, "--json"), "Try: "+ran.CommandPath()+" --help")
		return statusUsage
	}
	c.fail(err, slices.Contains(args, "--json"), "")
	return statusFailed
}

// fail prints why a command did not do its work: a line for a person, or the API's error shape for a program.
func (c *cli) fail(err error, asJSON bool, advice string) {
	if !asJSON {
		fmt.Fprintf(c.errs, "causeway: %v\n", err)
		if advice != "" {
			fmt.Fprintln(c.errs, advice)
		}
		return
	}
	shape := refusal{Message: err.Error(), Code: "failed"}
	if wrong, ok := errors.AsType[usage](err); ok {
		shape = refusal{Message: wrong.text, Code: "usage"}
	} else if r, ok := errors.AsType[*refusal](err); ok {
		shape = *r
	}
	enc := json.NewEncoder(c.errs)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(map[string]refusal{"error": shape}) // strings and numbers always encode
}

// output keeps the first error of its writer.
type output struct {
	to  io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err //nolint:wrapcheck // the writer of another
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

// line prints one line for a person.
func (c *cli) line(format string, args ...any) { fmt.Fprintf(c.out, format+"\n", args...) }

// say prints progress for a person, apart from the results.
func (c *cli) say(format string, args ...any) { fmt.Fprintf(c.errs, format+"\n", args...) }
