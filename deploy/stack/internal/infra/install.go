package infra

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"causeway.internal/deploy/stack/internal/process"
	"causeway.internal/deploy/stack/internal/state"
)

// The packages of Debian and Ubuntu.
const (
	postgresPackage = "postgresql"
	rabbitPackage   = "rabbitmq-server"
)

// install makes sure that the programs exist that this instance must start itself.
func (s Servers) install(ctx context.Context, pg, rabbit bool) error {
	missing := func() (packages []string) {
		if pg && findPostgres() == "" {
			packages = append(packages, postgresPackage)
		}
		if rabbit && (findRabbit() == "" || findEpmd() == "") {
			packages = append(packages, rabbitPackage)
		}
		return packages
	}
	return s.obtain(ctx, missing, advice)
}

// obtain installs what is missing with apt-get, where that is possible; else it fails with the advice.
func (s Servers) obtain(ctx context.Context, missing func() []string, advice func(packages []string) string) error {
	packages := missing()
	if len(packages) == 0 {
		return nil
	}
	if os.Geteuid() != 0 || !debian() {
		return errors.New(advice(packages))
	}
	log := filepath.Join(state.LogDir(s.Dir), "apt.log")
	return s.Progress.Step("install "+strings.Join(packages, " and ")+" with apt-get", func() error {
		install := append([]string{"install", "-y", "--no-install-recommends"}, packages...)
		err := apt(ctx, log, install...)
		if len(missing()) > 0 { // no package lists yet, or stale ones
			err = errors.Join(apt(ctx, log, "update"), apt(ctx, log, install...))
		}
		if len(missing()) > 0 {
			return &Failure{Err: errors.Join(err, errors.New(advice(packages))), Log: log}
		}
		return nil
	})
}

func apt(ctx context.Context, log string, args ...string) error {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644) //nolint:gosec // a log without secrets
	if err != nil {
		return fmt.Errorf("open the log: %w", err)
	}
	defer file.Close() //nolint:errcheck // the command that writes it reports its own failure
	cmd := exec.CommandContext(ctx, "apt-get", args...)
	cmd.Stdout, cmd.Stderr = file, file
	// Runlevel 1 tells invoke-rc.d of the packages' scripts not to start system services: ours are private, and nothing
	// should run that nobody asked for. Where they start all the same, that plays no part.
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("apt-get %s: %w", args[0], err)
	}
	return nil
}

func debian() bool {
	release, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return false
	}
	if _, err := exec.LookPath("apt-get"); err != nil {
		return false
	}
	for line := range strings.SplitSeq(string(release), "\n") {
		name, value, _ := strings.Cut(line, "=")
		if name == "ID" || name == "ID_LIKE" {
			value = strings.Trim(value, `"`)
			if strings.Contains(value, "debian") || strings.Contains(value, "ubuntu") {
				return true
			}
		}
	}
	return false
}

func advice(packages []string) string {
	return fmt.Sprintf(`missing: %s. Install the server programs and run this again:
      Debian, Ubuntu:  sudo apt-get install -y --no-install-recommends %s
      others:          PostgreSQL 15 or newer (postgres, initdb) and RabbitMQ 3.10 or newer with its management plugin
    or lend running servers: %s=postgres://superuser:…@host/postgres %s=amqp://… %s=http://user:…@host:15672`,
		strings.Join(packages, " "), strings.Join(packages, " "), PostgresURL, AMQPURL, AMQPAPI)
}

// ExplainedBy returns the last lines of the log that explains an error.
func ExplainedBy(err error, lines int) (name, tail string) {
	failure, ok := errors.AsType[*Failure](err)
	if !ok || failure.Log == "" {
		return "", ""
	}
	return failure.Log, process.Tail(failure.Log, lines)
}
