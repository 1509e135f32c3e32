package httpapi

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/passkey"
	"causeway.internal/libs/timestamp"
)

func (a *API) registerPasskeys(s *httpkit.Server) {
	httpkit.Handle(s, "GET /v1/admin/operators/passkeys", httpkit.ForOperators, a.listPasskeys)
	httpkit.Handle(s, "POST /v1/admin/operators/passkeys", httpkit.ForOperators, a.makePasskey)
	httpkit.Handle(s, "DELETE /v1/admin/operators/passkeys/{id}", httpkit.ForOperators, a.revokePasskey)
}

// addPasskey is the act that takes two operators.
const addPasskey = "add_operator_passkey"

// PasskeyView is an operator's passkey as operators see it.
type PasskeyView struct {
	ID           int64   `json:"id"`
	Name         string  `json:"name"`
	Label        string  `json:"label"`
	CredentialID string  `json:"credentialId"`
	PublicKey    string  `json:"publicKey"`
	CreatedBy    string  `json:"createdBy"`
	CreatedAt    *string `json:"createdAt"`
	RevokedAt    *string `json:"revokedAt"`
}

// ViewPasskey shows a passkey.
func ViewPasskey(p operator.Passkey) PasskeyView {
	enc := base64.RawURLEncoding
	return PasskeyView{
		p.ID, p.Name, p.Label, enc.EncodeToString(p.Key.ID), enc.EncodeToString(p.Key.Public), p.CreatedBy,
		timestamp.OrNull(p.CreatedAt), timestamp.OrNull(p.RevokedAt),
	}
}

type passkeyRequest struct{ order operator.PasskeyOrder }

// Bounds of the texts. The order has closer ones.
const (
	credentialTextMax = 1400
	publicTextMax     = 1400
)

// Read implements httpkit.Reader.
func (r *passkeyRequest) Read(in *httpkit.Input) {
	b := in.Body()
	read := func(name string, most int) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(b.RequiredText(name, most))
		if err != nil {
			b.Problem(name, "must be base64url without padding")
		}
		return raw
	}
	r.order = operator.PasskeyOrder{
		Name: strings.TrimSpace(b.RequiredText("name", 63)), Label: strings.TrimSpace(b.Text("label", 100)),
		Key: passkey.Key{ID: read("credentialId", credentialTextMax), Public: read("publicKey", publicTextMax)},
	}
	r.order.Check(&in.Problems)
}

type passkeyAnswer struct {
	Passkey PasskeyView `json:"passkey"`
}

// errByToken refuses the console: an attacker who has taken it over could add their own passkey.
var errByToken = fault.New(fault.Forbidden, "passkey_by_token", "Add passkeys with an operator's token or on the command line, not through the console.")

func (a *API) makePasskey(ctx context.Context, r passkeyRequest) (idempotency.Answer, error) {
	if httpkit.From(ctx).Identity.Door != "" {
		return idempotency.Answer{}, errByToken
	}
	by := byOperator(ctx)
	waits, err := a.seconded(ctx, &by, approval.Request{Action: addPasskey}, r.order, idempotency.Key{})
	if err != nil || waits != nil {
		return orNone(waits), err
	}
	added, err := a.Passkeys.Add(ctx, r.order, by)
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.tell(ctx, "operator_passkey", added.ID)
	body, err := httpkit.Success(passkeyAnswer{ViewPasskey(added)})
	return idempotency.Answer{Status: http.StatusCreated, Body: body}, err
}

func (a *API) revokePasskey(ctx context.Context, r oneRequest) (passkeyAnswer, error) {
	p, err := a.Passkeys.Revoke(ctx, r.id, byOperator(ctx))
	if err == nil {
		a.tell(ctx, "operator_passkey", p.ID)
	}
	return passkeyAnswer{ViewPasskey(p)}, err
}

type passkeysAnswer struct {
	Passkeys []PasskeyView `json:"passkeys"`
}

func (a *API) listPasskeys(ctx context.Context, _ noRequest) (passkeysAnswer, error) {
	all, err := a.Passkeys.List(ctx)
	out := passkeysAnswer{Passkeys: make([]PasskeyView, 0, len(all))}
	for _, p := range all {
		out.Passkeys = append(out.Passkeys, ViewPasskey(p))
	}
	return out, err
}
