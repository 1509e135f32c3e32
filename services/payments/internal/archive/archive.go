// Package archive moves payments that have ended out of the hot tables, month by month of their creation, once their
// rows are in files that were read back. It deletes no file.
package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"causeway.internal/libs/timestamp"
)

// Choice is the payments of a month that have not changed since Before.
type Choice struct {
	Month  time.Time // its first moment, in UTC
	After  string    // the last payment that this run has chosen
	Before time.Time
	Most   int // payments of one archive
}

// Archive is some payments of a month: a folder of files, and their rows in the database.
type Archive struct {
	ID         string
	Manifest   []byte // the SHA-256 of the manifest
	Payments   int64  // in the files
	Kept       int64  // that are archived now
	MadeAt     time.Time
	VerifiedAt *time.Time
	MovedAt    *time.Time
}

// Name is the id of the archive with a number of a month.
func Name(month time.Time, number int) string {
	return fmt.Sprintf("%s.%d", month.Format("2006-01"), number)
}

// Sum is what journals moved on a shared account.
type Sum struct {
	Account string `json:"account"`
	Asset   string `json:"asset"`
	Debit   string `json:"debit"`
	Credit  string `json:"credit"`
}

// Source is the rows of an archive that is being made, in one snapshot of the database.
type Source interface {
	Name() string
	Payments() int64
	Tables() []string
	// Copy writes the rows of a table in the text format of COPY.
	Copy(table string, to io.Writer) (columns []string, rows int64, err error)
	Sums() ([]Sum, error)
}

// Store is the database.
type Store interface {
	ArchiveTime(ctx context.Context) (time.Time, error)
	// OtherReleases lists the processes of another release than this program's that have reported within a minute.
	OtherReleases(ctx context.Context) ([]string, error)
	// PlanArchive counts the payments of a month by the reason why they are not archived; "" counts those that can be.
	PlanArchive(ctx context.Context, c Choice) (map[string]int64, error)
	// MakeArchive chooses payments that can be archived, in the order of their ids, and keeps the archive, after write
	// has kept the files and returned the digest of their manifest. It returns the last payment, "" without any.
	MakeArchive(ctx context.Context, c Choice, write func(Source) (digest []byte, err error)) (last string, err error)
	UnmovedArchives(ctx context.Context) ([]Archive, error)
	Archives(ctx context.Context) ([]Archive, error)
	// ConfirmArchive notes that the files of an archive were read back. The database moves no payment before.
	ConfirmArchive(ctx context.Context, a Archive) error
	// MoveArchived moves the next payments of an archive, in the order of their ids. A payment whose rows are not as the
	// files have them stays; its reason is not empty. last is "" at the end.
	MoveArchived(ctx context.Context, archiveID, after string, before time.Time, most int) (last string, whys []string, err error)
	EndArchive(ctx context.Context, operator, archiveID string) error
	// ArchivedOf shows the archived payments of an archive, and whether one is in the hot tables too.
	ArchivedOf(ctx context.Context, archiveID string, each func(paymentID string, twice bool) error) error
	// AttachPayment fails with ErrRefused where the rows are not as they were kept.
	AttachPayment(ctx context.Context, operator, paymentID string) (bool, error)
}

// Bounds of the work.
const (
	// Least is the shortest time for which a payment must not have changed: its events, with their attempts, are kept
	// for thirty days after the last one.
	Least = 35 * 24 * time.Hour

	partMost = 50_000 // payments of an archive, whose rows are written in one snapshot
	moveMost = 50     // payments that one transaction moves
)

// Archiver archives payments into a folder.
type Archiver struct {
	Store    Store
	Folder   string
	Operator string
	After    time.Duration    // for which a payment has not changed
	Now      func() time.Time // nil is the database's clock
	Tell     func(line string)
	Step     func(name string) error // a test stops the run here; nil does not

	PartMost int // 0 is partMost
}

// ErrOtherReleases refuses an archive while a process may run that does not know archives: it would neither see the
// deposits of an archived payment nor attach it.
var ErrOtherReleases = errors.New("processes of another release run")

// ErrRefused is the database's refusal to attach a payment whose rows are not as they were kept.
var ErrRefused = errors.New("refused")

var errTooSoon = fmt.Errorf("payments that changed less than %d days ago are not archived", int(Least.Hours()/24))

// choice checks a month against the clock.
func (a *Archiver) choice(ctx context.Context, month time.Time) (c Choice, err error) {
	var now time.Time
	if a.Now != nil {
		now = a.Now()
	} else if now, err = a.Store.ArchiveTime(ctx); err != nil {
		return c, err
	}
	c = Choice{Month: month, Before: now.Add(-a.After), Most: partMost}
	if a.PartMost > 0 {
		c.Most = a.PartMost
	}
	if a.After < Least {
		return c, errTooSoon
	}
	if end := month.AddDate(0, 1, 0); end.After(c.Before) {
		return c, fmt.Errorf("%s is archived from %s on", month.Format("2006-01"), timestamp.Text(end.Add(a.After)))
	}
	return c, nil
}

// Plan tells how many payments of a month can be archived, and why others are not.
func (a *Archiver) Plan(ctx context.Context, month time.Time) error {
	c, err := a.choice(ctx, month)
	if err != nil {
		return err
	}
	found, err := a.Store.PlanArchive(ctx, c)
	if err != nil {
		return err
	}
	a.Tell(fmt.Sprintf("%s: %d payments can be archived", month.Format("2006-01"), found[""]))
	delete(found, "")
	a.Tell("these stay: " + counted(found))
	return nil
}

