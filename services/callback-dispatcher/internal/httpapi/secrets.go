package httpapi

import (
	"context"
	"time"

	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/callback-dispatcher/internal/app"
)

// Gateways alone call these routes, which no document names: they bring the secrets of a merchant, whose payments are
// in several shards, from its own dispatcher to the others.
func carrySecrets(s *httpkit.Server, a *api) {
	httpkit.Handle[secretsOf](s, "GET /v1/admin/merchants/secrets", httpkit.ForOperators, a.carried)
	httpkit.Handle[carriedSecret](s, "POST /v1/admin/merchants/secrets", httpkit.ForOperators, a.adopt)
}

type secretsOf struct{ owner app.SecretOwner }

// Read implements httpkit.Reader.
func (r *secretsOf) Read(in *httpkit.Input) {
	r.owner = app.SecretOwner{
		MerchantID: in.QueryText("merchantId", merchantMost), Mode: tenant.Mode(in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test))),
	}
	if r.owner.MerchantID == "" || r.owner.Mode == "" {
		in.Problems.Add("merchantId", "is required, and mode")
	}
}

// carriedSecret is a secret on its way.
type carriedSecret struct {
	MerchantID string      `json:"merchantId"`
	Mode       tenant.Mode `json:"mode"`
	Text       string      `json:"secret"`
	Generation int         `json:"generation"`
	Oldest     int         `json:"oldest"` // generation that signs; earlier ones have ended
	CreatedAt  time.Time   `json:"createdAt"`
	ExpiresAt  *time.Time  `json:"expiresAt"`
}

type carriedSecrets struct {
	Secrets []carriedSecret `json:"secrets"`
}

// carried lists the secrets that sign now, the oldest first.
func (a *api) carried(ctx context.Context, r secretsOf) (out carriedSecrets, err error) {
	valid, err := a.Secrets.Get(ctx, r.owner)
	for i := len(valid) - 1; i >= 0; i-- {
		one := carriedSecret{r.owner.MerchantID, r.owner.Mode, valid[i].Text, valid[i].Generation, valid[len(valid)-1].Generation, valid[i].CreatedAt, nil}
		if !valid[i].ExpiresAt.IsZero() {
			one.ExpiresAt = &valid[i].ExpiresAt
		}
		out.Secrets = append(out.Secrets, one)
	}
	return out, err
}

const secretMost = 200

// Read implements httpkit.Reader.
func (r *carriedSecret) Read(in *httpkit.Input) {
	b := in.Body()
	generation, _ := b.Int("generation", 1, 1<<31-1)
	oldest, _ := b.Int("oldest", 1, 1<<31-1)
	*r = carriedSecret{
		MerchantID: b.RequiredText("merchantId", merchantMost), Mode: tenant.Mode(b.RequiredText("mode", secretMost)), Text: b.RequiredText("secret", secretMost),
		Generation: int(generation), Oldest: int(oldest), CreatedAt: readTime(in, "createdAt", b.RequiredText("createdAt", secretMost)),
	}
	if at := readTime(in, "expiresAt", b.Text("expiresAt", secretMost)); !at.IsZero() {
		r.ExpiresAt = &at
	}
}

type adopted struct {
	Generation int `json:"generation"`
}

func (a *api) adopt(ctx context.Context, r carriedSecret) (adopted, error) {
	secret := app.Secret{Text: r.Text, Generation: r.Generation, CreatedAt: r.CreatedAt}
	if r.ExpiresAt != nil {
		secret.ExpiresAt = *r.ExpiresAt
	}
	return adopted{r.Generation}, a.Secrets.Adopt(ctx, app.SecretOwner{MerchantID: r.MerchantID, Mode: r.Mode}, secret, r.Oldest)
}
