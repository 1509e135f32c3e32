package httpapi

import (
	"context"
	"net/http"
	"strings"

	"causeway.internal/gateway/internal/operator"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/timestamp"
)

// TokenView is an operator's token as operators see it. Only the answer to its creation has Token.
type TokenView struct {
	ID         int64   `json:"id"`
	Name       string  `json:"name"`
	Token      string  `json:"token,omitempty"`
	CreatedBy  string  `json:"createdBy"`
	CreatedAt  *string `json:"createdAt"`
	ExpiresAt  *string `json:"expiresAt"`
	RevokedAt  *string `json:"revokedAt"`
	LastUsedAt *string `json:"lastUsedAt"`
}

// ViewToken shows a token.
func ViewToken(i operator.Issued) TokenView {
	return TokenView{
		i.ID, i.Name, i.Secret, i.CreatedBy, timestamp.OrNull(i.CreatedAt), timestamp.OrNull(i.ExpiresAt), timestamp.OrNull(i.RevokedAt), timestamp.OrNull(i.LastUsedAt),
	}
}

type tokenRequest struct{ order operator.Order }

// Read implements httpkit.Reader.
func (r *tokenRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.order = operator.Order{Name: strings.TrimSpace(b.Text("name", 63)), Days: operator.DaysDefault, Digest: b.Text("digest", 64)}
	if n, ok := b.Int("days", 1, operator.DaysMax); ok {
		r.order.Days = int(n)
	}
	r.order.Check(&in.Problems)
}

type tokenAnswer struct {
	Operator TokenView `json:"operator"`
}

// errTokenByToken refuses the console, which would see the token: an attacker who has taken the console over could show
// an operator another decision, get its approval, and then act with the token and without any passkey.
var errTokenByToken = fault.New(fault.Forbidden, "token_by_token", "Make and replace operators' tokens with a token or on the command line, not through the console.")

func (a *API) makeToken(ctx context.Context, r tokenRequest) (idempotency.Answer, error) {
	if httpkit.From(ctx).Identity.Door != "" {
		return idempotency.Answer{}, errTokenByToken
	}
	if a.Two && r.order.Digest == "" {
		var p fault.Problems
		p.Add("digest", "is required where two operators decide: the person makes the token (causeway operator-token)")
		return idempotency.Answer{}, p.Err()
	}
	by := byOperator(ctx)
	waits, err := a.seconded(ctx, &by, approval.Request{Action: makeToken}, r.order, idempotency.Key{})
	if err != nil || waits != nil {
		return orNone(waits), err
	}
	issued, err := a.Tokens.Create(ctx, r.order, by)
	return a.tokenMade(ctx, http.StatusCreated, issued, err)
}

func (a *API) rotateToken(ctx context.Context, r oneRequest) (idempotency.Answer, error) {
	if httpkit.From(ctx).Identity.Door != "" {
		return idempotency.Answer{}, errTokenByToken
	}
	issued, err := a.Tokens.Rotate(ctx, r.id, httpkit.From(ctx).Identity.Operator, byOperator(ctx))
	return a.tokenMade(ctx, http.StatusOK, issued, err)
}

func (a *API) tokenMade(ctx context.Context, status int, i operator.Issued, err error) (idempotency.Answer, error) {
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.tell(ctx, "operator_token", i.ID)
	body, err := httpkit.Success(tokenAnswer{ViewToken(i)})
	return idempotency.Answer{Status: status, Body: body}, err
}

func (a *API) revokeToken(ctx context.Context, r oneRequest) (tokenAnswer, error) {
	t, err := a.Tokens.Revoke(ctx, r.id, byOperator(ctx))
	if err == nil {
		a.tell(ctx, "operator_token", t.ID)
	}
	return tokenAnswer{ViewToken(operator.Issued{Token: t})}, err
}

type tokensAnswer struct {
	Operators []TokenView `json:"operators"`
}

func (a *API) listTokens(ctx context.Context, _ noRequest) (tokensAnswer, error) {
	all, err := a.Tokens.List(ctx)
	out := tokensAnswer{Operators: make([]TokenView, 0, len(all))}
	for _, t := range all {
		out.Operators = append(out.Operators, ViewToken(operator.Issued{Token: t}))
	}
	return out, err
}

// orNone returns the address of an answer, or nil for an empty one.
func orNone(a *idempotency.Answer) idempotency.Answer {
	if a == nil {
		return idempotency.Answer{}
	}
	return *a
}
