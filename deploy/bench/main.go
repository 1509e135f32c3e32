// Command bench measures the product against yardsticks that run on the same machine in the same minutes: `make bench`.
// It prints a table and, for later comparison, JSON.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"causeway.internal/deploy/bench/internal/stack"
)

// errShort says that a row missed its target; the table shows which.
var errShort = errors.New("a row is below its target")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// report is the JSON.
type report struct {
	At      time.Time `json:"at"`
	Machine string    `json:"machine"`
	Rows    []result  `json:"rows"`
}

// order is what was asked for.
type order struct {
	rounds int
	length time.Duration
	only   string
	path   string
	page   string
}

func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	if len(args) == 2 && args[0] == plainVerb {
		return servePlain(ctx, args[1], out)
	}
	if len(args) == 2 && args[0] == bareVerb {
		return serveBare(ctx, args[1], out)
	}
	if len(args) == 3 && args[0] == sinkVerb {
		return serveSink(ctx, args[1:], out)
	}
	var o order
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.IntVar(&o.rounds, "rounds", 3, "how often the two sides of a row take turns")
	flags.DurationVar(&o.length, "length", 4*time.Second, "length of one side of a round")
	flags.StringVar(&o.only, "row", "", "measure the rows whose name begins with this; the others in the JSON stay as they are")
	flags.StringVar(&o.path, "json", "", "file for the result as JSON (default: bench.json in the stack's directory, .stack/bench)")
	flags.StringVar(&o.page, "page", "", "measure nothing: write the figures of the JSON into this page, between its marks")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.path == "" {
		o.path = filepath.Join(cmp.Or(getenv("CAUSEWAY_STACK_DIR"), filepath.Join(".stack", "bench")), "bench.json")
	}
	if o.page != "" {
		return writePage(o.path, o.page)
	}
	if o.rounds < 1 || o.length < time.Second {
		return errors.New("--rounds must be at least 1 and --length at least 1s")
	}
	st, err := stack.Open(getenv)
	if err != nil {
		return err
	}
	b := &bench{stack: st, outputs: outputs{}, say: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }}
	return b.all(ctx, o, out)
}

// all measures the rows that were asked for, one after the other. One that cannot be measured says why and stops no
// other.
func (b *bench) all(ctx context.Context, o order, out io.Writer) error {
	rep := report{At: time.Now().UTC(), Machine: machine()}
	measured := map[string]result{}
	if o.only != "" {
		if old, err := readReport(o.path); err == nil && old.Machine == rep.Machine {
			for _, r := range old.Rows {
				measured[r.Name] = r
			}
		}
	}
	var now []result
	met := true
	for _, r := range rows {
		if !strings.HasPrefix(r.name, o.only) {
			continue
		}
		one, err := b.run(ctx, r, o.rounds, o.length)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			one.Failure, one.Met = err.Error(), false
			b.say("%s: %v", r.name, err)
		}
		measured[r.name], now, met = one, append(now, one), met && one.Met
		if err := rep.write(o.path, measured); err != nil { // after each row, because the next takes its time
			return err
		}
	}
	table(out, now)
	fmt.Fprintf(out, "\nresult as JSON: %s\n", o.path)
	if !met {
		return errShort
	}
	return nil
}

// write keeps the rows in the order of the table.
func (rep *report) write(path string, measured map[string]result) error {
	rep.Rows = rep.Rows[:0]
	for _, r := range rows {
		if one, ok := measured[r.name]; ok {
			rep.Rows = append(rep.Rows, one)
		}
	}
	text, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	return nil
}

func readReport(path string) (rep report, err error) {
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &rep)
	}
	if err != nil {
		return rep, fmt.Errorf("reading the result: %w", err)
	}
	return rep, nil
}

// machine names what the figures are of.
func machine() string {
	model := "unknown processor"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d x %s, %s/%s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

func table(out io.Writer, rows []result) {
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "\n"+strings.Join(heads, "\t"))
	for _, r := range rows {
		fmt.Fprintln(w, strings.Join(cells(r), "\t"))
	}
	_ = w.Flush() // a terminal that has gone away is no failure of the benchmark
	for _, r := range rows {
		fmt.Fprintf(out, "\n%s: %s\n", r.Name, r.About)
	}
}

// heads and cells are the columns of the table.
var heads = []string{"row", "ours/s", "yardstick/s", "ratio", "spread", "target", "p50 ms", "p99 ms", "CPU ms per operation"}

func cells(r result) []string {
	if r.Failure != "" {
		return []string{r.Name, "", "", "", "", "not measured", "", "", r.Failure}
	}
	ours := func(value func(side) float64) float64 { return medianOf(r.Ours, value) }
	return []string{
		r.Name, rate(ours(func(s side) float64 { return s.PerSec })), rate(medianOf(r.Yardstick, func(s side) float64 { return s.PerSec })),
		fmt.Sprintf("%.3f", r.Ratio), fmt.Sprintf("%.3f-%.3f", r.Least, r.Most), verdict(r),
		latencies(r, func(s side) float64 { return s.P50 }), latencies(r, func(s side) float64 { return s.P99 }), cpu(r),
	}
}

// latencies is a quantile of the product, in rows of latency beside the yardstick's.
func latencies(r result, quantile func(side) float64) string {
	ours := some(medianOf(r.Ours, quantile))
	if strings.HasPrefix(r.Name, latencyRows) {
		return ours + " against " + some(medianOf(r.Yardstick, quantile))
	}
	return ours
}

// rate keeps three digits of what is small.
func rate(perSecond float64) string {
	if perSecond >= 100 {
		return fmt.Sprintf("%.0f", perSecond)
	}
	return fmt.Sprintf("%.3g", perSecond)
}

func some(milliseconds float64) string {
	if milliseconds == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", milliseconds)
}

// verdict judges the ratio; what it costs is judged beside the costs.
func verdict(r result) string {
	switch {
	case r.Target == 0:
		return "none"
	case r.Ratio < r.Target:
		return fmt.Sprintf("%.2f MISSED", r.Target)
	case !r.Met:
		return fmt.Sprintf("%.2f met, CPU MISSED", r.Target)
	}
	return fmt.Sprintf("%.2f met", r.Target)
}

func medianOf(sides []side, value func(side) float64) float64 {
	values := make([]float64, len(sides))
	for i, s := range sides {
		values[i] = value(s)
	}
	return median(values)
}

// cpu lists the processes by what an operation costs each, the dearest first, and then the bars.
func cpu(r result) string {
	per := map[string]float64{}
	for _, s := range r.Ours {
		for name := range s.CPU {
			per[name] = medianOf(r.Ours, func(s side) float64 { return s.CPU[name] })
		}
	}
	names := slices.SortedFunc(maps.Keys(per), func(a, b string) int { return cmp.Or(cmp.Compare(per[b], per[a]), cmp.Compare(a, b)) })
	var parts []string
	for _, name := range names {
		if per[name] >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %.2f", name, per[name]))
		}
	}
	for _, c := range r.Costs {
		word := "met"
		if c.Ms > c.Most {
			word = "MISSED"
		}
		parts = append(parts, fmt.Sprintf("[%s in all %.2f of %.2f %s]", c.Process, c.Ms, c.Most, word))
	}
	return strings.Join(parts, ", ")
}
