package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"time"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/store"
)

// eventsSettings are those of the verb events.
type eventsSettings struct {
	Postgres  postgres.Config
	EventKeys config.Secret `env:"EVENT_KEYS" doc:"as for the roles"`
}

// openedEvent is a line of the verb events.
type openedEvent struct {
	store.KeptEvent
	Body json.RawMessage `json:"body"` // null where no key opens it
}

// events prints stored events with their bodies opened. They name people, so the log says who read which.
func events(ctx context.Context, in command.Input) error {
	var f store.KeptFilter
	bare := false
	err := in.FlagsOnly(func(flags *flag.FlagSet) {
		flags.StringVar(&f.ID, "id", "", "one event alone")
		flags.TextVar(&f.From, "from", time.Time{}, "events that occurred from this time on, such as 2026-04-01T13:30:00Z")
		flags.TextVar(&f.To, "to", time.Now(), "and before this one")
		flags.StringVar(&f.Type, "type", "", "only types that begin like this, such as report.")
		flags.BoolVar(&bare, "bare", false, "without bodies, which name people")
	})
	switch {
	case err != nil:
		return err
	case (f.ID == "") == f.From.IsZero():
		return errors.New("events: either --id or --from is needed")
	}
	cfg, err := config.Read[eventsSettings](in.Environ)
	if err != nil {
		return err
	}
	keys, err := keyring.ParseOptional(cfg.EventKeys.Reveal())
	if err != nil {
		return fmt.Errorf("EVENT_KEYS: %w", err)
	}
	log, s, closeStore, err := openStore(ctx, cfg.Postgres, slog.LevelInfo)
	if err != nil {
		return err
	}
	defer closeStore()
	if !bare {
		log.InfoContext(ctx, "events read by operator", "operator", in.Operator(), "event_id", f.ID, "from", f.From, "to", f.To, "type", f.Type)
	}
	lines, unopened := json.NewEncoder(in.Out), 0
	err = s.Kept(ctx, f, func(e store.KeptEvent, body []byte) error {
		if bare {
			return lines.Encode(e)
		}
		line := openedEvent{KeptEvent: e}
		if line.Body, err = keys.Open(body, wire.BodyPlace(e.ID)); err != nil {
			line.Body = nil
			unopened++
		}
		return lines.Encode(line)
	})
	if err == nil && unopened > 0 {
		err = fmt.Errorf("no key of EVENT_KEYS opens %d events; their body is null", unopened)
	}
	return err
}

// missingAtOnce bounds one look for missing events.
const missingAtOnce = 1000

// missing reads the last sequence of each object, as payments prints it, and prints the objects that fall short here.
func missing(ctx context.Context, in command.Input) error {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	cfg, err := config.Read[struct{ Postgres postgres.Config }](in.Environ)
	if err != nil {
		return err
	}
	_, s, closeStore, err := openStore(ctx, cfg.Postgres, slog.LevelWarn)
	if err != nil {
		return err
	}
	defer closeStore()
	out := json.NewEncoder(in.Out)
	return command.Batches(in.In, missingAtOnce, owedOf, func(owed []store.Owed) error {
		short, err := s.Missing(ctx, owed)
		for _, m := range short {
			if err := out.Encode(m); err != nil {
				return err
			}
		}
		return err
	})
}

// owedOf reads a line of `payments sequences`.
func owedOf(line string) (o store.Owed, err error) {
	if err := json.Unmarshal([]byte(line), &o); err != nil || o.ObjectID == "" {
		return o, errors.New("is not a line of `payments sequences`")
	}
	return o, nil
}
