// Command bench measures the product against yardsticks that run on the same machine in the same minutes: `make bench`.
// It prints a table and, for later comparison, JSON.
package main

import (
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
	Rounds  int       `json:"rounds"`
	Seconds float64   `json:"secondsPerSide"`
	Rows    []result  `json:"rows"`
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
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	rounds := flags.Int("rounds", 5, "how often the two sides of a row take turns")
	length := flags.Duration("length", 6*time.Second, "length of one side of a round")
	only := flags.String("row", "", "measure the rows whose name begins with this")
	path := flags.String("json", "", "file for the result as JSON (default: bench.json in the stack's directory)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *rounds < 1 || *length < time.Second {
		return errors.New("--rounds must be at least 1 and --length at least 1s")
	}
	st, err := stack.Open(getenv)
	if err != nil {
		return err
	}
	if *path == "" {
		*path = filepath.Join(getenv("CAUSEWAY_STACK_DIR"), "bench.json")
	}
	b := &bench{stack: st, outputs: outputs{}, say: func(format string, args ...any) { fmt.Fprintf(out, format+"\n", args...) }}
	rep := report{At: time.Now().UTC(), Machine: machine(), Rounds: *rounds, Seconds: length.Seconds()}
	met := true
	for _, r := range rows {
		if !strings.HasPrefix(r.name, *only) {
			continue
		}
		one, err := b.run(ctx, r, *rounds, *length)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		rep.Rows, met = append(rep.Rows, one), met && one.Met
	}
	text, err := json.MarshalIndent(rep, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(*path, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing the result: %w", err)
	}
	table(out, rep)
	fmt.Fprintf(out, "\nresult as JSON: %s\n", *path)
	if !met {
		return errShort
	}
	return nil
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

func table(out io.Writer, rep report) {
	fmt.Fprintf(out, "\n%s; %d rounds of %gs a side, medians\n\n", rep.Machine, rep.Rounds, rep.Seconds)
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "row\tours/s\tyardstick/s\tratio\tspread\ttarget\tp50 ms\tp99 ms\tCPU ms per operation")
	for _, r := range rep.Rows {
		word := "met"
		if !r.Met {
			word = "MISSED"
		}
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.3f\t%.3f-%.3f\t%.2f %s\t%.1f\t%.1f\t%s\n", r.Name,
			medianOf(r.Ours, func(s side) float64 { return s.PerSec }), medianOf(r.Yardstick, func(s side) float64 { return s.PerSec }),
			r.Ratio, r.Least, r.Most, r.Target, word,
			medianOf(r.Ours, func(s side) float64 { return s.P50 }), medianOf(r.Ours, func(s side) float64 { return s.P99 }), cpu(r.Ours))
	}
	w.Flush()
	for _, r := range rep.Rows {
		fmt.Fprintf(out, "\n%s: %s\n", r.Name, r.About)
	}
}

func medianOf(sides []side, value func(side) float64) float64 {
	values := make([]float64, len(sides))
	for i, s := range sides {
		values[i] = value(s)
	}
	return median(values)
}

// cpu lists the processes by what an operation costs each, the dearest first.
func cpu(sides []side) string {
	per := map[string]float64{}
	for _, s := range sides {
		for name := range s.CPU {
			per[name] = medianOf(sides, func(s side) float64 { return s.CPU[name] })
		}
	}
	names := slices.SortedFunc(maps.Keys(per), func(a, b string) int {
		if per[a] > per[b] {
			return -1
		}
		return 1
	})
	var parts []string
	for _, name := range names {
		if per[name] >= 0.005 {
			parts = append(parts, fmt.Sprintf("%s %.2f", name, per[name]))
		}
	}
	return strings.Join(parts, ", ")
}
