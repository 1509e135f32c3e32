package operator

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"
	"unicode/utf8"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/passkey"
)

// Passkey is a passkey by which an operator approves changes in the console. Name is the person.
type Passkey struct {
	ID        int64
	Name      string
	Label     string
	Key       passkey.Key
	CreatedBy string
	CreatedAt time.Time
	RevokedAt time.Time
}

// PasskeyOrder is an order to add a passkey.
type PasskeyOrder struct {
	Name  string
	Label string // which one it is, such as "laptop"
	Key   passkey.Key
}

const labelMax = 100

// Check adds a problem for each broken rule of an order.
func (o *PasskeyOrder) Check(p *fault.Problems) {
	if !name.MatchString(o.Name) {
		p.Add("name", "must be a person's name of 2 to 63 of a-z, 0-9, . _ and -, beginning with a letter, such as ada.obi")
	}
	if utf8.RuneCountInString(o.Label) > labelMax {
		p.Add("label", "must have at most %d characters", labelMax)
	}
	if err := o.Key.Check(); err != nil {
		p.Add("publicKey", "must be a passkey's public key with its credential id: %v", err)
	}
}

// PasskeyStore keeps passkeys. Each write commits its audit entry with it or not at all.
type PasskeyStore interface {
	// InsertPasskey refuses a person who has `most` passkeys, and a passkey that is or was known.
	InsertPasskey(ctx context.Context, o PasskeyOrder, most int, by audit.Entry) (Passkey, error)
	RevokePasskey(ctx context.Context, id int64, by audit.Entry) (Passkey, error)
	Passkeys(ctx context.Context) ([]Passkey, error)
	PasskeysOf(ctx context.Context, operator string) ([]passkey.Key, error)
}

// passkeysMax is how many passkeys a person may have. The identity of each change carries them.
const passkeysMax = 10

// The refusals of passkeys.
var (
	ErrPasskeyNotFound = fault.New(fault.NotFound, "passkey_not_found", "Passkey not found")
	ErrPasskeyKnown    = fault.New(fault.Conflict, "passkey_known", "This passkey is registered already, or was revoked.")
	ErrPasskeysTooMany = fault.New(fault.Conflict, "passkeys_too_many", "This person has %d passkeys already. Revoke one first.", passkeysMax)
)

// Passkeys adds, lists and revokes operators' passkeys.
type Passkeys struct{ store PasskeyStore }

// NewPasskeys makes the registry of passkeys.
func NewPasskeys(store PasskeyStore) *Passkeys { return &Passkeys{store} }

// Add adds a passkey.
func (r *Passkeys) Add(ctx context.Context, o PasskeyOrder, by audit.Entry) (Passkey, error) {
	var p fault.Problems
	o.Check(&p)
	if err := p.Err(); err != nil {
		return Passkey{}, err
	}
	by.Act = audit.PasskeyAdded
	by.Detail = map[string]string{"name": o.Name, "credentialId": base64.RawURLEncoding.EncodeToString(o.Key.ID)}
	added, err := r.store.InsertPasskey(ctx, o, passkeysMax, by)
	if err != nil {
		return Passkey{}, fmt.Errorf("add a passkey: %w", err)
	}
	return added, nil
}

// Revoke ends a passkey at once, on every replica. Repeating it changes nothing and gives the same answer.
func (r *Passkeys) Revoke(ctx context.Context, id int64, by audit.Entry) (Passkey, error) {
	by.Act = audit.PasskeyRevoked
	p, err := r.store.RevokePasskey(ctx, id, by)
	if err != nil {
		return Passkey{}, fmt.Errorf("revoke passkey %d: %w", id, err)
	}
	return p, nil
}

// List returns the passkeys that were not revoked more than a quarter of a year ago, newest first.
func (r *Passkeys) List(ctx context.Context) ([]Passkey, error) {
	all, err := r.store.Passkeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list passkeys: %w", err)
	}
	return all, nil
}
