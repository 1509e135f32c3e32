// Package stack is the benchmark's grip on a running instance: how to use it, how to stop and start its parts, and how
// much processor time each has used.
package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// verbTimeout bounds one call of the launcher.
const verbTimeout = 2 * time.Minute

// Process is one running part.
type Process struct {
	Name string
	PID  int
	Log  string
}

// Stack is one running instance.
type Stack struct {
	program string
	dir     string
	own     map[string]int // processes that the benchmark runs itself, by the name of the one they stand for

	BaseURL   string
	APIKey    string
	Superuser string            // PostgreSQL
	Databases map[string]string // service to the URL of its application role
}

// Open finds the instance that the environment names.
func Open(getenv func(string) string) (*Stack, error) {
	s := &Stack{
		program: getenv("CAUSEWAY_STACK"), dir: getenv("CAUSEWAY_STACK_DIR"), BaseURL: getenv("BASE_URL"), APIKey: getenv("API_KEY"),
		Superuser: getenv("CAUSEWAY_POSTGRES_URL"),
	}
	needed := map[string]string{
		"CAUSEWAY_STACK": s.program, "CAUSEWAY_STACK_DIR": s.dir, "BASE_URL": s.BaseURL, "API_KEY": s.APIKey, "CAUSEWAY_POSTGRES_URL": s.Superuser,
	}
	for _, name := range slices.Sorted(maps.Keys(needed)) {
		if needed[name] == "" {
			return nil, fmt.Errorf("%s is not set: run this as `make bench`", name)
		}
	}
	state, err := s.state()
	if err != nil {
		return nil, err
	}
	s.Databases = state.Databases
	return s, nil
}

type state struct {
	Databases map[string]string `json:"databases"`
	Processes []struct {
		Name string `json:"name"`
		Ref  struct {
			PID int `json:"pid"`
		} `json:"ref"`
		Spec struct {
			Path string   `json:"path"`
			Args []string `json:"args"`
			Env  []string `json:"env"`
			Log  string   `json:"log"`
		} `json:"spec"`
	} `json:"processes"`
}

func (s *Stack) state() (state, error) {
	var st state
	text, err := os.ReadFile(filepath.Join(s.dir, "state.json"))
	if err == nil {
		err = json.Unmarshal(text, &st)
	}
	if err != nil {
		return st, fmt.Errorf("reading the stack's state: %w", err)
	}
	return st, nil
}

// Processes lists what runs now; a process that was started again has another id.
func (s *Stack) Processes() ([]Process, error) {
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	all := make([]Process, len(st.Processes))
	for i, p := range st.Processes {
		all[i] = Process{Name: p.Name, PID: p.Ref.PID, Log: p.Spec.Log}
	}
	return all, nil
}

// Setting is a setting of a running process.
func (s *Stack) Setting(process, name string) (string, error) {
	st, err := s.state()
	if err != nil {
		return "", err
	}
	for _, p := range st.Processes {
		for _, setting := range p.Spec.Env {
			if value, ok := strings.CutPrefix(setting, name+"="); ok && p.Name == process {
				return value, nil
			}
		}
	}
	return "", fmt.Errorf("%s of %s is not known: start the stack with --split", name, process)
}

// Stop ends a process politely and Start starts it again and waits until it is ready.
func (s *Stack) Stop(ctx context.Context, name string) error { return s.call(ctx, "kill", name) }

// Start starts a stopped process as it was.
func (s *Stack) Start(ctx context.Context, name string) error { return s.call(ctx, "start", name) }

// BrokerConnections is how many connections the broker has.
func (s *Stack) BrokerConnections(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.program, "rabbitctl", "--dir", s.dir, "--", "--quiet", "list_connections", "--no-table-headers", "pid").Output()
	if err != nil {
		return 0, fmt.Errorf("listing the broker's connections: %w", err)
	}
	return len(strings.Fields(string(out))), nil
}

