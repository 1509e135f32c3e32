package app

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/delivery"
)

// SecretTTL is how long a signing secret is used from memory. A rotation is answered only after this time, so a
// merchant that has the answer sees every later attempt signed with both secrets, whichever replica makes it.
const SecretTTL = time.Second

// Overlap is how long a secret goes on signing after the one that replaces it was made.
const Overlap = 24 * time.Hour

// SecretsMost is how many secrets sign at a time: each one's signature makes every request longer.
const SecretsMost = 4

const cachedSecrets = 10_000

// SecretOwner names whose secret it is: the one of a merchant and mode that signs callbackUrl deliveries, or an
// endpoint's.
type SecretOwner struct {
	MerchantID string
	Mode       tenant.Mode
	EndpointID string // "" for the secret of callbackUrl deliveries
	Earlier    bool   // those that signed while the endpoint was at an earlier URL
}

// SecretOwnerOf is the owner of a merchant's secret, of its endpoint if one is named.
func SecretOwnerOf(o tenant.Owner, endpointID string) SecretOwner {
	return SecretOwner{MerchantID: o.MerchantID, Mode: o.Mode, EndpointID: endpointID}
}

// Place is where a sealed secret belongs; it opens nowhere else.
func (o SecretOwner) Place() string {
	return "webhook-secret/" + o.MerchantID + "/" + string(o.Mode) + "/" + o.EndpointID
}

// SealedSecret is a secret as it is stored.
type SealedSecret struct {
	Generation int
	Sealed     []byte
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero for the current one
}

// Secret is an opened secret.
type Secret struct {
	Text       string
	Generation int
	CreatedAt  time.Time
	ExpiresAt  time.Time // zero for the current one
}

// Vault stores secrets.
type Vault interface {
	// Valid returns the secrets that sign now, the newest first.
	Valid(ctx context.Context, o SecretOwner) ([]SealedSecret, error)
	// Create stores the first secret, unless there is one.
	Create(ctx context.Context, o SecretOwner, sealed []byte) error
	// Adopt stores a secret of another dispatcher under its generation, in place of one that is there, and ends those
	// before the oldest generation that signs.
	Adopt(ctx context.Context, o SecretOwner, s SealedSecret, oldest int) error
	// Rotate stores the next secret and lets the one before it expire after the overlap, together with the answer to the
	// request. revoke lets all earlier ones expire now instead; without it there may be SecretsMost with the next one.
	// It returns a, or the earlier answer when the request was answered before.
	Rotate(ctx context.Context, o SecretOwner, next SealedSecret, revoke bool, k idempotency.Key, a idempotency.Answer) (idempotency.Answer, error)
}

// Sealer seals secrets at rest.
type Sealer interface {
	Seal(plain []byte, place string) []byte
	Open(sealed []byte, place string) ([]byte, error)
}

// Secrets hands out signing secrets and makes the first one when it is first asked for.
type Secrets struct {
	vault  Vault
	sealer Sealer
	now    func() time.Time

	mu    sync.Mutex
	cache map[SecretOwner]*cached
}

type cached struct {
	mu         sync.Mutex
	loadedAt   time.Time
	keys       []*delivery.Key
	generation int
}

// NewSecrets makes the keeper of secrets.
func NewSecrets(vault Vault, sealer Sealer, now func() time.Time) *Secrets {
	return &Secrets{vault: vault, sealer: sealer, now: now, cache: map[SecretOwner]*cached{}}
}

// Get returns the secrets that sign now, the newest first, and makes one if there is none.
func (s *Secrets) Get(ctx context.Context, o SecretOwner) ([]Secret, error) {
	stored, err := s.vault.Valid(ctx, o)
	if err != nil {
		return nil, err
	}
	if len(stored) == 0 {
		if err := s.vault.Create(ctx, o, s.sealer.Seal([]byte(delivery.NewSecret()), o.Place())); err != nil {
			return nil, err
		}
		if stored, err = s.vault.Valid(ctx, o); err != nil { // another caller's may have won
			return nil, err
		}
	}
	secrets := make([]Secret, 0, len(stored))
	for _, one := range stored {
		text, err := s.sealer.Open(one.Sealed, o.Place())
		if err != nil {
			return nil, fmt.Errorf("open the signing secret, generation %d: %w", one.Generation, err)
		}
		secrets = append(secrets, Secret{Text: string(text), Generation: one.Generation, CreatedAt: one.CreatedAt, ExpiresAt: one.ExpiresAt})
	}
	if len(secrets) == 0 {
		return nil, fmt.Errorf("no signing secret of %s mode is valid", o.Mode)
	}
	return secrets, nil
}

