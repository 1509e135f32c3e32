// Command publish builds, pushes, signs and pins the images of a version, and writes notes with the digests and the
// line that verifies each signature. `make release` calls it in the project's directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"causeway.internal/deploy/check/release"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	source := flags.String("source", ".", "the project's directory")
	version := flags.String("version", "", "the tag, such as v1.2.3")
	revision := flags.String("revision", "", "the commit")
	registry := flags.String("registry", "", "where images go, such as registry.example/causeway; docker login keeps the password")
	key := flags.String("key", "", "cosign's key: a file, or the URL of a key management service")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cosign, err := exec.LookPath("cosign")
	if err != nil || *key == "" {
		return errors.New("images are signed: install cosign and name its key (COSIGN_KEY)")
	}
	r := release.Release{
		Version: *version, Revision: *revision, Registry: *registry, Log: os.Stderr,
		Overlay: filepath.Join(*source, "k8s", "overlays", "prod"),
		Options: []remote.Option{remote.WithAuthFromKeychain(authn.DefaultKeychain)},
		Sign: func(ctx context.Context, reference string) error {
			sign := exec.CommandContext(ctx, cosign, "sign", "--yes", "--recursive", "--key", *key, reference)
			sign.Stdin, sign.Stdout, sign.Stderr = os.Stdin, os.Stderr, os.Stderr
			return sign.Run()
		},
	}
	if err := r.Check(); err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(scratch)
	var images []release.Built
	for _, image := range release.Images {
		fmt.Fprintln(os.Stderr, "build", image.Name)
		built, err := release.Build(ctx, release.Source{Directory: *source, Version: *version, Revision: *revision}, image, scratch, os.Stderr)
		if err != nil {
			return err
		}
		images = append(images, built)
	}
	pins, err := r.Publish(ctx, images)
	if err != nil {
		return err
	}
	notes := filepath.Join(*source, "bin", "release", *version+".md")
	if err := os.MkdirAll(filepath.Dir(notes), 0o755); err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	if err := os.WriteFile(notes, []byte(release.Notes(r, pins)), 0o644); err != nil {
		return fmt.Errorf("write the notes: %w", err)
	}
	fmt.Println(strings.TrimPrefix(notes, *source+"/"))
	return nil
}
