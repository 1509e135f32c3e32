package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"strconv"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/discard"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/messaging"
	"causeway.internal/services/callback-dispatcher/internal/store"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// deadList shows messages that could not be taken in, kept in the database with their reason. With --broker it is
// about the broker's dead queue, where only those end that crashed a process again and again.
func deadList(ctx context.Context, in command.Input) error {
	limit, broker := 0, false
	if err := in.FlagsOnly(func(f *flag.FlagSet) { deadFlags(f, &limit, &broker) }); err != nil {
		return err
	}
	cfg, err := config.Read[deadSettings](in.Environ)
	switch {
	case err != nil:
		return err
	case broker:
		return bus.PrintDead(ctx, cfg.Bus, wire.Dispatcher, limit, in.Out)
	}
	return deadTable(ctx, cfg, nil, limit, false, in.Out)
}

// deadRedrive takes them in again.
func deadRedrive(ctx context.Context, in command.Input) error {
	limit, broker, all := 0, false, false
	named, err := in.Flags(func(f *flag.FlagSet) {
		deadFlags(f, &limit, &broker)
		f.BoolVar(&all, "all", false, "redrive every message looked at")
	})
	if err != nil {
		return err
	}
	if all == (len(named) > 0) {
		return in.Usage()
	}
	cfg, err := config.Read[deadSettings](in.Environ)
	switch {
	case err != nil:
		return err
	case broker:
		return bus.Redrive(ctx, cfg.Bus, wire.Dispatcher, limit, named, in.Out)
	}
	ids, err := deadIDs(named)
	if err != nil {
		return err
	}
	return deadTable(ctx, cfg, ids, limit, true, in.Out)
}

// deadIDs reads the ids of rows.
func deadIDs(named []string) (ids []int64, err error) {
	for _, text := range named {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q is not the id of a dead message", text)
		}
		ids = append(ids, n)
	}
	return ids, nil
}

// deadDiscard ends messages that nobody can or need take in.
func deadDiscard(ctx context.Context, in command.Input) error {
	broker := false
	o, err := discard.Read(in, func(f *flag.FlagSet) {
		f.BoolVar(&broker, "broker", false, "the broker's dead queue instead of the table")
	})
	switch {
	case err != nil:
		return err
	case !broker && o.Queue+o.Digest != "": // rows have neither, and an id of their own
		return in.Usage()
	}
	cfg, err := config.Read[discard.Settings](in.Environ)
	if err != nil {
		return err
	}
	_, s, closeStore, err := openStore(ctx, cfg.Postgres, slog.LevelWarn)
	if err != nil {
		return err
	}
	defer closeStore()
	if broker {
		return o.Broker(ctx, cfg.Bus, wire.Dispatcher, s.KeepDiscarded, in.Out)
	}
	ids, err := deadIDs(o.IDs)
	if err != nil {
		return err
	}
	gone, err := s.Discard(ctx, ids, max(len(ids), o.Limit), o.Operator, o.Reason)
	if err != nil {
		return err
	}
	o.Tell(in.Out, gone)
	return nil
}

// deadDiscarded shows what was discarded, by whom and why.
func deadDiscarded(ctx context.Context, in command.Input) error {
	limit, err := discard.Limit(in)
	if err != nil {
		return err
	}
	cfg, err := config.Read[discard.Settings](in.Environ)
	if err != nil {
		return err
	}
	_, s, closeStore, err := openStore(ctx, cfg.Postgres, slog.LevelWarn)
	if err != nil {
		return err
	}
	defer closeStore()
	notes, err := s.Discarded(ctx, limit)
	if err != nil {
		return err
	}
	return discard.Print(notes, in.Out)
}

func deadFlags(f *flag.FlagSet, limit *int, broker *bool) {
	f.IntVar(limit, "limit", 100, "how many messages to look at")
	f.BoolVar(broker, "broker", false, "the broker's dead queue instead of the table")
}

// openStore gives a verb the store, and a log from a level on.
func openStore(ctx context.Context, cfg postgres.Config, least slog.Level) (log *slog.Logger, s *store.Store, closeStore func(), err error) {
	tel, err := telemetry.Start(ctx, wire.Dispatcher, telemetry.Config{LogLevel: least.String()})
	if err != nil {
		return nil, nil, nil, err
	}
	db, err := postgres.Open(ctx, cfg, migrations.FS, tel)
	if err != nil {
		tel.Flush(ctx)
		return nil, nil, nil, err
	}
	return tel.Log, store.New(db, "", 0), func() { db.Close(); tel.Flush(ctx) }, nil
}

func deadTable(ctx context.Context, cfg deadSettings, ids []int64, limit int, redrive bool, out io.Writer) error {
	_, s, closeStore, err := openStore(ctx, cfg.Postgres, slog.LevelWarn)
	if err != nil {
		return err
	}
	defer closeStore()
	if len(ids) > 0 {
		limit = len(ids)
	}
	list, err := s.Dead(ctx, ids, limit)
	if err != nil {
		return err
	}
	if !redrive {
		lines := json.NewEncoder(out)
		for _, m := range list {
			if err := lines.Encode(m); err != nil {
				return err
			}
		}
		return nil
	}
	bodies, err := keyring.ParseOptional(cfg.EventKeys.Reveal())
	if err != nil {
		return fmt.Errorf("EVENT_KEYS: %w", err)
	}
	rules := messaging.Rules{Policies: map[tenant.Mode]guard.Policy{tenant.Test: allow(cfg.AllowTest), tenant.Live: allow(cfg.AllowLive)}, Bodies: bodies}
	taken := 0
	for _, m := range list {
		err := takeIn(s, rules)(ctx, m)
		reason := ""
		switch {
		case fault.IsPermanent(err):
			reason = err.Error()
			fmt.Fprintf(out, "%d: %s\n", m.ID, reason)
		case err != nil:
			return err
		default:
			taken++
		}
		if err := s.Raised(ctx, m.ID, reason); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "%d of %d messages taken in\n", taken, len(list))
	return nil
}

// takeIn takes a dead message in beside the consumers.
func takeIn(s *store.Store, rules messaging.Rules) func(context.Context, app.DeadMessage) error {
	return func(ctx context.Context, m app.DeadMessage) error {
		headers := map[string]string{}
		if m.Trace != "" {
			headers[telemetry.TraceHeader] = m.Trace
		}
		return errors.Join(messaging.Take(ctx, app.Direct{Store: s, Registry: s, Now: time.Now},
			[]bus.Message{{ID: m.MessageID, Name: m.Name, Body: m.Body, Headers: headers}}, rules)...)
	}
}

func allow(cidrs []netip.Prefix) guard.Policy { return guard.Policy{Allow: cidrs} }
