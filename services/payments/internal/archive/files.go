package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// manifest says what the files of an archive hold. It is written last.
type manifest struct {
	Archive  string  `json:"archive"`
	Payments int64   `json:"payments"`
	Tables   []table `json:"tables"`
	Accounts []Sum   `json:"accounts"` // what the journals moved on shared accounts
}

// table is one file: the rows of a table in the text format of COPY.
type table struct {
	Name    string   `json:"name"`
	File    string   `json:"file"`
	Columns []string `json:"columns"`
	Rows    int64    `json:"rows"`
	Bytes   int64    `json:"bytes"`
	SHA256  string   `json:"sha256"`
}

const (
	manifestFile = "manifest.json"
	folderMode   = 0o700 // references of payments are secrets
	fileMode     = 0o600
)

// write writes the files of an archive into a folder that has its name when all of it is on the disk. A folder of that
// name is one that an interrupted run has left; the database knows nothing of it, so it is set aside.
func (a *Archiver) write(src Source) (digest []byte, err error) {
	if err := os.MkdirAll(a.Folder, folderMode); err != nil {
		return nil, err
	}
	final := filepath.Join(a.Folder, src.Name())
	part, err := os.MkdirTemp(a.Folder, src.Name()+".part")
	if err != nil {
		return nil, err
	}
	m := manifest{Archive: src.Name(), Payments: src.Payments()}
	for _, name := range src.Tables() {
		t, err := copyTable(src, part, name)
		if err != nil {
			return nil, fmt.Errorf("write the rows of %s: %w", name, err)
		}
		m.Tables = append(m.Tables, t)
		if err := a.step("copied " + name); err != nil {
			return nil, err
		}
	}
	if m.Tables[0].Rows != m.Payments {
		return nil, fmt.Errorf("%d payments written, not %d", m.Tables[0].Rows, m.Payments)
	}
	if m.Accounts, err = src.Sums(); err != nil {
		return nil, err
	}
	raw, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	if _, err := save(filepath.Join(part, manifestFile), func(w io.Writer) error {
		_, err := w.Write(raw)
		return err
	}); err != nil {
		return nil, err
	}
	if err := a.step("written"); err != nil {
		return nil, err
	}
	if _, err := os.Stat(final); err == nil {
		aside, err := os.MkdirTemp(a.Folder, src.Name()+".unknown")
		if err != nil {
			return nil, err
		}
		if err := os.Rename(final, filepath.Join(aside, src.Name())); err != nil {
			return nil, err
		}
	} else if !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := errors.Join(syncFolder(part), os.Rename(part, final)); err != nil {
		return nil, err
	}
	if err := syncFolder(a.Folder); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(raw)
	return sum[:], a.step("named")
}

// copyTable writes one file.
func copyTable(src Source, folder, name string) (t table, err error) {
	t = table{Name: name, File: name + ".copy"}
	hash := sha256.New()
	t.Bytes, err = save(filepath.Join(folder, t.File), func(w io.Writer) (err error) {
		t.Columns, t.Rows, err = src.Copy(name, io.MultiWriter(w, hash))
		return err
	})
	t.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return t, err
}

// save writes a file that is on the disk when it returns.
func save(path string, write func(io.Writer) error) (size int64, err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode) //nolint:gosec // in the operator's folder
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(write(buffered), buffered.Flush(), f.Sync()); err != nil {
		return 0, err
	}
	about, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return about.Size(), nil
}

func syncFolder(path string) error {
	f, err := os.Open(path) //nolint:gosec // the operator's folder
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// read reads every file of an archive, holds it against the manifest and the manifest against the database, and returns
// the ids of the payments in their order.
func (a *Archiver) read(one Archive) (ids []string, err error) {
	folder := filepath.Join(a.Folder, one.ID)
	raw, err := os.ReadFile(filepath.Join(folder, manifestFile)) //nolint:gosec // the operator's folder
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(raw); !bytes.Equal(sum[:], one.Manifest) {
		return nil, fmt.Errorf("the manifest of %s is another one than the database knows", one.ID)
	}
	var m manifest
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("read the manifest of %s: %w", one.ID, err)
	}
	for _, t := range m.Tables {
		if err := readTable(filepath.Join(folder, t.File), t, func(row string) {
			if t.Name == "payments" {
				id, _, _ := strings.Cut(row, "\t")
				ids = append(ids, id)
			}
		}); err != nil {
			return nil, fmt.Errorf("%s of %s: %w", t.File, one.ID, err)
		}
	}
	if int64(len(ids)) != m.Payments || !slices.IsSorted(ids) {
		return nil, fmt.Errorf("the payments of %s are not %d in their order", one.ID, m.Payments)
	}
	return ids, nil
}

// readTable reads a file of rows, one a line: COPY writes a line feed of a value as two characters.
func readTable(path string, t table, each func(row string)) (err error) {
	f, err := os.Open(path) //nolint:gosec // the operator's folder
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	hash := sha256.New()
	lines, n := bufio.NewReaderSize(io.TeeReader(f, hash), 1<<20), int64(0)
	for {
		line, err := lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			if line != "" {
				return errors.New("the last row is cut off")
			}
			break
		}
		if err != nil {
			return err
		}
		each(strings.TrimSuffix(line, "\n"))
		n++
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != t.SHA256 || n != t.Rows {
		return fmt.Errorf("%d rows with the checksum %s, not %d with %s", n, got, t.Rows, t.SHA256)
	}
	return nil
}
