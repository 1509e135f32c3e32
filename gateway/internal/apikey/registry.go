package apikey

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

// Order is an order to make a key.
type Order struct {
	MerchantID   string
	Name         string
	Mode         tenant.Mode
	Permissions  []string
	Tier         Tier
	AllowedCIDRs []netip.Prefix
	ExpiresAt    time.Time

	Own bool // ordered by the merchant itself, which may have OwnMax keys of a mode
}

// OwnMax bounds the keys that a merchant has of one mode and has not revoked, when it makes another one itself.
const OwnMax = 100

var errTooMany = fault.New(fault.Conflict, "too_many_keys", "The merchant has %d keys of this mode already. Revoke one.", OwnMax)

// Secrets is what is stored of a secret: enough to find it and to check signatures, not enough to use it.
type Secrets struct {
	PublicKey  string
	Digest     Digest
	PepperID   string
	SigningKey []byte // sealed
}

// Issued is a key with its new secret, which is shown once.
type Issued struct {
	Key    Key
	Secret string
}

// Filter narrows a list of keys. The page holds ids below Before; 0 starts at the newest.
type Filter struct {
	MerchantID string
	Mode       tenant.Mode
	Before     int64
	Limit      int
}

// Once makes a creation happen once per Idempotency-Key: the answer is stored in the same transaction as the key.
type Once struct {
	Key    idempotency.Key
	Answer func(Issued) (idempotency.Answer, error)
}

// Store keeps keys. A write commits with its audit entry or not at all, and an insert also with its answer.
type Store interface {
	// Insert gives the key the shard of its merchant, which that of k is for a new merchant alone.
	Insert(ctx context.Context, k Key, s Secrets, by audit.Entry, answer func(Key) (idempotency.Key, idempotency.Answer, error)) (Key, error)
	// Update changes a key under its lock. Without an entry nothing changes; an error of f is returned as it is.
	Update(ctx context.Context, id int64, f func(Key) (Key, *audit.Entry, error)) (Key, error)
	// Rotate adds a new secret beside the current one, which works until the overlap ends; every older one ends at
	// once. answer receives the key with its new public id, under its lock, and its error is returned as it is.
	Rotate(ctx context.Context, o Rotation, s Secrets, by audit.Entry, answer func(Key) (idempotency.Key, idempotency.Answer, error)) (Key, error)
	Revoke(ctx context.Context, id int64, by audit.Entry) (Key, error)
	Get(ctx context.Context, id int64) (Key, error)
	List(ctx context.Context, f Filter) ([]Key, error)
	// StatusOf is the status of a merchant, "" of one that is not known.
	StatusOf(ctx context.Context, merchantID string) (merchant.Status, error)
	// CountKeys counts the keys of a merchant and mode that are not revoked.
	CountKeys(ctx context.Context, merchantID string, mode tenant.Mode) (int, error)
}

// ErrNotFound is what a store returns for an id that no key has.
var ErrNotFound = fault.New(fault.NotFound, "api_key_not_found", "API key not found")

// Registry makes, lists and revokes keys for operators.
type Registry struct {
	store   Store
	peppers *Peppers
	ring    *keyring.Ring
	cache   *Cache
	home    shard.Code
	now     func() time.Time
}

// NewRegistry makes a registry. The registry drops each changed key from the cache, which may be nil. home is the shard
// of merchants who get their first key.
func NewRegistry(store Store, peppers *Peppers, ring *keyring.Ring, cache *Cache, home shard.Code, now func() time.Time) *Registry {
	return &Registry{store: store, peppers: peppers, ring: ring, cache: cache, home: home, now: now}
}

// Create makes a key pair and stores its digests and its sealed signing key.
func (r *Registry) Create(ctx context.Context, o Order, by audit.Entry, once Once) (Issued, error) {
	var p fault.Problems
	o.Check(&p, r.now())
	if err := p.Err(); err != nil {
		return Issued{}, err
	}
	if o.Tier == "" {
		o.Tier = Standard
	}
	if o.Own {
		if n, err := r.store.CountKeys(ctx, o.MerchantID, o.Mode); err != nil || n >= OwnMax {
			return Issued{}, cmp.Or[error](err, errTooMany)
		}
	}
	secret, public := credential.Generate(credential.Secret, o.Mode), credential.Generate(credential.Public, o.Mode)
	by.Act = audit.KeyCreated
	by.Detail = map[string]string{
		"merchantId": o.MerchantID, "mode": string(o.Mode),
		"permissions": strings.Join(o.Permissions, " "), "tier": string(o.Tier), "publicKey": public,
	}
	key, err := r.store.Insert(ctx, Key{
		PublicKey: public, MerchantID: o.MerchantID, Shard: r.home, Name: o.Name, Mode: o.Mode, Permissions: o.Permissions,
		Tier: o.Tier, AllowedCIDRs: o.AllowedCIDRs, ExpiresAt: o.ExpiresAt,
	}, r.kept(secret, public), by, func(k Key) (idempotency.Key, idempotency.Answer, error) {
		if !once.Key.Sent() {
			return idempotency.Key{}, idempotency.Answer{}, nil
		}
		answer, err := once.Answer(Issued{Key: k, Secret: secret})
		return once.Key, answer, err
	})
	if err != nil {
		return Issued{}, fmt.Errorf("create API key: %w", err)
	}
	return Issued{Key: key, Secret: secret}, nil
}

