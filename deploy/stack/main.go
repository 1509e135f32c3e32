// Command stack runs the whole product on one machine: PostgreSQL and RabbitMQ (lent by the environment, private copies
// of the installed programs, or installed first), the five services, and a merchant to use them with. The Makefile's
// run, up, down, test, bench and chaos are its verbs. It imports nothing of the product: like any user, it sees HTTP
// only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/product"
	"causeway.internal/deploy/stack/internal/progress"
)

const usage = `usage: stack VERB [flags]

  run                 bring everything up, walk one payment, stay until ctrl-C
  up                  bring everything up in the background
  down                stop everything
  status              say what runs
  test                bring everything up in .stack/test, run the test tiers, stop everything
  exec -- COMMAND     bring everything up, run a command with its environment, stop everything
  kill PROCESS [-9]   stop one process, politely or not
  start PROCESS       start it again as it was, this once with the settings of --env, from now on with the program in --bin
                      if that is given; a paused one goes on
  migrate             migrate the databases with the programs in --bin, beside whatever runs, and give broker users their rights
  pause PROCESS       freeze one process (SIGSTOP)
  resume PROCESS      let it go on (SIGCONT)
  do PROCESS -- WORDS run the process's program with its settings and other words: do payments -- dead list
  promote PROCESS     make PostgreSQL's standby the primary in place of one that has ended, which stays fenced
  rewind PROCESS      make the fenced one a standby (pg_rewind), which start starts
  rabbitctl -- WORDS  run rabbitmqctl on the private RabbitMQ; rabbitctl PROCESS -- WORDS on one node of it

flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	var code exitCode
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Fprintf(os.Stderr, "stack: %v\n", err)
		if log, tail := infra.ExplainedBy(err, 30); log != "" {
			progress.New(os.Stderr).Quote("last lines of "+log, tail)
		}
		os.Exit(1)
	}
}

// exitCode ends the launcher with a child's exit code and without a word more.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// settings collects --env NAME=value.
type settings map[string]string

func (s settings) String() string { return fmt.Sprint(map[string]string(s)) }

func (s settings) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("want NAME=value or service:NAME=value")
	}
	s[name] = value
	return nil
}

// arguments are the command line.
type arguments struct {
	dir     string
	bin     string
	json    bool
	keep    bool
	force   bool
	split   bool
	infra   bool
	private bool
	proxied bool
	standby bool
	cluster bool
	moved   bool // --bin was given
	long    bool
	earlier bool
	copies  int
	shards  int
	env     settings
	words   []string // what is not a flag
	remain  []string // what follows --
}

func parse(verb string, args []string, errs io.Writer) (arguments, error) {
	a := arguments{env: settings{}}
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Usage = func() {
		fmt.Fprint(errs, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&a.dir, "dir", ".stack", "directory of the instance")
	flags.Func("bin", "`directory` of the services' binaries (default: where this program lies)", func(dir string) error {
		a.bin, a.moved = dir, true
		return nil
	})
	flags.BoolVar(&a.json, "json", false, "print the result as JSON; progress goes to standard error")
	flags.BoolVar(&a.keep, "keep", false, "run, up: go on with the data of the last time that ran with --keep, and keep it")
	flags.BoolVar(&a.force, "9", false, "kill: with SIGKILL")
	flags.BoolVar(&a.split, "split", false, "up, exec: run every service as two processes, NAME-serve and NAME-work")
	flags.BoolVar(&a.infra, "infra", false, "up, exec: PostgreSQL and RabbitMQ only")
	flags.BoolVar(&a.private, "private", false, "up, exec: start private servers even if the environment lends some")
	flags.BoolVar(&a.proxied, "toxic", false, "up, exec: put a proxy between the services and their servers that chaos can poison")
	flags.BoolVar(&a.standby, "standby", false, "up, exec: PostgreSQL as a primary and a synchronous standby (postgres-2); the services' URLs name both")
	flags.BoolVar(&a.cluster, "cluster", false, "up, exec: RabbitMQ as three nodes (rabbitmq, rabbitmq-2, rabbitmq-3) behind one address, as behind a Service")
	flags.BoolVar(&a.long, "long", false, "test: also the broad and slow tests, which carry the build tag long")
	flags.BoolVar(&a.earlier, "earlier-rights", false, "up, exec, migrate: broker users may do what binaries from before v0.1.0 need, which declare their queues themselves")
	flags.IntVar(&a.copies, "replicas", 1, "up, exec: run so many of every process; the second is NAME-2")
	flags.IntVar(&a.shards, "shards", 1, "up, exec: run payments, wallets and callback-dispatcher for so many shards; those of the second are NAME-k2")
	flags.Var(a.env, "env", "up, exec, run: NAME=value for every service, or service:NAME=value for one (repeatable); start: NAME=value")
	for i, arg := range args {
		if arg == "--" {
			args, a.remain = args[:i], args[i+1:]
			break
		}
	}
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return a, err
		}
		if args = flags.Args(); len(args) > 0 {
			a.words, args = append(a.words, args[0]), args[1:]
		}
	}
	if a.copies < 1 || a.copies > copiesMax {
		return a, fmt.Errorf("--replicas is 1 to %d", copiesMax)
	}
	if a.shards < 1 || a.shards > product.ShardsMax {
		return a, fmt.Errorf("--shards is 1 to %d", product.ShardsMax)
	}
	if (a.standby || a.cluster) && a.keep {
		return a, errors.New("--standby and --cluster keep no data: who led is not remembered")
	}
	if a.standby && a.proxied {
		return a, errors.New("--toxic puts a proxy before one PostgreSQL, not before the two of --standby")
	}
	return a, a.locate()
}

// copiesMax keeps the connections of all processes below what the private PostgreSQL grants.
const copiesMax = 2

// locate makes the paths absolute.
func (a *arguments) locate() error {
	if a.bin == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
		a.bin = filepath.Dir(self)
	}
	var err error
	if a.bin, err = filepath.Abs(a.bin); err != nil {
		return fmt.Errorf("find the binaries: %w", err)
	}
	if a.dir, err = filepath.Abs(a.dir); err != nil {
		return fmt.Errorf("find the directory: %w", err)
	}
	return nil
}

func run(ctx context.Context, args, environ []string, out, errs io.Writer) error {
	verb := "help"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	if verb == "help" || verb == "-h" || verb == "--help" {
		_, err := parse(verb, []string{"-h"}, out)
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	a, err := parse(verb, args, errs)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if verb == "test" && !given(args, "dir") {
		a.dir = filepath.Join(a.dir, "test")
	}
	l := newLauncher(verb, a, environ, out, errs)
	switch verb {
	case "run":
		return l.run(ctx)
	case "up":
		return l.up(ctx)
	case "down":
		return l.down(ctx)
	case "status":
		return l.status()
	case "test":
		return l.test(ctx)
	case "exec":
		return l.exec(ctx)
	case "kill":
		return l.kill()
	case "start":
		return l.start(ctx)
	case "migrate":
		return l.product().Migrate(ctx)
	case "pause":
		return l.signal(syscall.SIGSTOP)
	case "resume":
		return l.signal(syscall.SIGCONT)
	case "do":
		return l.do(ctx)
	case "promote":
		return l.onOne(func(name string) error { return l.servers().Promote(ctx, name) })
	case "rewind":
		return l.onOne(func(name string) error { return l.servers().Rewind(ctx, name) })
	case "rabbitctl":
		return l.rabbitctl()
	case "toxic":
		return l.toxic(ctx)
	}
	return fmt.Errorf("unknown verb %q; `stack help` lists them", verb)
}

func given(args []string, name string) bool {
	for _, arg := range args {
		arg, _, _ = strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg == name {
			return true
		}
	}
	return false
}
