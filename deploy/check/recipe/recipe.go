// Package recipe takes the steps of a Dockerfile without a Docker engine: a directory for each stage, the same files
// copied, the same commands run. It knows the instructions that deploy/docker/Dockerfile uses and refuses any other. It
// cannot show the content of a base image.
package recipe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Image is the last stage of a recipe.
type Image struct {
	Base       string // what FROM names
	Root       string // directory that holds the files added to the base
	Entrypoint string // as it is written
}

// Options holds what a build reads and where it works.
type Options struct {
	Dockerfile string
	Files      string            // directory of the build's context
	Scratch    string            // directory in which the stages are made
	Args       map[string]string // build arguments
	Caches     map[string]string // where the target of a cache mount lies on this machine
	Log        io.Writer
}

// Build takes the steps of a Dockerfile.
func Build(ctx context.Context, o Options) (Image, error) {
	steps, err := read(o.Dockerfile)
	if err != nil {
		return Image{}, err
	}
	b := &builder{files: o.Files, scratch: o.Scratch, args: o.Args, caches: o.Caches, log: o.Log, stages: map[string]string{}, known: map[string]string{}}
	for _, s := range steps {
		if err := b.take(ctx, s); err != nil {
			return Image{}, fmt.Errorf("%s %s: %w", s.verb, s.rest, err)
		}
	}
	return b.image, nil
}

type step struct{ verb, rest string }

// read joins continued lines and drops comments.
func read(path string) (steps []step, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the recipe: %w", err)
	}
	defer file.Close()
	line := ""
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		more, continued := strings.CutSuffix(text, `\`)
		line += strings.TrimSpace(more) + " "
		if continued {
			continue
		}
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		steps, line = append(steps, step{verb, strings.TrimSpace(rest)}), ""
	}
	return steps, lines.Err()
}

type builder struct {
	files, scratch string
	args           map[string]string // given from outside
	known          map[string]string // declared by ARG
	caches         map[string]string
	log            io.Writer
	stages         map[string]string // root by name
	image          Image
	work           string // WORKDIR, absolute in the stage
}

func (b *builder) take(ctx context.Context, s step) error {
	rest := s.rest
	if s.verb != "RUN" { // the shell expands its own
		rest = os.Expand(rest, func(name string) string { return b.known[name] })
	}
	words := strings.Fields(rest)
	switch s.verb {
	case "FROM":
		return b.from(words)
	case "WORKDIR":
		b.work = rest
		return os.MkdirAll(b.inside(rest), 0o755)
	case "ARG":
		name, value, _ := strings.Cut(rest, "=")
		if given, ok := b.args[name]; ok {
			value = given
		}
		b.known[name] = value
		return nil
	case "COPY":
		return b.copy(words)
	case "RUN":
		return b.run(ctx, words)
	case "ENTRYPOINT":
		b.image.Entrypoint = rest
		return nil
	}
	return errors.New("no such instruction is known here")
}

func (b *builder) from(words []string) error {
	if strings.HasPrefix(words[0], "--platform=") { // every stage runs on this machine
		words = words[1:]
	}
	b.image = Image{Base: words[0], Root: filepath.Join(b.scratch, fmt.Sprint("stage", len(b.stages)))}
	name := b.image.Root
	if len(words) == 3 && words[1] == "AS" {
		name = words[2]
	}
	b.stages[name], b.work = b.image.Root, "/"
	return os.MkdirAll(b.image.Root, 0o755)
}

// inside is where a path of the stage lies on this machine.
func (b *builder) inside(path string) string {
	if !strings.HasPrefix(path, "/") {
		path = filepath.Join(b.work, path)
	}
	return filepath.Join(b.image.Root, path)
}

// copy copies files, and the content of directories, as COPY does: a pattern may match nothing, a plain name may not.
func (b *builder) copy(words []string) error {
	source := b.files
	if stage, ok := strings.CutPrefix(words[0], "--from="); ok {
		source, words = b.stages[stage], words[1:]
		if source == "" {
			return fmt.Errorf("no stage %s", stage)
		}
	}
	to, many := words[len(words)-1], len(words) > 2 || strings.HasSuffix(words[len(words)-1], "/")
	for _, pattern := range words[:len(words)-1] {
		found, err := filepath.Glob(filepath.Join(source, pattern))
		if err != nil {
			return fmt.Errorf("pattern %s: %w", pattern, err)
		}
		if len(found) == 0 && !strings.ContainsAny(pattern, "*?[") {
			return fmt.Errorf("%s is not there", pattern)
		}
		for _, one := range found {
			target := b.inside(to)
			if info, err := os.Stat(one); err == nil && !info.IsDir() && many {
				target = filepath.Join(target, filepath.Base(one))
			}
			if err := merge(target, one); err != nil {
				return fmt.Errorf("copying %s: %w", pattern, err)
			}
		}
	}
	return nil
}

// merge copies a file, or a directory into one that may hold something already.
func merge(to, from string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(path, from)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return errors.Join(os.MkdirAll(filepath.Dir(target), 0o755), os.WriteFile(target, raw, info.Mode().Perm()))
	})
}

var (
	mount    = regexp.MustCompile(`^--mount=type=cache,target=(\S+)$`)
	absolute = regexp.MustCompile(`(^|[ =])(/[^ ]*)`)
)

// run gives a command to the shell in the stage's working directory. Absolute paths are the stage's, or those of its
// caches.
func (b *builder) run(ctx context.Context, words []string) error {
	for len(words) > 0 && strings.HasPrefix(words[0], "--") {
		m := mount.FindStringSubmatch(words[0])
		if m == nil || b.caches[m[1]] == "" {
			return fmt.Errorf("%s is not known here", words[0])
		}
		words = words[1:]
	}
	command := strings.Join(words, " ")
	if command == "go mod download" { // the cache is this machine's: a build that lacks a module says so
		return nil
	}
	command = absolute.ReplaceAllStringFunc(command, func(found string) string {
		m := absolute.FindStringSubmatch(found)
		if cache, ok := b.caches[m[2]]; ok {
			return m[1] + cache
		}
		return m[1] + b.inside(m[2])
	})
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = b.inside("."), b.log, b.log
	cmd.Env = append(os.Environ(), "GOWORK=", "GOFLAGS=", "PWD="+cmd.Dir)
	for name, value := range b.known {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}

// Caches are this machine's directories for the cache mounts of deploy/docker/Dockerfile.
func Caches(ctx context.Context) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMODCACHE", "GOCACHE").Output()
	dirs := strings.Fields(string(out))
	if err != nil || len(dirs) != 2 {
		return nil, fmt.Errorf("asking go for its caches: %q, %w", out, err)
	}
	return map[string]string{"/go/pkg/mod": dirs[0], "/gocache": dirs[1]}, nil
}
