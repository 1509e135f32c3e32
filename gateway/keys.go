package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/httpapi"
	"causeway.internal/gateway/internal/identity"
	"causeway.internal/gateway/internal/store"
	"causeway.internal/gateway/migrations"
	"causeway.internal/libs/command"
	"causeway.internal/libs/config"
	"causeway.internal/libs/id"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/telemetry"
	"causeway.internal/libs/tenant"
)

// createKey makes a key from the command line and prints it, with its secret, as JSON.
func createKey(ctx context.Context, in command.Input) error {
	order, err := readOrder(in)
	if err != nil {
		return err
	}
	kept, err := open(ctx, in.Environ)
	if err != nil {
		return err
	}
	defer kept.close()
	issued, err := apikey.NewRegistry(kept.store, kept.peppers, kept.ring, nil, kept.home, time.Now).Create(ctx, order, commandLine(in), apikey.Once{})
	if err != nil {
		return err
	}
	enc := json.NewEncoder(in.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(httpapi.View(issued)) //nolint:gosec // its caller asked for the secret
}

// kept holds what verbs on the gateway's database work with.
type kept struct {
	store   *store.Store
	peppers *apikey.Peppers
	ring    *keyring.Ring
	home    shard.Code // of new merchants
	close   func()
}

// open opens the database of the key settings and ensures its partitions.
func open(ctx context.Context, environ map[string]string) (kept, error) {
	cfg, err := config.Read[keySettings](environ)
	if err != nil {
		return kept{}, err
	}
	peppers, ring, err := cfg.read()
	if err != nil {
		return kept{}, err
	}
	_, home, err := cfg.shards()
	if err != nil {
		return kept{}, err
	}
	db, err := postgres.Open(ctx, cfg.Postgres, migrations.FS, telemetry.Discard("gateway"))
	if err != nil {
		return kept{}, err
	}
	k := kept{store.New(db), peppers, ring, home, db.Close}
	if err := k.store.Maintain(ctx); err != nil {
		k.close()
		return kept{}, err
	}
	return k, nil
}

func readOrder(in command.Input) (apikey.Order, error) {
	var mode, permissions, tier, cidrs, expires string
	var order apikey.Order
	err := in.FlagsOnly(func(flags *flag.FlagSet) {
		flags.StringVar(&order.MerchantID, "merchant", "", "merchant that owns the key, 1 to 50 characters")
		flags.StringVar(&order.Name, "name", "", "what the key is for")
		flags.StringVar(&mode, "mode", "test", "live or test")
		flags.StringVar(&permissions, "permissions", "", "comma separated: "+strings.Join(apikey.Grantable(), " "))
		flags.StringVar(&tier, "tier", string(apikey.Standard), "rate limits: "+strings.Join(apikey.Tiers(), " "))
		flags.StringVar(&cidrs, "allowed-cidrs", "", "comma separated networks the key may be used from; empty: any")
		flags.StringVar(&expires, "expires", "", "RFC 3339 time at which the key ends; empty: never")
	})
	if err != nil {
		return apikey.Order{}, err
	}
	order.Mode, order.Tier, order.Permissions = tenant.Mode(mode), apikey.Tier(tier), fields(permissions)
	for _, text := range fields(cidrs) {
		p, err := identity.ParsePrefix(text)
		if err != nil {
			return apikey.Order{}, fmt.Errorf("keys create: --allowed-cidrs: %w", err)
		}
		order.AllowedCIDRs = append(order.AllowedCIDRs, p)
	}
	if expires != "" {
		at, err := time.Parse(time.RFC3339, expires)
		if err != nil {
			return apikey.Order{}, fmt.Errorf("keys create: --expires: %w", err)
		}
		order.ExpiresAt = at
	}
	return order, nil
}

// fields splits a comma separated list and drops empty items.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' })
}

// commandLine begins the audit entry of an act on the command line.
func commandLine(in command.Input) audit.Entry {
	return audit.Entry{Actor: in.Operator(), RequestID: id.New(id.Request, time.Now())}
}
