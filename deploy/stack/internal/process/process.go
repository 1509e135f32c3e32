// Package process starts, recognises and stops the processes of a stack. It identifies a process by its id together
// with its start time, so that it never takes a recycled id for a process of the stack and never signals a foreign one.
// It knows nothing of the processes' work.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Ref names one process for ever: its id, the clock tick since boot at which it started, and the boot.
type Ref struct {
	PID     int    `json:"pid"`
	Started uint64 `json:"started"`
	Boot    string `json:"boot"`
}

// Spec is all that is needed to start a process, and to start it again after a crash.
type Spec struct {
	Path string   `json:"path"`
	Args []string `json:"args,omitempty"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"`
	Log  string   `json:"log"`
	User *User    `json:"user,omitempty"` // nil: the user who runs the launcher
}

// Setting is the value of a variable of the environment, "" without it.
func (s Spec) Setting(name string) string {
	for _, pair := range s.Env {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}
	return ""
}

// errGone says that /proc has no such process.
var errGone = errors.New("no such process")

// Start starts a process in a session of its own, so that a terminal's ctrl-C reaches the launcher only. Its output is
// appended to the log file.
func Start(spec Spec) (Ref, error) {
	//nolint:gosec // the directory is closed to others
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return Ref{}, fmt.Errorf("open the log: %w", err)
	}
	defer log.Close() //nolint:errcheck // the process has its own
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Env, cmd.Dir = spec.Env, spec.Dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: spec.User.credential()}
	if err := cmd.Start(); err != nil {
		return Ref{}, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	ref, err := Identify(cmd.Process.Pid)
	go func() { _ = cmd.Wait() }() // reaps it; whether it lives is always read from /proc
	if errors.Is(err, errGone) {
		return Ref{}, fmt.Errorf("%s ended at once", spec.Path)
	}
	return ref, err
}

// Identify returns the process that has an id now.
func Identify(pid int) (Ref, error) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ESRCH) {
		return Ref{}, errGone
	}
	if err != nil {
		return Ref{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	running, started, err := parseStat(string(stat))
	if err != nil {
		return Ref{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	if !running {
		return Ref{}, errGone
	}
	return Ref{PID: pid, Started: started, Boot: bootID()}, nil
}

// parseStat reads the state, the number of threads and the start time (fields 3, 20 and 22 of proc_pid_stat(5)). The
// second field is the program's name in brackets and may itself hold blanks and brackets, so reading starts behind the
// last bracket. The first thread of a killed process may be a zombie while others still end, and with them go its locks
// and sockets, so such a process still runs.
func parseStat(stat string) (running bool, started uint64, err error) {
	end := strings.LastIndexByte(stat, ')')
	if end < 0 {
		return false, 0, errors.New("unreadable stat line")
	}
	fields := strings.Fields(stat[end+1:])
	if len(fields) < 20 {
		return false, 0, errors.New("short stat line")
	}
	started, err = strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return false, 0, fmt.Errorf("read the start time: %w", err)
	}
	return fields[0] != "X" && (fields[0] != "Z" || fields[17] > "1"), started, nil
}

func bootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// Alive says whether this very process still runs; a zombie does not.
func (r Ref) Alive() bool {
	if r.PID <= 1 {
		return false
	}
	now, err := Identify(r.PID)
	return err == nil && now == r
}

// Signal sends a signal to the process if it is still the one that was started.
func (r Ref) Signal(sig syscall.Signal) error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(r.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal process %d: %w", r.PID, err)
	}
	return nil
}

// Kill ends the process and everything in its process group at once. The group is signalled only while its leader is
// known to be ours.
func (r Ref) Kill() error {
	if !r.Alive() {
		return nil
	}
	if err := syscall.Kill(-r.PID, syscall.SIGKILL); err == nil || errors.Is(err, syscall.ESRCH) {
		return nil
	}
	return r.Signal(syscall.SIGKILL)
}

// Gone waits until the process has ended and says whether it did so in time.
func (r Ref) Gone(within time.Duration) bool {
	for deadline := time.Now().Add(within); r.Alive(); {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(10 * time.Millisecond)
	}
	return true
}

// Stop asks with a signal, waits, and kills what does not listen. It says whether the process had to be killed.
func (r Ref) Stop(ask syscall.Signal, within time.Duration) (killed bool, err error) {
	if err := r.Signal(ask); err != nil {
		return false, err
	}
	if err := r.Signal(syscall.SIGCONT); err != nil { // a paused process hears nothing
		return false, err
	}
	if r.Gone(within) {
		return false, nil
	}
	if err := r.Kill(); err != nil {
		return true, err
	}
	if !r.Gone(10 * time.Second) {
		return true, fmt.Errorf("process %d does not end", r.PID)
	}
	return true, nil
}
