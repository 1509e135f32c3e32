// Package httpapi holds the HTTP routes of payments. It decodes requests, calls the use cases and returns their bytes.
// It holds no rule of money or state, and reads no row.
package httpapi

import (
	"context"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/presence"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/checkouts"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/links"
	"causeway.internal/services/payments/internal/merchants"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/sandbox"
	"causeway.internal/services/payments/internal/statistics"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawals"
)

// UseCases holds the use cases behind the routes.
type UseCases struct {
	Intake    Intake
	Payments  *views.Reader
	Checkouts *checkouts.Checkouts
	Merchants *merchants.Merchants
	Receivers *receivers.Receivers
	Pricing   *pricing.Pricing
	Sandbox   *sandbox.Sandbox
	Operators *operators.Operators
	Refunds   *refunds.Refunds
	Draws     *draws.Draws
	Hints     *payouts.Hints
	Books     *books.Books

	Withdrawals *withdrawals.Withdrawals
	Statistics  *statistics.Statistics
	Links       *links.Links
	Processes   func(ctx context.Context) (presence.Answer, error)
}

// Intake creates payments and completes them; *intake.Intake does it.
type Intake interface {
	Create(ctx context.Context, o tenant.Owner, c payment.Command, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)
	Elsewhere(ctx context.Context, o tenant.Owner, reference string, k idempotency.Key) (idempotency.Answer, error)
	Fulfil(ctx context.Context, reference string, c payment.FulfilCommand, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)
	Claim(ctx context.Context, reference string, r *payment.ReceiverInput, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error)
}

