// Package usecases puts the use cases together, for the command and for tests alike.
package usecases

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/shard"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/access"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/books"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/checkouts"
	"causeway.internal/services/payments/internal/deposits"
	"causeway.internal/services/payments/internal/destination"
	"causeway.internal/services/payments/internal/draws"
	"causeway.internal/services/payments/internal/fees"
	"causeway.internal/services/payments/internal/intake"
	"causeway.internal/services/payments/internal/links"
	"causeway.internal/services/payments/internal/merchants"
	"causeway.internal/services/payments/internal/operators"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payouts"
	"causeway.internal/services/payments/internal/pricing"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/receivers"
	"causeway.internal/services/payments/internal/refunds"
	"causeway.internal/services/payments/internal/sandbox"
	"causeway.internal/services/payments/internal/statistics"
	"causeway.internal/services/payments/internal/stock"
	"causeway.internal/services/payments/internal/views"
	"causeway.internal/services/payments/internal/withdrawals"
)

// Store is the tables of all use cases.
type Store interface {
	access.Store
	views.Store
	intake.Store
	deposits.Store
	books.Store
	sandbox.Store
	operators.Store
	payouts.Store
	refunds.Store
	withdrawals.Store
	draws.Store
	statistics.Store
	links.Store
	ReportRefund(ctx context.Context, messageID, refundID string, f change.Func) error
	NameTransaction(ctx context.Context, paymentID, txHash string, most int, c change.Command) (ok bool, err error)
}

// Parts are what the use cases are made of.
type Parts struct {
	Store          Store
	Full           func(ctx context.Context) error // an error while the outbox is too full for new work
	Providers      map[tenant.Mode]provider.Set
	Families       map[tenant.Mode][]money.Family
	Policy         payment.Policy
	Render         views.Renderer
	Refusal        func(ctx context.Context, f *fault.Error) idempotency.Answer
	Now            func() time.Time
	Log            *slog.Logger
	Screening      admission.Screening
	Pauses         *admission.Pauses
	Terms          *admission.Terms
	Scans          *admission.Scans
	Outages        *admission.Outages // of merchants' test mode
	Daily          admission.Daily
	Capacity       *admission.Capacity
	Metrics        payouts.Metrics
	SecondAbove    map[money.Currency]decimal.Decimal // an order that moves more needs a second operator
	UnclaimedAfter time.Duration                      // rest after which money that is owed can be booked as unclaimed
	AccountHold    time.Duration                      // no live money leaves to a merchant's account this long after its confirmation
	StockLeast     int                                // smallest target of the stock of addresses
	Keys           *keyring.Ring
	Shard          shard.Code
	Recovery       bool // the database was restored
	API
}

// API are the parts of a process that serves the API.
type API struct {
	Stock      *stock.Stock
	Fees       *fees.Schedules
	Callback   func(mode tenant.Mode, url string) error // refuses a callback URL
	PlainGifts bool
	NoCredit   bool
	Signing    refunds.Keys                       // of the orders of refunds; empty keeps refunds of live mode closed
	RefundsOn  []string                           // networks on which refunds of live mode leave
	Automatic  map[money.Currency]decimal.Decimal // a refund that moves no more approves itself
	Draws      draws.Rules                        // of withdrawals from standalone wallets
}

// Set is the use cases.
type Set struct {
	*views.Reader
	*receivers.Receivers
	*pricing.Pricing
	*intake.Intake
	*checkouts.Checkouts
	*merchants.Merchants
	*deposits.Deposits
	*sandbox.Sandbox
	*operators.Operators
	*refunds.Refunds
	*draws.Draws
	*books.Books
	*payouts.Hints
	Withdrawals *withdrawals.Withdrawals
	Statistics  *statistics.Statistics
	Links       *links.Links

	parts Parts
}

