// Package tier runs `go test` and reads its machine-readable output: package lines as they come, the output of what
// fails and of nothing else, and counts, so that a skipped test cannot pass unseen.
package tier

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/deploy/stack/internal/progress"
)

// Tier is one call of `go test` with the time it may take by docs/architecture.md#running-and-testing.
type Tier struct {
	Name    string
	Budget  time.Duration
	Args    []string // flags and packages
	Dir     string
	Environ []string
	Product bool // it asks a running product
}

// Result counts what ran.
type Result struct {
	Name     string
	Budget   time.Duration
	Took     time.Duration
	Packages int
	Passed   int
	Failed   []string // tests, and packages that did not build or end
	Skipped  []string
	Slowest  []Timed // tests that are no part of another, the slowest first
}

// Timed is a test with the time that it took, without the time that it waited for its turn.
type Timed struct {
	Test string
	Took time.Duration
}

const slowestMax = 5

// OK says whether everything ran and passed.
func (r Result) OK() bool { return len(r.Failed) == 0 && len(r.Skipped) == 0 }

// Line is one line for a person.
func (r Result) Line() string {
	word := "ok  "
	if !r.OK() {
		word = "FAIL"
	}
	line := fmt.Sprintf("%s %-20s %3d packages, %4d tests passed, %d failed, %d skipped in %s",
		word, r.Name, r.Packages, r.Passed, len(r.Failed), len(r.Skipped), progress.Took(r.Took))
	if r.Budget == 0 {
		return line
	}
	line += " (budget " + progress.Took(r.Budget)
	if r.Took > r.Budget {
		line += ", over it by " + progress.Took(r.Took-r.Budget)
	}
	return line + ")"
}

// Run runs the tier. An error means that it could not be run; failed tests are in the result.
func Run(ctx context.Context, t Tier, out io.Writer) (Result, error) {
	cmd := Command(ctx, t.Dir, t.Environ, "go", append([]string{"test", "-json"}, t.Args...)...)
	cmd.Stderr = out
	lines, err := cmd.StdoutPipe()
	if err != nil {
		return Result{}, fmt.Errorf("read the output of go test: %w", err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("run go test: %w", err)
	}
	r := newReader(out)
	readErr := r.read(lines)
	err = cmd.Wait()
	r.result.Name, r.result.Budget, r.result.Took = t.Name, t.Budget, time.Since(began)
	if ctx.Err() != nil {
		return r.result, ctx.Err()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); exited && len(r.result.Failed) == 0 {
		r.result.Failed = append(r.result.Failed, "go test: "+err.Error())
		err = nil
	} else if exited {
		err = nil
	}
	return r.result, errors.Join(readErr, err)
}

// Command makes a command in a process group of its own which is interrupted, and then killed, as a whole: `go test`
// and `go run` have children that would outlive them.
func Command(ctx context.Context, dir string, environ []string, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		pid := cmd.Process.Pid
		time.AfterFunc(10*time.Second, func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
		return syscall.Kill(-pid, syscall.SIGTERM)
	}
	cmd.WaitDelay = 15 * time.Second
	return cmd
}

// event is one line of `go test -json` (go doc test2json).
type event struct {
	Action      string
	Package     string
	ImportPath  string // of a build event
	Test        string
	Output      string
	FailedBuild string
	Elapsed     float64 // seconds
}

const keepBytes = 256 << 10

// reader follows the events of one run.
type reader struct {
	out    io.Writer
	text   map[string]*strings.Builder // output by package and test, of builds by import path
	result Result
}

func newReader(out io.Writer) *reader {
	return &reader{out: out, text: map[string]*strings.Builder{}}
}

func (r *reader) read(lines io.Reader) error {
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 4<<20)
	for scanner.Scan() {
		var e event
		if json.Unmarshal(scanner.Bytes(), &e) != nil || e.Action == "" {
			fmt.Fprintf(r.out, "%s\n", scanner.Bytes())
			continue
		}
		r.see(e)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("read the output of go test: %w", err)
	}
	return nil
}

func (r *reader) see(e event) {
	name := strings.TrimPrefix(e.Package+"."+e.Test, ".")
	switch e.Action {
	case "output":
		r.keep(name, e.Output)
	case "build-output":
		r.keep(e.ImportPath, e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e, name)
		}
	}
}

func (r *reader) keep(name, output string) {
	text := r.text[name]
	if text == nil {
		text = &strings.Builder{}
		r.text[name] = text
	}
	if text.Len() < keepBytes {
		text.WriteString(output)
	}
}

func (r *reader) endTest(e event, name string) {
	switch e.Action {
	case "pass":
		r.result.Passed++
	case "fail":
		r.result.Failed = append(r.result.Failed, name)
		r.print(name)
	case "skip":
		r.result.Skipped = append(r.result.Skipped, name)
		r.print(name)
	}
	delete(r.text, name)
	if !strings.Contains(e.Test, "/") {
		r.time(Timed{name, time.Duration(e.Elapsed * float64(time.Second))})
	}
}

func (r *reader) time(t Timed) {
	slowest := append(r.result.Slowest, t)
	slices.SortStableFunc(slowest, func(a, b Timed) int { return cmp.Compare(b.Took, a.Took) })
	r.result.Slowest = slowest[:min(len(slowest), slowestMax)]
}

func (r *reader) endPackage(e event) {
	name := e.Package + "."
	defer delete(r.text, name)
	if e.Action == "fail" {
		r.result.Packages++
		if e.FailedBuild != "" {
			r.print(e.FailedBuild)
		}
		r.print(name)
		r.result.Failed = append(r.result.Failed, e.Package)
		return
	}
	if e.Action == "skip" { // no test files
		return
	}
	r.result.Packages++
	if text := r.text[name]; text != nil {
		for line := range strings.SplitSeq(text.String(), "\n") {
			if strings.HasPrefix(line, "ok ") {
				fmt.Fprintln(r.out, line)
			}
		}
	}
}

func (r *reader) print(name string) {
	if text := r.text[name]; text != nil {
		fmt.Fprint(r.out, text.String())
	}
}
