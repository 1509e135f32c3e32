package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"causeway.internal/deploy/stack/internal/infra"
	"causeway.internal/deploy/stack/internal/progress"
	"causeway.internal/deploy/stack/internal/tier"
)

// extent is how much of the tests runs.
type extent struct {
	pure    string   // build tags of the tests that need nothing
	served  string   // and of those that need servers
	race    bool     // every test runs under the race detector, not only the pure ones of packages that share memory
	timeout string   // of one package
	environ []string // of go test

	// How many run at a time: packages on servers, tests of one of these, tests that ask the product. Most of them wait,
	// for servers and for time, so there are more than processors. Under the race detector they compute: then more at a
	// time starve the broker, and consumers do not stop in time.
	packages, tests, asking, scenarios string

	programs []infra.Program // that tests need beside the servers
}

var (
	// usual is everything that a change must pass. Half of rapid's own number of cases is enough for a run that every
	// change repeats.
	usual = extent{
		served: "integration", timeout: "15m", environ: []string{"RAPID_CHECKS=50", roomy},
		packages: "3", tests: "6", asking: "20", scenarios: "3",
		programs: []infra.Program{infra.Chromium, infra.PgBouncer},
	}

	// long adds the files with the build tag long, the race detector everywhere, and six times the cases of every
	// property.
	long = extent{
		pure: "long", served: "integration,long", race: true, timeout: "80m", environ: []string{"RAPID_CHECKS=300", cgo, atOnce},
		packages: "2", tests: "4", asking: "12", scenarios: "2",
		programs: []infra.Program{infra.Chromium, infra.PgBouncer, infra.PHP},
	}
)

// fewer is as much, with fewer tests at a time.
func (e extent) fewer() extent {
	e.packages, e.tests, e.asking, e.scenarios, e.timeout = "2", "4", "6", "1", "90m"
	return e
}

// dear is how long a session of PostgreSQL takes to start where processes are dear. Some virtual machines pay ten times
// as much for a page fault as others, and with it for every process that starts. There tests compute where they wait
// elsewhere, and as many of them as usual starve each other until deadlines pass that have nothing to do with them.
// Elsewhere a session takes three or four milliseconds.
const dear = 12 * time.Millisecond

const (
	// cgo is for the race detector. The product does without, and make compiles everything else as it compiles the
	// product.
	cgo = "CGO_ENABLED=1"

	// lean links tests without tables for a debugger, which saves a second of each package.
	lean = "-ldflags=-s -w"

	// roomy lets the compiler, the linker and the tests collect garbage a quarter as often: most of them end before it is
	// worth the processors' time.
	roomy = "GOGC=400"

	// atOnce ends a program at once that the race detector watches: it would wait for a second in each of 120 packages,
	// for races of goroutines that nobody waited for.
	atOnce = "GORACE=atexit_sleep_ms=0"
)

// test runs the tests: the pure ones, and then, on servers of its own, the rest.
func (l *launcher) test(ctx context.Context) error {
	root, err := workspace(ctx)
	if err != nil {
		return err
	}
	how := usual
	if l.long {
		how = long
	}
	began := time.Now()
	release, err := l.own()
	if err != nil {
		return err
	}
	defer release()
	if dir := infra.Temporary(l.dir); dir != "" {
		defer func() { _ = os.RemoveAll(dir) }()
		l.environ = append(slices.Clone(l.environ), "TMPDIR="+dir)
		l.vars["TMPDIR"] = dir
	}
	var results []tier.Result
	one := func(t tier.Tier) error {
		if l.long {
			t.Budget = 0 // the budgets are those of the usual extent
		}
		l.con.Print("== %s: go test %s", t.Name, strings.Join(t.Args, " "))
		result, err := tier.Run(ctx, t, l.out)
		results = append(results, result)
		l.con.Print("%s", result.Line())
		for _, slow := range result.Slowest {
			l.con.Print("slow %8s  %s", progress.Took(slow.Took), slow.Test)
		}
		return err
	}
	environ := slices.Concat(l.environ, how.environ)
	alone, _, err := partition(ctx, root, how, []string{"work"})
	if err != nil {
		return err
	}
	// Tests that wait for time share the processors with tests that compute. The linter vets every file.
	pure := append(how.raced(), "-vet", "off", lean, "-tags", how.pure, "-p", "4", "-timeout", how.timeout)
	err = one(tier.Tier{Name: "pure", Budget: 30 * time.Second, Args: slices.Concat(pure, alone), Dir: root, Environ: environ})
	if err == nil && !how.race {
		var packages []string
		if packages, err = sharing(ctx, root); err == nil {
			raced := append([]string{"-race"}, pure...)
			err = one(tier.Tier{Name: "races", Budget: 45 * time.Second, Args: slices.Concat(raced, packages), Dir: root, Environ: append(environ, cgo, atOnce)})
		}
	}
	if err == nil {
		err = l.onStack(ctx, root, how, one)
	}
	if err != nil {
		return err
	}
	return l.conclude(results, time.Since(began))
}

