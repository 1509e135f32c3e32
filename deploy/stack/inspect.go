package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/product"
	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
)

// view is the instance as `--json` prints it.
type view struct {
	Dir string `json:"dir"`
	Up  bool   `json:"up"`
	state.Product
	Databases   map[string]string      `json:"databases"` // service to the URL of its application role
	Owners      map[string]string      `json:"owners"`    // service to the URL of the role that migrates
	Brokers     map[string]string      `json:"brokers"`   // service to the AMQP URL of its user
	Doors       map[string]door        `json:"doors"`     // service to its API and who may call it
	PostgresURL string                 `json:"postgresUrl"`
	AMQPURL     string                 `json:"amqpUrl"`
	AMQPSURL    string                 `json:"amqpsUrl"`
	CA          string                 `json:"ca"` // file of the authority of private servers
	AMQPAPI     string                 `json:"amqpApi"`
	Prefix      string                 `json:"prefix"`
	Processes   map[string]processView `json:"processes"`
}

// door is the API of a service behind the gateway.
type door struct {
	URL         string `json:"url"`
	IdentityKey string `json:"identityKey"`       // of the gateway's identities, in base64
	DoorKey     string `json:"doorKey,omitempty"` // a console's, by which it names people: the base64 of its seed
}

type processView struct {
	PID     int    `json:"pid"`
	Running bool   `json:"running"`
	Ready   string `json:"ready,omitempty"`
	Log     string `json:"log"`
}

func summary(st *state.State) view {
	v := view{
		Dir: st.Dir, Up: len(st.Processes) > 0 && len(st.Running()) == len(st.Processes), Product: st.Product, Databases: st.Databases, Prefix: st.Prefix,
		Owners: st.Owners, Brokers: st.Brokers, PostgresURL: st.Postgres.URL, AMQPURL: st.Rabbit.URL, AMQPSURL: st.Rabbit.TLS, CA: st.Rabbit.CA,
		AMQPAPI: st.Rabbit.API, Processes: map[string]processView{}, Doors: map[string]door{},
	}
	for _, one := range st.Processes {
		v.Processes[one.Name] = processView{PID: one.Ref.PID, Running: one.Ref.Alive(), Ready: one.Ready, Log: one.Spec.Log}
		if address, key := one.Spec.Setting("HTTP_ADDR"), one.Spec.Setting("IDENTITY_KEYS"); address != "" && key != "" {
			v.Doors[one.Name] = door{URL: "http://" + address, IdentityKey: key, DoorKey: one.Spec.Setting("DOOR_KEY")}
		}
	}
	return v
}

// status prints what the instance consists of and what of it runs.
func (l *launcher) status() error {
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	if l.json {
		return l.print(summary(st))
	}
	if len(st.Processes) == 0 {
		l.con.Print("nothing runs in %s", l.dir)
		return nil
	}
	for _, one := range st.Processes {
		word := "running"
		if !one.Ref.Alive() {
			word = "not running"
		}
		l.con.Print("%-24s %-12s pid %-8d %s", one.Name, word, one.Ref.PID, one.Spec.Log)
	}
	if st.Product.BaseURL != "" {
		l.con.Print("gateway %s", st.Product.BaseURL)
	}
	return nil
}

// kill stops one process and leaves it stopped.
func (l *launcher) kill() error {
	if len(l.words) != 1 {
		return errors.New("usage: stack kill PROCESS [-9]")
	}
	var found state.Process
	_, err := state.Change(l.dir, func(st *state.State) error {
		one, err := st.Find(l.words[0])
		if err != nil {
			return err
		}
		one.Stopped, found = true, *one
		return nil
	})
	if err != nil {
		return err
	}
	if !found.Ref.Alive() {
		return fmt.Errorf("%s does not run", found.Name)
	}
	began := time.Now()
	if l.force {
		if err := found.Ref.Kill(); err != nil {
			return err
		}
		if !found.Ref.Gone(10 * time.Second) {
			return fmt.Errorf("%s does not end", found.Name)
		}
	} else if _, err := infra.Stop(found); err != nil {
		return err
	}
	l.con.Print("%s stopped after %s", found.Name, progress.Took(time.Since(began)))
	return nil
}

// start starts a stopped process again, as it was, and waits until it is usable.
func (l *launcher) start(ctx context.Context) error {
	if len(l.words) != 1 {
		return errors.New("usage: stack start PROCESS")
	}
	began := time.Now()
	if err := l.restart(ctx, l.words[0]); err != nil {
		return err
	}
	l.con.Print("%s started after %s", l.words[0], progress.Took(time.Since(began)))
	return nil
}

