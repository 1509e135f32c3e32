// Package operator holds the tokens of the people who may call /v1/admin: how they are made, replaced, revoked and
// authenticated. A token belongs to one named person and expires. The package uses no HTTP and no SQL (the store does),
// and keeps no token after it has returned it.
package operator

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"causeway.internal/gateway/internal/apikey"
	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/credential"
	"causeway.internal/libs/fault"
)

// Token is a token as it is stored. A zero time means never.
type Token struct {
	ID         int64
	Name       string // of the person
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	RevokedAt  time.Time
	LastUsedAt time.Time
	Expired    bool // by the database's clock
}

// Order is an order to make a token.
type Order struct {
	Name   string `json:"name"`
	Days   int    `json:"days"`
	Digest string `json:"digest,omitempty"` // credential.TokenDigest of the token that the person has made; "" makes one here
}

// These bound the days that a token lasts and the tokens that a person holds.
const (
	DaysDefault = 30
	DaysMax     = 90
	heldMax     = 5
)

var (
	name   = regexp.MustCompile(`^[a-z][a-z0-9._-]{1,62}$`)
	digest = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Check adds an error for every broken rule of an order.
func (o *Order) Check(p *fault.Problems) {
	if !name.MatchString(o.Name) {
		p.Add("name", "must be a person's name of 2 to 63 of a-z, 0-9, . _ and -, beginning with a letter, such as ada.obi")
	}
	if o.Days < 1 || o.Days > DaysMax {
		p.Add("days", "must be from 1 to %d", DaysMax)
	}
	if o.Digest != "" && !digest.MatchString(o.Digest) {
		p.Add("digest", "must be the SHA-256 of the token in 64 characters of 0-9 and a-f, as causeway operator-token prints it")
	}
}

// Issued is a token with its text, which is shown once, and not at all where its person has made it.
type Issued struct {
	Token
	Secret string
}

// Secret is what is stored of a token's text.
type Secret struct {
	Digest   apikey.Digest
	PepperID string
	Taken    []apikey.Digest // the same token's under every pepper; none for a token that is fresh
}

// Store keeps tokens. Each write commits its audit entry with it or not at all.
type Store interface {
	// InsertToken refuses a person who holds `most` usable tokens, and a token that there is or was.
	InsertToken(ctx context.Context, o Order, s Secret, most int, by audit.Entry) (Token, error)
	// RotateToken ends a person's usable token and inserts another one with the same end.
	RotateToken(ctx context.Context, id int64, person string, s Secret, by audit.Entry) (Token, error)
	RevokeToken(ctx context.Context, id int64, by audit.Entry) (Token, error)
	Tokens(ctx context.Context) ([]Token, error)
	// TokensByDigest finds the tokens that have one of the digests, the first one first, and records the use of a single
	// one.
	TokensByDigest(ctx context.Context, digests []apikey.Digest) ([]Token, error)
}

// The refusals of the registry.
var (
	ErrNotFound = fault.New(fault.NotFound, "operator_token_not_found", "Operator token not found")
	ErrTooMany  = fault.New(fault.Conflict, "operator_tokens_too_many", "This person holds %d tokens already. Revoke one first.", heldMax)
	ErrUsed     = fault.New(fault.Conflict, "operator_token_used", "There is or was a token with this digest. Make another one.")
	ErrNotYours = fault.New(fault.Forbidden, "operator_token_not_yours", "Only the person whose token it is may replace it.")
	ErrEnded    = fault.New(fault.Conflict, "operator_token_ended", "The token has expired or was revoked. Have another one made.")
)

// Registry makes, lists, replaces and revokes tokens.
type Registry struct {
	store   Store
	peppers *apikey.Peppers
}

// NewRegistry makes a registry.
func NewRegistry(store Store, peppers *apikey.Peppers) *Registry {
	return &Registry{store: store, peppers: peppers}
}

// Create makes a token, or takes one by its digest. An operator who sees another person's token can act as a second
// one, so where decisions take two, a person makes the own token and the others see its digest alone.
func (r *Registry) Create(ctx context.Context, o Order, by audit.Entry) (Issued, error) {
	var p fault.Problems
	o.Check(&p)
	if err := p.Err(); err != nil {
		return Issued{}, err
	}
	by.Act, by.Detail = audit.TokenMade, map[string]string{"name": o.Name, "days": strconv.Itoa(o.Days)}
	text, secret := r.fresh()
	if o.Digest != "" {
		text, secret.Digest, secret.Taken = "", r.peppers.Digest(made(o.Digest)), r.peppers.All(made(o.Digest))
	}
	t, err := r.store.InsertToken(ctx, o, secret, heldMax, by)
	if err != nil {
		return Issued{}, fmt.Errorf("make an operator's token: %w", err)
	}
	return Issued{t, text}, nil
}

// Rotate replaces a token of a person by a new one with the same end; the old one ends now. An empty person matches
// anybody, for the command line.
func (r *Registry) Rotate(ctx context.Context, id int64, person string, by audit.Entry) (Issued, error) {
	by.Act = audit.TokenRotated
	text, secret := r.fresh()
	t, err := r.store.RotateToken(ctx, id, person, secret, by)
	if err != nil {
		return Issued{}, fmt.Errorf("replace operator token %d: %w", id, err)
	}
	return Issued{t, text}, nil
}

// Revoke ends a token at once, on every replica. Repeating it changes nothing and gives the same answer.
func (r *Registry) Revoke(ctx context.Context, id int64, by audit.Entry) (Token, error) {
	by.Act = audit.TokenRevoked
	t, err := r.store.RevokeToken(ctx, id, by)
	if err != nil {
		return Token{}, fmt.Errorf("revoke operator token %d: %w", id, err)
	}
	return t, nil
}

// List returns the tokens that have not ended more than a quarter of a year ago, newest first.
func (r *Registry) List(ctx context.Context) ([]Token, error) {
	all, err := r.store.Tokens(ctx)
	if err != nil {
		return nil, fmt.Errorf("list operators' tokens: %w", err)
	}
	return all, nil
}

// made is what is stored, peppered, of a token that its person has made. It has not the form of a token, so it opens
// nothing itself.
func made(digest string) string { return "sha256:" + digest }

func (r *Registry) fresh() (text string, s Secret) {
	text = credential.GenerateToken()
	return text, Secret{Digest: r.peppers.Digest(text), PepperID: r.peppers.ID()}
}
