package journal

import (
	"bytes"
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
	j, err := Open(path, func(Entry) { t.Error("an empty log has a line") })
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, id := range []string{"a", "b", "c"} {
		e := Entry{At: time.Unix(1, 2), Event: Signed, Request: &intent.Request{ID: id, Amount: "1"}, Signed: &intent.Signed{ID: id, Raw: "00"}}
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Open(path, func(Entry) {}); err == nil {
		t.Error("two processes write one log")
	}
	return path
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
