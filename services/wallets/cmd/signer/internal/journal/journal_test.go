package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"causeway.internal/services/wallets/internal/intent"
)

func fill(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	j := &Journal{file: file}
	defer j.Close()
	for _, id := range []string{"a", "b", "c"} {
		e := Entry{At: time.Unix(1, 2), Event: Signed, Request: &intent.Request{ID: id, Amount: "1"}, Signed: &intent.Signed{ID: id, Raw: "00"}}
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func TestCreate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := Create(path, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if Create(path, time.Unix(1, 0)) == nil {
		t.Error("create a log that exists: got no error, want one")
	}
	var events []string
	j, err := Open(path, func(e Entry) { events = append(events, e.Event) })
	if err != nil || len(events) != 1 || events[0] != Created {
		t.Fatalf("open a new log: got the events %v, %v, want %s alone", events, err, Created)
	}
	defer j.Close()
	if _, err := Open(path, func(Entry) {}); err == nil {
		t.Error("open a log that is open: got no error, want one")
	}
}

func TestJournal_readAgain(t *testing.T) {
	path := fill(t)
	var ids []string
	j, err := Open(path, func(e Entry) { ids = append(ids, e.Request.ID) })
	if err != nil || len(ids) != 3 || ids[2] != "c" {
		t.Fatal(ids, err)
	}
	if err := j.Append(Entry{Event: Started}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if lines, head, err := Verify(bytes.NewReader(text)); err != nil || lines != 4 || len(head) != 64 {
		t.Errorf("%d lines, %s, %v", lines, head, err)
	}
}

// An unfinished last line is cut off, since nobody received its answer; the lines before it stay valid.
func TestJournal_cutLine(t *testing.T) {
	path := fill(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(text, []byte(`{"number":4,"at":"20`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	lines := 0
	j, err := Open(path, func(Entry) { lines++ })
	if err != nil || lines != 3 {
		t.Fatal(lines, err)
	}
	if err := errors.Join(j.Append(Entry{Event: Started}), j.Close()); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(path, func(Entry) {}); err != nil {
		t.Error(err)
	} else if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// A newer signer may have written members that this one does not know: its lines stay valid, and a change of such a
// member shows.
func TestJournal_unknownMember(t *testing.T) {
	path := fill(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, head, err := Verify(bytes.NewReader(text))
	if err != nil || head != "405042229253e9e3e6913aa5f7d9d8d136a728fe07ca58eeaae87b4d083f76d3" { // a log that exists keeps its hashes
		t.Fatalf("verify a log: got %s, %v", head, err)
	}
	line := `{"number":4,"at":"1970-01-01T00:00:01Z","event":"signed","request":{"id":"d","later":{"b":1,"a":"<"}},"before":"` + head + `"`
	sum := sha256.Sum256([]byte(line + "}"))
	later := append(text, line+`,"hash":"`+hex.EncodeToString(sum[:])+"\"}\n"...)
	if lines, _, err := Verify(bytes.NewReader(later)); err != nil || lines != 4 {
		t.Errorf("verify a log with a member of a newer signer: got %d lines, %v, want 4", lines, err)
	}
	for old, changed := range map[string]string{`"b":1`: `"b":2`, `"hash":"` + hex.EncodeToString(sum[:]): `"hash":"` + head, `"}` + "\n": `","x":1}` + "\n"} {
		at := bytes.LastIndex(later, []byte(old))
		other := append(append(bytes.Clone(later[:at]), changed...), later[at+len(old):]...)
		if _, _, err := Verify(bytes.NewReader(other)); !errors.Is(err, ErrBroken) {
			t.Errorf("verify a log with %s in place of %s: got %v, want ErrBroken", changed, old, err)
		}
	}
}

func TestJournal_changedLine(t *testing.T) {
	path := fill(t)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte("\n"))
	for name, changed := range map[string][]byte{
		"an amount":    bytes.Replace(text, []byte(`"amount":"1"`), []byte(`"amount":"2"`), 1),
		"one removed":  append(bytes.Clone(lines[0]), lines[2]...),
		"first gone":   append(bytes.Clone(lines[1]), lines[2]...),
		"one repeated": append(bytes.Clone(text), lines[2]...),
		"two swapped":  append(append(bytes.Clone(lines[1]), lines[0]...), lines[2]...),
	} {
		if _, _, err := Verify(bytes.NewReader(changed)); !errors.Is(err, ErrBroken) {
			t.Errorf("verify a log with %s: got %v, want ErrBroken", name, err)
		}
	}
}

// A signer without its log has forgotten which orders it signed for. So it makes none by itself.
func TestOpen_missing(t *testing.T) {
	dir := t.TempDir()
	absent, empty, cut := filepath.Join(dir, "absent"), filepath.Join(dir, "empty"), filepath.Join(dir, "cut")
	for path, text := range map[string]string{empty: "", cut: `{"number":1,"at":"2026`} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{absent, empty, cut} {
		if _, err := Open(path, func(Entry) {}); !errors.Is(err, ErrMissing) {
			t.Errorf("open %s: got %v, want %v", filepath.Base(path), err, ErrMissing)
		}
	}
	if _, err := os.Stat(absent); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("look for a log that was opened and did not exist: got %v, want none", err)
	}
}
