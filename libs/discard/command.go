package discard

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// Settings are those of the verbs `dead discard` and `dead discarded`.
type Settings struct {
	Postgres postgres.Config
	Bus      bus.Config
}

// Order is the command line of `dead discard`.
type Order struct {
	Limit    int
	All      bool
	IDs      []string
	Queue    string
	Digest   string
	Operator string
	Reason   string
}

// Usage is the text after `dead discard`.
const Usage = "[--limit n] [--queue NAME] --reason TEXT (--all | [--digest BEGINNING] id…)"

// Read reads an order. Like redriving, discarding needs ids or --all.
func Read(in command.Input, more func(*flag.FlagSet)) (o Order, err error) {
	o.IDs, err = in.Flags(func(f *flag.FlagSet) {
		f.IntVar(&o.Limit, "limit", 100, "how many messages of each queue to look at")
		f.BoolVar(&o.All, "all", false, "discard every message looked at")
		f.StringVar(&o.Queue, "queue", "", "only messages that died in this queue of the broker")
		f.StringVar(&o.Digest, "digest", "", "how the message's digest begins, where different messages have the same id at the broker")
		f.StringVar(&o.Reason, "reason", "", "why nobody needs it, for the audit")
		more(f)
	})
	o.Operator, o.Reason = in.Operator(), strings.TrimSpace(o.Reason)
	if err == nil && (o.All == (len(o.IDs) > 0) || o.All && o.Digest != "" || o.Reason == "") {
		err = in.Usage()
	}
	return o, err
}

// Broker discards messages of the service's dead queues; each is removed once it is kept.
func (o Order) Broker(ctx context.Context, cfg bus.Config, service string, keep func(context.Context, Note) error, out io.Writer) error {
	limit := o.Limit
	if len(o.IDs) > 0 {
		limit = bus.DeadMax // they may be anywhere in the queue
	}
	choice := bus.Choice{IDs: o.IDs, Queue: o.Queue, Digest: o.Digest, Limit: limit}
	n, err := bus.DeadDiscard(ctx, cfg, service, choice, func(ctx context.Context, d bus.Dead, body []byte) error {
		return keep(ctx, Note{
			Queue: d.Queue, ID: d.ID, Name: d.Name, DiedAt: d.Time, DiedOf: d.Reason, Body: body, Operator: o.Operator, Reason: o.Reason,
		})
	})
	o.Tell(out, n)
	return err
}

// Tell prints how many messages were removed.
func (o Order) Tell(out io.Writer, n int) { fmt.Fprintf(out, "%d messages discarded\n", n) }

// Print writes notes, one JSON object a line.
func Print(notes []Note, out io.Writer) error {
	lines := json.NewEncoder(out)
	for _, n := range notes {
		if err := lines.Encode(n); err != nil {
			return err
		}
	}
	return nil
}

// Verbs are `dead discard` and `dead discarded` of a service that has dead messages only at the broker.
func Verbs(service string, files fs.FS) []command.Verb {
	discard := func(ctx context.Context, in command.Input) error {
		o, err := Read(in, func(*flag.FlagSet) {})
		if err != nil {
			return err
		}
		cfg, err := config.Read[Settings](in.Environ)
		if err != nil {
			return err
		}
		db, err := postgres.Open(ctx, cfg.Postgres, files, telemetry.Discard(service))
		if err != nil {
			return err
		}
		defer db.Close()
		return o.Broker(ctx, cfg.Bus, service, func(ctx context.Context, n Note) error { return Keep(ctx, db, n) }, in.Out)
	}
	list := func(ctx context.Context, in command.Input) error {
		limit, err := Limit(in)
		if err != nil {
			return err
		}
		cfg, err := config.Read[struct{ Postgres postgres.Config }](in.Environ)
		if err != nil {
			return err
		}
		db, err := postgres.Open(ctx, cfg.Postgres, files, telemetry.Discard(service))
		if err != nil {
			return err
		}
		defer db.Close()
		notes, err := List(ctx, db, limit)
		if err != nil {
			return err
		}
		return Print(notes, in.Out)
	}
	return []command.Verb{
		{Name: "dead discard", Args: Usage, Run: discard},
		{Name: "dead discarded", Args: "[--limit n]", Run: list},
	}
}

// Limit reads the flag of `dead discarded`.
func Limit(in command.Input) (limit int, err error) {
	err = in.FlagsOnly(func(f *flag.FlagSet) { f.IntVar(&limit, "limit", 100, "how many notes to show, the newest first") })
	if err == nil && (limit < 1 || limit > bus.DeadMax) {
		err = fmt.Errorf("limit must be 1 to %d", bus.DeadMax)
	}
	return limit, err
}
