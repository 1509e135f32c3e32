package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/services/payments/internal/archive"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/store"
)

const day = 24 * time.Hour

// archiver is an archiver of the command line, over a store.
func archiver(in command.Input, s *store.Store, folder string, days int) *archive.Archiver {
	return &archive.Archiver{
		Store: s, Folder: folder, Operator: in.Operator(), After: time.Duration(days) * day,
		Tell: func(line string) { _, _ = fmt.Fprintln(in.Out, line) }, // a reader that is gone stops nothing
	}
}

// archiveMonth archives the ended payments of a month, or counts them.
func archiveMonth(in command.Input) (operation, error) {
	var month, folder string
	var days int
	var dry bool
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&month, "month", "", "the month in which the payments were made, such as 2026-01")
		f.StringVar(&folder, "directory", "", "folder of the archives")
		f.IntVar(&days, "after-days", 90, "days that have passed since the month and since the last change of a payment")
		f.BoolVar(&dry, "dry-run", false, "only count what can be archived")
	}); err != nil {
		return nil, err
	}
	from, err := time.Parse(books.MonthLayout, month)
	if err != nil || folder == "" && !dry {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		a := archiver(in, s, folder, days)
		if dry {
			return a.Plan(ctx, from)
		}
		return a.Run(ctx, from)
	}, nil
}

// verifyArchives reads the files of all archives.
func verifyArchives(in command.Input) (operation, error) {
	var folder string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&folder, "directory", "", "folder of the archives")
	}); err != nil {
		return nil, err
	}
	if folder == "" {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error { return archiver(in, s, folder, 0).Verify(ctx) }, nil
}

func listArchives(in command.Input) (operation, error) {
	return func(ctx context.Context, s *store.Store) error { return archiver(in, s, "", 0).List(ctx) }, nil
}

// attachArchived brings a payment back, or every payment of an archive.
func attachArchived(in command.Input) (operation, error) {
	var paymentID, archiveID string
	if err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&paymentID, "payment", "", "id of the payment")
		f.StringVar(&archiveID, "archive", "", "archive of which every payment is attached, such as 2026-01.1")
	}); err != nil {
		return nil, err
	}
	if (paymentID == "") == (archiveID == "") {
		return nil, in.Usage()
	}
	return func(ctx context.Context, s *store.Store) error {
		a := archiver(in, s, "", 0)
		if paymentID != "" {
			return a.Attach(ctx, paymentID)
		}
		return a.AttachAll(ctx, archiveID)
	}, nil
}