// Signing returns the keys to sign with, the newest first, from memory while they are fresh.
func (s *Secrets) Signing(ctx context.Context, o SecretOwner) (keys []*delivery.Key, generation int, err error) {
	c := s.entry(o)
	c.mu.Lock() // callers of one owner load once
	defer c.mu.Unlock()
	now := s.now()
	if !c.loadedAt.IsZero() && now.Sub(c.loadedAt) < SecretTTL {
		return c.keys, c.generation, nil
	}
	secrets, err := s.Get(ctx, o)
	if err != nil {
		return nil, 0, err
	}
	keys = make([]*delivery.Key, 0, len(secrets))
	for _, one := range secrets {
		key, err := delivery.KeyOf(one.Text)
		if err != nil {
			return nil, 0, err
		}
		keys = append(keys, key)
	}
	c.loadedAt, c.keys, c.generation = now, slices.Clip(keys), secrets[0].Generation
	return c.keys, c.generation, nil
}

func (s *Secrets) entry(o SecretOwner) *cached {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cache[o]
	if c == nil {
		if len(s.cache) >= cachedSecrets {
			clear(s.cache)
		}
		c = &cached{}
		s.cache[o] = c
	}
	return c
}

// Adopt keeps a secret that the merchant has in the dispatcher of another shard. Like a rotation it returns once every
// replica signs with it.
func (s *Secrets) Adopt(ctx context.Context, o SecretOwner, one Secret, oldest int) error {
	if _, err := delivery.KeyOf(one.Text); err != nil {
		return err
	}
	err := s.vault.Adopt(ctx, o, SealedSecret{
		Generation: one.Generation, Sealed: s.sealer.Seal([]byte(one.Text), o.Place()), CreatedAt: one.CreatedAt, ExpiresAt: one.ExpiresAt,
	}, oldest)
	if err == nil && !pause(ctx, SecretTTL) {
		err = ctx.Err()
	}
	return err
}

// Rendering turns a secret into the body of an answer, with and without the secret itself.
type Rendering func(s Secret) (full, public []byte, err error)

// Rotate makes the next secret. The one before it signs too for 24 hours, and older ones until their own 24 hours
// end, unless revoke ends them all.
func (s *Secrets) Rotate(ctx context.Context, o SecretOwner, revoke bool, k idempotency.Key, render Rendering) (idempotency.Answer, error) {
	if _, err := s.Get(ctx, o); err != nil { // there is always one to overlap with
		return idempotency.Answer{}, err
	}
	fresh := Secret{Text: delivery.NewSecret(), CreatedAt: s.now().UTC().Truncate(time.Millisecond)}
	full, public, err := render(fresh)
	if err != nil {
		return idempotency.Answer{}, err
	}
	answerPlace := o.Place() + "/answer"
	next := SealedSecret{Sealed: s.sealer.Seal([]byte(fresh.Text), o.Place()), CreatedAt: fresh.CreatedAt}
	answer, err := s.vault.Rotate(ctx, o, next, revoke, k, idempotency.Answer{Status: 200, Body: public, Secret: s.sealer.Seal(full, answerPlace)})
	switch {
	case err != nil:
		return idempotency.Answer{}, err
	case !answer.Replayed:
		answer.Body = full
		if !pause(ctx, SecretTTL) {
			return idempotency.Answer{}, ctx.Err()
		}
	case len(answer.Secret) > 0:
		answer.Body, err = s.sealer.Open(answer.Secret, answerPlace)
	}
	return answer, err
}
