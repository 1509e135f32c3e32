package screen

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

// File is the list of a file that operators replace while the program runs. A file that is bad, empty or has less than
// half of the addresses is refused, and the list before it stays. It is safe for concurrent use.
type File struct {
	path    string
	most    time.Duration
	now     func() time.Time
	log     *slog.Logger
	current atomic.Pointer[List]
	refused atomic.Bool
}

// OpenFile reads the list from a file, or with "" the list that is built into the program. A list whose time is more
// than most ago is outdated; with 0 none is.
func OpenFile(path string, most time.Duration, now func() time.Time, log *slog.Logger) (*File, error) {
	first, err := Open(path)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, most: most, now: now, log: log}
	f.current.Store(first)
	return f, nil
}

// Refresh reads the file again. A file that it refuses is not an error of the process: Refused reports it.
func (f *File) Refresh(ctx context.Context) error {
	before := f.Current()
	next, err := Open(f.path)
	if err == nil && next.Len()*2 < before.Len() {
		err = fmt.Errorf("the list of sanctioned addresses has %d addresses, less than half of the %d before", next.Len(), before.Len())
	}
	f.refused.Store(err != nil)
	if err != nil {
		f.log.ErrorContext(ctx, "list of sanctioned addresses refused, the one before stays in force", "list", before.Version(), "err", err)
		return nil
	}
	f.current.Store(next)
	if next.sum != before.sum {
		f.log.InfoContext(ctx, "list of sanctioned addresses replaced", "list", next.Version(), "before", before.Version(), "as_of", next.asOf)
	}
	return nil
}

// Current implements Lists.
func (f *File) Current() *List { return f.current.Load() }

// Age is the time since the source of the list was asked.
func (f *File) Age() time.Duration { return f.now().Sub(f.Current().asOf) }

// Outdated implements Lists.
func (f *File) Outdated() bool { return f.most > 0 && f.Age() > f.most }

// Refused reports whether the file was refused when it was last read.
func (f *File) Refused() bool { return f.refused.Load() }
