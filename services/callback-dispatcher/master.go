package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"

	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// masterSettings are those of the verb rotate-master.
type masterSettings struct {
	Postgres   postgres.Config
	MasterKeys config.Secret `env:"MASTER_KEYS,required" doc:"as for the roles"`
}

// rotateMaster seals every signing secret again under the first master key, while the service goes on
// (docs/runbooks/rotation.md#master-keys).
func rotateMaster(ctx context.Context, in command.Input) error {
	if err := in.FlagsOnly(func(*flag.FlagSet) {}); err != nil {
		return err
	}
	cfg, err := config.Read[masterSettings](in.Environ)
	if err != nil {
		return err
	}
	ring, err := keyring.Parse(cfg.MasterKeys.Reveal())
	if err != nil {
		return fmt.Errorf("MASTER_KEYS: %w", err)
	}
	log, s, closeStore, err := openStore(ctx, cfg.Postgres, slog.LevelInfo)
	if err != nil {
		return err
	}
	defer closeStore()
	log.InfoContext(ctx, "signing secrets sealed again by operator", "operator", in.Operator(), "master", ring.First())
	report, err := s.Reseal(ctx, ring.First(), func(o app.SecretOwner, sealed []byte) ([]byte, error) {
		plain, err := ring.Open(sealed, o.Place())
		if err != nil {
			return nil, err
		}
		return ring.Seal(plain, o.Place()), nil
	})
	if err != nil {
		return err
	}
	return json.NewEncoder(in.Out).Encode(report)
}
