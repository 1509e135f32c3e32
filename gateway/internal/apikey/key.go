package apikey

import (
	"net/netip"
	"time"

	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
)

// Tier names the rate limits of a key (docs/api-contract.md#limits).
type Tier string

// The tiers.
const (
	Standard  Tier = "standard"
	Premium   Tier = "premium"
	Unlimited Tier = "unlimited"
)

// Tiers lists the tiers.
func Tiers() []string { return []string{string(Standard), string(Premium), string(Unlimited)} }

// Rate returns a tier's calls a second in the long run, and its calls at once. Zeroes mean no limit. An unknown tier
// has the standard limits.
func (t Tier) Rate() (perSecond, burst int) {
	switch t {
	case Unlimited:
		return 0, 0
	case Premium:
		return 200, 2000
	case Standard:
	}
	return 50, 500
}

// The kinds of a key. People act through a console under the console key of their merchant and mode, which has no
// usable secret; their own permissions count, and not the key's.
const (
	KindKey     = "key"
	KindConsole = "console"
)

// Key is an API key as it is stored. It is immutable once loaded, so that requests may share it. A zero time means
// never.
type Key struct {
	ID           int64 // the API's apiKeyId; kept when the secret is rotated
	PublicKey    string
	MerchantID   string
	Merchant     merchant.Standing
	Shard        shard.Code   // the merchant's home
	Moves        []shard.Code // the shards to which its new payments moved since, in that order
	Recent       int          // how many of these moves are younger than KeysLast
	Kind         string
	Name         string
	Mode         tenant.Mode
	Permissions  []string
	AllowedCIDRs []netip.Prefix // empty: any address
	Tier         Tier
	CreatedAt    time.Time
	ExpiresAt    time.Time
	RevokedAt    time.Time
	LastUsedAt   time.Time

	// SecretUntil ends the overlap in which a rotated secret still works.
	SecretUntil time.Time
	// Grants is the compiled form of Permissions and Effective their list without wildcards; Compiled sets both.
	Grants    Set
	Effective []string
	// Signing checks the signatures of requests that name the key by its public id. Only a key that was found by that
	// id has it.
	Signing []byte
}

// Compiled returns the key with its permissions compiled; the store calls it on every key it loads.
func (k Key) Compiled() Key {
	k.Grants = Compile(k.Permissions)
	k.Effective = k.Grants.List()
	return k
}

// Of is the console key as one person uses it: with the permissions of that person and the limits of a key.
func (k Key) Of(permissions []string) *Key {
	k.Grants, k.Tier, k.AllowedCIDRs = compilePerson(permissions), Standard, nil
	k.Effective = k.Grants.List()
	return &k
}

// The refusals of a credential. An unknown key and a mistyped one get the same answer.
var (
	ErrMissing = fault.New(fault.Unauthenticated, "api_key_missing",
		"Send your secret key as Authorization: Bearer sk_… or as X-API-Key: sk_….")
	ErrInvalid    = fault.New(fault.Unauthenticated, "api_key_invalid", "The API key is not valid.")
	ErrRevoked    = fault.New(fault.Unauthenticated, "api_key_revoked", "The API key has been revoked.")
	ErrExpired    = fault.New(fault.Unauthenticated, "api_key_expired", "The API key has expired.")
	ErrAddress    = fault.New(fault.Forbidden, "ip_not_allowed", "The API key does not allow requests from this address.")
	ErrPublicOnly = fault.New(fault.Unauthenticated, "signature_missing",
		"A public key does not authenticate by itself. Send X-Timestamp and X-Signature with it, or the secret key sk_….")
	ErrAmbiguous = fault.New(fault.Unauthenticated, "api_key_ambiguous", "The request carries two different API keys.")
)

// Usable returns why a key may not be used now from this address, or nil. Every request calls it, also for cached keys,
// so that expiry and allow-lists take effect at once.
func (k *Key) Usable(now time.Time, from netip.Addr) error {
	switch {
	case !k.RevokedAt.IsZero(): // no clock is compared: a revocation never lies in the future
		return ErrRevoked
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt), !k.SecretUntil.IsZero() && !now.Before(k.SecretUntil):
		return ErrExpired
	case len(k.AllowedCIDRs) > 0 && !within(k.AllowedCIDRs, from):
		return ErrAddress
	}
	return nil
}

func within(list []netip.Prefix, a netip.Addr) bool {
	for _, p := range list {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