// Routes adds every route of the service.
func Routes(s *httpkit.Server, u UseCases) {
	publicRoutes(s, u)
	merchantRoutes(s, u)
	listRoutes(s, u)
	catalogRoutes(s, u)
	settlementRoutes(s, u)
	railRoutes(s, u)
	refundRoutes(s, u)
	drawRoutes(s, u)
	operatorRoutes(s, u)
	withdrawalRoutes(s, u)
	statisticsRoutes(s, u)
	linkRoutes(s, u)
	httpkit.Handle(s, "POST /v1/payments", httpkit.ForMerchants, func(ctx context.Context, r createRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		create := func() (idempotency.Answer, error) {
			return u.Intake.Create(ctx, in.Owner, r.command, &r.problems, in.Key())
		}
		if in.Identity.Elsewhere {
			create = func() (idempotency.Answer, error) {
				return u.Intake.Elsewhere(ctx, in.Owner, r.command.Shop.MerchantReference, in.Key())
			}
		}
		answer, err := create()
		if err == nil && u.Payments != nil {
			answer.Header = u.Payments.Render.Places(answer.Body)
		}
		return answer, err
	})
	httpkit.Handle(s, "GET /v1/payments/{reference}", httpkit.ForMerchants, func(ctx context.Context, r referenceRequest) ([]byte, error) {
		return u.Payments.Show(ctx, httpkit.From(ctx).Owner, r.reference)
	})
	httpkit.Handle(s, "GET /v1/payments/{reference}/timeline", httpkit.ForMerchants, func(ctx context.Context, r referenceRequest) ([]byte, error) {
		return u.Payments.Timeline(ctx, httpkit.From(ctx).Owner, r.reference)
	})
	httpkit.Handle(s, "POST /v1/sandbox/payments/{reference}/deposits", httpkit.ForMerchants, func(ctx context.Context, r depositRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Sandbox.SimulateDeposit(ctx, in.Owner, r.reference, r.deposit, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/sandbox/outages", httpkit.ForMerchants, func(ctx context.Context, r outageRequest) (idempotency.Answer, error) {
		in := httpkit.From(ctx)
		return u.Sandbox.TakeDown(ctx, in.Owner, r.outage, &r.problems, in.Key())
	})
	httpkit.Handle(s, "POST /v1/sandbox/payments/{reference}/expire", httpkit.ForMerchants, onReference(u.Sandbox.ExpireNow))
}

// Refusal is the exact reply for a fault within a request; a replay repeats it byte for byte.
func Refusal(ctx context.Context, f *fault.Error) idempotency.Answer {
	return idempotency.Answer{Status: httpkit.Status(f.Kind), Body: httpkit.ErrorBody(f, httpkit.From(ctx).RequestID)}
}

// Bounds of the fields of a create. Rules beyond length and type are internal/payment's.
const (
	wordMax     = 64
	chatMax     = 128
	phoneMax    = 32
	accountMax  = 64
	urlMax      = 2048
	hashMax     = 80
	bankRefMax  = 100
	orderMax    = 64
	textMax     = 255
	localeMax   = 35
	metadataMax = 8 << 10
)

type createRequest struct {
	command  payment.Command
	problems fault.Problems
}

// Read decodes the body of POST /v1/payments (docs/api-contract.md#create).
func (r *createRequest) Read(in *httpkit.Input) {
	b := in.Body()
	r.command = payment.Command{
		Type: b.Text("type", wordMax), FiatAmount: number(b, "fiatAmount"), CryptoAmount: number(b, "cryptoAmount"),
		FiatCurrency: b.Text("fiatCurrency", wordMax), Crypto: b.Text("crypto", wordMax), Network: b.Text("network", wordMax),
		ChargeFrom: b.Text("chargeFrom", wordMax), BankRef: b.Text("bankRef", bankRefMax),
		Metadata: b.RawObject("metadata", metadataMax), CallbackURL: b.Text("callbackUrl", urlMax),
		Shop: payment.Shop{
			MerchantReference: b.Text("merchantReference", orderMax), Description: b.Text("description", textMax), Locale: b.Text("locale", localeMax),
			ReturnURL: b.Text("returnUrl", urlMax),
		},
	}
	if p := b.Object("payer"); p != nil {
		r.command.Payer = &payment.PayerInput{ChatID: p.Text("chatId", chatMax), Phone: p.Text("phone", phoneMax)}
	}
	if p := b.Object("receiver"); p != nil {
		r.command.Receiver = &payment.ReceiverInput{BankCode: p.Text("bankCode", wordMax), AccountNumber: p.Text("accountNumber", accountMax)}
	}
	r.problems = in.Deferred()
}

func number(b *httpkit.Body, name string) *decimal.Decimal {
	d, ok := b.Number(name)
	if !ok {
		return nil
	}
	return &d
}

type referenceRequest struct{ reference string }

// Read takes the reference out of the path.
func (r *referenceRequest) Read(in *httpkit.Input) { r.reference = in.Path("reference") }

type depositRequest struct {
	reference string
	deposit   sandbox.Deposit
	problems  fault.Problems
}

const confirmationsMost = 1000

// Read decodes the body of a simulated deposit (docs/api-contract.md#sandbox).
func (r *depositRequest) Read(in *httpkit.Input) {
	r.reference = in.Path("reference")
	b := in.Body()
	b.Only("amount", "confirmations", "crypto", "outcome")
	r.deposit.Amount, r.deposit.Given = b.NumberOrText("amount")
	r.deposit.Crypto, r.deposit.Outcome = b.Text("crypto", wordMax), b.OneOf("outcome", sandbox.DepositOutcomes())
	r.deposit.Confirmations = -1
	if n, ok := b.Int("confirmations", 0, confirmationsMost); ok {
		r.deposit.Confirmations = n
	}
	r.problems = in.Deferred()
}

type outageRequest struct {
	outage   sandbox.Outage
	problems fault.Problems
}

// Read decodes the body of POST /v1/sandbox/outages.
func (r *outageRequest) Read(in *httpkit.Input) {
	b := in.Body()
	b.Only("what", "network", "seconds")
	r.outage = sandbox.Outage{What: b.RequiredText("what", wordMax), Network: b.Text("network", wordMax), Seconds: sandbox.OutageUsual}
	if n, ok := b.Int("seconds", 0, sandbox.OutageMost); ok {
		r.outage.Seconds = n
	}
	r.problems = in.Deferred()
}
