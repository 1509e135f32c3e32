package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"causeway.internal/deploy/chaos/internal/livenet"
)

// errLiveUsage says how the verb live is used.
var errLiveUsage = errors.New("usage: chaos live [--families evm,bitcoin,solana,tron] [--realchain FILE] [--stack FILE] -- FLAGS OF STACK EXEC -- FLAGS OF CHAOS")

// runLive starts nodes of private chains and runs chaos on an instance that is live on them.
func runLive(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	flags := flag.NewFlagSet("chaos live", flag.ContinueOnError)
	flags.SetOutput(out)
	families := flags.String("families", strings.Join(livenet.Families(), ","), "families of the live networks, with commas between")
	realchain := flags.String("realchain", or(getenv("CAUSEWAY_REALCHAIN"), "deploy/realchain/bin/realchain"), "the program that runs the chains' nodes")
	launcher := flags.String("stack", or(getenv("CAUSEWAY_STACK"), "bin/stack"), "the launcher")
	own, rest, found := cut(args)
	instance, words, both := cut(rest)
	if err := flags.Parse(own); err != nil {
		return err
	}
	if !found || !both || flags.NArg() > 0 {
		return errLiveUsage
	}
	chosen := strings.Split(*families, ",")
	for _, family := range chosen {
		if !slices.Contains(livenet.Families(), family) {
			return fmt.Errorf("no chain of the family %q", family)
		}
	}
	dir, err := os.MkdirTemp("", "causeway-live")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the system empties it one day
	programs := livenet.Programs{Realchain: *realchain, Signer: filepath.Join(or(getenv("CAUSEWAY_BIN"), filepath.Dir(*launcher)), signer)}
	settings, path, end, err := livenet.Lay(ctx, dir, programs, chosen)
	if err != nil {
		return err
	}
	defer end()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	all := slices.Concat([]string{"exec"}, instance)
	for _, setting := range settings {
		all = append(all, "--env", setting)
	}
	cmd := exec.CommandContext(ctx, *launcher, slices.Concat(all, []string{"--", self, "--networks", path}, words)...)
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it takes its stack down
	cmd.WaitDelay = time.Minute
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("chaos on live networks: %w", err)
	}
	return nil
}

// cut divides words at the first "--".
func cut(words []string) (before, behind []string, found bool) {
	i := slices.Index(words, "--")
	if i < 0 {
		return words, nil, false
	}
	return words[:i], words[i+1:], true
}

func or(given, usual string) string {
	if given != "" {
		return given
	}
	return usual
}
