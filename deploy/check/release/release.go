// Package release builds the images of a version for every platform, pushes them, has them signed, and pins the digest
// of every image in the production overlay, ours and others'. It needs no Docker engine: package recipe takes the
// Dockerfile's steps.
package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// Release is what a version is published with.
type Release struct {
	Version  string // the tag, such as v1.2.3
	Revision string
	Registry string // where images go: registry.example/causeway
	Overlay  string // directory of the overlay that is pinned
	Options  []remote.Option
	Sign     func(ctx context.Context, reference string) error // references name a digest
	Log      io.Writer
}

// own begins the names of the product's images in the manifests.
const own = "causeway/"

// A version is a tag and, with dashes, part of the names of Jobs. These are labels of DNS, 63 characters at most.
var version = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z0-9]+(\.[a-z0-9]+)*)?$`)

const versionMax = 32

// Check refuses what is no version.
func (s Source) Check() error {
	if !version.MatchString(s.Version) || len(s.Version) > versionMax {
		return fmt.Errorf("the version %q is none: v1.2.3 or v1.2.3-rc.1 in small letters, %d characters at most", s.Version, versionMax)
	}
	return nil
}

// Check refuses what cannot be published.
func (r Release) Check() error {
	if err := (Source{Version: r.Version}).Check(); err != nil {
		return err
	}
	if _, err := name.NewRepository(r.Registry+"/image", name.StrictValidation); err != nil {
		return fmt.Errorf("the registry: %w", err)
	}
	return nil
}

// Pin is an image of the overlay: as manifests name it, and as it runs.
type Pin struct{ Name, NewName, Tag, Digest string }

// Reference names the image for pulling.
func (p Pin) Reference() string { return p.NewName + "@" + p.Digest }

// Publish pushes and signs the images that were built, and writes into the overlay what runs. It may be repeated: what
// is there already stays. On an error the overlay is as it was.
func (r Release) Publish(ctx context.Context, images []Built) (pins []Pin, err error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	for _, b := range images {
		digest, err := r.push(ctx, b)
		if err != nil {
			return nil, fmt.Errorf("push %s: %w", b.Name, err)
		}
		pins = append(pins, Pin{Name: own + b.Name, NewName: r.Registry + "/" + b.Name, Tag: r.Version, Digest: digest.String()})
	}
	for _, pin := range pins {
		if err := r.Sign(ctx, pin.Reference()); err != nil {
			return nil, fmt.Errorf("sign %s: %w", pin.Reference(), err)
		}
	}
	file := filepath.Join(r.Overlay, "release", "kustomization.yaml")
	before, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the pins: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.WriteFile(file, before, 0o644))
		}
	}()
	// With nothing but the product's own pins, the overlay names others' images as its manifests do.
	if err := os.WriteFile(file, r.component(pins), 0o644); err != nil {
		return nil, fmt.Errorf("write the pins: %w", err)
	}
	loose, err := unpinned(r.Overlay)
	if err != nil {
		return nil, err
	}
	for _, reference := range loose {
		pin, err := r.resolve(ctx, reference)
		if err != nil {
			return nil, fmt.Errorf("find the digest of %s: %w", reference, err)
		}
		pins = append(pins, pin)
	}
	if err := os.WriteFile(file, r.component(pins), 0o644); err != nil {
		return nil, fmt.Errorf("write the pins: %w", err)
	}
	if loose, err = unpinned(r.Overlay); err != nil {
		return nil, err
	}
	if len(loose) > 0 {
		return nil, fmt.Errorf("these images of the overlay are in fields that release/fields.yaml does not know, and stay without a digest: %s",
			strings.Join(loose, ", "))
	}
	return pins, nil
}

// push writes an image under the version's tag, unless the tag is taken by another image.
func (r Release) push(ctx context.Context, b Built) (v1.Hash, error) {
	var none v1.Hash
	tag, err := name.NewTag(r.Registry+"/"+b.Name+":"+r.Version, name.StrictValidation)
	if err != nil {
		return none, err
	}
	options := append(slices.Clone(r.Options), remote.WithContext(ctx))
	index, err := b.index(r.Version, r.Revision, options)
	if err != nil {
		return none, err
	}
	digest, err := index.Digest()
	if err != nil {
		return none, err
	}
	there, err := remote.Head(tag, options...)
	if refusal, ok := errors.AsType[*transport.Error](err); ok && refusal.StatusCode == http.StatusNotFound {
		fmt.Fprintf(r.Log, "push %s@%s\n", tag, digest)
		return digest, remote.WriteIndex(tag, index, options...)
	}
	if err != nil {
		return none, err
	}
	if there.Digest != digest {
		return none, fmt.Errorf("the tag %s is taken by %s, and this is %s: a version is published once", tag, there.Digest, digest)
	}
	fmt.Fprintf(r.Log, "%s@%s is there\n", tag, digest)
	return digest, nil
}

// resolve asks a registry for the digest of another's image.
func (r Release) resolve(ctx context.Context, reference string) (Pin, error) {
	tag, err := name.NewTag(reference, name.WeakValidation)
	if err != nil {
		return Pin{}, err
	}
	plain, written, _ := cutLast(reference, ":")
	if written != tag.TagStr() {
		return Pin{}, errors.New("it has no tag")
	}
	found, err := remote.Head(tag, append(slices.Clone(r.Options), remote.WithContext(ctx))...)
	if err != nil {
		return Pin{}, err
	}
	fmt.Fprintf(r.Log, "pin %s@%s\n", reference, found.Digest)
	return Pin{Name: plain, NewName: plain, Tag: written, Digest: found.Digest.String()}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// component is the file that pins images and names migrations.
func (r Release) component(pins []Pin) []byte {
	var lines strings.Builder
	for _, p := range pins {
		fmt.Fprintf(&lines, "  - name: %s\n    newName: %s\n    newTag: %q\n    digest: %s\n", p.Name, p.NewName, p.Tag, p.Digest)
	}
	return []byte(fmt.Sprintf(`# The images that run, and in their tag's words the names of the migrations. Written by make release (docs/deploy.md, Releases).
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
configurations: [fields.yaml]
images:
%stransformers:
  - |-
    apiVersion: builtin
    kind: SuffixTransformer
    metadata: {name: version}
    suffix: -%s
    fieldSpecs:
      - {kind: Job, path: metadata/name}
`, &lines, strings.ReplaceAll(r.Version, ".", "-")))
}

// named finds what an object runs, whichever object it is; k8s/rollout looks for the same.
var named = regexp.MustCompile(`(?m)^ *(?:- )?image(?:Name)?: (\S+)$`)

// unpinned lists the images of an overlay that have no digest, each once.
func unpinned(overlay string) ([]string, error) {
	objects, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), overlay)
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", overlay, err)
	}
	text, err := objects.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("render %s: %w", overlay, err)
	}
	var loose []string
	for _, m := range named.FindAllSubmatch(text, -1) {
		if reference := string(m[1]); !strings.Contains(reference, "@sha256:") && !slices.Contains(loose, reference) {
			loose = append(loose, reference)
		}
	}
	slices.Sort(loose)
	return loose, nil
}
