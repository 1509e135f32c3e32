package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// toolTimeout bounds one run of pg_dump or pg_restore.
const toolTimeout = 5 * time.Minute

// Image is a backup of one service's database.
type Image struct {
	Service string
	file    string
}

// Backup takes an image of a service's database while it is used, as pg_dump does.
func (s *Stack) Backup(ctx context.Context, service string) (Image, error) {
	image := Image{Service: service, file: filepath.Join(s.dir, service+".backup")}
	return image, s.tool(ctx, "pg_dump", "--format=custom", "--file="+image.file, s.Superuser[service])
}

// Restore drops the service's database and creates it again from the image. The tables in keep belong to another
// provider and keep their present rows. Every connection is closed.
func (s *Stack) Restore(ctx context.Context, image Image, keep ...string) error {
	kept := image.file + ".kept"
	if len(keep) > 0 {
		words := []string{"--format=custom", "--data-only", "--file=" + kept, s.Superuser[image.Service]}
		for _, table := range keep {
			words = append(words, "--table="+table)
		}
		if err := s.tool(ctx, "pg_dump", words...); err != nil {
			return err
		}
	}
	database, err := url.Parse(s.Superuser[image.Service])
	if err != nil {
		return fmt.Errorf("the database of %s has no URL", image.Service)
	}
	name := pgx.Identifier{strings.TrimPrefix(database.Path, "/")}.Sanitize()
	if err := execute(ctx, s.postgres, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
		return err
	}
	if err := s.tool(ctx, "pg_restore", "--create", "--exit-on-error", "--dbname="+s.postgres, image.file); err != nil {
		return err
	}
	if len(keep) == 0 {
		return os.Remove(image.file)
	}
	if err := execute(ctx, s.Superuser[image.Service], "TRUNCATE "+strings.Join(keep, ", ")); err != nil {
		return err
	}
	err = s.tool(ctx, "pg_restore", "--data-only", "--exit-on-error", "--dbname="+s.Superuser[image.Service], kept)
	return errors.Join(err, os.Remove(kept), os.Remove(image.file))
}

func execute(ctx context.Context, database, statement string, args ...any) error {
	db, err := pgx.Connect(ctx, database)
	if err != nil {
		return fmt.Errorf("changing a database: %w", err)
	}
	defer db.Close(context.WithoutCancel(ctx))
	if _, err := db.Exec(ctx, statement, args...); err != nil {
		return fmt.Errorf("changing a database: %w", err)
	}
	return nil
}

// tool runs one of PostgreSQL's programs, of the installation that the instance's own server comes from.
func (s *Stack) tool(ctx context.Context, name string, words ...string) error {
	server, err := s.find("postgres")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, toolTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, filepath.Join(filepath.Dir(server.Spec.Path), name), words...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Settings are the settings that a process was made with.
func (s *Stack) Settings(name string) (map[string]string, error) {
	process, err := s.find(name)
	settings := map[string]string{}
	for _, setting := range process.Spec.Env {
		variable, value, _ := strings.Cut(setting, "=")
		settings[variable] = value
	}
	return settings, err
}

// Operate runs a verb of an operator with the program and the settings of a process, and those NAME=value besides, and
// returns what it prints.
func (s *Stack) Operate(ctx context.Context, name string, settings []string, words ...string) (string, error) {
	process, err := s.find(name)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, verbTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, process.Spec.Path, words...)
	cmd.Env, cmd.Dir = slices.Concat(process.Spec.Env, settings), process.Spec.Dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(words, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

func (s *Stack) find(name string) (launchedProcess, error) {
	state, err := s.read()
	if err != nil {
		return launchedProcess{}, err
	}
	i := slices.IndexFunc(state.Processes, func(p launchedProcess) bool { return p.Name == name })
	if i < 0 {
		return launchedProcess{}, fmt.Errorf("this stack starts no %s of its own", name)
	}
	return state.Processes[i], nil
}

// Of lists the processes of one service: every role, every replica.
func (s *Stack) Of(service string) []string {
	return slices.DeleteFunc(s.Services(), func(name string) bool {
		return name != service && !strings.HasPrefix(name, service+"-")
	})
}
