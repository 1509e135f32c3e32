package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

// moveMerchant makes a shard that of a merchant's new payments. It prepares the shard first, so that no payment is made
// there without the merchant's terms and secrets. An attempt that failed is repeated.
func moveMerchant(ctx context.Context, in command.Input) error {
	var id, to string
	err := in.FlagsOnly(func(f *flag.FlagSet) {
		f.StringVar(&id, "merchant", "", "id of the merchant")
		f.StringVar(&to, "shard", "", "code of the shard of its new payments")
	})
	switch {
	case err != nil:
		return err
	case id == "" || to == "":
		return in.Usage()
	}
	cfg, err := config.Read[settings](in.Environ)
	if err != nil {
		return err
	}
	targets, err := cfg.services()
	if err != nil {
		return err
	}
	code, err := shard.Parse(to)
	if err != nil {
		return fmt.Errorf("merchants move: --shard: %w", err)
	}
	if !targets[route.Payments].Has(code) {
		return fmt.Errorf("merchants move: --shard: %s is not one of SHARDS", code)
	}
	kept, err := open(ctx, in.Environ)
	if err != nil {
		return err
	}
	defer kept.close()
	m := mover{targets[route.Payments].Alone(route.Payments, slog.Default()), targets[route.Dispatcher].Alone(route.Dispatcher, slog.Default())}
	by := commandLine(in)
	by.Act, by.Object, by.Detail = audit.MerchantMoved, "merchant:"+id, map[string]string{"shard": string(code)}
	shards, err := kept.store.Move(ctx, id, code, by, func(n merchant.Notice) error { return m.open(ctx, n, code) })
	if err != nil {
		return fmt.Errorf("merchants move: %w", err)
	}
	return json.NewEncoder(in.Out).Encode(map[string]any{"merchantId": id, "shards": shards})
}

// mover prepares a shard for the new payments of a merchant.
type mover struct{ payments, dispatcher *proxy.Target }

// The settings of a merchant that one shard alone has.
var (
	errEndpoints = errors.New("the merchant has webhook endpoints, which get the events of one shard alone")
	errCredited  = errors.New("payments of the merchant are credited to its balance, which is in one shard")
)

// open refuses a merchant with settings that the shard would not have, and brings its signing secrets and terms there.
func (m mover) open(ctx context.Context, n merchant.Notice, to shard.Code) error {
	home := n.Shards[0]
	for _, mode := range []tenant.Mode{tenant.Live, tenant.Test} {
		of := proxy.Shop{Shard: home, MerchantID: n.MerchantID, Mode: mode}
		var hooks struct{ Endpoints []json.RawMessage }
		if err := read(ctx, m.dispatcher, of, "/v1/webhooks/endpoints?limit=1", &hooks); err != nil {
			return err
		}
		var chosen struct {
			Settings struct{ MerchantPayments string }
		}
		if err := read(ctx, m.payments, of, "/v1/settlement-settings", &chosen); err != nil {
			return err
		}
		switch {
		case len(hooks.Endpoints) > 0:
			return errEndpoints
		case chosen.Settings.MerchantPayments == "balance":
			return errCredited
		}
		if err := m.dispatcher.CarrySecrets(ctx, of, to); err != nil {
			return err
		}
	}
	n.Shards = []shard.Code{to}
	return telling(m.payments)(ctx, n)
}

func read(ctx context.Context, t *proxy.Target, of proxy.Shop, path string, into any) error {
	said, err := t.Read(ctx, of, path)
	if err == nil {
		err = json.Unmarshal(said, into)
	}
	if err != nil {
		return fmt.Errorf("read %s of the shard %s: %w", path, of.Shard, err)
	}
	return nil
}
