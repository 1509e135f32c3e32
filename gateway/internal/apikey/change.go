package apikey

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
)

// Change is an operator's change to a key; nil leaves a field as it is. The merchant and the mode of a key never
// change.
type Change struct {
	Name         *string
	Permissions  []string
	AllowedCIDRs *[]netip.Prefix // empty: any address
	Tier         *Tier
	ExpiresAt    *time.Time // zero: never
}

// Renames reports whether the change is of the name alone, which changes no right.
func (c *Change) Renames() bool {
	return c.Permissions == nil && c.AllowedCIDRs == nil && c.Tier == nil && c.ExpiresAt == nil
}

// Version is a digest of a key's rights, so that a second operator confirms the version that the first one saw.
func (k *Key) Version() int64 {
	sum := sha256.Sum256(fmt.Append(nil, k.Permissions, k.AllowedCIDRs, k.Tier, when(k.ExpiresAt), when(k.RevokedAt)))
	return int64(binary.BigEndian.Uint64(sum[:8])) //nolint:gosec // any 64 bits name a version
}

// as reports whether a key is still the version that a confirmed request is about.
func (k *Key) as(confirmed *approval.Request) error {
	if confirmed != nil && confirmed.Version != k.Version() {
		return approval.ErrOutdated
	}
	return nil
}

// Check adds an error for every broken rule of a change.
func (c *Change) Check(p *fault.Problems, now time.Time) {
	if c.Name != nil && (*c.Name == "" || utf8.RuneCountInString(*c.Name) > nameMax || !plain(*c.Name)) {
		p.Add("name", "must have 1 to %d characters, without control characters or spaces at its ends", nameMax)
	}
	if c.Permissions != nil {
		checkPermissions(p, c.Permissions)
	}
	if c.Tier != nil && !slices.Contains(Tiers(), string(*c.Tier)) {
		p.Add("tier", "must be one of %s", strings.Join(Tiers(), ", "))
	}
	if c.AllowedCIDRs != nil && len(*c.AllowedCIDRs) > cidrsMax {
		p.Add("allowedCidrs", "must have at most %d items", cidrsMax)
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.IsZero() && !c.ExpiresAt.After(now) {
		p.Add("expiresAt", "must be in the future")
	}
}

// apply returns the changed key and the differences for the audit.
func (c *Change) apply(k Key) (Key, map[string]string) {
	detail := map[string]string{}
	if c.Name != nil && *c.Name != k.Name {
		k.Name, detail["name"] = *c.Name, "changed" // names may be names of people, which the audit must not hold
	}
	if c.Permissions != nil && !slices.Equal(c.Permissions, k.Permissions) {
		detail["permissions"] = strings.Join(k.Permissions, " ") + " -> " + strings.Join(c.Permissions, " ")
		k.Permissions = c.Permissions
	}
	if c.AllowedCIDRs != nil && !slices.Equal(*c.AllowedCIDRs, k.AllowedCIDRs) {
		detail["allowedCidrs"] = fmt.Sprint(k.AllowedCIDRs, " -> ", *c.AllowedCIDRs)
		k.AllowedCIDRs = *c.AllowedCIDRs
	}
	if c.Tier != nil && *c.Tier != k.Tier {
		detail["tier"] = string(k.Tier) + " -> " + string(*c.Tier)
		k.Tier = *c.Tier
	}
	if c.ExpiresAt != nil && !c.ExpiresAt.Equal(k.ExpiresAt) {
		detail["expiresAt"] = when(k.ExpiresAt) + " -> " + when(*c.ExpiresAt)
		k.ExpiresAt = *c.ExpiresAt
	}
	return k.Compiled(), detail
}

func when(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339)
}

// errKeyRevoked refuses to change a key that is revoked.
var errKeyRevoked = fault.New(fault.Conflict, "api_key_revoked", "The API key has been revoked; make a new one.")

