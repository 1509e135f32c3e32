package release

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"causeway.internal/deploy/check/recipe"
)

// Image is one that a release publishes, with the program that is in it.
type Image struct{ Name, Module, Package string }

// Images are those of a release.
var Images = []Image{
	{"callback-dispatcher", "services/callback-dispatcher", "services/callback-dispatcher"},
	{"console", "services/console", "services/console"},
	{"gateway", "gateway", "gateway"},
	{"payments", "services/payments", "services/payments"},
	{"reports", "services/reports", "services/reports"},
	{"signer", "services/wallets", "services/wallets/cmd/signer"},
	{"wallets", "services/wallets", "services/wallets"},
}

// platforms that an image is built for.
var platforms = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

// Built is an image before it is pushed: what it adds to its base, in the order of platforms.
type Built struct {
	Name  string
	Parts []recipe.Image
}

// Source is the tree that a release is built from.
type Source struct{ Directory, Version, Revision string }

// Build takes the steps of deploy/docker/Dockerfile for each platform. Directories are made below scratch.
func Build(ctx context.Context, source Source, one Image, scratch string, log io.Writer) (Built, error) {
	caches, err := recipe.Caches(ctx)
	if err != nil {
		return Built{}, err
	}
	b := Built{Name: one.Name}
	for _, p := range platforms {
		args := map[string]string{
			"MODULE": one.Module, "PACKAGE": one.Package, "VERSION": source.Version, "REVISION": source.Revision, "TARGETOS": p.OS, "TARGETARCH": p.Architecture,
		}
		dir := filepath.Join(scratch, one.Name, p.Architecture)
		part, err := recipe.Build(ctx, recipe.Options{
			Dockerfile: filepath.Join(source.Directory, "deploy", "docker", "Dockerfile"), Files: source.Directory, Scratch: dir, Args: args, Caches: caches, Log: log,
		})
		if err != nil {
			return Built{}, fmt.Errorf("build %s for %s: %w", one.Name, p, err)
		}
		b.Parts = append(b.Parts, part)
	}
	return b, nil
}

// index puts the parts on their base, one image for each platform. The same parts and base give the same index.
func (b Built) index(version, revision string, options []remote.Option) (v1.ImageIndex, error) {
	base, err := name.ParseReference(b.Parts[0].Base)
	if err != nil {
		return nil, err
	}
	bases, err := remote.Index(base, options...)
	if err != nil {
		return nil, fmt.Errorf("read the base %s: %w", base, err)
	}
	about := map[string]string{"org.opencontainers.image.version": version, "org.opencontainers.image.revision": revision}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for i, part := range b.Parts {
		image, err := of(bases, platforms[i])
		if err == nil {
			image, err = b.add(image, part, about)
		}
		if err != nil {
			return nil, fmt.Errorf("base %s, %s: %w", base, platforms[i], err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platforms[i]}})
	}
	return mutate.Annotations(index, about).(v1.ImageIndex), nil
}

// of is the image of an index for a platform.
func of(index v1.ImageIndex, platform v1.Platform) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.Satisfies(platform) {
			return index.Image(m.Digest)
		}
	}
	return nil, errors.New("there is none")
}

func (b Built) add(image v1.Image, part recipe.Image, about map[string]string) (v1.Image, error) {
	var entrypoint []string
	if err := json.Unmarshal([]byte(part.Entrypoint), &entrypoint); err != nil {
		return nil, fmt.Errorf("entrypoint %s: %w", part.Entrypoint, err)
	}
	content, err := archive(part.Root)
	if err != nil {
		return nil, err
	}
	media, err := image.MediaType()
	if err != nil {
		return nil, err
	}
	kind := types.DockerLayer
	if media == types.OCIManifestSchema1 {
		kind = types.OCILayer
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
	layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(kind), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	if image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: "deploy/docker/Dockerfile"}}); err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config := *file.Config.DeepCopy()
	config.Entrypoint, config.Cmd, config.Labels = entrypoint, nil, about
	return mutate.Config(image, config)
}

// archive holds the files of a directory, without times and owners, which would make it another each time. Everybody
// may read them, whatever the umask is: an image's user does not own them.
func archive(root string) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path, Mode: 0o644, Size: int64(len(raw)), Typeflag: tar.TypeReg}
		if info.Mode()&0o100 != 0 {
			header.Mode = 0o755
		}
		if err := w.WriteHeader(header); err != nil {
			return err
		}
		_, err = w.Write(raw)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("archive %s: %w", root, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("archive %s: %w", root, err)
	}
	return out.Bytes(), nil
}