// counted lists counts by their names.
func counted(by map[string]int64) string {
	if len(by) == 0 {
		return "none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%d %s", by[name], name))
	}
	return strings.Join(parts, ", ")
}

// Run archives a month. It first ends what an interrupted run has begun. It may run again at any time. Each payment is
// tried once: one that is locked, or changes meanwhile, is left to the next run.
func (a *Archiver) Run(ctx context.Context, month time.Time) error {
	c, err := a.choice(ctx, month)
	if err != nil {
		return err
	}
	for {
		if err := a.finish(ctx, c.Before); err != nil {
			return err
		}
		last, err := a.Store.MakeArchive(ctx, c, a.write)
		if err != nil {
			return err
		}
		if last == "" {
			return nil
		}
		c.After = last
		if err := a.step("kept"); err != nil {
			return err
		}
	}
}

// finish reads the files of archives that are not at their end, and moves their payments.
func (a *Archiver) finish(ctx context.Context, before time.Time) error {
	others, err := a.Store.OtherReleases(ctx)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return fmt.Errorf("%w: %s", ErrOtherReleases, strings.Join(others, ", "))
	}
	open, err := a.Store.UnmovedArchives(ctx)
	if err != nil {
		return err
	}
	for _, one := range open {
		if _, err := a.read(one); err != nil {
			return err
		}
		if err := a.step("read"); err != nil {
			return err
		}
		if err := a.Store.ConfirmArchive(ctx, one); err != nil {
			return err
		}
		if err := a.step("confirmed"); err != nil {
			return err
		}
		if err := a.move(ctx, one, before); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archiver) move(ctx context.Context, one Archive, before time.Time) error {
	moved, stayed := 0, map[string]int64{}
	for after := ""; ; {
		last, whys, err := a.Store.MoveArchived(ctx, one.ID, after, before, moveMost)
		if err != nil {
			return err
		}
		for _, why := range whys {
			if why == "" {
				moved++
			} else {
				stayed[why]++
			}
		}
		if err := a.step("moved"); err != nil {
			return err
		}
		if last == "" {
			break
		}
		after = last
	}
	if err := a.Store.EndArchive(ctx, a.Operator, one.ID); err != nil {
		return err
	}
	a.Tell(fmt.Sprintf("%s: %d payments archived; these stay: %s", one.ID, moved, counted(stayed)))
	return a.step("ended")
}

// Verify reads the files of every archive, and compares them with the database.
func (a *Archiver) Verify(ctx context.Context) error {
	all, err := a.Store.Archives(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, one := range all {
		if err := a.verify(ctx, one); err != nil {
			failed = errors.Join(failed, fmt.Errorf("archive %s: %w", one.ID, err))
			continue
		}
		a.Tell(fmt.Sprintf("%s: files whole, %d of %d payments archived", one.ID, one.Kept, one.Payments))
	}
	return failed
}

func (a *Archiver) verify(ctx context.Context, one Archive) error {
	ids, err := a.read(one)
	if err != nil {
		return err
	}
	twice, first := 0, ""
	err = a.Store.ArchivedOf(ctx, one.ID, func(paymentID string, hot bool) error {
		if _, found := slices.BinarySearch(ids, paymentID); !found {
			return fmt.Errorf("payment %s is archived, and not in the files", paymentID)
		}
		if hot {
			twice++
			first = cmp.Or(first, paymentID)
		}
		return nil
	})
	if err == nil && twice > 0 {
		return fmt.Errorf("%d payments are in the hot tables too; the first is %s", twice, first)
	}
	return err
}

// List tells every archive.
func (a *Archiver) List(ctx context.Context) error {
	all, err := a.Store.Archives(ctx)
	if err != nil {
		return err
	}
	for _, one := range all {
		line := fmt.Sprintf("%s: %d payments in the files, %d archived, made at %s", one.ID, one.Payments, one.Kept, timestamp.Text(one.MadeAt))
		switch {
		case one.VerifiedAt == nil:
			line += ", files not read back yet"
		case one.MovedAt == nil:
			line += ", payments still to be moved"
		}
		a.Tell(line)
	}
	return nil
}

// Attach brings one payment back.
func (a *Archiver) Attach(ctx context.Context, paymentID string) error {
	attached, err := a.Store.AttachPayment(ctx, a.Operator, paymentID)
	if err != nil {
		return err
	}
	if !attached {
		return fmt.Errorf("payment %s is not archived", paymentID)
	}
	a.Tell("attached " + paymentID)
	return nil
}

// AttachAll brings every payment of an archive back, but for those that the database refuses.
func (a *Archiver) AttachAll(ctx context.Context, archiveID string) error {
	var ids []string
	if err := a.Store.ArchivedOf(ctx, archiveID, func(paymentID string, _ bool) error {
		ids = append(ids, paymentID)
		return nil
	}); err != nil {
		return err
	}
	n := 0
	var failed error
	for _, paymentID := range ids {
		attached, err := a.Store.AttachPayment(ctx, a.Operator, paymentID)
		if errors.Is(err, ErrRefused) {
			failed = errors.Join(failed, err)
			continue
		}
		if err != nil {
			return err
		}
		if attached {
			n++
		}
	}
	a.Tell(fmt.Sprintf("%s: %d payments attached", archiveID, n))
	return failed
}

func (a *Archiver) step(name string) error {
	if a.Step == nil {
		return nil
	}
	return a.Step(name)
}
