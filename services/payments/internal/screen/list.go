package screen

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

//go:embed list/*.txt
var embedded embed.FS

// listMost bounds the size of a list in bytes; OFAC's has about 40 000.
const listMost = 16 << 20

// List is a set of addresses. It is immutable.
type List struct {
	version   string
	asOf      time.Time // when its source was asked: the time that it states, else that of its file
	sum       [sha256.Size]byte
	addresses map[string]struct{}
}

// Open reads the list from a file, or with "" the list that is built into the program.
func Open(path string) (*List, error) {
	if path == "" {
		return builtIn()
	}
	f, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("open the list of sanctioned addresses: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("open the list of sanctioned addresses: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(f, listMost+1))
	if err != nil {
		return nil, fmt.Errorf("read the list of sanctioned addresses: %w", err)
	}
	return parse(raw, info.ModTime())
}

// builtIn reads the list in the program, which states its time.
func builtIn() (*List, error) {
	names, err := fs.Glob(embedded, "list/*.txt")
	if err != nil {
		return nil, fmt.Errorf("find the list of sanctioned addresses: %w", err)
	}
	var all []byte
	for _, name := range names {
		raw, err := embedded.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read the list of sanctioned addresses: %w", err)
		}
		all = append(all, raw...)
	}
	return parse(all, time.Time{})
}

// parse reads a list: the JSON form, or one address a line.
func parse(raw []byte, changed time.Time) (*List, error) {
	if len(raw) > listMost {
		return nil, fmt.Errorf("the list of sanctioned addresses has more than %d bytes", listMost)
	}
	l := &List{asOf: changed, sum: sha256.Sum256(raw), addresses: map[string]struct{}{}}
	read := l.readLines
	if first := bytes.TrimSpace(raw); len(first) > 0 && (first[0] == '[' || first[0] == '{') {
		read = l.readJSON
	}
	if err := read(raw); err != nil {
		return nil, fmt.Errorf("read the list of sanctioned addresses: %w", err)
	}
	if len(l.addresses) == 0 {
		return nil, errors.New("the list of sanctioned addresses is empty")
	}
	l.version = "ofac-sdn " + strconv.Itoa(len(l.addresses)) + " " + hex.EncodeToString(l.sum[:6])
	return l, nil
}

// readLines reads one address per line; # begins a comment. The comment "# as of 2026-11-23T06:00:00Z" states the time
// of the list; of several the oldest counts.
func (l *List) readLines(raw []byte) error {
	stated := false
	for lines := bufio.NewScanner(bytes.NewReader(raw)); ; {
		if !lines.Scan() {
			return lines.Err()
		}
		text, remark, _ := strings.Cut(lines.Text(), "#")
		if at, is := strings.CutPrefix(strings.TrimSpace(remark), "as of "); is {
			asOf, err := time.Parse(time.RFC3339, at)
			if err != nil {
				return fmt.Errorf("its time %.40q is not written as 2026-11-23T06:00:00Z", at)
			}
			if !stated || asOf.Before(l.asOf) {
				l.asOf, stated = asOf, true
			}
		}
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		if err := l.add(text); err != nil {
			return err
		}
	}
}

// readJSON reads an array of addresses, or an object with asOf and addresses.
func (l *List) readJSON(raw []byte) error {
	var list struct {
		AsOf      time.Time `json:"asOf"`
		Addresses []string  `json:"addresses"`
	}
	into := any(&list)
	if bytes.TrimSpace(raw)[0] == '[' {
		into = &list.Addresses
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return err
	}
	if !list.AsOf.IsZero() {
		l.asOf = list.AsOf
	}
	for _, text := range list.Addresses {
		if err := l.add(text); err != nil {
			return err
		}
	}
	return nil
}

// addressMost bounds the length of an address of any network.
const addressMost = 128

func (l *List) add(text string) error {
	if text == "" || len(text) > addressMost || strings.ContainsAny(text, " \t\r\n<>,;") {
		return fmt.Errorf("%.140q is not an address", text)
	}
	l.addresses[canonical(text)] = struct{}{}
	return nil
}

// Version names the list by its source, size and content.
func (l *List) Version() string { return l.version }

// Len is the number of addresses.
func (l *List) Len() int { return len(l.addresses) }

// Has reports whether the list contains an address.
func (l *List) Has(address string) bool {
	_, found := l.addresses[canonical(address)]
	return found
}

// Addresses lists the addresses, in no order.
func (l *List) Addresses() []string {
	out := make([]string, 0, len(l.addresses))
	for a := range l.addresses {
		out = append(out, a)
	}
	return out
}
