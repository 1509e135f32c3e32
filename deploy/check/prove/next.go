package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// parts of the project are what the overlays are made of.
var parts = []string{"k8s", "deploy/otel", "deploy/postgres", "deploy/rabbitmq"}

var (
	setting = regexp.MustCompile(`PUBLIC_URL=[^\s]+`)
	tag     = regexp.MustCompile(`newTag: "?(v[^\s,}"]+)`) // the product's images come first
)

// copyNext copies the manifests and changes both overlays: production has the next version, as `make release` would
// write it, and dev, whose images have no versions, has another setting.
func copyNext(root, to string) error {
	for _, part := range parts {
		if err := os.CopyFS(filepath.Join(to, part), os.DirFS(filepath.Join(root, part))); err != nil {
			return fmt.Errorf("copy %s: %w", part, err)
		}
	}
	overlays := filepath.Join(to, "k8s", "overlays")
	err := change(filepath.Join(overlays, "dev", "kustomization.yaml"), func(text string) string {
		return setting.ReplaceAllString(text, "PUBLIC_URL=http://another.example")
	})
	if err != nil {
		return err
	}
	return change(filepath.Join(overlays, "prod", "release", "kustomization.yaml"), func(text string) string {
		found := tag.FindStringSubmatch(text)
		if found == nil {
			return text
		}
		dashes := strings.NewReplacer(".", "-")
		next := found[1] + ".next" // a Job's name has the tag in it, with dashes for points
		return strings.NewReplacer(found[1], next, dashes.Replace(found[1]), dashes.Replace(next)).Replace(text)
	})
}

// change edits a file, which must not stay as it is.
func change(file string, edit func(text string) string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text := edit(string(raw))
	if text == string(raw) {
		return fmt.Errorf("nothing is to be changed in %s", file)
	}
	return os.WriteFile(file, []byte(text), 0o600)
}
