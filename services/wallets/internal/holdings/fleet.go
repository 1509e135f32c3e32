package holdings

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// Options are the parts that the readers of a process share.
type Options struct {
	Networks  []Network
	Every     time.Duration // between two readings of a network
	Postgres  postgres.Config
	Telemetry *telemetry.Telemetry
	Store     Store
}

// Run reads every network while this replica leads.
func Run(ctx context.Context, o Options) error {
	if len(o.Networks) == 0 {
		<-ctx.Done()
		return nil
	}
	return postgres.Lead(ctx, o.Postgres, "wallets holdings", o.Telemetry.Log, func(ctx context.Context) error {
		g, ctx := errgroup.WithContext(ctx)
		for _, n := range o.Networks {
			g.Go(func() error { return NewReader(n, o.Every, o.Store, o.Telemetry.Log).Run(ctx) })
		}
		return g.Wait()
	})
}
