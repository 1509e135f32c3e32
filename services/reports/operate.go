package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/erasure"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/report"
	"causeway.internal/services/reports/internal/store"
	"causeway.internal/services/reports/migrations"
)

// operateSettings are those of an operator's verbs, which work on the database alone.
type operateSettings struct {
	Sealing
	Erasing
	Postgres postgres.Config
}

// operations are the operators' verbs. They may run beside the service.
var operations = []command.Verb{
	{Name: "erase", Args: "--phone NUMBER | --wallet ADDRESS | --report RPT-ID [--mode live|test]", Run: erase},
	{Name: "lost", Args: "< EVENTS", Run: lost},
	{Name: "rotate-master", Run: rotateMaster},
}

// open gives a verb the store.
func open(ctx context.Context, cfg operateSettings) (s *store.Store, closeDB func(), err error) {
	keys, err := cfg.keys()
	if err != nil {
		return nil, nil, err
	}
	if keys.Ring() == nil {
		return nil, nil, errors.New("MASTER_KEYS is missing")
	}
	db, err := postgres.Open(ctx, store.Session(cfg.Postgres), migrations.FS, telemetry.Discard(wire.Reports))
	if err != nil {
		return nil, nil, err
	}
	return store.New(db, nil, keys, cfg.Seal, func() {}), db.Close, nil
}

// erase erases a person who filed reports.
func erase(ctx context.Context, in command.Input) error {
	var phone, wallet, id, mode string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&phone, "phone", "", "phone of the reporter")
		f.StringVar(&wallet, "wallet", "", "wallet address of the reporter")
		f.StringVar(&id, "report", "", "one report alone")
		f.StringVar(&mode, "mode", string(tenant.Live), "live or test")
	})
	if err != nil {
		return err
	}
	who := store.Person{Mode: tenant.Mode(mode)}
	known := false
	switch {
	case phone != "" && wallet+id == "":
		who.Phone, known = report.Phone(phone)
	case wallet != "" && phone+id == "":
		who.Wallet, known = report.AddressKey(report.Trim(wallet)), true
	case id != "" && phone+wallet == "":
		who.Reference, known = report.Reference(id)
	}
	if !known || !slices.Contains(tenant.Modes(), who.Mode) {
		return errors.New("erase: want one of --phone, --wallet and --report, and --mode live or test")
	}
	cfg, err := config.Read[operateSettings](in.Environ)
	if err != nil {
		return err
	}
	keep, err := erasure.Keep(cfg.Laundering)
	if err != nil {
		return err
	}
	s, closeDB, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	done, err := s.AskErasure(ctx, in.Operator(), who, keep)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(in.Out, done.Tell("reports"))
	return err
}

func rotateMaster(ctx context.Context, in command.Input) error {
	cfg, err := config.Read[operateSettings](in.Environ)
	if err != nil {
		return err
	}
	s, closeDB, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	changed, err := s.Reseal(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(in.Out, "%d reports sealed under the first master key\n", changed)
	return err
}

// lostAtOnce bounds one look for lost reports.
const lostAtOnce = 1000

// lost reads events about reports in the form that callback-dispatcher prints, and prints the reports that are missing
// or older here. A report whose events are far apart may be printed twice.
func lost(ctx context.Context, in command.Input) error {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	cfg, err := config.Read[operateSettings](in.Environ)
	if err != nil {
		return err
	}
	s, closeDB, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer closeDB()
	out := json.NewEncoder(in.Out)
	return command.Batches(in.In, lostAtOnce, newestOf, func(events []newest) error {
		var references []string
		var sequences []int64
		for _, e := range events {
			references, sequences = append(references, e.ObjectID), append(sequences, e.Sequence)
		}
		found, err := s.Lost(ctx, references, sequences)
		for _, l := range found {
			if err := out.Encode(l); err != nil {
				return err
			}
		}
		return err
	})
}

// newest is the newest event of a report.
type newest struct {
	ObjectID string
	Sequence int64
}

// newestOf parses a line of `callback-dispatcher events`.
func newestOf(line string) (e newest, err error) {
	if err := json.Unmarshal([]byte(line), &e); err != nil || e.ObjectID == "" {
		return e, errors.New("is not a line of `callback-dispatcher events`")
	}
	return e, nil
}
