package main

import (
	"context"
	"io"
)

// showSweeps prints the open sweeps with their reasons; release ends a block.
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
