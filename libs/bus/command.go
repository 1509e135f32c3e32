package bus

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
)

// DeadSettings are those of the verbs `dead list` and `dead redrive`.
type DeadSettings struct{ Bus Config }

// DeadVerbs are `dead list` and `dead redrive` of a service. Listing prints one JSON object a line. Redriving needs ids
// or --all, so that a forgotten argument does not move everything.
func DeadVerbs(service string) []command.Verb {
	limited := func(f *flag.FlagSet, limit *int) {
		f.IntVar(limit, "limit", 100, "how many messages of each queue to look at")
	}
	list := func(ctx context.Context, in command.Input) error {
		limit := 0
		if err := in.FlagsOnly(func(f *flag.FlagSet) { limited(f, &limit) }); err != nil {
			return err
		}
		cfg, err := config.Read[DeadSettings](in.Environ)
		if err != nil {
			return err
		}
		return PrintDead(ctx, cfg.Bus, service, limit, in.Out)
	}
	redrive := func(ctx context.Context, in command.Input) error {
		limit, all := 0, false
		ids, err := in.Flags(func(f *flag.FlagSet) {
			limited(f, &limit)
			f.BoolVar(&all, "all", false, "redrive every message looked at")
		})
		if err != nil {
			return err
		}
		if all == (len(ids) > 0) {
			return in.Usage()
		}
		cfg, err := config.Read[DeadSettings](in.Environ)
		if err != nil {
			return err
		}
		return Redrive(ctx, cfg.Bus, service, limit, ids, in.Out)
	}
	return []command.Verb{
		{Name: "dead list", Args: "[--limit n]", Run: list},
		{Name: "dead redrive", Args: "[--limit n] (--all | id…)", Run: redrive},
	}
}

// PrintDead writes the dead messages of a service, one JSON object a line.
func PrintDead(ctx context.Context, cfg Config, service string, limit int, out io.Writer) error {
	dead, err := DeadList(ctx, cfg, service, limit)
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	for _, d := range dead {
		if err := lines.Encode(d); err != nil {
			return err
		}
	}
	return nil
}

// Redrive moves the named messages back, or without names the first limit of each queue, and prints their number.
func Redrive(ctx context.Context, cfg Config, service string, limit int, ids []string, out io.Writer) error {
	if len(ids) > 0 {
		limit = DeadMax // they may be anywhere in the queue
	}
	moved, err := DeadRedrive(ctx, cfg, service, limit, ids...)
	fmt.Fprintf(out, "%d messages moved back\n", moved)
	return err
}
