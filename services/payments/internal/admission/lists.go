package admission

import (
	"context"
	"errors"
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
	if err != nil { // one list that cannot be read must not hide the others
		return errors.Join(err, c.Pauses.Load(ctx), c.Terms.Load(ctx), c.Scans.Load(ctx), c.Outages.Load(ctx))
	}
	c.Pauses.keep(found.Pauses)
	c.Terms.keep(found.Terms)
	c.Scans.keep(ctx, found.Scans)
	c.Outages.keep(found.Outages)
	return nil
}
