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
	"causeway.internal/deploy/chaos/internal/livenet"
	"causeway.internal/deploy/chaos/internal/load"
	"causeway.internal/deploy/chaos/internal/stack"
)

// errGuilty says that the auditor found something; it has been printed.
var errGuilty = errors.New("the audit found faults")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	verb, args := run, os.Args[1:]
	if len(args) > 0 && args[0] == "live" {
		verb, args = runLive, args[1:]
	}
	err := verb(ctx, args, os.Getenv, os.Stdout)
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
	networks string
	liveRate float64
	lookout  lookout
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.DurationVar(&o.duration, "duration", 10*time.Minute, "how long to make trouble, shared by the scenarios")
	flags.DurationVar(&o.patience, "patience", 3*time.Minute, "how long to wait for the last payment afterwards while nothing changes; three times as long at most")
	flags.Uint64Var(&o.seed, "seed", 0, "of all random choices; 0 takes one from the clock and prints it")
	flags.StringVar(&o.scenario, "scenario", "mix", "which one, or several with commas between, or all for one after the other")
	flags.Float64Var(&o.rate, "rate", 8, "payments a second")
	flags.Float64Var(&o.refuse, "refuse", 0.03, "share of callbacks whose first attempt the merchant refuses")
	flags.IntVar(&o.cell, "cell", 0, "where in the table of steps to begin, to go on after a run that ended before the table did")
	flags.StringVar(&o.only, "databases", "", "which ones restore sets back, by service with commas between (default: all)")
	flags.IntVar(&o.margin, "margin", 100_000, "how many addresses of each family wallets passes over after a restore (RECOVERY_MARGIN)")
	flags.StringVar(&o.networks, "networks", "", "file of the live networks (the verb live makes it)")
	flags.Float64Var(&o.liveRate, "live-rate", 1, "payments a second on the live networks")
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
	if o.rate <= 0 || o.liveRate <= 0 || o.duration <= 0 {
		return o, errors.New("--rate, --live-rate and --duration must be positive")
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
	if o.networks != "" {
		if f.networks, err = livenet.Open(o.networks); err != nil {
			return err
		}
	}
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
	unbalanced, proofs, err := books{f.stack.BaseURL, f.stack.AdminToken, filepath.Dir(o.verdicts), f.networks}.keep(ctx)
	if err != nil {
		return fmt.Errorf("exporting the books: %w", err)
	}
	report.Faults, report.Proofs = append(report.Faults, unbalanced...), append(report.Proofs, proofs...)
	printReport(out, report, f, retries, o, time.Since(began))
	if !report.Clean() {
		return errGuilty
	}
	return nil
}

// party is a merchant with its payers and its receiver.
type party struct {
	merchant load.Merchant
	receiver *load.Receiver
	work     *load.Load
}

// begin makes a merchant of a mode and starts its load.
func begin(ctx context.Context, o options, f *field, mode string, cfg load.Config) (party, error) {
	merchant, err := load.NewMerchant(ctx, f.stack.BaseURL, f.stack.AdminToken, mode, fmt.Sprintf("chaos-%s-%x", mode, time.Now().UnixNano()))
	if err != nil {
		return party{}, err
	}
	receiver, err := load.Listen(merchant.WebhookSecret, o.seed, o.refuse)
	if err != nil {
		return party{}, err
	}
	cfg.Gateways, cfg.APIKey, cfg.Callback, cfg.Seed, cfg.Run = f.stack.Gateways, merchant.APIKey, receiver.URL, o.seed, merchant.ID
	if cfg.Withdraws {
		cfg.Stray = f.strays(mode)
		if cfg.Operators, err = f.twoOperators(ctx, mode); err != nil {
			return party{merchant, receiver, nil}, err
		}
	}
	work, err := load.Start(ctx, cfg)
	return party{merchant, receiver, work}, err
}

// parties are the merchant of test mode and, if networks are live, one of live mode.
func parties(ctx context.Context, o options, f *field, plain bool) ([]party, error) {
	first, err := begin(ctx, o, f, "test", load.Config{Rate: o.rate, Plain: plain, Withdraws: !plain, Strays: strayPairs, Books: load.Books})
	if err != nil || f.networks == nil {
		return []party{first}, err
	}
	if err := f.furnish(ctx); err != nil {
		return []party{first}, err
	}
	cfg := f.live()
	cfg.Rate, cfg.Withdraws = o.liveRate, !plain
	second, err := begin(ctx, o, f, "live", cfg)
	return []party{first, second}, err
}

// trouble runs the scenarios under load, puts everything back up and waits for the last payment.
func trouble(ctx context.Context, o options, f *field, chosen []scenario) (audit.Evidence, int64, error) {
	evidence := audit.Evidence{Databases: f.stack.Superuser, AMQPAPI: f.stack.AMQPAPI, Vhost: f.stack.Vhost, Live: f.networks}
	all, err := parties(ctx, o, f, slices.ContainsFunc(chosen, func(s scenario) bool { return s.plain }))
	defer func() {
		for _, p := range all {
			if p.receiver != nil {
				_ = p.receiver.Close() // the run has ended
			}
		}
	}()
	if err != nil {
		return evidence, 0, err
	}
	f.receiver, f.merchant, f.asked = all[0].receiver, all[0].merchant, all[0].work.Payments
	err = play(ctx, o, f, chosen)
	f.say("starting what is down, letting the load run out")
	ended, endedErr := f.stack.Ended()
	for _, name := range ended {
		f.fault("%s ended by itself", name)
	}
	err = errors.Join(err, endedErr, f.stack.StartAll(context.WithoutCancel(ctx)))
	var retries int64
	for _, p := range all {
		p.work.Stop()
		retries += p.work.Retries()
		evidence.Merchants, evidence.Asked = append(evidence.Merchants, p.merchant.ID), append(evidence.Asked, p.work.Payments()...)
		evidence.Outgoing.Add(p.work.Outgoing())
	}
	if err != nil || ctx.Err() != nil {
		return evidence, 0, errors.Join(err, ctx.Err())
	}
	evidence.Restores = f.restores
	f.say("%d payments asked for; waiting for the last of them", len(evidence.Asked))
	received := func() (every []load.Delivery) {
		for _, p := range all {
			every = append(every, p.receiver.Deliveries()...)
		}
		return every
	}
	if waiting, err := audit.Settled(ctx, o.patience, evidence, received); waiting != "" {
		f.say("gave up waiting: %s (%v)", waiting, err)
	}
	evidence.Received = received()
	for _, p := range all {
		listed, withdrawals, err := load.Events(ctx, f.stack.BaseURL, p.merchant.APIKey)
		if err != nil {
			return evidence, retries, err
		}
		evidence.Listed, evidence.ListedOut = append(evidence.Listed, listed...), append(evidence.ListedOut, withdrawals...)
	}
	return evidence, retries, ctx.Err()
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
