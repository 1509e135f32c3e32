package release

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"causeway.internal/deploy/check/supply"
)

// Tool is the merchants' tool, which is no image.
var Tool = Image{"causeway", "gateway", "gateway/cmd/causeway"}

// The files that vouch for the others.
const (
	sums      = "SHA256SUMS"
	signature = sums + ".sig"
	public    = "release.pub"
	notes     = "NOTES"
	describes = "images.json"
)

// Delivery is the files of a version.
type Delivery struct {
	Source Source
	To     string // directory that they are written to; it is made, or empty
	Pins   []Pin  // of the images in a registry; none if they are in no registry
	Log    io.Writer
}

// contents describes the files of one image for one machine, which lie on the base.
type contents struct {
	Image      string          `json:"image"`
	Platform   string          `json:"platform"`
	Base       string          `json:"base"`
	Entrypoint json.RawMessage `json:"entrypoint"`
	File       string          `json:"file"`
}

// Check refuses what cannot be written, before anything is built.
func (d Delivery) Check() error {
	if err := d.Source.Check(); err != nil {
		return err
	}
	if _, err := d.changes(); err != nil {
		return err
	}
	if err := d.checkClients(); err != nil {
		return err
	}
	there, err := os.ReadDir(d.To)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the directory: %w", err)
	}
	if len(there) > 0 {
		return fmt.Errorf("%s holds %s: give a directory that is empty", d.To, there[0].Name())
	}
	return nil
}

func (d Delivery) changes() (string, error) {
	return Changes(filepath.Join(d.Source.Directory, "CHANGELOG.md"), strings.TrimPrefix(d.Source.Version, "v"))
}

// Write writes the files: for each machine an archive of each image, the tool, and their bills of materials; the
// licences, the document of the API, the sums of the migrations, and the notes. The same sources give the same bytes.
func (d Delivery) Write(ctx context.Context, images []Built, tool Built) error {
	if err := d.Check(); err != nil {
		return err
	}
	changes, err := d.changes()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(d.To, 0o755); err != nil {
		return fmt.Errorf("make the directory: %w", err)
	}
	parts, err := supply.Parts(ctx, d.Source.Directory)
	if err != nil {
		return err
	}
	var all []contents
	for _, image := range images {
		for i, part := range image.Parts {
			file := fmt.Sprintf("image-%s-%s.tar.gz", image.Name, dashed(i))
			if err := d.pack(file, part.Root); err != nil {
				return err
			}
			if err := d.bill(image.Name, i, filepath.Join(part.Root, "app"), parts); err != nil {
				return err
			}
			all = append(all, contents{image.Name, platforms[i].String(), part.Base, json.RawMessage(part.Entrypoint), file})
		}
	}
	for i, part := range tool.Parts {
		program := filepath.Join(part.Root, "app")
		if err := copyFile(program, filepath.Join(d.To, tool.Name+"-"+dashed(i))); err != nil {
			return err
		}
		if err := d.bill(tool.Name, i, program, parts); err != nil {
			return err
		}
	}
	described, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		describes: append(described, '\n'), "licences.txt": supply.Texts(parts), notes: []byte(d.notes(changes)),
	} {
		if err := os.WriteFile(filepath.Join(d.To, name), content, 0o644); err != nil {
			return err
		}
	}
	for name, path := range map[string]string{"openapi.yaml": "gateway/openapi.yaml", "migrations.sum": "deploy/upgrade/migrations.sum", "LICENSE": "LICENSE"} {
		if err := copyFile(filepath.Join(d.Source.Directory, path), filepath.Join(d.To, name)); err != nil {
			return err
		}
	}
	return nil
}

// dashed is a platform in the names of files.
func dashed(i int) string { return platforms[i].OS + "-" + platforms[i].Architecture }

// copyFile copies a file.
func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, info.Mode().Perm())
}

// pack writes a directory as an archive.
func (d Delivery) pack(name, root string) error {
	raw, err := archive(root)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(raw); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.To, name), packed.Bytes(), 0o644)
}