// Change changes a key; every replica applies the change within a second. A change without a difference writes no audit
// entry.
func (r *Registry) Change(ctx context.Context, id int64, c Change, by audit.Entry) (Key, error) {
	var p fault.Problems
	c.Check(&p, r.now())
	if err := p.Err(); err != nil {
		return Key{}, err
	}
	by.Act, by.Object = audit.KeyChanged, object(id)
	key, err := r.store.Update(ctx, id, func(old Key) (Key, *audit.Entry, error) {
		if !old.RevokedAt.IsZero() {
			return Key{}, nil, errKeyRevoked
		}
		if old.Kind == KindConsole {
			return Key{}, nil, ErrConsoleKey
		}
		if err := old.as(by.Confirms); err != nil {
			return Key{}, nil, err
		}
		changed, detail := c.apply(old)
		if len(detail) == 0 {
			return old, nil, nil
		}
		entry := by
		entry.Detail = detail
		return changed, &entry, nil
	})
	if err != nil {
		return Key{}, fmt.Errorf("change API key %d: %w", id, err)
	}
	r.drop(id)
	return key, nil
}

// OverlapMax is the longest time for which a replaced secret may go on working.
const OverlapMax = 30 * 24 * time.Hour

// Rotation is an order to give a key a new pair of public id and secret. The key keeps its id, its limits and its
// wallets. The old pair works for Overlap more. At most two pairs work at a time, so a rotation within an overlap ends
// the oldest at once.
type Rotation struct {
	ID      int64
	Overlap time.Duration
}

// Rotate replaces a key's secret. It returns the new secret and the time at which the old one ends.
func (r *Registry) Rotate(ctx context.Context, o Rotation, by audit.Entry, once Once) (Issued, error) {
	if o.Overlap < 0 || o.Overlap > OverlapMax {
		return Issued{}, fault.New(fault.Invalid, "validation_failed", "The overlap must be from 0 to %s.", OverlapMax)
	}
	old, err := r.real(ctx, o.ID)
	if err != nil {
		return Issued{}, err
	}
	secret, public := credential.Generate(credential.Secret, old.Mode), credential.Generate(credential.Public, old.Mode)
	by.Act, by.Object = audit.KeyRotated, object(o.ID)
	by.Detail = map[string]string{"publicKey": public, "replaces": old.PublicKey, "overlap": o.Overlap.String()}
	key, err := r.store.Rotate(ctx, o, r.kept(secret, public), by, func(k Key) (idempotency.Key, idempotency.Answer, error) {
		if err := k.as(by.Confirms); err != nil {
			return idempotency.Key{}, idempotency.Answer{}, err
		}
		switch {
		case !k.RevokedAt.IsZero():
			return idempotency.Key{}, idempotency.Answer{}, errKeyRevoked
		case !once.Key.Sent():
			return idempotency.Key{}, idempotency.Answer{}, nil
		}
		answer, err := once.Answer(Issued{Key: k, Secret: secret})
		return once.Key, answer, err
	})
	if err != nil {
		return Issued{}, fmt.Errorf("rotate API key %d: %w", o.ID, err)
	}
	r.drop(o.ID)
	return Issued{Key: key, Secret: secret}, nil
}

// real returns a key that is no console key.
func (r *Registry) real(ctx context.Context, id int64) (Key, error) {
	k, err := r.Get(ctx, id)
	if err == nil && k.Kind == KindConsole {
		err = ErrConsoleKey
	}
	return k, err
}

// kept is the stored form of a new pair.
func (r *Registry) kept(secret, public string) Secrets {
	return Secrets{
		PublicKey:  public,
		Digest:     r.peppers.Digest(secret),
		PepperID:   r.peppers.ID(),
		SigningKey: r.ring.Seal(SigningKey(secret), SigningPlace(public)),
	}
}

func object(id int64) string { return "key:" + strconv.FormatInt(id, 10) }

func (r *Registry) drop(id int64) {
	if r.cache != nil {
		r.cache.Drop(id)
	}
}
