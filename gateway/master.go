package main

import (
	"context"
	"encoding/json"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/command"
)

// rotateMaster seals every signing key again under the first master key. Gateways keep running meanwhile: they open a
// value with any of their keys. Order of a rotation: give every gateway the new key in second place, then in first
// place; run this; when it reports that none is left and the last stored answer is erased, remove the old key.
func rotateMaster(ctx context.Context, in command.Input) error {
	kept, err := open(ctx, in.Environ)
	if err != nil {
		return err
	}
	defer kept.close()
	ring := kept.ring
	by := commandLine(in)
	by.Act, by.Object = audit.MasterRotated, "master:"+ring.First()
	done, err := kept.store.Reseal(ctx, ring.First(), func(publicKey string, sealed []byte) ([]byte, error) {
		plain, err := ring.Open(sealed, apikey.SigningPlace(publicKey))
		if err != nil {
			return nil, err
		}
		return ring.Seal(plain, apikey.SigningPlace(publicKey)), nil
	}, by)
	if err != nil {
		return err
	}
	report, err := kept.store.Resealed(ctx, ring.First(), done)
	if err != nil {
		return err
	}
	return json.NewEncoder(in.Out).Encode(report)
}
