package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/product"
	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/state"
)

// parentVariable names the directory of the instance whose servers are lent, so that it can clean up after this one.
const parentVariable = "CAUSEWAY_STACK_PARENT"

// launcher carries out one verb on one instance.
type launcher struct {
	arguments
	verb    string
	environ []string
	vars    map[string]string
	con     *progress.Printer
	out     io.Writer
}

func newLauncher(verb string, a arguments, environ []string, out, errs io.Writer) *launcher {
	l := &launcher{arguments: a, verb: verb, environ: environ, vars: map[string]string{}, con: progress.New(out), out: out}
	if a.json {
		l.con = progress.New(errs)
	}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		l.vars[name] = value
	}
	if a.private {
		for _, name := range []string{infra.PostgresURL, infra.AMQPURL, infra.AMQPAPI} {
			delete(l.vars, name)
		}
	}
	return l
}

func (l *launcher) servers() infra.Servers {
	return infra.Servers{
		Dir: l.dir, Progress: l.con, Environ: l.vars, Volatile: l.verb == "test", Standby: l.standby, Cluster: l.cluster,
	}
}

func (l *launcher) product() product.Product {
	options := product.Options{
		Bin: l.bin, Split: l.split, Replicas: l.copies, Shards: l.shards, Toxic: l.proxied, Cluster: l.cluster, Env: l.env, EarlierRights: l.earlier,
	}
	return product.Product{Dir: l.dir, Progress: l.con, Servers: l.servers(), Options: options}
}

