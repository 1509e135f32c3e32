package admission

import (
	"context"
	"errors"
	"sync"
)

// Lists are what decides about new money, read together.
type Lists struct {
	Pauses  []Pause
	Terms   []Term
	Scans   []Scan
	Outages []Outage
}

// Copies are the copies of all lists that a process holds in memory.
type Copies struct {
	Pauses  *Pauses
	Terms   *Terms
	Scans   *Scans
	Outages *Outages
}

// Load reads all lists again, with one question to the database. Call it every second; while the database is down, the
// last lists remain, the reports of scans grow old and networks close.
func (c Copies) Load(ctx context.Context, list func(context.Context) (Lists, error)) error {
	found, err := list(ctx)
	if err != nil {
		return errors.Join(err, c.loadEach(ctx))
	}
	c.Pauses.keep(found.Pauses)
	c.Terms.keep(found.Terms)
	c.Scans.keep(ctx, found.Scans)
	c.Outages.keep(found.Outages)
	return nil
}

// loadEach reads each list alone: one that cannot be read must not hide the others, and none waits for another.
func (c Copies) loadEach(ctx context.Context) error {
	loads := []func(context.Context) error{c.Pauses.Load, c.Terms.Load, c.Scans.Load, c.Outages.Load}
	errs := make([]error, len(loads))
	var all sync.WaitGroup
	for n, load := range loads {
		all.Go(func() { errs[n] = load(ctx) })
	}
	all.Wait()
	return errors.Join(errs...)
}
