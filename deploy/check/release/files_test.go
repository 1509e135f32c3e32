package release_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"causeway.internal/deploy/check/release"
)

// changelog has the section of a version between two others.
const changelog = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- Later.\n\n## [1.2.3] - 2026-01-02\n\n### Added\n\n- A thing.\n\n## [1.2.2] - 2026-01-01\n\n- Earlier.\n"

// source is the project's tree with another changelog.
func source(t *testing.T) string {
	t.Helper()
	dir, project := t.TempDir(), absolute(t, root)
	entries, err := os.ReadDir(project)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if err := os.Symlink(filepath.Join(project, entry.Name()), filepath.Join(dir, entry.Name())); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "CHANGELOG.md")); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "CHANGELOG.md"), changelog)
	return dir
}

// unreleased is a tree whose client for PHP has a version without a section in its changelog.
func unreleased(t *testing.T) string {
	t.Helper()
	dir := source(t)
	if err := os.Remove(filepath.Join(dir, "gateway")); err != nil {
		t.Fatal(err)
	}
	for _, file := range [][]string{
		{"go", "doc.go", `const Version = "0.1.0"`},
		{"go", "CHANGELOG.md", "## [0.1.0] - 2026-01-02\n"},
		{"php", "src/Client.php", `const VERSION = '0.0.9'`},
		{"php", "CHANGELOG.md", "## [Unreleased]\n"},
	} {
		path := filepath.Join(dir, "gateway", "sdk", file[0], file[1])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, file[2])
	}
	return dir
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// newKey makes a key as `openssl genpkey` does.
func newKey(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "release.key")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})))
	return file
}

// verify runs what the notes tell their reader to run, in a directory.
func verify(t *testing.T, dir, notes string) error {
	t.Helper()
	_, commands, found := strings.Cut(notes[strings.Index(notes, "## Files"):], "```sh\n")
	if !found {
		t.Fatalf("the notes have no commands for the files:\n%s", notes)
	}
	commands, _, _ = strings.Cut(commands, "```")
	cmd := exec.CommandContext(t.Context(), "sh", "-ec", commands)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// TestDelivery: the files of a version are all in the sums, the commands of the notes accept them, and refuse them once
// a byte of any is another one, or the sums are signed by another key. The same sources give the same files.
func TestDelivery(t *testing.T) {
	t.Parallel()
	images := built(t)
	signer := images[slices.IndexFunc(images, func(b release.Built) bool { return b.Name == "signer" })]
	tool := release.Built{Name: release.Tool.Name, Parts: signer.Parts}
	d := release.Delivery{
		Source: release.Source{Directory: source(t), Version: "v1.2.3", Revision: "0123456789abcdef"}, To: filepath.Join(t.TempDir(), "v1.2.3"), Log: t.Output(),
	}
	key := newKey(t)
	if err := d.Write(t.Context(), []release.Built{signer}, tool); err != nil {
		t.Fatal(err)
	}
	if err := release.Seal(d.To, key); err != nil {
		t.Fatal(err)
	}
	files := contentsOf(t, d.To)
	want := []string{
		"LICENSE", "NOTES", "SHA256SUMS", "SHA256SUMS.sig", "causeway-linux-amd64", "causeway-linux-amd64.cdx.json", "causeway-linux-arm64", "causeway-linux-arm64.cdx.json",
		"image-signer-linux-amd64.tar.gz", "image-signer-linux-arm64.tar.gz", "images.json", "licences.txt", "migrations.sum", "openapi.yaml",
		"release.pub", "signer-linux-amd64.cdx.json", "signer-linux-arm64.cdx.json",
	}
	if got := slices.Sorted(maps.Keys(files)); !slices.Equal(got, want) {
		t.Errorf("the files are %q, want %q", got, want)
	}
	notes := files["NOTES"]
	if !strings.Contains(notes, "- A thing.") || strings.Contains(notes, "- Later.") || strings.Contains(notes, "- Earlier.") || strings.Contains(notes, "cosign") {
		t.Errorf("the notes of files in no registry, with one version's changes, are\n%s", notes)
	}
	if err := verify(t, d.To, notes); err != nil {
		t.Errorf("verify the files by the commands of the notes: %v", err)
	}
	listed := regexp.MustCompile(`(?m)^[0-9a-f]{64}  (\S+)$`).FindAllStringSubmatch(files["SHA256SUMS"], -1)
	if len(listed) != len(files)-3 {
		t.Errorf("the sums name %d files of %d, want all but themselves, their signature and its key", len(listed), len(files))
	}
	for name, content := range files {
		if name == "release.pub" { // the reader compares it with the one that he knows
			continue
		}
		changed := []byte(content)
		changed[len(changed)/2] ^= 1
		write(t, filepath.Join(d.To, name), string(changed))
		if err := verify(t, d.To, notes); err == nil {
			t.Errorf("verify the files after a byte of %s was changed: accepted, want refused", name)
		}
		write(t, filepath.Join(d.To, name), content)
	}
	if err := release.Seal(d.To, newKey(t)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(d.To, "release.pub"), files["release.pub"])
	if err := verify(t, d.To, notes); err == nil {
		t.Error("verify sums that another key has signed: accepted, want refused")
	}
	again := d
	again.To = t.TempDir()
	if err := again.Write(t.Context(), []release.Built{signer}, tool); err != nil {
		t.Fatal(err)
	}
	for name, content := range contentsOf(t, again.To) {
		if files[name] != content {
			t.Errorf("write the files of the same sources again: %s is another one", name)
		}
	}
	one := unpacked(t, files["image-signer-linux-arm64.tar.gz"])
	program := read(t, filepath.Join(signer.Parts[1].Root, "app"))
	if len(one) != 1 || one["app"] != program {
		t.Errorf("the archive of the signer for arm64 holds %q, want its program as app", slices.Collect(maps.Keys(one)))
	}
	var described []struct {
		Image, Platform, Base, File string
		Entrypoint                  []string
	}
	if err := json.Unmarshal([]byte(files["images.json"]), &described); err != nil || len(described) != 2 || described[1].File != "image-signer-linux-arm64.tar.gz" ||
		described[1].Platform != "linux/arm64" || !strings.HasPrefix(described[1].Base, "gcr.io/distroless/") || !slices.Equal(described[1].Entrypoint, []string{"/app"}) {
		t.Errorf("the images are described as %+v, %v", described, err)
	}
	if !strings.Contains(files["signer-linux-arm64.cdx.json"], `"name": "signer"`) || !strings.Contains(files["signer-linux-arm64.cdx.json"], `"value": "arm64"`) {
		t.Errorf("the bill of the signer for arm64 begins with %.600s", files["signer-linux-arm64.cdx.json"])
	}
}

func contentsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		files[entry.Name()] = read(t, filepath.Join(dir, entry.Name()))
	}
	return files
}

