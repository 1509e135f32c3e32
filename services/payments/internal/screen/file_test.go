package screen

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"causeway.internal/libs/tenant"
)

// lines is a list of n addresses.
func lines(n int) string {
	var b strings.Builder
	for i := range n {
		_, _ = fmt.Fprintf(&b, "Taddress%d\n", i)
	}
	return b.String()
}

// A file that operators replace is in force without a restart. A file that is bad, empty, too small or away leaves the
// list before it in force.
func TestFile_refresh(t *testing.T) {
	path := filepath.Join(t.TempDir(), "list")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(lines(10))
	f, err := OpenFile(path, 0, time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name    string
		text    string
		has     string
		entries int
		refused bool
	}{
		{"the same", lines(10), "Taddress9", 10, false},
		{"one more", lines(11), "Taddress10", 11, false},
		{"nothing", "# nothing\n", "Taddress10", 11, true},
		{"no text", "", "Taddress10", 11, true},
		{"a page of an error", "<html>Not found</html>\n", "Taddress10", 11, true},
		{"less than half", lines(5), "Taddress10", 11, true},
		{"half", lines(6), "Taddress5", 6, false},
		{"a bad time", "# as of yesterday\n" + lines(6), "Taddress5", 6, true},
		{"cut JSON", `["Ta","Tb","Tc","Td"`, "Taddress5", 6, true},
		{"JSON", `["Ta","Tb","Tc","Td"]`, "Td", 4, false},
		{"JSON with a time", `{"asOf":"2026-11-20T00:00:00Z","addresses":["Ta","Tb","0xAB"]}`, "0xab", 3, false},
		{"too large", strings.Repeat("#", listMost) + "\n" + lines(3), "0xab", 3, true},
	} {
		write(step.text)
		if err := f.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if l := f.Current(); !l.Has(step.has) || l.Len() != step.entries || f.Refused() != step.refused {
			t.Errorf("after %s: %d entries, has %s: %t, refused: %t; want %d, true, %t",
				step.name, l.Len(), step.has, l.Has(step.has), f.Refused(), step.entries, step.refused)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Refresh(t.Context()); err != nil || !f.Refused() || f.Current().Len() != 3 {
		t.Errorf("after the file was removed: %v, refused: %t, %d entries; want nil, true, 3", err, f.Refused(), f.Current().Len())
	}
}

// The age of a list is counted from the time that it states, else from the time of its file.
func TestFile_age(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "list")
	for _, c := range []struct {
		name     string
		text     string
		changed  time.Time
		most     time.Duration
		age      time.Duration
		outdated bool
	}{
		{"the time of the file", lines(2), now.Add(-time.Hour), 2 * time.Hour, time.Hour, false},
		{"an old file", lines(2), now.Add(-3 * time.Hour), 2 * time.Hour, 3 * time.Hour, true},
		{"an old file, any age allowed", lines(2), now.Add(-3 * time.Hour), 0, 3 * time.Hour, false},
		{"an old list in a new file", "# as of 2026-11-23T08:00:00Z\n" + lines(2), now, 2 * time.Hour, 4 * time.Hour, true},
		{"two times", "# as of 2026-11-23T11:00:00Z\nTa\n# as of 2026-11-23T10:00:00Z\nTb\n", now, 0, 2 * time.Hour, false},
		{"a new list in an old file", `{"asOf":"2026-11-23T11:00:00Z","addresses":["Ta"]}`, now.Add(-9 * time.Hour), 2 * time.Hour, time.Hour, false},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, c.changed, c.changed); err != nil {
			t.Fatal(err)
		}
		f, err := OpenFile(path, c.most, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if f.Age() != c.age || f.Outdated() != c.outdated {
			t.Errorf("%s: age %s, outdated: %t; want %s, %t", c.name, f.Age(), f.Outdated(), c.age, c.outdated)
		}
		v, err := New(f, signals{}).Screen(t.Context(), tenant.Live, "ethereum", []string{"0x1"})
		if err != nil || v.Hit || v.Outdated != c.outdated {
			t.Errorf("%s: verdict %+v, %v; want no hit, outdated: %t", c.name, v, err, c.outdated)
		}
	}
}

// The list in the program states its time, so that it becomes outdated as a file does.
func TestFile_builtIn(t *testing.T) {
	now := time.Now()
	f, err := OpenFile("", 0, func() time.Time { return now }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if f.Age() <= 0 || f.Current().asOf.Year() < 2026 {
		t.Errorf("the list in the program is of %s, want a stated time", f.Current().asOf)
	}
}
