package main

import (
	"context"
	"errors"
	"fmt"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/wire"
	"causeway.internal/services/reports/internal/store"
	"causeway.internal/services/reports/migrations"
)

// operateSettings are those of an operator's verbs, which work on the database alone.
type operateSettings struct {
	Postgres postgres.Config
	Sealing
}

// operations are an operator's verbs. They may run while the service does.
var operations = []command.Verb{
	{Name: "rotate-master", Run: rotateMaster},
}

// open gives a verb the store.
func open(ctx context.Context, in command.Input) (s *store.Store, closeDB func(), err error) {
	cfg, err := config.Read[operateSettings](in.Environ)
	if err != nil {
		return nil, nil, err
	}
	ring, err := cfg.ring()
	if err != nil {
		return nil, nil, err
	}
	if ring == nil {
		return nil, nil, errors.New("MASTER_KEYS is missing")
	}
	db, err := postgres.Open(ctx, store.Session(cfg.Postgres), migrations.FS, telemetry.Discard(wire.Reports))
	if err != nil {
		return nil, nil, err
	}
	return store.New(db, ring, cfg.Seal, func() {}), db.Close, nil
}

func rotateMaster(ctx context.Context, in command.Input) error {
	s, closeDB, err := open(ctx, in)
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