// Revoke ends a key for good. Repeating it changes nothing and gives the same answer.
func (r *Registry) Revoke(ctx context.Context, id int64, by audit.Entry) (Key, error) {
	if _, err := r.real(ctx, id); err != nil {
		return Key{}, err
	}
	by.Act, by.Object = audit.KeyRevoked, object(id)
	key, err := r.store.Revoke(ctx, id, by)
	if err != nil {
		return Key{}, fmt.Errorf("revoke API key %d: %w", id, err)
	}
	r.drop(id)
	return key, nil
}

// MayHaveKey refuses a key of a mode to a merchant.
func (r *Registry) MayHaveKey(ctx context.Context, merchantID string, mode tenant.Mode) error {
	status, err := r.store.StatusOf(ctx, merchantID)
	if err != nil {
		return fmt.Errorf("read the status of a merchant: %w", err)
	}
	return status.MayHaveKey(mode)
}

// Get returns a key by its id.
func (r *Registry) Get(ctx context.Context, id int64) (Key, error) {
	key, err := r.store.Get(ctx, id)
	if err != nil {
		return Key{}, fmt.Errorf("get API key %d: %w", id, err)
	}
	return key, nil
}

// List returns keys, newest first, and whether there are more.
func (r *Registry) List(ctx context.Context, f Filter) (keys []Key, more bool, err error) {
	limit := f.Limit
	f.Limit++
	if keys, err = r.store.List(ctx, f); err != nil {
		return nil, false, fmt.Errorf("list API keys: %w", err)
	}
	if len(keys) > limit {
		return keys[:limit], true, nil
	}
	return keys, false, nil
}

// Limits of an order.
const (
	merchantMax    = 50
	nameMax        = 100
	permissionsMax = 32
	cidrsMax       = 64
)

// Check adds an error for every broken rule of an order.
func (o *Order) Check(p *fault.Problems, now time.Time) {
	switch {
	case o.MerchantID == "":
		p.Add("merchantId", "is required")
	case utf8.RuneCountInString(o.MerchantID) > merchantMax:
		p.Add("merchantId", "must have at most %d characters", merchantMax)
	case !plain(o.MerchantID):
		p.Add("merchantId", "must not contain control characters or spaces at its ends")
	}
	switch {
	case o.Name == "":
		p.Add("name", "is required")
	case utf8.RuneCountInString(o.Name) > nameMax || !plain(o.Name):
		p.Add("name", "must have at most %d characters, without control characters or spaces at its ends", nameMax)
	}
	if o.Mode != tenant.Live && o.Mode != tenant.Test {
		p.Add("mode", "must be one of live, test")
	}
	checkPermissions(p, o.Permissions)
	switch o.Tier {
	case "", Standard, Premium, Unlimited:
	default:
		p.Add("tier", "must be one of %s", strings.Join(Tiers(), ", "))
	}
	if len(o.AllowedCIDRs) > cidrsMax {
		p.Add("allowedCidrs", "must have at most %d items", cidrsMax)
	}
	if !o.ExpiresAt.IsZero() && !o.ExpiresAt.After(now) {
		p.Add("expiresAt", "must be in the future")
	}
}

func checkPermissions(p *fault.Problems, grants []string) {
	if len(grants) == 0 || len(grants) > permissionsMax {
		p.Add("permissions", "must have 1 to %d items", permissionsMax) // the first error wins when the list was unreadable
	}
	known := map[string]bool{}
	for _, g := range Grantable() {
		known[g] = true
	}
	for i, g := range grants {
		if !known[g] {
			p.Add(fmt.Sprintf("permissions[%d]", i), "must be one of %s", strings.Join(Grantable(), ", "))
		}
	}
}

func plain(s string) bool {
	return strings.TrimSpace(s) == s && strings.IndexFunc(s, func(c rune) bool { return c < 0x20 || c == 0x7f }) < 0
}
