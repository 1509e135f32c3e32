// Package httpapi is the service's HTTP edge: it decodes requests, calls the use cases and writes their answers. It
// knows neither the rules of wallets nor rows.
package httpapi

import (
	"context"
	"math"
	"net/http"
	"strconv"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

// UseCases is what the routes call; *app.API implements it.
type UseCases interface {
	Create(ctx context.Context, o tenant.Owner, c app.NewWallet, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)
	Show(ctx context.Context, o tenant.Owner, id string) ([]byte, error)
	List(ctx context.Context, o tenant.Owner, q app.ListQuery) ([]byte, error)
	Deposits(ctx context.Context, o tenant.Owner, id string, q app.DepositQuery) ([]byte, error)
	Deposit(ctx context.Context, o tenant.Owner, id string, d app.SandboxDeposit, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)
	Balances(ctx context.Context, o tenant.Owner) ([]byte, error)
}

// New adds every route of the service and returns the handler of the API port.
func New(s *httpkit.Server, u UseCases) http.Handler {
	httpkit.Handle(s, "POST /v1/wallets", func(ctx context.Context, r createRequest) (httpkit.Answer, error) {
		o, k, err := caller(ctx)
		if err != nil {
			return httpkit.Answer{}, err
		}
		return answer(u.Create(ctx, o, r.wallet, &r.problems, k))
	})
	httpkit.Handle(s, "GET /v1/wallets", func(ctx context.Context, r listRequest) (httpkit.Answer, error) {
		return read(ctx, func(o tenant.Owner) ([]byte, error) { return u.List(ctx, o, r.query) })
	})
	httpkit.Handle(s, "GET /v1/wallets/{id}", func(ctx context.Context, r idRequest) (httpkit.Answer, error) {
		return read(ctx, func(o tenant.Owner) ([]byte, error) { return u.Show(ctx, o, r.id) })
	})
	httpkit.Handle(s, "GET /v1/wallets/{id}/deposits", func(ctx context.Context, r depositsRequest) (httpkit.Answer, error) {
		return read(ctx, func(o tenant.Owner) ([]byte, error) { return u.Deposits(ctx, o, r.id, r.query) })
	})
	httpkit.Handle(s, "POST /v1/sandbox/wallets/{id}/deposits", func(ctx context.Context, r sandboxRequest) (httpkit.Answer, error) {
		o, k, err := caller(ctx, r.id)
		if err != nil {
			return httpkit.Answer{}, err
		}
		return answer(u.Deposit(ctx, o, r.id, r.deposit, &r.problems, k))
	})
	httpkit.Handle(s, "GET /v1/balances", func(ctx context.Context, _ noRequest) (httpkit.Answer, error) {
		return read(ctx, func(o tenant.Owner) ([]byte, error) { return u.Balances(ctx, o) })
	})
	return s
}

func read(ctx context.Context, f func(tenant.Owner) ([]byte, error)) (httpkit.Answer, error) {
	o, _, err := caller(ctx)
	if err != nil {
		return httpkit.Answer{}, err
	}
	body, err := f(o)
	return httpkit.Answer{Status: http.StatusOK, Body: body}, err
}

// caller is the key that the gateway names, and the request's idempotency key. Stored answers have the scope of
// wallets, the calling key: another key of the merchant must not see an answer that it may not read.
func caller(ctx context.Context, object ...string) (tenant.Owner, idempotency.Key, error) {
	r := httpkit.From(ctx)
	o, err := r.Identity.Owner()
	if err == nil && o.KeyID == 0 {
		err = httpkit.ErrNoMerchant
	}
	if err != nil {
		return tenant.Owner{}, idempotency.Key{}, err
	}
	parts := append([]string{o.MerchantID, string(o.Mode), strconv.FormatInt(o.KeyID, 10), r.Route}, object...)
	return o, idempotency.Key{Scope: idempotency.Scope(parts...), Key: r.IdempotencyKey, Hash: r.BodyHash}, nil
}

func answer(a idempotency.Answer, err error) (httpkit.Answer, error) {
	out := httpkit.Answer{Status: a.Status, Body: a.Body}
	if a.Replayed {
		out.Header = http.Header{idempotency.ReplayedHeader: {"true"}}
	}
	return out, err
}

// deferred takes the decoding errors out of the input, so that the use case adds its own and the caller learns all of
// them at once.
func deferred(in *httpkit.Input) fault.Problems {
	found := in.Problems
	in.Problems = fault.Problems{}
	return found
}

// Bounds of a request.
const (
	wordMax           = 64
	metadataMax       = 8 << 10
	cursorMax         = 200
	limitDefault      = 50
	limitMax          = 100
	confirmationsMost = 1000
)

type noRequest struct{}

// Read reads nothing.
func (*noRequest) Read(*httpkit.Input) {}

type createRequest struct {
	wallet   app.NewWallet
	problems fault.Problems
}

// Read decodes the body of POST /v1/wallets (docs/api-contract.md#wallets).
func (r *createRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.wallet = app.NewWallet{
		Network: b.RequiredText("network", wordMax), Crypto: b.RequiredText("crypto", wordMax), Metadata: b.RawObject("metadata", metadataMax),
	}
	r.wallet.Minutes, r.wallet.MinutesGiven = b.Number("expiresInMinutes")
	r.problems = deferred(in)
}

type listRequest struct{ query app.ListQuery }

// Read decodes the query of GET /v1/wallets (docs/api-contract.md#wallets). A cursor, even an empty one, asks for pages
// by cursor.
func (r *listRequest) Read(in *httpkit.Input) {
	statuses := []string{"all"}
	for _, s := range wallet.Statuses() {
		statuses = append(statuses, string(s))
	}
	status := in.QueryOneOf("status", statuses...)
	if status == "all" {
		status = ""
	}
	r.query = app.ListQuery{
		Status: wallet.Status(status), Limit: in.QueryInt("limit", limitDefault, 1, limitMax), Offset: in.QueryInt("offset", 0, 0, math.MaxInt),
		Cursor: in.QueryGiven("cursor"), After: cursor(in),
	}
	if r.query.Cursor && r.query.Offset > 0 {
		in.Problems.Add("offset", "cannot be used together with cursor")
	}
}

func cursor(in *httpkit.Input) app.Position {
	text := in.Query("cursor")
	if text == "" {
		return app.Position{}
	}
	p, ok := app.ParseCursor(text)
	if !ok || len(text) > cursorMax {
		in.Problems.Add("cursor", "is not a nextCursor of this list")
	}
	return p
}

type idRequest struct{ id string }

// Read reads the id from the path.
func (r *idRequest) Read(in *httpkit.Input) { r.id = in.Path("id") }

type depositsRequest struct {
	id    string
	query app.DepositQuery
}

// Read decodes the query of GET /v1/wallets/{id}/deposits.
func (r *depositsRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	r.query = app.DepositQuery{Limit: in.QueryInt("limit", limitDefault, 1, limitMax), After: cursor(in)}
}

type sandboxRequest struct {
	id       string
	deposit  app.SandboxDeposit
	problems fault.Problems
}

// Read decodes the body of a simulated deposit (docs/api-contract.md#sandbox).
func (r *sandboxRequest) Read(in *httpkit.Input) {
	r.id = in.Path("id")
	b := in.Body()
	r.deposit.Amount, r.deposit.Given = b.NumberOrText("amount")
	r.deposit.Confirmations = -1
	if n, ok := b.Int("confirmations", 0, confirmationsMost); ok {
		r.deposit.Confirmations = n
	}
	r.problems = deferred(in)
}
