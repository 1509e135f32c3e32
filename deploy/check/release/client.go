package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// client is a client of the API in gateway/sdk, with a version of its own.
type client struct {
	language string
	file     string         // where its version is
	pattern  *regexp.Regexp // which finds it
	pack     func(ctx context.Context, d Delivery, dir, version string) error
}

var clients = []client{
	{"go", "doc.go", regexp.MustCompile(`const Version = "(.*)"`), sources("go")},
	{"php", "src/Client.php", regexp.MustCompile(`const VERSION = '(.*)'`), sources("php")},
	{"python", "pyproject.toml", regexp.MustCompile(`(?m)^version = "(.*)"$`), wheel},
	{"typescript", "package.json", regexp.MustCompile(`"version": "(.*)"`), npm},
}

// directory is where a client is in the project.
func (c client) directory(project string) string {
	return filepath.Join(project, "gateway", "sdk", c.language)
}

// version reads the version of a client, which must have a section in the client's changelog.
func (c client) version(project string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(c.directory(project), c.file))
	if err != nil {
		return "", fmt.Errorf("read the version of the client for %s: %w", c.language, err)
	}
	found := c.pattern.FindSubmatch(raw)
	if found == nil {
		return "", fmt.Errorf("%s of the client for %s has no version", c.file, c.language)
	}
	_, err = Changes(filepath.Join(c.directory(project), "CHANGELOG.md"), string(found[1]))
	return string(found[1]), err
}

// checkClients refuses clients that cannot be packed.
func (d Delivery) checkClients() error {
	for _, c := range clients {
		if _, err := c.version(d.Source.Directory); err != nil {
			return err
		}
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return fmt.Errorf("npm packs the client for TypeScript: %w", err)
	}
	return nil
}

// Clients adds a package of each client to the files: for npm, for pip, and for Go and PHP their sources.
func (d Delivery) Clients(ctx context.Context, scratch string) error {
	for _, c := range clients {
		version, err := c.version(d.Source.Directory)
		if err != nil {
			return err
		}
		copied := c.directory(scratch)
		if err := fresh(ctx, copied, c.directory(d.Source.Directory)); err != nil {
			return fmt.Errorf("copy the client for %s: %w", c.language, err)
		}
		for _, to := range []string{filepath.Join(copied, "LICENSE"), filepath.Join(scratch, "LICENSE")} {
			if err := copyFile(filepath.Join(d.Source.Directory, "LICENSE"), to); err != nil {
				return err
			}
		}
		if err := c.pack(ctx, d, copied, version); err != nil {
			return fmt.Errorf("pack the client for %s: %w", c.language, err)
		}
	}
	return nil
}

// fresh copies the files of a directory that git keeps: none that tools have made in it.
func fresh(ctx context.Context, to, from string) error {
	list := exec.CommandContext(ctx, "git", "ls-files", "-z")
	list.Dir = from
	names, err := list.Output()
	if err != nil {
		return fmt.Errorf("git ls-files: %w", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(names), "\x00"), "\x00") {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := copyFile(filepath.Join(from, name), path); err != nil {
			return err
		}
	}
	return nil
}

// sources packs the sources as they are.
func sources(language string) func(context.Context, Delivery, string, string) error {
	return func(_ context.Context, d Delivery, dir, version string) error {
		return d.pack(fmt.Sprintf("causeway-sdk-%s-%s.tar.gz", language, version), dir)
	}
}

func npm(ctx context.Context, d Delivery, dir, _ string) error {
	if err := d.call(ctx, dir, "npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"); err != nil {
		return err
	}
	return d.call(ctx, dir, "npm", "pack", "--pack-destination", d.To)
}

func (d Delivery) call(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, d.Log, d.Log
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(cmd.Args, " "), err)
	}
	return nil
}
