// Command publish writes the files of a version, such as archives of the images and packages of the clients, and signs
// their sums. With a registry it also pushes, signs and pins the images. `make release` calls it.
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

func run(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	var source release.Source
	flags.StringVar(&source.Directory, "source", ".", "the project's directory")
	flags.StringVar(&source.Version, "version", "", "the tag, such as v1.2.3")
	flags.StringVar(&source.Revision, "revision", "", "the commit")
	to := flags.String("to", "", "where the files go: a directory that is empty or not there")
	key := flags.String("key", "", "file with the ECDSA key, in PEM, that signs the sums of the files")
	registry := flags.String("registry", "", "where images go: registry.example/causeway, whose login docker keeps; none for files alone")
	cosignKey := flags.String("cosign-key", "", "cosign's key, for images: a file, or the URL of a key management service")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if source.Directory, err = filepath.Abs(source.Directory); err != nil {
		return err
	}
	if _, err := release.ReadKey(*key); err != nil { // before the minutes of a build
		return fmt.Errorf("the sums are signed: name a key (KEY): %w", err)
	}
	published, err := registered(source, *registry, *cosignKey)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "release")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(scratch)
	delivery := release.Delivery{Source: source, To: *to, Log: os.Stderr}
	if err := delivery.Check(); err != nil {
		return err
	}
	build := func(image release.Image) (release.Built, error) {
		fmt.Fprintln(os.Stderr, "build", image.Name)
		return release.Build(ctx, source, image, scratch, os.Stderr)
	}
	var images []release.Built
	for _, image := range release.Images {
		built, err := build(image)
		if err != nil {
			return err
		}
		images = append(images, built)
	}
	tool, err := build(release.Tool)
	if err != nil {
		return err
	}
	if published != nil {
		if delivery.Pins, err = published.Publish(ctx, images); err != nil {
			return err
		}
	}
	if err := delivery.Write(ctx, images, tool); err != nil {
		return err
	}
	if err := delivery.Clients(ctx, filepath.Join(scratch, "clients")); err != nil {
		return err
	}
	return release.Seal(*to, *key)
}

// registered is how images go to a registry; nil without one.
func registered(source release.Source, registry, key string) (*release.Release, error) {
	if registry == "" {
		return nil, nil
	}
	cosign, err := exec.LookPath("cosign")
	if err != nil || key == "" {
		return nil, errors.New("images are signed: install cosign and name its key (COSIGN_KEY)")
	}
	r := release.Release{
		Version: source.Version, Revision: source.Revision, Registry: registry, Log: os.Stderr,
		Overlay: filepath.Join(source.Directory, "k8s", "overlays", "prod"),
		Options: []remote.Option{remote.WithAuthFromKeychain(authn.DefaultKeychain)},
		Sign: func(ctx context.Context, reference string) error {
			sign := exec.CommandContext(ctx, cosign, "sign", "--yes", "--recursive", "--key", key, reference)
			sign.Stdin, sign.Stdout, sign.Stderr = os.Stdin, os.Stderr, os.Stderr
			return sign.Run()
		},
	}
	return &r, r.Check()
}
