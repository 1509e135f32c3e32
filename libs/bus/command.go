package bus

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
)

// Command runs `<service> dead list` and `<service> dead redrive`; args are what follows "dead". Listing prints one
// JSON object a line. Redriving needs ids or --all, so that nobody moves everything by leaving something out.
func Command(ctx context.Context, cfg Config, service string, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("usage: " + service + " dead list [--limit n] | dead redrive [--limit n] (--all | id…)")
	}
	flags := flag.NewFlagSet(service+" dead "+args[0], flag.ContinueOnError)
	flags.SetOutput(out)
	limit := flags.Int("limit", 100, "how many messages of each queue to look at")
	all := flags.Bool("all", false, "redrive every message looked at")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch {
	case args[0] == "list":
		return printDead(ctx, cfg, service, *limit, out)
	case args[0] != "redrive":
		return fmt.Errorf("unknown command dead %s: list or redrive", args[0])
	case *all == (flags.NArg() > 0):
		return errors.New("dead redrive needs either message ids or --all")
	}
	look := *limit
	if !*all {
		look = DeadMax // the ids may be anywhere in the queue
	}
	moved, err := DeadRedrive(ctx, cfg, service, look, flags.Args()...)
	fmt.Fprintf(out, "%d messages moved back\n", moved)
	return err
}

func printDead(ctx context.Context, cfg Config, service string, limit int, out io.Writer) error {
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
