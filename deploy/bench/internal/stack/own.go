package stack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Own is a process that the benchmark runs in the place of one of the launcher's, with other settings.
type Own struct {
	stack *Stack
	name  string
	cmd   *exec.Cmd
	ended chan error
}

// Replace runs the program of a stopped process in its place, at the same address, with settings of the benchmark's
// own. It returns once the program is ready. End it, and start the launcher's again, when it is done with.
func (s *Stack) Replace(ctx context.Context, name string, settings map[string]string) (*Own, error) {
	st, err := s.state()
	if err != nil {
		return nil, err
	}
	for _, p := range st.Processes {
		if p.Name != name {
			continue
		}
		own := &Own{stack: s, name: name, ended: make(chan error, 1)}
		own.cmd = exec.Command(p.Spec.Path, p.Spec.Args...) //nolint:noctx // it is ended by End, politely
		own.cmd.Dir = s.dir
		own.cmd.Env = slices.Clone(p.Spec.Env)
		for variable, value := range settings {
			own.cmd.Env = append(own.cmd.Env, variable+"="+value)
		}
		log, err := os.Create(filepath.Join(s.dir, "bench-"+name+".log"))
		if err != nil {
			return nil, fmt.Errorf("opening a log: %w", err)
		}
		defer log.Close() //nolint:errcheck // the process has its own
		own.cmd.Stderr = log
		if err := own.cmd.Start(); err != nil {
			return nil, fmt.Errorf("running %s: %w", name, err)
		}
		go func() { own.ended <- own.cmd.Wait() }()
		if s.own == nil {
			s.own = map[string]int{}
		}
		s.own[name] = own.cmd.Process.Pid
		return own, own.ready(ctx, p.Spec.Env)
	}
	return nil, fmt.Errorf("the stack runs no %s: start it with --split", name)
}

// Beside runs a program of the benchmark's own beside the stack, so that its processor time is counted under a name.
func (s *Stack) Beside(name string, cmd *exec.Cmd) (*Own, error) {
	own := &Own{stack: s, name: name, cmd: cmd, ended: make(chan error, 1)}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("running %s: %w", name, err)
	}
	go func() { own.ended <- cmd.Wait() }()
	if s.own == nil {
		s.own = map[string]int{}
	}
	s.own[name] = cmd.Process.Pid
	return own, nil
}

// readyWithin bounds the start of a process.
const readyWithin = 30 * time.Second

func (o *Own) ready(ctx context.Context, env []string) error {
	address := ""
	for _, variable := range env {
		if value, ok := strings.CutPrefix(variable, "OPS_ADDR="); ok {
			address = value
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-o.ended:
			o.ended <- err
			return fmt.Errorf("%s ended while it started: %w", o.name, errors.Join(err, errors.New("see its log in the stack's directory")))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", o.name, ctx.Err())
		case <-tick.C:
		}
	}
}

// End stops the process and waits for it.
func (o *Own) End() error {
	delete(o.stack.own, o.name)
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %s: %w", o.name, err)
	}
	select {
	case <-o.ended: //nolint:errcheck // a stopped process may end with any status
		return nil
	case <-time.After(readyWithin):
		_ = o.cmd.Process.Kill() // it had its time
		<-o.ended                //nolint:errcheck // a killed process ends with an error
		return fmt.Errorf("%s did not stop when asked and was killed", o.name)
	}
}
