package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// figure is one figure of a Go benchmark of a service, against a bar that is written down: the yardstick is a number
// here and not a program. Benchmarks count in their own units; of turns them into a rate, of which more is better.
type figure struct {
	dir, pattern, name, unit string  // the package, what to run in it, and the line and unit of its output
	times                    string  // -benchtime
	bar                      float64 // as a rate
	of                       func(value float64) float64
}

// perSecond turns milliseconds an operation into operations a second.
func perSecond(ms float64) float64 { return 1000 / ms }

const wallets = "./services/wallets"

// Addresses of a figure that is the time or the memory of all of them.
const (
	million        = 1_000_000
	hundredMillion = 100 * million
)

func setMemory() figure {
	return figure{wallets + "/internal/scanner", "WatchMillion", "BenchmarkWatchMillion", "MB", "3x", million / 60, func(mb float64) float64 { return million / mb }}
}

func setLoad() figure {
	return figure{wallets + "/internal/scanner", "WatchMillion", "BenchmarkWatchMillion", "ns/op", "3x", million / 1, func(ns float64) float64 { return million / (ns / 1e9) }}
}

func setLoadDatabase() figure {
	return figure{wallets + "/internal/network", "^BenchmarkMillion$", "BenchmarkMillion", "load-ms", "100x", million / 10, func(ms float64) float64 { return million / (ms / 1e3) }}
}

func startMemory() figure {
	return figure{wallets + "/internal/network", "^BenchmarkHundredMillion$", "BenchmarkHundredMillion", "MB", "1x", hundredMillion / 1024, func(mb float64) float64 { return hundredMillion / mb }}
}

func startTime() figure {
	return figure{wallets + "/internal/network", "^BenchmarkHundredMillion$", "BenchmarkHundredMillion", "start-ms", "1x", hundredMillion / 30, func(ms float64) float64 { return hundredMillion / (ms / 1e3) }}
}

func startGrowth() figure {
	return figure{wallets + "/internal/network", "^BenchmarkHundredMillion$", "BenchmarkHundredMillion", "grown-MB", "1x", hundredMillion * 5 / 4 / 1024, func(mb float64) float64 { return hundredMillion * 5 / 4 / mb }}
}

func found() figure {
	return figure{wallets + "/internal/network", "^BenchmarkMillion$", "BenchmarkMillion", "found-ms-p99", "100x", perSecond(250), perSecond}
}

func blockCPU() figure {
	return figure{wallets + "/internal/chain/evm", "Block$", "BenchmarkBlock", "cpu-ms/op", "200x", perSecond(8), perSecond}
}

func carry() figure {
	return figure{"./libs/bus", "Carry", "BenchmarkCarry/outbox", "msgs/s", "20000x", 0, func(rate float64) float64 { return rate }}
}

func derive(family string) figure {
	return figure{wallets + "/internal/derivation", "Derive/" + family + "$", "BenchmarkDerive/" + family, "cpu-ms/op", "20480x", 20_000, perSecond}
}

// against makes a figure a row. The benchmark runs once for each round; rows that read different figures off one
// benchmark share its runs.
func against(f figure) func(context.Context, *bench) (measure, error) {
	return func(ctx context.Context, b *bench) (measure, error) {
		root, err := workspace(ctx)
		if err != nil {
			return measure{}, err
		}
		binary, err := realchain(ctx, root)
		if err != nil {
			return measure{}, err
		}
		return measure{
			ours:      f.rounds(b, root, binary),
			yardstick: func(context.Context, time.Duration) (side, error) { return side{PerSec: f.bar}, nil },
			close:     func(context.Context) error { return nil },
		}, nil
	}
}

// versus makes two figures of one benchmark a row: ours is that of f, the yardstick that of another line with the same
// unit.
func versus(f figure, other string) func(context.Context, *bench) (measure, error) {
	ours, yardstick := f, f
	yardstick.name = other
	return func(ctx context.Context, b *bench) (measure, error) {
		root, err := workspace(ctx)
		return measure{ours: ours.rounds(b, root, ""), yardstick: yardstick.rounds(b, root, ""), close: func(context.Context) error { return nil }}, err
	}
}

// rounds gives the figure of one run of the benchmark after the other, and its processor time where it tells it.
func (f figure) rounds(b *bench, root, binary string) func(context.Context, time.Duration) (side, error) {
	round := -1 // the warm-up: the benchmark warms itself
	return func(ctx context.Context, _ time.Duration) (side, error) {
		if round++; round == 0 {
			return side{}, nil
		}
		out, err := b.outputs.of(f.dir+" "+f.pattern, round, func() ([]byte, error) { return f.run(ctx, root, binary) })
		if err != nil {
			return side{}, err
		}
		value, ok := metric(out, f.name, f.unit)
		if !ok {
			return side{}, fmt.Errorf("%s says nothing of %s:\n%s", f.name, f.unit, out)
		}
		s := side{PerSec: f.of(value)}
		if cpu, ok := metric(out, f.name, "cpu-ms/op"); ok {
			s.CPU = map[string]float64{"benchmark": cpu}
		}
		return s, nil
	}
}

// outputs are what benchmarks printed, by benchmark and round.
type outputs map[string]map[int][]byte

func (o outputs) of(name string, round int, run func() ([]byte, error)) ([]byte, error) {
	if out, known := o[name][round]; known {
		return out, nil
	}
	out, err := run()
	if err != nil {
		return nil, err
	}
	if o[name] == nil {
		o[name] = map[int][]byte{}
	}
	o[name][round] = out
	return out, nil
}

func (f figure) run(ctx context.Context, root, binary string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-tags", "integration", "-run", "^$", "-bench", f.pattern, "-benchtime", f.times, "-count", "1", f.dir) //nolint:gosec // ours
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CAUSEWAY_REALCHAIN="+binary)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return out, nil
}

// metric finds a unit in the line of a benchmark.
func metric(out []byte, name, unit string) (float64, bool) {
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) == 0 || (fields[0] != name && !strings.HasPrefix(fields[0], name+"-")) {
			continue
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if fields[i+1] != unit {
				continue
			}
			value, err := strconv.ParseFloat(fields[i], 64)
			return value, err == nil && value > 0
		}
	}
	return 0, false
}

// workspace is the directory of go.work.
func workspace(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	file := strings.TrimSpace(string(out))
	if err == nil && file == "" {
		err = errors.New("no go.work here")
	}
	if err != nil {
		return "", fmt.Errorf("finding the workspace: %w", err)
	}
	return filepath.Dir(file), nil
}

// realchain builds the chains' nodes for the benchmarks that want one.
func realchain(ctx context.Context, root string) (string, error) {
	dir := filepath.Join(root, "deploy", "realchain")
	cmd := exec.CommandContext(ctx, "go", "build", "-C", dir, "-o", filepath.Join(dir, "bin")+"/", ".") //nolint:gosec // ours
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the chains' nodes: %w\n%s", err, out)
	}
	return filepath.Join(dir, "bin", "realchain"), nil
}
