package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCopyNext: images of the product and migrations get another version, in the file of the tree and in the one that
// `make release` writes.
func TestCopyNext(t *testing.T) {
	const pinned = "images:\n" +
		"  - name: causeway/payments\n    newName: registry.example/payments\n    newTag: \"v1.2.3\"\n" +
		"    digest: sha256:00\n  - name: postgres\n    newName: postgres\n    newTag: \"15.14\"\n    suffix: -v1-2-3\n"
	for text, want := range map[string]string{
		"  - {name: causeway/payments, newTag: v1.2.3}\n    suffix: -v1-2-3\n": "  - {name: causeway/payments, newTag: v1.2.3.next}\n    suffix: -v1-2-3-next\n",
		pinned: strings.NewReplacer("v1.2.3", "v1.2.3.next", "v1-2-3", "v1-2-3-next").Replace(pinned),
	} {
		root, to := t.TempDir(), t.TempDir()
		for _, part := range parts {
			if err := os.MkdirAll(filepath.Join(root, part), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		files := map[string]string{
			"dev/kustomization.yaml":          "PUBLIC_URL=http://localhost\n",
			"prod/release/kustomization.yaml": text,
		}
		for name, content := range files {
			file := filepath.Join(root, "k8s", "overlays", name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := copyNext(root, filepath.Join(to, "next")); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(to, "next", "k8s", "overlays", "prod", "release", "kustomization.yaml"))
		if err != nil || string(got) != want {
			t.Errorf("%v:\n%s\nwant\n%s", err, got, want)
		}
	}
}
