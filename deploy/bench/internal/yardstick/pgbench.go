package yardstick

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

var placeholder = regexp.MustCompile(`\$(\d+)`)

// uniqueDigits is how many digits pgbench's random number has; that much is cut from a varying value to make room.
// At least prefixKept characters stay.
const (
	uniqueDigits = 15
	prefixKept   = 3
)

// Script renders the statement for pgbench with the arguments of its first execution, every one sent with every
// execution as the service does. Values that differed between executions get a random end, so that they stay unique;
// times and JSON stay as they are.
func (s Statement) Script() (script string, variables map[string]string) {
	variables = map[string]string{}
	body := placeholder.ReplaceAllStringFunc(s.SQL, func(mark string) string {
		n, _ := strconv.Atoi(mark[1:]) // the pattern matched digits
		value := s.Args[0][n-1]
		if value == nil {
			return "NULL"
		}
		if *value == "" {
			return "''" // pgbench takes no empty variable
		}
		name := "v" + strconv.Itoa(n)
		unique := s.varies(n - 1)
		switch {
		case unique && strings.HasPrefix(*value, `\x`) && len(*value) >= 2+16:
			variables[name] = (*value)[:len(*value)-16]
			return "(:" + name + "::bytea || int8send(:u))"
		case unique && !isTime(*value) && !strings.HasPrefix(*value, "{") && !strings.HasPrefix(*value, `\x`) && len(*value) > prefixKept:
			variables[name] = (*value)[:max(prefixKept, len(*value)-uniqueDigits)]
			return "(:" + name + "::text || :u::text)"
		default:
			variables[name] = *value
			return ":" + name
		}
	})
	return fmt.Sprintf("\\set u random(1%s, 9%s)\n%s;\n", strings.Repeat("0", uniqueDigits-1), strings.Repeat("9", uniqueDigits-1), body), variables
}

var timeStart = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:`)

func isTime(value string) bool { return timeStart.MatchString(value) }

// Result is what pgbench measured.
type Result struct {
	Done    int
	PerSec  float64
	Average time.Duration
}

// Run lets pgbench execute the statement from a number of clients for a while.
func (s Statement) Run(ctx context.Context, database string, clients int, length time.Duration) (Result, error) {
	program, err := find()
	if err != nil {
		return Result{}, err
	}
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary directory
	script, variables := s.Script()
	path := filepath.Join(dir, "statement.sql")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return Result{}, err
	}
	args := []string{
		"--no-vacuum", "--protocol=prepared", "--file=" + path, "--client=" + strconv.Itoa(clients), "--jobs=2",
		"--time=" + strconv.Itoa(int(length.Seconds())),
	}
	for name, value := range variables {
		args = append(args, "--define="+name+"="+value)
	}
	cmd := exec.CommandContext(ctx, program, append(args, database)...)
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return Result{}, fmt.Errorf("pgbench: %w: %.2000s", err, exit.Stderr)
		}
		return Result{}, fmt.Errorf("pgbench: %w", err)
	}
	return parseResult(string(out))
}

var (
	processed = regexp.MustCompile(`number of transactions actually processed: (\d+)`)
	perSecond = regexp.MustCompile(`tps = ([0-9.]+)`)
	average   = regexp.MustCompile(`latency average = ([0-9.]+) ms`)
)

func parseResult(out string) (Result, error) {
	var numbers [3]float64
	for i, pattern := range []*regexp.Regexp{processed, perSecond, average} {
		match := pattern.FindStringSubmatch(out)
		if match == nil {
			return Result{}, fmt.Errorf("pgbench printed no result: %.500s", out)
		}
		numbers[i], _ = strconv.ParseFloat(match[1], 64) // the pattern matched a number
	}
	return Result{Done: int(numbers[0]), PerSec: numbers[1], Average: time.Duration(numbers[2] * float64(time.Millisecond))}, nil
}

// find takes pgbench from the path or from Debian's place for it, the newest.
func find() (string, error) {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path, nil
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		return "", errors.New("pgbench is not installed: apt-get install postgresql-contrib")
	}
	return slices.Max(found), nil
}
