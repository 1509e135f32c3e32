package release

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// wheel makes what pip installs, as the format of binary distributions says: the package, and what describes it, which
// pyproject.toml has. The package is Python alone, so nothing is built.
func wheel(_ context.Context, d Delivery, dir, version string) error {
	project, err := os.ReadFile(filepath.Join(dir, "pyproject.toml"))
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return err
	}
	field := func(name string) string {
		found := regexp.MustCompile(`(?m)^` + name + ` = "(.*)"$`).FindSubmatch(project)
		if found == nil {
			err = errors.Join(err, fmt.Errorf("pyproject.toml has no %s", name))
			return ""
		}
		return string(found[1])
	}
	metadata := fmt.Sprintf("Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: %s\nLicense-File: LICENSE\n"+
		"Requires-Python: %s\nDescription-Content-Type: text/markdown\n\n%s", field("name"), version, field("description"), field("license"), field("requires-python"), readme)
	if err != nil {
		return err
	}
	distribution := strings.ReplaceAll(field("name"), "-", "_") + "-" + version
	info := distribution + ".dist-info/"
	var out, record bytes.Buffer
	archive := zip.NewWriter(&out)
	put := func(name string, content []byte) error {
		w, err := archive.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
		_, err = w.Write(content)
		return err
	}
	files := os.DirFS(filepath.Join(dir, "src"))
	if err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return put(path, content)
	}); err != nil {
		return err
	}
	licence, err := os.ReadFile(filepath.Join(dir, "LICENSE"))
	if err != nil {
		return err
	}
	if err := errors.Join(
		put(info+"licenses/LICENSE", licence), put(info+"METADATA", []byte(metadata)),
		put(info+"WHEEL", []byte("Wheel-Version: 1.0\nGenerator: causeway\nRoot-Is-Purelib: true\nTag: py3-none-any\n")),
	); err != nil {
		return err
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	listed := bytes.Clone(record.Bytes()) // the record does not list its own sum
	if err := errors.Join(put(info+"RECORD", listed), archive.Close()); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(d.To, distribution+"-py3-none-any.whl"), out.Bytes(), 0o644)
}