// onStack runs the tiers that need servers or the product.
func (l *launcher) onStack(ctx context.Context, root string, how extent, one func(tier.Tier) error) error {
	realchain := filepath.Join(root, "deploy", "realchain", "bin", "realchain")
	err := l.con.Step("get the real chains' nodes", func() error { return l.nodes(ctx, filepath.Join(root, "deploy", "realchain")) })
	if err != nil {
		return err
	}
	parts, err := modules(ctx, root)
	if err != nil {
		return err
	}
	err = l.con.Step("compile what needs servers", func() error {
		args := slices.Concat([]string{"build"}, how.raced(), []string{"-tags", how.served}, parts, []string{"./deploy/e2e/..."})
		return commandIn(ctx, root, slices.Concat(l.environ, how.environ), l.out, "go", args...)
	})
	if err != nil {
		return err
	}
	_, served, err := partition(ctx, root, how, parts)
	if err != nil {
		return err
	}
	_, asking, err := partition(ctx, root, how, []string{"./deploy/e2e/..."})
	if err != nil {
		return err
	}
	err = one(tier.Tier{Name: "nodes", Budget: time.Minute, Args: []string{"./..."}, Dir: filepath.Dir(filepath.Dir(realchain)), Environ: append(l.environ, "GOWORK=off")})
	if err != nil {
		return err
	}
	manifests := []string{"-count", "1", "-tags", how.pure, "./..."} // the files that are read lie outside the module, where no cache sees a change
	err = one(tier.Tier{Name: "manifests", Budget: time.Minute, Args: manifests, Dir: filepath.Join(root, "deploy", "check"), Environ: append(l.environ, "GOWORK=off")})
	if err != nil {
		return err
	}
	l.infra = true // the product runs while tests ask it, and not beside those that compute
	if err := l.bringUp(ctx); err != nil {
		return err
	}
	took, err := l.servers().Session(ctx)
	if err != nil {
		return errors.Join(err, l.takeDown())
	}
	if took > dear {
		how = how.fewer()
		l.con.Print("a session of PostgreSQL takes %s: processes are dear here, so fewer tests run at a time", progress.Took(took))
	}
	environ := append(slices.Clone(how.environ), "CAUSEWAY_REALCHAIN="+realchain)
	for _, program := range how.programs {
		path := ""
		if err == nil {
			path, err = l.servers().Find(ctx, program)
		}
		environ = append(environ, program.Variable+"="+path)
	}
	if err == nil {
		for _, t := range tiers(how, served, asking) {
			t.Dir, t.Environ = root, environ
			if err = l.onServers(ctx, t, one); err != nil {
				break
			}
		}
	}
	return errors.Join(err, l.con.Step("stop everything", l.takeDown))
}

// onServers runs a tier on the servers, and on the product if it asks it.
func (l *launcher) onServers(ctx context.Context, t tier.Tier, one func(tier.Tier) error) error {
	if t.Product {
		if err := l.product().Up(ctx); err != nil {
			return err
		}
	}
	environ, err := l.variables()
	if err != nil {
		return err
	}
	t.Environ = append(environ, t.Environ...)
	err = one(t)
	if t.Product {
		err = errors.Join(err, l.product().Down())
	}
	return err
}

