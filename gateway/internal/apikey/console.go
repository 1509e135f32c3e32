package apikey

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"net/netip"
	"time"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/tenant"
)

// ConsoleStore keeps console keys. Each merchant has at most one for each mode.
type ConsoleStore interface {
	// Console is the console key of a merchant and mode, nil without one.
	Console(ctx context.Context, merchantID string, mode tenant.Mode) (*Key, error)
	// InsertConsole makes it, unless another process has made it meanwhile.
	InsertConsole(ctx context.Context, k Key, secrets Secrets, by audit.Entry) error
}

// Consoles finds the key under which the people of a merchant act in a console. It makes the key on first use.
type Consoles struct {
	store    ConsoleStore
	cache    *Cache
	registry *Registry
}

// NewConsoles finds console keys through a cache.
func NewConsoles(store ConsoleStore, cache *Cache, registry *Registry) *Consoles {
	return &Consoles{store: store, cache: cache, registry: registry}
}

// Find returns the console key of a merchant and mode. from is the address that a look-up of an unknown key is counted
// for.
func (c *Consoles) Find(ctx context.Context, merchantID string, mode tenant.Mode, from netip.Addr) (*Key, error) {
	d := Digest(sha256.Sum256([]byte("console\n" + string(mode) + "\n" + merchantID)))
	if key, err, known := c.cache.recall(d); known {
		return key, err
	}
	return c.cache.load(ctx, d, from, func(ctx context.Context) (*Key, error) {
		key, err := c.store.Console(ctx, merchantID, mode)
		if key != nil || err != nil {
			return key, err
		}
		if err := c.make(ctx, merchantID, mode); err != nil {
			return nil, err
		}
		return c.store.Console(ctx, merchantID, mode)
	})
}

// make makes a console key. Its secret is made and forgotten here, so that nobody can use the key without a person.
func (c *Consoles) make(ctx context.Context, merchantID string, mode tenant.Mode) error {
	r := c.registry
	public := credential.Generate(credential.Public, mode)
	secrets := r.kept(credential.Generate(credential.Secret, mode), public)
	_, _ = rand.Read(secrets.Digest[:]) // not even that of the secret; never fails
	k := Key{
		PublicKey: public, MerchantID: merchantID, Shard: r.home, Name: "Console", Mode: mode, Kind: KindConsole, Permissions: []string{"*"}, Tier: Standard,
	}
	by := audit.Entry{
		Act: audit.KeyCreated, Actor: "console", RequestID: id.New(id.Request, time.Now()),
		Detail: map[string]string{"merchantId": merchantID, "mode": string(mode), "kind": KindConsole, "publicKey": public},
	}
	if err := c.store.InsertConsole(ctx, k, secrets, by); err != nil {
		return fmt.Errorf("make the console key: %w", err)
	}
	return nil
}

// ErrConsoleKey refuses what only a key with a secret can have done to it.
var ErrConsoleKey = fault.New(fault.Conflict, "key_is_console",
	"This key is that of the merchant's people in the console. It has no secret and cannot be changed, rotated or revoked.")