func unpacked(t *testing.T, archive string) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(strings.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(plain); ; {
		header, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		var content bytes.Buffer
		if _, err := io.Copy(&content, r); err != nil {
			t.Fatal(err)
		}
		files[header.Name] = content.String()
	}
}

// TestDelivery_refusals: what cannot be a release is refused before anything is built or written.
func TestDelivery_refusals(t *testing.T) {
	t.Parallel()
	dir := source(t)
	full := t.TempDir()
	write(t, filepath.Join(full, "left.txt"), "of a release before")
	for name, c := range map[string]struct{ version, to, want string }{
		"a version that is none":            {"latest", t.TempDir(), "v1.2.3"},
		"a version without changes":         {"v1.3.0", t.TempDir(), "has no section of 1.3.0"},
		"a directory with files":            {"v1.2.3", full, "left.txt"},
		"a part of the number of a version": {"v1.2.30", t.TempDir(), "has no section of 1.2.30"},
	} {
		d := release.Delivery{Source: release.Source{Directory: dir, Version: c.version}, To: c.to}
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("check %s: error %v, want one that says %q", name, err, c.want)
		}
	}
	d := release.Delivery{Source: release.Source{Directory: unreleased(t), Version: "v1.2.3"}, To: t.TempDir()}
	if err := d.Check(); err == nil || !strings.Contains(err.Error(), "has no section of 0.0.9") {
		t.Errorf("check a client without changes: error %v, want one that names it", err)
	}
	other := filepath.Join(t.TempDir(), "key")
	write(t, other, "no key")
	if _, err := release.ReadKey(other); err == nil || !strings.Contains(err.Error(), "holds no PRIVATE KEY") {
		t.Errorf("read a key that is none: %v", err)
	}
}