// own takes the instance for this launcher and clears away what an earlier one left running.
func (l *launcher) own() (release func(), err error) {
	for _, dir := range []string{l.dir, state.LogDir(l.dir), state.NestedDir(l.dir)} {
		if err := os.MkdirAll(dir, 0o711); err != nil { //nolint:gosec // the servers' user passes through it
			return nil, fmt.Errorf("make the directory: %w", err)
		}
	}
	release, err = state.Own(l.dir)
	if errors.Is(err, state.ErrBusy) {
		return nil, fmt.Errorf("%s: %w; `%s down --dir %s` ends it", l.dir, err, filepath.Join(l.bin, "stack"), l.dir)
	}
	if err != nil {
		return nil, err
	}
	err = l.clear()
	if err == nil && !l.keep {
		err = l.wipe("data", "state.json")
	}
	if err == nil {
		err = l.claim()
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// wipe removes files of the instance; logs stay in any case.
func (l *launcher) wipe(names ...string) error {
	for _, name := range names {
		if err := os.RemoveAll(filepath.Join(l.dir, name)); err != nil {
			return fmt.Errorf("remove the data: %w", err)
		}
	}
	return nil
}

func (l *launcher) clear() error {
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	if len(st.Processes) == 0 && len(process.Marked(l.dir)) == 0 {
		return nil
	}
	l.con.Print("      an earlier launcher left these running: %s", strings.Join(names(st.Running()), ", "))
	return l.con.Step("stop them", l.takeDown)
}

// claim writes down who works on the instance, under which prefix.
func (l *launcher) claim() error {
	self, err := process.Identify(os.Getpid())
	if err != nil {
		return err
	}
	lent := l.vars[infra.PostgresURL] != "" || l.vars[infra.AMQPURL] != ""
	_, err = state.Change(l.dir, func(st *state.State) error {
		st.Dir, st.Verb, st.Launcher, st.Processes, st.Keep = l.dir, l.verb, self, nil, l.keep
		st.Postgres, st.Rabbit = state.Server{}, state.Server{}
		switch {
		case !lent:
			st.Prefix = "causeway"
		case !strings.HasPrefix(st.Prefix, "cw_"):
			st.Prefix = "cw_" + state.Suffix()
		}
		if parent := l.vars[parentVariable]; parent != "" && lent && parent != l.dir {
			st.Copy = filepath.Join(state.NestedDir(parent), st.Prefix+".json")
		}
		return nil
	})
	return err
}

// bringUp starts servers and product. When that fails, everything is stopped again and the logs stay.
func (l *launcher) bringUp(ctx context.Context) error {
	began := time.Now()
	l.con.Print("causeway in %s", l.dir)
	err := l.servers().Up(ctx)
	if err == nil && !l.infra {
		err = l.product().Up(ctx)
	}
	if err == nil {
		l.con.Print("up after %s", progress.Took(time.Since(began)))
		return nil
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	return errors.Join(err, l.takeDown())
}

// up leaves everything running in the background.
func (l *launcher) up(ctx context.Context) error {
	release, err := l.own()
	if err != nil {
		return err
	}
	defer release()
	if err := l.bringUp(ctx); err != nil {
		return err
	}
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	if l.json {
		return l.print(summary(st))
	}
	if !l.infra {
		merchant, operator, err := l.product().Links(ctx)
		if err != nil {
			return err
		}
		l.con.Print("gateway %s, environment in %s%s", st.Product.BaseURL, filepath.Join(l.dir, "env"), links(merchant, operator))
	}
	return nil
}

// down stops everything, a launcher that stays with the instance first.
func (l *launcher) down(ctx context.Context) error {
	if _, err := os.Stat(l.dir); errors.Is(err, os.ErrNotExist) {
		l.con.Print("nothing runs in %s", l.dir)
		return nil
	}
	release, err := l.takeOver(ctx)
	if err != nil {
		return err
	}
	defer release()
	began := time.Now()
	if err := l.takeDown(); err != nil {
		return err
	}
	err = l.downOrphans()
	l.con.Print("down after %s", progress.Took(time.Since(began)))
	return err
}

// downOrphans stops the instances of `test`, `bench` and `chaos` below this one whose launchers were killed. One that
// is still at work is left alone.
func (l *launcher) downOrphans() error {
	files, err := filepath.Glob(filepath.Join(l.dir, "*", "state.json"))
	if err != nil {
		return fmt.Errorf("look for orphans: %w", err)
	}
	var failures []error
	for _, file := range files {
		orphan := *l
		orphan.dir = filepath.Dir(file)
		release, err := state.Own(orphan.dir)
		if errors.Is(err, state.ErrBusy) {
			continue
		}
		if err == nil {
			err = orphan.takeDown()
			release()
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// takeOver owns the instance, if need be by asking the launcher that has it to stop.
func (l *launcher) takeOver(ctx context.Context) (release func(), err error) {
	for deadline := time.Now().Add(90 * time.Second); ; {
		release, err = state.Own(l.dir)
		if !errors.Is(err, state.ErrBusy) || time.Now().After(deadline) {
			return release, err
		}
		st, err := state.Load(l.dir)
		if err != nil {
			return nil, err
		}
		if err := st.Launcher.Signal(syscall.SIGTERM); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// takeDown stops all processes, gives back what was made on lent servers and removes what lies outside the directory.
func (l *launcher) takeDown() error {
	st, err := state.Load(l.dir)
	if err != nil {
		return err
	}
	err = l.stopProcesses(st)
	if st.Prefix != "" && (!st.Postgres.Private || !st.Rabbit.Private) {
		ctx, stop := context.WithTimeout(context.Background(), 30*time.Second)
		if dropErr := infra.Drop(ctx, lentOf(st), product.Tenants(product.ShardsMax)); dropErr != nil {
			l.con.Print("      not all could be removed from the lent servers: %v", dropErr)
		}
		stop()
	}
	if st.Data != "" && !strings.HasPrefix(st.Data, l.dir+string(filepath.Separator)) {
		err = errors.Join(err, os.RemoveAll(st.Data))
	}
	if st.Copy != "" {
		err = errors.Join(err, removeIfThere(st.Copy))
	}
	_, changeErr := state.Change(l.dir, func(st *state.State) error {
		st.Processes, st.Launcher, st.Copy, st.Data = nil, process.Ref{}, "", ""
		st.Postgres, st.Rabbit, st.Databases, st.Product.BaseURL = state.Server{}, state.Server{}, nil, ""
		st.Owners, st.Brokers = nil, nil
		return nil
	})
	err = errors.Join(err, changeErr, removeIfThere(filepath.Join(l.dir, "env")))
	if !st.Keep {
		err = errors.Join(err, l.wipe("data"))
	}
	return err
}

// lentOf keeps only the lent servers: the stack's own are stopped already, with all their data.
func lentOf(st *state.State) *state.State {
	lent := *st
	if st.Postgres.Private {
		lent.Postgres = state.Server{}
	}
	if st.Rabbit.Private {
		lent.Rabbit = state.Server{}
	}
	return &lent
}

// stopProcesses stops nested instances, then services, then the broker, then the database, then whatever else carries
// the instance's mark.
func (l *launcher) stopProcesses(st *state.State) error {
	failures := []error{l.stopNested()}
	var services, last []state.Process
	for _, one := range st.Running() {
		if product.IsService(one.Name) {
			services = append(services, one)
		}
	}
	failures = append(failures, product.StopAll(l.con, services))
	for _, name := range []string{product.Toxic, infra.Rabbit, infra.Epmd, infra.Postgres} {
		for _, one := range st.Running() {
			if one.Name == name || strings.HasPrefix(one.Name, name+"-") {
				last = append(last, one)
			}
		}
	}
	for _, one := range last {
		if !st.Keep { // nothing to write down for a next time
			failures = append(failures, infra.Abandon(one))
			continue
		}
		failures = append(failures, product.StopAll(l.con, []state.Process{one}))
	}
	for _, ref := range process.Marked(l.dir) {
		if !ref.Gone(2 * time.Second) { // children of a server that has just stopped need a moment
			failures = append(failures, ref.Kill())
		}
	}
	return errors.Join(failures...)
}

func (l *launcher) stopNested() error {
	files, err := filepath.Glob(filepath.Join(state.NestedDir(l.dir), "*.json"))
	if err != nil {
		return fmt.Errorf("look for nested instances: %w", err)
	}
	var failures []error
	for _, file := range files {
		st, err := state.LoadFile(file, "")
		if err != nil {
			return err
		}
		if len(st.Running()) > 0 {
			l.con.Print("      stop the nested instance in %s", st.Dir)
		}
		failures = append(failures, st.Launcher.Signal(syscall.SIGTERM), product.StopAll(l.con, st.Running()), os.Remove(file))
	}
	return errors.Join(failures...)
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("clean up: %w", err)
	}
	return nil
}

func names(all []state.Process) []string {
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	return names
}

func (l *launcher) print(value any) error {
	encoder := json.NewEncoder(l.out)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
