// Package journal is the signer's log: one JSON line for each signature and each refusal, with the hash of the line
// before, so that Verify finds a changed, removed or inserted line. A line is on the disk before the signature leaves
// the process, so the log has every signature. The log keeps the ids of signed requests: after a crash the signer
// repeats an answer and signs nothing else under the same id.
package journal

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
	"sync"
	"syscall"
	"time"

	"causeway.internal/services/wallets/internal/intent"
)

// Entry is one line.
type Entry struct {
	Number  int64           `json:"number"`
	At      time.Time       `json:"at"`
	Event   string          `json:"event"` // created, started, signed, refused
	Request *intent.Request `json:"request,omitempty"`
	Signed  *intent.Signed  `json:"signed,omitempty"`
	Refusal *intent.Refusal `json:"refusal,omitempty"`
	Before  string          `json:"before"` // hash of the line before; empty in the first
	Hash    string          `json:"hash,omitempty"`
}

// The events.
const (
	Created = "created"
	Started = "started"
	Signed  = "signed"
	Refused = "refused"
)

const lineMost = 64 << 10

// Journal is an open log. It is safe for concurrent use.
type Journal struct {
	mu   sync.Mutex
	file *os.File
	last Entry
	bad  error // a failed write: nothing may be signed after it
}

// ErrBroken says that a line does not follow from the one before it.
var ErrBroken = errors.New("the chain of hashes is broken: a line was changed, removed or added")

// ErrLong says that an entry does not fit in a line.
var ErrLong = errors.New("a line of the log is too long")

// ErrMissing says that there is no log. Without one the signer would sign every order a second time.
var ErrMissing = errors.New("the log does not exist or has no lines: restore it from its backup; " +
	"`signer new-log` makes the log of a signer that has never signed")

// Create makes a log, whose first line has the time. It fails if the file exists.
func Create(path string, now time.Time) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the operator names the file
	if err != nil {
		return fmt.Errorf("creating the log: %w", err)
	}
	j := &Journal{file: file}
	return errors.Join(j.Append(Entry{At: now, Event: Created}), j.Close())
}

// Open verifies the whole log, calls f for every line and makes the log ready for appending. If the machine stopped
// while the signer wrote the last line, Open cuts that line off, since nobody received its answer.
func Open(path string, f func(Entry)) (*Journal, error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // the operator names the file
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("opening the log %s: %w", path, ErrMissing)
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another signer writes this log: %w", err), file.Close())
	}
	last, whole, err := read(file, f)
	if err == nil && last.Number == 0 {
		err = ErrMissing
	}
	if err == nil {
		err = file.Truncate(whole)
	}
	if err == nil {
		_, err = file.Seek(whole, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading the log: %w", err), file.Close())
	}
	return &Journal{file: file, last: last}, nil
}

// Verify reads a log without changing it, and returns how many lines are valid and the last hash.
func Verify(r io.Reader) (lines int64, head string, err error) {
	last, _, err := read(r, func(Entry) { lines++ })
	return lines, last.Hash, err
}

func read(r io.Reader, f func(Entry)) (last Entry, whole int64, err error) {
	b := bufio.NewReaderSize(r, lineMost)
	for {
		line, err := b.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return last, whole, nil // an unfinished line does not count
		}
		if err != nil {
			return last, whole, fmt.Errorf("line %d: %w", last.Number+1, err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return last, whole, fmt.Errorf("line %d: %w", last.Number+1, err)
		}
		if e.Number != last.Number+1 || e.Before != last.Hash || !sealed(bytes.TrimSuffix(line, []byte("\n")), e.Hash) {
			return last, whole, fmt.Errorf("line %d: %w", last.Number+1, ErrBroken)
		}
		last, whole = e, whole+int64(len(line))
		f(e)
	}
}

// seal adds its hash to a line, as the last member.
func seal(line []byte) (whole []byte, hash string) {
	sum := sha256.Sum256(line)
	hash = hex.EncodeToString(sum[:])
	return append(line[:len(line)-1], `,"hash":"`+hash+`"}`...), hash
}

// sealed reports whether a line ends with the hash of the rest. It hashes the bytes as they are, since a newer signer
// may have written members that this one does not know.
func sealed(line []byte, hash string) bool {
	rest, found := bytes.CutSuffix(line, []byte(`,"hash":"`+hash+`"}`))
	if !found {
		return false
	}
	_, want := seal(append(bytes.Clone(rest), '}'))
	return hash == want
}

// Append writes a line and waits until it is on the disk. After a failure every further call fails: a signer that
// cannot log does not sign.
func (j *Journal) Append(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.bad != nil {
		return j.bad
	}
	e.Number, e.Before, e.At = j.last.Number+1, j.last.Hash, e.At.UTC()
	e.Hash = ""
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	b, e.Hash = seal(b)
	if len(b) >= lineMost || bytes.ContainsRune(b, '\n') {
		return ErrLong
	}
	if _, err = j.file.Write(append(b, '\n')); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		j.bad = fmt.Errorf("writing the log: %w", err)
		return j.bad
	}
	j.last = e
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
