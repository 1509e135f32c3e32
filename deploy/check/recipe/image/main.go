// Command image takes the steps of deploy/docker/Dockerfile without a Docker engine and leaves what the image adds to
// its base in a directory: image MODULE PACKAGE DIRECTORY, started in the project's directory with VERSION and REVISION
// in the environment (deploy/docker/image does).
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"causeway.internal/deploy/check/recipe"
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: image MODULE PACKAGE DIRECTORY")
	}
	caches, err := recipe.Caches(ctx)
	if err != nil {
		return err
	}
	scratch, err := os.MkdirTemp("", "image")
	if err != nil {
		return fmt.Errorf("making a directory: %w", err)
	}
	defer os.RemoveAll(scratch)
	built, err := recipe.Build(ctx, recipe.Options{
		Dockerfile: filepath.Join("deploy", "docker", "Dockerfile"), Files: ".", Scratch: scratch, Caches: caches, Log: os.Stderr,
		Args: map[string]string{"MODULE": args[0], "PACKAGE": args[1], "VERSION": os.Getenv("VERSION"), "REVISION": os.Getenv("REVISION")},
	})
	if err != nil {
		return err
	}
	if err := os.RemoveAll(args[2]); err != nil {
		return fmt.Errorf("emptying %s: %w", args[2], err)
	}
	return os.CopyFS(args[2], os.DirFS(built.Root))
}
