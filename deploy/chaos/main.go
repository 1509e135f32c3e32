// Command chaos makes trouble for a running stack under load and then audits what is left: `make chaos`. Load, auditor
// and report are common to all scenarios; it shares no code with the services and libs it judges.
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
	"slices"
	"syscall"
	"time"

	"causeway.internal/deploy/chaos/internal/audit"
	"causeway.internal/deploy/chaos/internal/load"
	"causeway.internal/deploy/chaos/internal/stack"
)

// errGuilty says that the auditor found something; it has been printed.
var errGuilty = errors.New("the audit found faults")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

// options are the command line.
type options struct {
	duration time.Duration
	patience time.Duration
	seed     uint64
	scenario string
	rate     float64
	refuse   float64
	cell     int
	verdicts string
	only     string
	newer    string
	margin   int
	lookout  lookout
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.DurationVar(&o.duration, "duration", 10*time.Minute, "how long to make trouble, shared by the scenarios")
	flags.DurationVar(&o.patience, "patience", 3*time.Minute, "how long to wait for the last payment afterwards")
	flags.Uint64Var(&o.seed, "seed", 0, "of all random choices; 0 takes one from the clock and prints it")
	flags.StringVar(&o.scenario, "scenario", "mix", "which one, or several with commas between, or all for one after the other")
	flags.Float64Var(&o.rate, "rate", 8, "payments a second")
	flags.Float64Var(&o.refuse, "refuse", 0.03, "share of callbacks whose first attempt the merchant refuses")
	flags.IntVar(&o.cell, "cell", 0, "where in the table of steps to begin, to go on after a run that ended before the table did")
	flags.StringVar(&o.only, "databases", "", "which ones restore sets back, by service with commas between (default: all)")
	flags.IntVar(&o.margin, "margin", 100_000, "how many addresses of each family wallets passes over after a restore (RECOVERY_MARGIN)")
	flags.StringVar(&o.lookout.program, "prometheus", "", "the program prometheus, for alerts (deploy/check/program prometheus prometheus prints its path)")
	flags.StringVar(&o.lookout.rules, "rules", "deploy/prometheus/rules", "directory of the rules, for alerts")
	flags.StringVar(&o.lookout.only, "breaks", "", "what alerts breaks, by name with commas between (default: everything)")
	flags.StringVar(&o.lookout.chain, "chain", "", "control URL of ethereum's node in live mode, for alerts, which breaks it")
	flags.IntVar(&o.lookout.node, "node", 0, "id of its process")
	flags.DurationVar(&o.lookout.longer, "longer", 25*time.Second, "how long alerts looks for those that nobody expects, after each break")
	flags.StringVar(&o.newer, "new", "", "directory of the binaries that upgrade goes to (make upgrade)")
	flags.StringVar(&o.verdicts, "verdicts", "", "file for the verdict of every payment (default: in the stack's directory)")
	flags.Usage = func() {
		fmt.Fprintln(out, "usage: chaos [flags]\n\nscenarios:")
		for _, s := range scenarios {
			fmt.Fprintf(out, "  %-12s %s\n", s.name, s.about)
		}
		flags.PrintDefaults()
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.rate <= 0 || o.duration <= 0 {
		return o, errors.New("--rate and --duration must be positive")
	}
	if o.cell < 0 || o.cell >= len(table()) {
		return o, fmt.Errorf("--cell is 0 to %d", len(table())-1)
	}
	if o.seed == 0 {
		o.seed = uint64(time.Now().UnixNano())
	}
	return o, nil
}

func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	chosen, err := choose(o.scenario)
	if err != nil {
		return err
	}
	st, err := stack.Open(getenv)
	if err != nil {
		return err
	}
	if o.verdicts == "" {
		o.verdicts = filepath.Join(getenv("CAUSEWAY_STACK_DIR"), "chaos-verdicts.txt")
	}
	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(out, "%7.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	f := newField(st, nil, o.seed, say)
	f.first, f.margin, f.newer, f.lookout = o.cell, o.margin, o.newer, o.lookout
	if f.databases, err = databases(o.only); err != nil {
		return err
	}
	say("seed %d, %s, %g payments a second", o.seed, o.duration, o.rate)
	evidence, retries, err := trouble(ctx, o, f, chosen)
	if err != nil {
		return err
	}
	report, err := audit.Judge(ctx, evidence)
	if err != nil {
		return fmt.Errorf("auditing: %w", err)
	}
	if err := writeVerdicts(o.verdicts, report); err != nil {
		return err
	}
	report.Faults = append(report.Faults, f.faults...)
	printReport(out, report, f, retries, o, time.Since(began))
	if !report.Clean() {
		return errGuilty
	}
	return nil
}

// trouble runs the scenarios under load, puts everything back up and waits for the last payment.
func trouble(ctx context.Context, o options, f *field, chosen []scenario) (audit.Evidence, int64, error) {
	merchant, err := load.NewMerchant(ctx, f.stack.BaseURL, f.stack.AdminToken, fmt.Sprintf("chaos-%x", time.Now().UnixNano()))
	if err != nil {
		return audit.Evidence{}, 0, err
	}
	receiver, err := load.Listen(merchant.WebhookSecret, o.seed, o.refuse)
	if err != nil {
		return audit.Evidence{}, 0, err
	}
	defer receiver.Close() //nolint:errcheck // the run has ended
	f.receiver, f.merchant = receiver, merchant
	evidence := audit.Evidence{Databases: f.stack.Superuser, AMQPAPI: f.stack.AMQPAPI, Vhost: f.stack.Vhost, Merchant: merchant.ID}
	work := load.Start(ctx, load.Config{
		Gateways: f.stack.Gateways, APIKey: merchant.APIKey, Callback: receiver.URL, Rate: o.rate, Seed: o.seed, Run: merchant.ID,
		Plain: slices.ContainsFunc(chosen, func(s scenario) bool { return s.plain }),
	})
	err = play(ctx, o, f, chosen)
	f.say("starting what is down, letting the load run out")
	ended, endedErr := f.stack.Ended()
	for _, name := range ended {
		f.fault("%s ended by itself", name)
	}
	err = errors.Join(err, endedErr, f.stack.StartAll(context.WithoutCancel(ctx)))
	work.Stop()
	if err != nil || ctx.Err() != nil {
		return evidence, 0, errors.Join(err, ctx.Err())
	}
	evidence.Asked, evidence.Restores = work.Payments(), f.restores
	f.say("%d payments asked for; waiting for the last of them", len(evidence.Asked))
	bound, cancel := context.WithTimeout(ctx, o.patience)
	defer cancel()
	if waiting, err := audit.Settled(bound, evidence, receiver.Deliveries); waiting != "" {
		f.say("gave up waiting: %s (%v)", waiting, err)
	}
	evidence.Received = receiver.Deliveries()
	evidence.Listed, err = load.Events(ctx, f.stack.BaseURL, merchant.APIKey)
	return evidence, work.Retries(), errors.Join(err, ctx.Err())
}

// play gives each scenario its share of the time.
func play(ctx context.Context, o options, f *field, chosen []scenario) error {
	for _, s := range chosen {
		f.say("scenario %s: %s", s.name, s.about)
		f.share = o.duration / time.Duration(len(chosen))
		bound, cancel := ctx, func() {}
		if !s.whole {
			bound, cancel = context.WithTimeout(ctx, f.share)
		}
		err := s.run(bound, f)
		cancel()
		if err != nil {
			return fmt.Errorf("scenario %s: %w", s.name, err)
		}
	}
	return nil
}
