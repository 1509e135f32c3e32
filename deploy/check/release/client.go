package release

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// tools are directories of a client that its tools write.
var tools = []string{"node_modules", "dist", "build", "__pycache__"}

// Clients adds a package of each client to the files: for npm, for pip, and for Go and PHP their sources. A client
// whose version has no section in its changelog is refused.
func (d Delivery) Clients(ctx context.Context, scratch string) error {
	for _, c := range clients {
		dir := filepath.Join(d.Source.Directory, "gateway", "sdk", c.language)
		raw, err := os.ReadFile(filepath.Join(dir, c.file))
		if err != nil {
			return fmt.Errorf("read the version of the client for %s: %w", c.language, err)
		}
		found := c.pattern.FindSubmatch(raw)
		if found == nil {
			return fmt.Errorf("%s of the client for %s has no version", c.file, c.language)
		}
		version := string(found[1])
		if _, err := Changes(filepath.Join(dir, "CHANGELOG.md"), version); err != nil {
			return err
		}
		copied := filepath.Join(scratch, "gateway", "sdk", c.language)
		if err := fresh(copied, dir); err != nil {
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

// fresh copies a directory without what tools have made in it.
func fresh(to, from string) error {
	return fs.WalkDir(os.DirFS(from), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if slices.Contains(tools, entry.Name()) || strings.HasSuffix(entry.Name(), ".egg-info") {
				return fs.SkipDir
			}
			return os.MkdirAll(filepath.Join(to, path), 0o755)
		}
		return copyFile(filepath.Join(from, path), filepath.Join(to, path))
	})
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
