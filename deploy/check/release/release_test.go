package release_test

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"causeway.internal/deploy/check/release"
)

// root is the project's.
const root = "../../.."

// fixture is a real registry in the place of all public ones, with the base image and third-party images in it, and a
// copy of the manifests.
type fixture struct {
	release.Release
	options []remote.Option
	signed  []string
	dir     string
}

// detour leads every request to one server.
type detour struct{ to *url.URL }

func (d detour) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = d.to.Scheme, d.to.Host
	return http.DefaultTransport.RoundTrip(r)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{options: []remote.Option{remote.WithTransport(detour{address})}, dir: t.TempDir()}
	for _, part := range []string{"k8s", "deploy/otel"} {
		if err := os.CopyFS(filepath.Join(w.dir, part), os.DirFS(filepath.Join(root, part))); err != nil {
			t.Fatal(err)
		}
	}
	w.Release = release.Release{
		Version: "v1.2.3", Revision: "0123456789abcdef", Registry: "registry.example/causeway", Log: t.Output(),
		Overlay: filepath.Join(w.dir, "k8s", "overlays", "prod"), Options: w.options,
		Sign: func(_ context.Context, reference string) error {
			w.signed = append(w.signed, reference)
			return nil
		},
	}
	w.put(t, "gcr.io/distroless/static-debian12:nonroot")
	text, err := committed()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^ *(?:- )?image(?:Name)?: (\S+)$`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(m[1], "registry.causeway.example/") {
			w.put(t, m[1])
		}
	}
	return w
}

// committed is the overlay of the tree as it would be applied, which each fixture begins with.
var committed = sync.OnceValues(func() (string, error) { return render(filepath.Join(root, "k8s", "overlays", "prod")) })

// put writes an image for three platforms, whose user is that of the base.
func (w *fixture) put(t *testing.T, reference string) {
	t.Helper()
	index := v1.ImageIndex(empty.Index)
	for _, architecture := range []string{"s390x", "amd64", "arm64"} {
		image, err := random.Image(64, 1)
		if err == nil {
			image, err = mutate.ConfigFile(image, &v1.ConfigFile{Architecture: architecture, OS: "linux", Config: v1.Config{User: "65532", Cmd: []string{"x"}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}},
		})
	}
	if err := remote.WriteIndex(parse(t, reference), index, w.options...); err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, reference string) name.Reference {
	t.Helper()
	parsed, err := name.ParseReference(reference)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// rendered is the overlay as it would be applied.
func (w *fixture) rendered(t *testing.T) string {
	t.Helper()
	text, err := render(w.Overlay)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func render(overlay string) (string, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return "", err
	}
	text, err := objects.AsYaml()
	return string(text), err
}

// files are the manifests of the fixture by path.
func (w *fixture) files(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(w.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		all[path] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// built takes the Dockerfile's steps for the smallest program, as an example for all: TestImages builds each of them.
// The other images have the head of that program, which names its machine: each push packs all of them.
func built(t *testing.T) []release.Built {
	t.Helper()
	at := slices.IndexFunc(release.Images, func(i release.Image) bool { return i.Name == "signer" })
	one, err := release.Build(t.Context(), release.Source{Directory: root, Version: "v1.2.3", Revision: "0123456789abcdef"}, release.Images[at], t.TempDir(), t.Output())
	if err != nil {
		t.Fatal(err)
	}
	heads := release.Built{Parts: slices.Clone(one.Parts)}
	for i, part := range one.Parts {
		heads.Parts[i].Root = t.TempDir()
		if err := os.WriteFile(filepath.Join(heads.Parts[i].Root, "app"), head(t, filepath.Join(part.Root, "app")), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var all []release.Built
	for _, image := range release.Images {
		parts := heads.Parts
		if image.Name == one.Name {
			parts = one.Parts
		}
		all = append(all, release.Built{Name: image.Name, Parts: parts})
	}
	return all
}

// head is the header of a program, changed to say that no sections and segments follow.
func head(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var header elf.Header64
	if _, err := binary.Decode(raw, binary.LittleEndian, &header); err != nil {
		t.Fatalf("read the header of %s: %v", path, err)
	}
	header.Phoff, header.Phnum, header.Shoff, header.Shnum, header.Shstrndx = 0, 0, 0, 0, 0
	raw, err = binary.Append(nil, binary.LittleEndian, header)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestRelease: each image is there for both machines, signed by its digest, and pinned in the overlay, as every other's
// is. A release is published once: repeated it changes nothing, and what would be another image, or stay without a
// digest, is refused and leaves the overlay as it was.
func TestRelease(t *testing.T) {
	images := built(t)
	t.Run("published", func(t *testing.T) {
		t.Parallel()
		published(t, images)
	})
	small := smaller(t, images)
	for name, refuse := range map[string]func(t *testing.T, w *fixture) (reason string){
		"an image that its registry does not have": func(t *testing.T, w *fixture) string {
			edit(t, filepath.Join(w.dir, "deploy", "otel", "collector-deployment.yaml"), "collector:0", "collector:9")
			return "opentelemetry-collector:9"
		},
		"an image without a tag": func(t *testing.T, w *fixture) string {
			edit(t, filepath.Join(w.Overlay, "rabbitmq.yaml"), "rabbitmq:4.1-management", "rabbitmq")
			return "it has no tag"
		},
		"an image in a field that nobody knows": func(t *testing.T, w *fixture) string {
			edit(t, filepath.Join(w.Overlay, "release", "fields.yaml"), "  - {kind: Cluster, path: spec/imageName}\n", "")
			return "stay without a digest: ghcr.io/cloudnative-pg/postgresql:"
		},
		"a signature that fails": func(_ *testing.T, w *fixture) string {
			w.Sign = func(context.Context, string) error { return errors.New("no key") }
			return "no key"
		},
		"a tag that another image has": func(t *testing.T, w *fixture) string {
			w.put(t, w.Registry+"/payments:"+w.Version)
			return "a version is published once"
		},
		"a base for one machine": func(t *testing.T, w *fixture) string {
			image, err := random.Image(64, 1)
			if err != nil {
				t.Fatal(err)
			}
			if err := remote.Write(parse(t, "gcr.io/distroless/static-debian12:nonroot"), image, w.options...); err != nil {
				t.Fatal(err)
			}
			return "read the base"
		},
		"a version that is none": func(_ *testing.T, w *fixture) string {
			w.Version = "latest"
			return "v1.2.3"
		},
		"a version that is no name of a Job": func(_ *testing.T, w *fixture) string {
			w.Version = "v1.2.3-" + strings.Repeat("x", 30)
			return "32 characters"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			reason := refuse(t, w)
			before := w.files(t)
			if _, err := w.Publish(t.Context(), small); err == nil || !strings.Contains(err.Error(), reason) {
				t.Errorf("publish: error %v, want one that says %q", err, reason)
			}
			if !maps.Equal(w.files(t), before) {
				t.Error("a refused release changed the manifests")
			}
		})
	}
}

// smaller has the images with a program of a few bytes: a refused release pushes what nobody runs.
func smaller(t *testing.T, images []release.Built) []release.Built {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "app"), []byte("program"), 0o755); err != nil {
		t.Fatal(err)
	}
	var all []release.Built
	for _, image := range images {
		image.Parts = slices.Clone(image.Parts)
		for i := range image.Parts {
			image.Parts[i].Root = dir
		}
		all = append(all, image)
	}
	return all
}

func edit(t *testing.T, path, before, after string) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(raw, []byte(before)) {
		t.Fatalf("%s has no %q: %v", path, before, err)
	}
	if err := os.WriteFile(path, bytes.ReplaceAll(raw, []byte(before), []byte(after)), 0o644); err != nil {
		t.Fatal(err)
	}
}

func published(t *testing.T, images []release.Built) {
	w := newFixture(t)
	pins, err := w.Publish(t.Context(), images)
	if err != nil {
		t.Fatal(err)
	}
	delivery := release.Delivery{Source: release.Source{Directory: source(t), Version: "v1.2.3", Revision: w.Revision}, To: t.TempDir(), Pins: pins, Log: t.Output()}
	if err := delivery.Write(t.Context(), nil, release.Built{}); err != nil {
		t.Fatal(err)
	}
	text, notes := w.rendered(t), read(t, filepath.Join(delivery.To, "NOTES"))
	for _, image := range release.Images {
		tag := w.Registry + "/" + image.Name + ":v1.2.3"
		index, err := remote.Index(parse(t, tag), w.options...)
		if err != nil {
			t.Fatal(err)
		}
		digest, err := index.Digest()
		if err != nil {
			t.Fatal(err)
		}
		runs(t, index)
		reference := w.Registry + "/" + image.Name + "@" + digest.String()
		if !slices.Contains(w.signed, reference) || !strings.Contains(notes, "cosign verify --key cosign.pub "+reference+"\n") {
			t.Errorf("%s is not signed, or the notes do not verify it:\n%s", reference, notes)
		}
		if !strings.Contains(text, "image: "+tag+"@"+digest.String()+"\n") {
			t.Errorf("the overlay does not run %s@%s", tag, digest)
		}
	}
	named := regexp.MustCompile(`(?m)^ *(?:- )?image(?:Name)?: (\S+)$`).FindAllStringSubmatch(text, -1)
	for _, m := range named {
		tag, digest, pinned := strings.Cut(m[1], "@")
		there, err := remote.Head(parse(t, tag), w.options...)
		if !pinned || err != nil || there.Digest.String() != digest || strings.Count(m[1], ":") < 2 {
			t.Errorf("the overlay runs %s: %v", m[1], err)
		}
	}
	if len(named) < 23 || strings.Count(text, "-migrate-v1-2-3\n") != 7 {
		t.Errorf("%d images, %d migrations of the version", len(named), strings.Count(text, "-migrate-v1-2-3\n"))
	}
	again, err := w.Publish(t.Context(), images)
	if err != nil || !slices.Equal(again, pins) || w.rendered(t) != text {
		t.Errorf("repeated it is another release: %v, %v", again, err)
	}
	// The next version begins from manifests whose pins are those of this one.
	edit(t, filepath.Join(w.Overlay, "postgres.yaml"), "postgresql:15.14", "postgresql:15.15")
	w.put(t, "ghcr.io/cloudnative-pg/postgresql:15.15")
	w.Version = "v1.3.0"
	if _, err := w.Publish(t.Context(), images); err != nil {
		t.Fatal(err)
	}
	if text := w.rendered(t); !strings.Contains(text, "postgresql:15.15@sha256:") || strings.Contains(text, "v1.2.3") || strings.Contains(text, "v1-2-3") {
		t.Error("the next version runs what the one before it pinned")
	}
}

// runs fails unless an index has a program for each machine, on the base's user.
func runs(t *testing.T, index v1.ImageIndex) {
	t.Helper()
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	machines := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}
	if len(manifest.Manifests) != len(machines) {
		t.Errorf("%d images are in the index", len(manifest.Manifests))
	}
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := file.Config
		if m.Platform.OS != "linux" || file.Architecture != m.Platform.Architecture || c.User != "65532" || !slices.Equal(c.Entrypoint, []string{"/app"}) ||
			len(c.Cmd) > 0 || c.Labels["org.opencontainers.image.version"] != "v1.2.3" || c.Labels["org.opencontainers.image.revision"] != "0123456789abcdef" {
			t.Errorf("the image for %s is configured as %+v", m.Platform, c)
		}
		program, err := elf.NewFile(bytes.NewReader(app(t, image)))
		if err != nil || program.Machine != machines[m.Platform.Architecture] {
			t.Errorf("%s: the program is for %v, %v", m.Platform, program.Machine, err)
		}
	}
}

// app reads the program of an image.
func app(t *testing.T, image v1.Image) []byte {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if err != nil {
			t.Fatalf("there is no program: %v", err)
		}
		if header.Name != "app" {
			continue
		}
		if header.Mode&0o555 != 0o555 {
			t.Errorf("the program cannot be run by everybody: %o", header.Mode)
		}
		raw, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
}
