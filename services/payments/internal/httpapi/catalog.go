package httpapi

import (
	"context"
	"net/http"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/sandbox"
)

func catalogRoutes(s *httpkit.Server, u UseCases) {
	httpkit.Handle(s, "GET /v1/banks", httpkit.ForAll, func(ctx context.Context, r banksRequest) ([]byte, error) {
		return u.Receivers.Banks(shown(ctx, r.mode), r.currency, r.name)
	})
	httpkit.Handle(s, "POST /v1/payments/verify-receiver", httpkit.ForAll, func(ctx context.Context, r verifyRequest) ([]byte, error) {
		if o := httpkit.From(ctx).Owner; o.MerchantID != "" {
			r.lookup.Owner = &o
		}
		return u.Receivers.VerifyReceiver(ctx, r.lookup, &r.problems)
	})
	httpkit.Handle(s, "GET /v1/rates", httpkit.ForAll, func(ctx context.Context, r ratesRequest) ([]byte, error) {
		return u.Pricing.Rates(shown(ctx, r.mode), r.fiat, r.crypto)
	})
	httpkit.Handle(s, "GET /v1/networks", httpkit.ForAll, func(ctx context.Context, r networksRequest) ([]byte, error) {
		return u.Pricing.Networks(shown(ctx, r.mode))
	})
	httpkit.Handle(s, "GET /v1/checkout/{reference}", httpkit.ForAll, func(ctx context.Context, r referenceRequest) (httpkit.Answer, error) {
		body, merchantID, err := u.Checkouts.Checkout(ctx, r.reference)
		return httpkit.Answer{Status: http.StatusOK, Body: body, Header: http.Header{httpkit.MerchantHeader: {merchantID}}}, err
	})
	httpkit.Handle(s, "POST /v1/checkout/{reference}/simulate", httpkit.ForAll, func(ctx context.Context, r scenarioRequest) (idempotency.Answer, error) {
		return u.Sandbox.Simulate(ctx, r.reference, r.scenario, &r.problems, httpkit.From(ctx).Key())
	})
}

type nothing struct{}

// Read reads no field.
func (*nothing) Read(*httpkit.Input) {}

// modeAsked is the mode that a query names.
func modeAsked(in *httpkit.Input) tenant.Mode {
	return tenant.Mode(in.QueryOneOf("mode", string(tenant.Live), string(tenant.Test)))
}

// shown is the mode that a public list shows: the one that the query names, else that of the caller's key.
func shown(ctx context.Context, asked tenant.Mode) tenant.Mode {
	if asked != "" {
		return asked
	}
	return httpkit.From(ctx).Owner.Mode
}

type networksRequest struct{ mode tenant.Mode }

// Read takes the mode of the networks.
func (r *networksRequest) Read(in *httpkit.Input) { r.mode = modeAsked(in) }

// fiat reads a currency of the query, without regard to case.
func fiat(in *httpkit.Input, name string) money.Currency {
	cur := money.Currency(strings.ToUpper(in.Query(name)))
	if cur != "" && !cur.Valid() {
		in.Problems.Add(name, "must be one of NGN, GHS, KES, ZAR")
	}
	return cur
}

type banksRequest struct {
	mode     tenant.Mode
	currency money.Currency
	name     string
}

const nameMax = 100

// Read takes the filters of a list of banks.
func (r *banksRequest) Read(in *httpkit.Input) {
	r.mode = modeAsked(in)
	r.currency, r.name = fiat(in, "currency"), in.Query("name")
	if len(r.name) > nameMax {
		in.Problems.Add("name", "must have at most %d characters", nameMax)
	}
}

type verifyRequest struct {
	lookup   receivers.Lookup
	problems fault.Problems
}

// Read decodes the body of a look-up of an account.
func (r *verifyRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.lookup = receivers.Lookup{
		Receiver: payment.ReceiverInput{BankCode: b.Text("bankCode", wordMax), AccountNumber: b.Text("accountNumber", accountMax)},
		Currency: b.Text("fiatCurrency", wordMax), Reference: b.Text("reference", wordMax),
	}
	r.problems = in.Deferred()
}

type ratesRequest struct {
	mode   tenant.Mode
	fiat   money.Currency
	crypto string
}

// Read takes the filters of the rates.
func (r *ratesRequest) Read(in *httpkit.Input) {
	r.mode, r.fiat = modeAsked(in), fiat(in, "fiat")
	if text := in.Query("crypto"); text != "" {
		symbol, known := pricing.Symbol(text)
		if !known {
			in.Problems.Add("crypto", "is not supported. Supported: %s", money.Pairs())
		}
		r.crypto = symbol
	}
}

type scenarioRequest struct {
	reference string
	scenario  sandbox.Scenario
	problems  fault.Problems
}

// Read decodes the body of a simulated payer.
func (r *scenarioRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	b := in.Body()
	b.Only("scenario")
	r.scenario = sandbox.Scenario(b.Text("scenario", wordMax))
	r.problems = in.Deferred()
}