// nodes builds the chains' nodes that are made in Go, and installs the one that comes from npm.
func (l *launcher) nodes(ctx context.Context, dir string) error {
	args := []string{"build", "-C", dir, "-o", filepath.Join(dir, "bin") + "/", ".", "github.com/btcsuite/btcd"}
	if err := command(ctx, append(l.environ, "GOWORK=off"), l.out, "go", args...); err != nil {
		return err
	}
	return commandIn(ctx, filepath.Join(dir, "surfpool"), l.environ, l.out, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund")
}

// raced is the flag of the race detector, if it is used.
func (e extent) raced() []string {
	if !e.race {
		return nil
	}
	return []string{"-race"}
}

// networks are the packages whose tests run chain nodes beside the servers.
var networks = []string{"services/wallets", "services/wallets/internal/network"}

// tiers are the calls of go test on the running servers: of packages that need servers, and of those that ask the
// product. The race detector finds races inside the broker's client
// library when connections are dropped, so the files that drop them carry `!race` and run in a pass of their own.
func tiers(how extent, served, asking []string) []tier.Tier {
	common := []string{"-vet", "off", lean, "-count", "1", "-tags", how.served, "-timeout", how.timeout}
	with := func(flags []string, packages ...string) []string {
		return append(append(append([]string{}, flags...), common...), packages...)
	}
	parallel := append(how.raced(), "-p", how.packages, "-parallel", how.tests)
	var chains, stores []string
	for _, name := range served {
		if slices.Contains(networks, strings.TrimPrefix(name, "causeway.internal/")) {
			chains = append(chains, name)
		} else {
			stores = append(stores, name)
		}
	}
	all := []tier.Tier{
		{Name: "networks", Budget: 105 * time.Second, Args: with(parallel, chains...)},
		{Name: "store and messages", Budget: 3 * time.Minute, Args: with(parallel, stores...)},
	}
	if how.race {
		all = append(all, tier.Tier{Name: "dropped connections", Args: with(nil, "./libs/bus/...")})
	}
	product := append(how.raced(), "-v", "-p", "2", "-parallel", how.asking)
	return append(all,
		tier.Tier{Name: "end to end", Budget: 270 * time.Second, Args: with(product, asking...), Product: true},
		tier.Tier{Name: "chaos", Budget: 3 * time.Minute, Args: with([]string{"-p", "2", "-parallel", how.scenarios}, "./deploy/chaos/...")},
	)
}

// conclude prints one line a tier, what failed, and one line for everything.
func (l *launcher) conclude(results []tier.Result, took time.Duration) error {
	packages, passed := 0, 0
	var failed, skipped []string
	l.con.Print("")
	for _, r := range results {
		l.con.Print("%s", r.Line())
		packages, passed = packages+r.Packages, passed+r.Passed
		failed, skipped = append(failed, r.Failed...), append(skipped, r.Skipped...)
	}
	for _, name := range failed {
		l.con.Print("failed:  %s", name)
	}
	for _, name := range skipped {
		l.con.Print("skipped: %s (nothing may skip)", name)
	}
	word := "PASS"
	if len(failed)+len(skipped) > 0 {
		word = "FAIL"
	}
	l.con.Print("%s: go test ran %d packages: %d tests passed, %d failed, %d skipped in %s",
		word, packages, passed, len(failed), len(skipped), progress.Took(took))
	if word == "FAIL" {
		return exitCode(1)
	}
	return nil
}

// workspace finds the directory of go.work.
func workspace(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOWORK").Output()
	path := strings.TrimSpace(string(out))
	if err != nil || path == "" || path == "off" {
		return "", errors.New("run this inside the workspace: go finds no go.work")
	}
	return filepath.Dir(path), nil
}

// modules lists what the integration tiers test, as patterns: libs, everything that is deployed, and the launcher.
func modules(ctx context.Context, root string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the workspace's modules: %w", err)
	}
	var patterns []string
	for dir := range strings.FieldsSeq(string(out)) {
		relative, err := filepath.Rel(root, dir)
		if err != nil {
			return nil, fmt.Errorf("list the workspace's modules: %w", err)
		}
		if relative == "deploy/stack" || !strings.HasPrefix(relative, "deploy/") {
			patterns = append(patterns, "./"+filepath.ToSlash(relative)+"/...")
		}
	}
	return patterns, nil
}

// sharing lists the packages whose goroutines share memory: those that import sync. The race detector makes the
// tests of the others, most of which compute, eight times as slow.
func sharing(ctx context.Context, root string) (packages []string, err error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-f", `{{range .Imports}}{{if or (eq . "sync") (eq . "sync/atomic")}}{{$.ImportPath}}{{"\n"}}{{break}}{{end}}{{end}}`, "work")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the packages that share memory: %w", err)
	}
	return strings.Fields(string(out)), nil
}

// partition lists the packages whose tests need nothing, and those with tests that need servers. The pure tests of the
// latter run with their others: a package is linked once.
func partition(ctx context.Context, root string, how extent, patterns []string) (alone, served []string, err error) {
	list := func(tags string) ([]string, error) {
		args := []string{"list", "-tags", tags, "-f", "{{.ImportPath}} {{.TestGoFiles}} {{.XTestGoFiles}}"}
		cmd := exec.CommandContext(ctx, "go", append(args, patterns...)...)
		cmd.Dir = root
		out, err := cmd.Output()
		return strings.Split(strings.TrimSpace(string(out)), "\n"), err
	}
	pure, err := list(how.pure)
	if err != nil {
		return nil, nil, fmt.Errorf("list the packages: %w", err)
	}
	all, err := list(how.served)
	if err != nil {
		return nil, nil, fmt.Errorf("list the packages with integration tests: %w", err)
	}
	for _, line := range all {
		name, files, _ := strings.Cut(line, " ")
		switch {
		case !slices.Contains(pure, line):
			served = append(served, name)
		case files != "[] []":
			alone = append(alone, name)
		}
	}
	slices.SortStableFunc(served, func(a, b string) int { return place(a) - place(b) })
	return alone, served, nil
}

// longest are the packages whose tests take longest, the longest first. They begin first, so that none of them runs
// alone at the end.
var longest = []string{
	"services/wallets", "services/callback-dispatcher", "gateway", "libs/postgres", "services/payments/internal/archive", "libs/bus",
	"services/payments", "services/wallets/internal/store", "services/console/internal/web", "services/payments/internal/payouts", "services/reports/internal/store",
	"services/payments/internal/store", "deploy/stack",
}

// place is when the tests of a package begin.
func place(name string) int {
	path := strings.TrimPrefix(name, "causeway.internal/")
	if i := slices.Index(longest, path); i >= 0 {
		return i
	}
	return len(longest)
}

func command(ctx context.Context, environ []string, out io.Writer, name string, args ...string) error {
	return commandIn(ctx, "", environ, out, name, args...)
}

func commandIn(ctx context.Context, dir string, environ []string, out io.Writer, name string, args ...string) error {
	cmd := tier.Command(ctx, dir, environ, name, args...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && ctx.Err() == nil {
		return fmt.Errorf("%s: %w", name, exit)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", name, err)
	}
	return nil
}
