package main

import (
	"context"
	"io"
)

// showSweeps prints what is not swept yet, and why; release ends one that is blocked.
func (p *process) showSweeps(ctx context.Context, release string, out io.Writer) error {
	if release != "" {
		if err := p.book.Sweeps().ReleaseSweep(ctx, release); err != nil {
			return err
		}
	}
	list, err := p.book.Sweeps().Unfinished(ctx)
	if err != nil {
		return err
	}
	return writeJSON(out, list)
}