// restart starts a process that does not run. A server that was killed may be refused at first by what is left of its
// former self (shared memory, a name with the port mapper), so an early end is tried again for a while.
func (l *launcher) restart(ctx context.Context, name string) error {
	for deadline := time.Now().Add(30 * time.Second); ; {
		var started state.Process
		_, err := state.Change(l.dir, func(st *state.State) error {
			one, err := st.Find(name)
			if err != nil {
				return err
			}
			if one.Fenced {
				return fmt.Errorf("%s was the primary before another: rewind it first", name)
			}
			one.Stopped = false
			if one.Ref.Alive() {
				err = one.Ref.Signal(syscall.SIGCONT)
			} else {
				if l.moved && product.IsService(name) {
					one.Spec.Path = filepath.Join(l.bin, filepath.Base(one.Spec.Path))
				}
				one.Ref, err = process.Start(l.with(one.Spec))
			}
			if err != nil {
				return err
			}
			started = *one
			return nil
		})
		if err != nil {
			return err
		}
		if started.Ready == "" {
			return nil
		}
		err = infra.Ready(ctx, started)
		if err == nil || !errors.Is(err, infra.ErrEnded) || ctx.Err() != nil || time.Now().After(deadline) || !infra.IsServer(name) {
			return err
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// with adds what --env sets to what a process is started with; it is not remembered for the next time.
func (l *launcher) with(spec process.Spec) process.Spec {
	spec.Env = slices.Clone(spec.Env)
	for name, value := range l.env {
		spec.Env = append(spec.Env, name+"="+value) // the last one counts
	}
	return spec
}

// signal sends one process a signal that leaves it running.
func (l *launcher) signal(sig syscall.Signal) error {
	if len(l.words) != 1 {
		return fmt.Errorf("usage: stack %s PROCESS", l.verb)
	}
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	one, err := st.Find(l.words[0])
	if err != nil {
		return err
	}
	if !one.Ref.Alive() {
		return fmt.Errorf("%s does not run", one.Name)
	}
	return one.Ref.Signal(sig)
}

// do runs the program of a process with the settings of that process, as `kubectl exec` does in a container.
func (l *launcher) do(ctx context.Context) error {
	if len(l.words) != 1 || len(l.remain) == 0 {
		return errors.New("usage: stack do PROCESS -- WORDS")
	}
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	one, err := st.Find(l.words[0])
	if err != nil {
		return err
	}
	//nolint:gosec // the operator of the stack types the words
	cmd := exec.CommandContext(ctx, one.Spec.Path, l.remain...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = one.Spec.Env, os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitCode(exit.ExitCode())
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", one.Spec.Path, err)
	}
	return nil
}

// onOne does something to the one process that the command line names.
func (l *launcher) onOne(do func(name string) error) error {
	if len(l.words) != 1 {
		return fmt.Errorf("usage: stack %s PROCESS", l.verb)
	}
	began := time.Now()
	if err := do(l.words[0]); err != nil {
		return err
	}
	l.con.Print("%s of %s done after %s", l.verb, l.words[0], progress.Took(time.Since(began)))
	return nil
}

// rabbitctl runs rabbitmqctl on the instance's own broker, or on the node of it that is named.
func (l *launcher) rabbitctl() error {
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	broker, err := st.Find(cmp.Or(strings.Join(l.words, " "), infra.Rabbit))
	if err != nil {
		return fmt.Errorf("only a private RabbitMQ takes commands: %w", err)
	}
	return broker.Spec.User.Run(broker.Spec.Env, filepath.Join(filepath.Dir(broker.Spec.Path), "rabbitmqctl"), l.remain...)
}

// exec brings the instance up, runs a command that finds it in its environment, and stops everything.
func (l *launcher) exec(ctx context.Context) error {
	if len(l.remain) == 0 {
		return errors.New("usage: stack exec [flags] -- COMMAND")
	}
	release, err := l.own()
	if err != nil {
		return err
	}
	defer release()
	if err := l.bringUp(ctx); err != nil {
		return err
	}
	environ, err := l.variables()
	if err == nil {
		l.con.Print("run %s", strings.Join(l.remain, " "))
		err = command(ctx, environ, os.Stdout, l.remain[0], l.remain[1:]...)
	}
	return errors.Join(err, l.takeDown())
}

// variables are the caller's environment and everything that a test or a benchmark needs of the running instance.
func (l *launcher) variables() ([]string, error) {
	st, err := state.Load(l.dir)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable() // not the one beside the services' binaries, which may be of another version
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return append(append(slices.Clone(l.environ), st.Product.Variables()...),
		infra.PostgresURL+"="+st.Postgres.URL,
		infra.AMQPURL+"="+st.Rabbit.URL,
		infra.AMQPAPI+"="+st.Rabbit.API,
		"CAUSEWAY_TEST_POSTGRES_URL="+st.Postgres.URL,
		"CAUSEWAY_TEST_AMQP_URL="+st.Rabbit.URL,
		"CAUSEWAY_TEST_AMQP_API="+st.Rabbit.API,
		"CAUSEWAY_STACK="+self,
		"CAUSEWAY_BIN="+l.bin,
		"CAUSEWAY_STACK_DIR="+l.dir,
		parentVariable+"="+l.dir,
	), nil
}
