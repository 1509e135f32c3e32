package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"time"

	"causeway.internal/libs/bus"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/outbound/guard"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/callback-dispatcher/internal/app"
	"causeway.internal/services/callback-dispatcher/internal/messaging"
	"causeway.internal/services/callback-dispatcher/internal/store"
	"causeway.internal/services/callback-dispatcher/migrations"
)

// dead runs `dead list` and `dead redrive`: messages that could not be taken in, kept in the database with their reason.
// With --broker it is about the broker's dead queue, where only those end that crashed a process again and again.
func dead(ctx context.Context, cfg deadSettings, args []string, out io.Writer) error {
	usage := errors.New("usage: callback-dispatcher dead list | dead redrive (--all | id…), each with [--limit n] [--broker]")
	if len(args) == 0 || args[0] != "list" && args[0] != "redrive" {
		return usage
	}
	flags := flag.NewFlagSet("callback-dispatcher dead "+args[0], flag.ContinueOnError)
	flags.SetOutput(out)
	limit := flags.Int("limit", 100, "how many messages to look at")
	all := flags.Bool("all", false, "redrive every message looked at")
	broker := flags.Bool("broker", false, "the broker's dead queue instead of the table")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	redrive := args[0] == "redrive"
	if redrive && *all == (flags.NArg() > 0) || !redrive && flags.NArg() > 0 {
		return usage
	}
	if *broker {
		rest := []string{args[0], "--limit", strconv.Itoa(*limit)}
		if *all {
			rest = append(rest, "--all")
		}
		return bus.Command(ctx, cfg.Bus, wire.Dispatcher, append(rest, flags.Args()...), out)
	}
	var ids []int64
	for _, text := range flags.Args() {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is not the id of a dead message", text)
		}
		ids = append(ids, n)
	}
	return deadTable(ctx, cfg, ids, *limit, redrive, out)
}

func deadTable(ctx context.Context, cfg deadSettings, ids []int64, limit int, redrive bool, out io.Writer) error {
	tel, err := telemetry.Start(ctx, wire.Dispatcher, telemetry.Config{LogLevel: "warn"})
	if err != nil {
		return err
	}
	defer flush(ctx, tel)
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, tel)
	if err != nil {
		return err
	}
	defer db.Close()
	s := store.New(db, "", 0)
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
	policies := map[wire.Mode]guard.Policy{wire.Test: allow(cfg.AllowTest), wire.Live: allow(cfg.AllowLive)}
	taken := 0
	for _, m := range list {
		headers := map[string]string{}
		if m.Trace != "" {
			headers["traceparent"] = m.Trace
		}
		err := messaging.Take(ctx, app.Direct{Store: s, Registry: s, Now: time.Now}, bus.Message{ID: m.MessageID, Name: m.Name, Body: m.Body, Headers: headers}, policies)
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

func allow(cidrs []netip.Prefix) guard.Policy { return guard.Policy{Allow: cidrs} }
