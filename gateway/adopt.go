package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/telemetry"
)

// adoptSettings are the settings that `gateway keys adopt` reads besides those of keys.
type adoptSettings struct {
	Keys        keySettings
	WalletsURL  string        `env:"WALLETS_URL,required" doc:"base URL of wallets"`
	WalletsKeys config.Secret `env:"WALLETS_IDENTITY_KEYS,required" doc:"comma separated base64 keys of identities for wallets; the first signs"`
}

// adoptMax bounds one call of wallets. A call that is cut short is repeated and continues where it ended.
const adoptMax = 10 * time.Minute

// adopt moves the wallets of a revoked key to another key of the same merchant and mode. It writes the audit entry
// before it moves the first wallet. A repeated adoption moves the wallets that are left.
func adopt(ctx context.Context, in command.Input) error {
	var from, to int64
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.Int64Var(&from, "from", 0, "id of the revoked key")
		f.Int64Var(&to, "to", 0, "id of the key that gets its wallets")
	})
	switch {
	case err != nil:
		return err
	case from == 0 || to == 0:
		return in.Usage()
	}
	cfg, err := config.Read[adoptSettings](in.Environ)
	if err != nil {
		return err
	}
	signing, err := httpkit.ParseIdentityKeys(cfg.WalletsKeys.Reveal())
	if err != nil {
		return fmt.Errorf("WALLETS_IDENTITY_KEYS: %w", err)
	}
	peppers, ring, err := cfg.Keys.read()
	if err != nil {
		return err
	}
	_, home, err := cfg.Keys.shards()
	if err != nil {
		return err
	}
	db, err := postgres.Open(ctx, cfg.Keys.Postgres, migrations.FS, telemetry.Discard("gateway"))
	if err != nil {
		return err
	}
	defer db.Close()
	by := commandLine(in)
	old, err := apikey.NewRegistry(store.New(db), peppers, ring, nil, home, time.Now).Adopt(ctx, from, to, by)
	if err != nil {
		return err
	}
	total := int64(0)
	for {
		moved, more, err := moveWallets(ctx, cfg.WalletsURL, signing[0], old, to, by)
		total += moved
		if err != nil {
			return fmt.Errorf("keys adopt: %w (run it again: it continues where it ended)", err)
		}
		if !more {
			break
		}
	}
	_, err = fmt.Fprintf(in.Out, "{\"from\": %d, \"to\": %d, \"wallets\": %d}\n", from, to, total)
	return err
}

// direct calls a service of Causeway directly: it uses no proxy of the environment, follows no redirect and keeps no
// connection.
var direct = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// moveWallets calls wallets once, as an operator, with an identity that it signs as the gateway does.
func moveWallets(ctx context.Context, base string, key []byte, old apikey.Key, to int64, by audit.Entry) (moved int64, more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, adoptMax)
	defer cancel()
	body, err := json.Marshal(map[string]any{"merchantId": old.MerchantID, "mode": old.Mode, "fromKeyId": old.ID, "toKeyId": to})
	if err != nil {
		return 0, false, fmt.Errorf("encode the request: %w", err)
	}
	const path = "/v1/admin/wallets/adopt"
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, false, fmt.Errorf("make the request: %w", err)
	}
	who := httpkit.Identity{
		Subject: httpkit.Operator, Operator: by.Actor, RequestID: by.RequestID, Audience: "wallets", IssuedAt: time.Now().UnixMilli(),
	}
	header, err := who.Bind(r, body).Sign(key)
	if err != nil {
		return 0, false, err
	}
	r.Header.Set(httpkit.IdentityHeader, header)
	r.Header.Set("Content-Type", "application/json")
	res, err := direct.Do(r)
	if err != nil {
		return 0, false, fmt.Errorf("call wallets: %w", err)
	}
	defer res.Body.Close()
	var answer struct{ Moved int64 }
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err == nil && res.StatusCode == http.StatusGatewayTimeout {
		return 0, true, nil // the batch was cut short; the wallets that it moved stay moved
	}
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %s: %s", res.Status, raw)
	}
	if err == nil {
		err = json.Unmarshal(raw, &answer)
	}
	if err != nil {
		return 0, false, fmt.Errorf("call wallets: %w", err)
	}
	return answer.Moved, false, nil
}