func (d Delivery) bill(name string, i int, program string, parts []supply.Part) error {
	raw, err := supply.Bill(program, d.Source.Version, parts)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.To, fmt.Sprintf("%s-%s.cdx.json", name, dashed(i))), raw, 0o644)
}

// notes are what the readers of a version need: its changes, what runs, by digest, and how to verify who signed it.
func (d Delivery) notes(changes string) string {
	var images, verify strings.Builder
	for _, p := range d.Pins {
		fmt.Fprintf(&images, "| `%s:%s` | `%s` |\n", p.NewName, p.Tag, p.Digest)
		if strings.HasPrefix(p.Name, own) {
			fmt.Fprintf(&verify, "cosign verify --key cosign.pub %s\n", p.Reference())
		}
	}
	where := "They are in no registry. An archive `image-…` has the files that an image adds to its base; `" + describes +
		"` has the\nbases and the entrypoints. Three lines of a Dockerfile make the image: `FROM` the base, `ADD` the archive to `/`, and\n`ENTRYPOINT`.\n"
	if len(d.Pins) > 0 {
		where = fmt.Sprintf("| Image | Digest |\n|---|---|\n%s\nEach line fails unless the release's key has signed that image:\n\n```sh\n%s```\n", &images, &verify)
	}
	return fmt.Sprintf("# %s\n\nCommit %s, for linux/amd64 and linux/arm64.\n\n%s\n\n## Images\n\n%s\n## Files\n\n"+
		"The first line fails unless the key whose public half you know has signed the sums, the second if a file is another\n"+
		"one. With some of the files add `--ignore-missing` to it. `%[5]s` is the public half if its fingerprint is the one in\n"+
		"docs/SECURITY.md of the repository: `openssl pkey -pubin -in %[5]s -outform DER | sha256sum`.\n\n```sh\n"+
		"openssl dgst -sha256 -verify %[5]s -signature %[6]s %[7]s\nsha256sum --check --quiet %[7]s\n```\n",
		d.Source.Version, d.Source.Revision, changes, where, public, signature, sums)
}

// Changes is the section of a version in a changelog, without its heading.
func Changes(changelog, version string) (string, error) {
	raw, err := os.ReadFile(changelog)
	if err != nil {
		return "", err
	}
	heading := regexp.MustCompile(`(?m)^## \[` + regexp.QuoteMeta(version) + `\] - \d{4}-\d{2}-\d{2}$`)
	at := heading.FindIndex(raw)
	if at == nil {
		return "", fmt.Errorf("%s has no section of %s: move the entries of Unreleased to `## [%s] - DATE`", changelog, version, version)
	}
	section, _, _ := strings.Cut(string(raw[at[1]:]), "\n## [")
	return strings.TrimSpace(section), nil
}

// Seal writes the sums of all files and signs them with a PEM file's ECDSA key. The public half is beside them for
// comparison with the one that the reader knows.
func Seal(directory, key string) error {
	signer, err := ReadKey(key)
	if err != nil {
		return err
	}
	var list bytes.Buffer
	err = fs.WalkDir(os.DirFS(directory), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path == sums || path == signature || path == public {
			return err
		}
		raw, err := os.ReadFile(filepath.Join(directory, path))
		fmt.Fprintf(&list, "%x  %s\n", sha256.Sum256(raw), path)
		return err
	})
	if err != nil {
		return fmt.Errorf("sum the files: %w", err)
	}
	digest := sha256.Sum256(list.Bytes())
	signed, err := signer.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		return fmt.Errorf("sign the sums: %w", err)
	}
	half, err := x509.MarshalPKIXPublicKey(signer.Public())
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(directory, sums), list.Bytes(), 0o644),
		os.WriteFile(filepath.Join(directory, signature), signed, 0o644),
		os.WriteFile(filepath.Join(directory, public), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: half}), 0o644),
	)
}

// ReadKey reads the key that signs the sums.
func ReadKey(path string) (*ecdsa.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	block, _ := pem.Decode(raw)
	if block == nil || block.Type != "PRIVATE KEY" {
		return nil, fmt.Errorf("%s holds no PRIVATE KEY in PEM", path)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read the key %s: %w", path, err)
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is no ECDSA key", path)
	}
	return signer, nil
}
