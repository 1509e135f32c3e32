package network

import (
	"context"
	"errors"
	"fmt"
	"time"

	"causeway.internal/libs/postgres"
)

// secondLookEvery is how often a failed second look is tried again.
const secondLookEvery = 10 * time.Second

// SecondLook scans the 24 hours before a restore again, once per chain, on the leader.
func (c *Chains) SecondLook(ctx context.Context, db postgres.Config) error {
	return postgres.Lead(ctx, db, "wallets second look", c.Telemetry.Log, func(ctx context.Context) error {
		tick := time.NewTicker(secondLookEvery)
		defer tick.Stop()
		for {
			if err := c.lookAgain(ctx); err != nil && ctx.Err() == nil {
				c.Telemetry.Log.WarnContext(ctx, "second look not finished, retrying", "err", err)
			}
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
		}
	})
}

// lookAgain makes every pending second look.
func (c *Chains) lookAgain(ctx context.Context) error {
	pending, err := c.Book.PendingRescans(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, r := range pending {
		reader, ok := c.readers[r.Chain]
		if !ok {
			problems = append(problems, fmt.Errorf("%s no longer has endpoints", r.Chain))
			continue
		}
		looked, err := reader.AfterRestore(ctx, c.Book, r, c.Telemetry.Log)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		c.Telemetry.Log.InfoContext(ctx, "second look after a restore", "chain", r.Chain.String(), "blocks", looked.Blocks, "found", looked.Found, "told", looked.Told)
	}
	return errors.Join(problems...)
}