func (s *Stack) call(ctx context.Context, words ...string) error {
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, s.program, append(words, "--dir", s.dir)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stack %s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// CPU returns the seconds of processor time that each part has used so far, a server's children included, and our own
// under "client".
func (s *Stack) CPU() (map[string]float64, error) {
	all, err := s.Processes()
	if err != nil {
		return nil, err
	}
	times, err := allTimes()
	if err != nil {
		return nil, err
	}
	used := map[string]float64{"client": times[os.Getpid()].own}
	for _, p := range all {
		if t, ok := times[p.PID]; ok {
			used[p.Name] = t.own + t.children + living(times, p.PID)
		}
	}
	for name, pid := range s.own {
		used[name] = times[pid].own
	}
	return used, nil
}

// ticks is the kernel's unit of processor time; USER_HZ is 100 on every Linux that Go runs on.
const ticks = 100.0

type usage struct {
	parent   int
	own      float64
	children float64 // of children that have ended
}

func allTimes() (map[int]usage, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	times := make(map[int]usage, len(files))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has just ended
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			continue
		}
		if one, ok := parseStat(string(text)); ok {
			times[pid] = one
		}
	}
	return times, nil
}

// parseStat reads fields 4 and 14 to 17 of proc_pid_stat(5); the second field may hold anything, so reading starts
// behind its last bracket.
func parseStat(text string) (usage, bool) {
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) < 15 {
		return usage{}, false
	}
	number := func(field int) float64 {
		n, _ := strconv.ParseFloat(fields[field-3], 64) // the kernel writes digits
		return n
	}
	return usage{parent: int(number(4)), own: (number(14) + number(15)) / ticks, children: (number(16) + number(17)) / ticks}, true
}

// living sums the time of all living descendants.
func living(times map[int]usage, pid int) float64 {
	sum := 0.0
	for child, t := range times {
		if t.parent == pid {
			sum += t.own + t.children + living(times, child)
		}
	}
	return sum
}

// Database is the URL of a server, of its superuser, say, with the database of another URL.
func Database(server, of string) (string, error) {
	to, err := url.Parse(server)
	if err != nil {
		return "", errors.New("the server's URL cannot be read")
	}
	from, err := url.Parse(of)
	if err != nil {
		return "", errors.New("the database's URL cannot be read")
	}
	to.Path = from.Path
	return to.String(), nil
}

// Memory returns the megabytes (10^6 bytes) of main memory that each part occupies now. A server with children is
// counted with them, and what they share once.
func (s *Stack) Memory() (map[string]float64, error) {
	all, err := s.Processes()
	if err != nil {
		return nil, err
	}
	times, err := allTimes()
	if err != nil {
		return nil, err
	}
	used := map[string]float64{}
	for _, p := range all {
		if _, lives := times[p.PID]; lives {
			used[p.Name] = occupied(times, p.PID)
		}
	}
	for name, pid := range s.own {
		used[name] = occupied(times, pid)
	}
	return used, nil
}

func occupied(times map[int]usage, pid int) float64 {
	var all []int
	for child, t := range times {
		if t.parent == pid {
			all = append(all, child)
		}
	}
	if len(all) == 0 {
		return rollup(pid, "Rss:")
	}
	sum := rollup(pid, "Pss:")
	for len(all) > 0 {
		one := all[0]
		all = all[1:]
		sum += rollup(one, "Pss:")
		for child, t := range times {
			if t.parent == one {
				all = append(all, child)
			}
		}
	}
	return sum
}

// rollup reads a line of proc_pid_smaps(5)'s sum, in kilobytes there and megabytes here; 0 of a process that has just
// ended.
func rollup(pid int, name string) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "smaps_rollup"))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			kilobytes, _ := strconv.ParseFloat(fields[1], 64) // the kernel writes digits
			return kilobytes * 1024 / 1e6
		}
	}
	return 0
}
