package main

import (
	"context"
	"encoding/json"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// rotateMaster seals every signing key again under the first master key, while gateways go on: they open with any of the
// keys that they hold. Order of a rotation: give every gateway the new key in second place, then in first, then run this,
// then, once it says that nothing is left and the last answer is erased, take the old key away.
func rotateMaster(ctx context.Context, in command.Input) error {
	cfg, err := config.Read[keySettings](in.Environ)
	if err != nil {
		return err
	}
	_, ring, err := cfg.read()
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, telemetry.Discard("gateway"))
	if err != nil {
		return err
	}
	defer db.Close()
	kept := store.New(db)
	if err := kept.Maintain(ctx); err != nil {
		return err
	}
	by := commandLine()
	by.Act, by.Object = audit.MasterRotated, "master:"+ring.First()
	done, err := kept.Reseal(ctx, ring.First(), func(publicKey string, sealed []byte) ([]byte, error) {
		plain, err := ring.Open(sealed, apikey.SigningPlace(publicKey))
		if err != nil {
			return nil, err
		}
		return ring.Seal(plain, apikey.SigningPlace(publicKey)), nil
	}, by)
	if err != nil {
		return err
	}
	answers, until, err := kept.StaleAnswers(ctx, ring.First())
	if err != nil {
		return err
	}
	report := map[string]any{"master": ring.First(), "sealed": done, "answersUnderOldKeys": answers, "answersErasedAt": nil}
	if answers > 0 {
		report["answersErasedAt"] = until.UTC().Format(time.RFC3339)
	}
	return json.NewEncoder(in.Out).Encode(report)
}
