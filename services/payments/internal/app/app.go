// Package app puts the use cases together.
package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/checkouts"
	"causeway.internal/services/payments/internal/deposits"
	"causeway.internal/services/payments/internal/intake"
	"causeway.internal/services/payments/internal/merchants"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/sandbox"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/views"
)

// Store is every table of the use cases.
type Store interface {
	access.Store
	views.Store
	intake.Store
	deposits.Store
	books.Store
	sandbox.Store
	operators.Store
	NameTransaction(ctx context.Context, paymentID, txHash string, most int, c change.Command) (ok bool, err error)
}

// Deps holds the dependencies of the use cases.
type Deps struct {
	Store       Store
	Stock       *stock.Stock
	Full        func(ctx context.Context) error
	Worlds      map[tenant.Mode]provider.Set
	Families    map[tenant.Mode][]money.Family
	Policy      payment.Policy
	Render      views.Renderer
	Callback    func(mode tenant.Mode, url string) error
	Refusal     func(ctx context.Context, f *fault.Error) idempotency.Answer
	Now         func() time.Time
	Log         *slog.Logger
	Screening   admission.Screening
	Pauses      *admission.Pauses
	Scans       *admission.Scans
	Daily       admission.Daily
	Capacity    *admission.Capacity
	Metrics     payouts.Metrics
	SecondAbove map[money.Currency]decimal.Decimal
	Keys        *keyring.Ring
	PlainGifts  bool
}

type cases struct {
	*views.Reader
	*receivers.Receivers
	*pricing.Pricing
	*intake.Intake
	*checkouts.Checkouts
	*merchants.Merchants
	*deposits.Deposits
	*sandbox.Sandbox
	*operators.Operators
	*books.Books
	*payouts.Hints
}

// App is the use cases.
type App struct {
	Deps
	cases
}

// New makes the use cases.
func New(d Deps) *App {
	access := &access.Payments{Store: d.Store, Keys: d.Keys, Refusal: d.Refusal}
	receivers := receivers.New(receivers.Options{Providers: d.Worlds, Access: access, Find: d.Store.Find, Policy: d.Policy, Now: d.Now})
	pricing := &pricing.Pricing{Providers: d.Worlds, Families: d.Families, Policy: d.Policy, Pauses: d.Pauses, Scans: d.Scans, Now: d.Now}
	deposits := &deposits.Deposits{Store: d.Store, Providers: d.Worlds, Policy: d.Policy, Capacity: d.Capacity, Screening: d.Screening}
	return &App{d, cases{
		Reader: &views.Reader{Store: d.Store, Render: d.Render}, Receivers: receivers, Pricing: pricing, Deposits: deposits,
		Intake: &intake.Intake{
			Store: d.Store, Access: access, Providers: d.Worlds, Pricing: pricing, Receivers: receivers, Stock: d.Stock, Full: d.Full,
			Policy: d.Policy, Daily: d.Daily, Capacity: d.Capacity, Render: d.Render, Callback: d.Callback, Keys: d.Keys,
			PlainGifts: d.PlainGifts, Now: d.Now, Log: d.Log,
		},
		Checkouts: &checkouts.Checkouts{Access: access, Pricing: pricing, Policy: d.Policy, Render: d.Render, Keep: d.Store.NameTransaction},
		Merchants: &merchants.Merchants{Access: access, Policy: d.Policy, Render: d.Render, Keys: d.Keys, Screening: d.Screening},
		Sandbox:   &sandbox.Sandbox{Store: d.Store, Access: access, Providers: d.Worlds, Deposits: deposits, Policy: d.Policy, Render: d.Render},
		Operators: &operators.Operators{
			Store: d.Store, Access: access, Providers: d.Worlds, Receivers: receivers, Policy: d.Policy, Render: d.Render, Keys: d.Keys,
			SecondAbove: d.SecondAbove, Now: d.Now,
		},
		Books: &books.Books{Store: d.Store, Providers: d.Worlds, Now: d.Now, Log: d.Log},
		Hints: &payouts.Hints{Providers: d.Worlds, Hint: d.Store.Hint, Metrics: d.Metrics},
	}}
}

// Worker is the options of a worker of payouts.
func (a *App) Worker(s payouts.Store, slots int) payouts.Options {
	return payouts.Options{
		Store: s, Providers: a.Worlds, Receivers: a.Receivers, Policy: a.Deps.Policy, Scans: a.Deps.Scans, Screening: a.Deps.Screening, Slots: slots,
		Metrics: a.Deps.Metrics, Now: a.Deps.Now, Log: a.Deps.Log,
	}
}