// New makes the use cases of a process.
func New(p Parts) *Set {
	access := &access.Payments{Store: p.Store, Keys: p.Keys, Refusal: p.Refusal}
	receivers := receivers.New(receivers.Options{Providers: p.Providers, Access: access, Find: p.Store.Find, Policy: p.Policy, Now: p.Now})
	pricing := &pricing.Pricing{Providers: p.Providers, Families: p.Families, Policy: p.Policy, Fees: p.Fees, Pauses: p.Pauses, Terms: p.Terms, Scans: p.Scans, Outages: p.Outages, Now: p.Now}
	deposits := &deposits.Deposits{Store: p.Store, Providers: p.Providers, Policy: p.Policy, Capacity: p.Capacity, Screening: p.Screening, Outages: p.Outages}
	destinations := destination.Checker{Access: access, Screening: p.Screening, Policy: p.Policy}
	intake := &intake.Intake{
		Store: p.Store, Access: access, Providers: p.Providers, Pricing: pricing, Receivers: receivers, Stock: p.Stock, Full: p.Full,
		Policy: p.Policy, Daily: p.Daily, Capacity: p.Capacity, Render: p.Render, Callback: p.Callback, Keys: p.Keys,
		Shard: p.Shard, PlainGifts: p.PlainGifts, Now: p.Now, Log: p.Log,
	}
	return &Set{
		Reader: &views.Reader{Store: p.Store, Render: p.Render, Depths: p.Policy.Depths}, Receivers: receivers, Pricing: pricing, Deposits: deposits,
		Intake: intake,
		Links:  &links.Links{Store: p.Store, Access: access, Intake: intake, Pricing: pricing, Render: p.Render, Shard: p.Shard, Now: p.Now},
		Checkouts: &checkouts.Checkouts{
			Access: access, Pricing: pricing, Policy: p.Policy, Render: p.Render, Destinations: destinations, Keep: p.Store.NameTransaction,
		},
		Merchants: &merchants.Merchants{Access: access, Policy: p.Policy, Render: p.Render, Keys: p.Keys, Destinations: destinations},
		Sandbox: &sandbox.Sandbox{
			Store: p.Store, Access: access, Providers: p.Providers, Deposits: deposits, Outages: p.Outages, Policy: p.Policy, Render: p.Render,
		},
		Operators: &operators.Operators{
			Store: p.Store, Access: access, Providers: p.Providers, Receivers: receivers, Destinations: destinations, Policy: p.Policy,
			Render: p.Render, Keys: p.Keys, SecondAbove: p.SecondAbove, UnclaimedAfter: p.UnclaimedAfter, Shard: p.Shard,
			Families: p.Families, StockLeast: p.StockLeast,
			Now: p.Now,
		},
		Refunds: &refunds.Refunds{
			Store: p.Store, Access: access, Policy: p.Policy, Screening: p.Screening, Pauses: p.Pauses, Scans: p.Scans, Signing: p.Signing,
			Blind: p.Keys, Automatic: p.Automatic, Networks: p.RefundsOn, One: p.SecondAbove == nil,
			Recovery: p.Recovery,
		},
		Draws: &draws.Draws{
			Rules: p.API.Draws, Store: p.Store, Access: access, Providers: p.Providers, Screening: p.Screening, Policy: p.Policy, Pauses: p.Pauses, Terms: p.Terms,
			Scans: p.Scans, Signing: p.Signing, Blind: p.Keys, Shard: p.Shard, Recovery: p.Recovery,
		},
		Withdrawals: &withdrawals.Withdrawals{
			Store: p.Store, Access: access, Receivers: receivers, AccountHold: p.AccountHold,
			Providers: p.Providers, Policy: p.Policy, Blind: p.Keys, SecondAbove: p.SecondAbove, Shard: p.Shard, Recovery: p.Recovery,
			NoCredit: p.NoCredit,
		},
		Statistics: &statistics.Statistics{Store: p.Store},
		Books:      &books.Books{Store: p.Store, Providers: p.Providers, Now: p.Now, Log: p.Log},
		Hints:      &payouts.Hints{Providers: p.Providers, Hint: p.Store.Hint, Metrics: p.Metrics},
		parts:      p,
	}
}

// RefundChanged applies a report of wallets about a refund, or about a withdrawal.
func (s *Set) RefundChanged(ctx context.Context, messageID string, m wire.RefundChanged) error {
	if strings.HasPrefix(m.RefundID, id.Draw) {
		return draws.Changed(ctx, s.parts.Store, messageID, m)
	}
	return refunds.Reports{Policy: s.parts.Policy, Report: s.parts.Store.ReportRefund}.Changed(ctx, messageID, m)
}

// Payouts are the options of a worker that sends so many payouts at once.
func (s *Set) Payouts(slots int, askFirst bool) payouts.Options {
	p := s.parts
	return payouts.Options{
		Store: p.Store, Providers: p.Providers, Receivers: s.Receivers, Policy: p.Policy, Scans: p.Scans, Screening: p.Screening,
		Slots: slots, AskFirst: askFirst, Metrics: p.Metrics, Now: p.Now, Log: p.Log,
	}
}
