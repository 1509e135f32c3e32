// Package httpapi is the service's HTTP edge: it decodes requests, calls the use cases and writes their answers. It
// knows neither the rules of wallets nor rows.
package httpapi

import (
	"context"
	"math"
	"net/http"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/wallet"
)

// New adds every route of the service and returns the handler of the API port.
func New(s *httpkit.Server, u *app.API) http.Handler {
	httpkit.Handle(s, "POST /v1/wallets", httpkit.ForKeys, func(ctx context.Context, r createRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		r.wallet.Enabled = in.Identity.Networks
		return u.Create(ctx, in.Owner, r.wallet, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/wallets", httpkit.ForKeys, func(ctx context.Context, r listRequest) ([]byte, error) {
		return u.List(ctx, httpkit.From(ctx).Owner, r.query)
	})
	httpkit.Handle(s, "GET /v1/wallets/{id}", httpkit.ForKeys, func(ctx context.Context, r idRequest) ([]byte, error) {
		return u.Show(ctx, httpkit.From(ctx).Owner, r.id)
	})
	httpkit.Handle(s, "GET /v1/wallets/{id}/deposits", httpkit.ForKeys, func(ctx context.Context, r depositsRequest) ([]byte, error) {
		return u.Deposits(ctx, httpkit.From(ctx).Owner, r.id, r.query)
	})
	httpkit.Handle(s, "POST /v1/sandbox/wallets/{id}/deposits", httpkit.ForKeys, func(ctx context.Context, r sandboxRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Deposit(ctx, in.Owner, r.id, r.deposit, &r.problems, in.Key())
	})
	httpkit.Handle(s, "GET /v1/balances", httpkit.ForKeys, func(ctx context.Context, _ noRequest) ([]byte, error) {
		return u.Balances(ctx, httpkit.From(ctx).Owner)
	})
	return s
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
	r.problems = in.Deferred()
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
	b.Only("amount", "confirmations", "outcome")
	r.deposit.Amount, r.deposit.Given = b.NumberOrText("amount")
	r.deposit.Outcome = b.OneOf("outcome", app.Outcomes())
	r.deposit.Confirmations = -1
	if n, ok := b.Int("confirmations", 0, confirmationsMost); ok {
		r.deposit.Confirmations = n
	}
	r.problems = in.Deferred()
}
