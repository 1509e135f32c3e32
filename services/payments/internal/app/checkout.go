package app

import (
	"context"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// checkout is what a payer, or who claims a gift, needs and nothing else: no payer, no metadata, no merchant, no account.
type checkout struct {
	created
	Exception      *payment.Exception  `json:"exception"`
	TxHash         string              `json:"txHash"`
	Confirmations  int64               `json:"confirmations"`
	Required       *int64              `json:"requiredConfirmations,omitempty"`
	ReceivedAmount money.Number        `json:"receivedAmount"`
	IgnoredAmount  *money.Number       `json:"ignoredAmount,omitempty"`
	Remaining      *money.Number       `json:"remainingAmount,omitempty"`
	PayoutAmount   *money.Number       `json:"payoutAmount,omitempty"`
	SettledAt      *string             `json:"settledAt"`
	Preferred      *payment.Preference `json:"preferred,omitempty"`
	Options        []option            `json:"options,omitempty"`
	PaymentURI     string              `json:"paymentUri,omitempty"`
	Claimed        *bool               `json:"claimed,omitempty"`
	TakesHash      bool                `json:"takesTransactionHash"`
	Mode           tenant.Mode         `json:"mode"`
}

// option is what a request would cost now in one crypto on one network.
type option struct {
	Crypto       string       `json:"crypto"`
	Network      string       `json:"network"`
	CryptoAmount money.Number `json:"cryptoAmount"`
	Rate         money.Number `json:"rate"`
}

// Checkout is the body of GET /v1/checkout/:reference.
func (a *App) Checkout(ctx context.Context, reference string) ([]byte, error) {
	v, _, _, err := a.open(ctx, reference, change.Key{})
	if err != nil {
		return nil, err
	}
	p := v.Payment
	s := a.Render.shownOf(v)
	c := checkout{
		created: s.created, Exception: s.Exception, TxHash: s.TxHash, Confirmations: s.Confirmations, ReceivedAmount: s.ReceivedAmount,
		IgnoredAmount: s.IgnoredAmount,
		PayoutAmount:  s.PayoutAmount, SettledAt: s.SettledAt, Preferred: s.Preferred, PaymentURI: s.PaymentURI, Mode: p.Mode, TakesHash: a.takesHash(p),
	}
	if p.Quote.Priced() {
		remaining := money.N(a.Policy.Tally(p, v.Rows).Left)
		c.Remaining = &remaining
		if need := a.Policy.Depths.Required(p.Quote.Network, p.Quote.Crypto, p.Quote.TransactionUSD); need.Confirmations > 0 {
			c.Required = &need.Confirmations
		}
	}
	if p.Status() == payment.StatusCreated {
		c.Options = a.options(p)
	}
	if p.Type == payment.Gift {
		claimed := p.Claim == payment.Claimed
		c.Claimed = &claimed
	}
	return encode(paymentAnswer{true, c})
}

// options prices a request in everything that its mode takes. Left out are closed networks, and pairs
// that have no fresh price or whose minimum the request does not meet.
func (a *App) options(p payment.Payment) []option {
	world, ok := a.Worlds[p.Mode]
	if !ok {
		return nil
	}
	var out []option
	for _, n := range money.Networks() {
		if !slices.Contains(a.Families[p.Mode], n.Family) || a.Scans.Closed(p.Mode, n.Name) != "" {
			continue
		}
		for _, asset := range n.Assets {
			terms := payment.FulfilTerms{Network: n, Asset: asset}
			if q, err := a.quote(world, terms.Ask(p)); err == nil {
				out = append(out, option{asset.Symbol, n.Name, money.N(q.CryptoAmount), money.N(q.Rate.Value)})
			}
		}
	}
	return out
}

// Scenario is a way in which a simulated payer pays.
type Scenario string

// The scenarios of POST /v1/checkout/:reference/simulate.
const (
	PayFull    Scenario = "full"    // what is still owed
	PayPartial Scenario = "partial" // half of it
	PayOver    Scenario = "over"    // a fifth more
	PayLate    Scenario = "late"    // what is owed, first seen after the window
)

// Scenarios lists every scenario.
func Scenarios() []Scenario { return []Scenario{PayFull, PayPartial, PayOver, PayLate} }

// Simulate plays the payer of a test-mode payment for whoever knows its reference, as the page for payers offers it. To a
// live payment the route does not exist.
func (a *App) Simulate(ctx context.Context, reference string, s Scenario, problems *fault.Problems, k change.Key) (change.Answer, error) {
	v, earlier, found, err := a.open(ctx, reference, k)
	if err != nil || found {
		return earlier, err
	}
	if v.Payment.Mode != tenant.Test {
		return change.Answer{}, errNoSandbox
	}
	if !slices.Contains(Scenarios(), s) {
		problems.Add("scenario", "must be one of full, partial, over, late")
	}
	if err := problems.Err(); err != nil {
		return change.Answer{}, err
	}
	if s == PayLate {
		if err := a.closeWindow(ctx, v.Payment); err != nil {
			return change.Answer{}, err
		}
	}
	return a.anyones(ctx, reference, k, func(v change.View, now time.Time) (change.Result, error) {
		amount := s.amount(v.Payment.Quote, a.owed(v))
		return a.simulated(v, SandboxDeposit{Amount: amount, Given: true, Confirmations: -1}, now)
	})
}

// closeWindow ends a payment's window so that what comes next is late. One that has money already would go on with that.
func (a *App) closeWindow(ctx context.Context, p payment.Payment) error {
	switch {
	case p.Status() == payment.StatusExpired:
		return nil
	case p.Status() != payment.StatusPending || p.Received.IsPositive():
		return errNotPayable
	}
	_, err := a.anyones(ctx, p.Reference, change.Key{}, a.expired)
	return err
}

var (
	two  = decimal.NewFromInt(2)
	more = decimal.New(12, -1)
)

// owed is what a simulated payer sends: what is left, or the whole once nothing is.
func (a *App) owed(v change.View) decimal.Decimal {
	if left := a.Policy.Tally(v.Payment, v.Rows).Left; left.IsPositive() {
		return left
	}
	return v.Payment.Quote.CryptoAmount
}

// amount is what the scenario sends, in digits that its asset has.
func (s Scenario) amount(q quote.Quote, owed decimal.Decimal) decimal.Decimal {
	digits := quoteDigits(q)
	switch s {
	case PayPartial:
		return owed.Div(two).RoundUp(digits)
	case PayOver:
		return owed.Mul(more).RoundUp(digits)
	case PayFull, PayLate:
	}
	return owed
}

func quoteDigits(q quote.Quote) int32 {
	if n, ok := money.NetworkOf(q.Network); ok {
		if asset, ok := n.Asset(q.Crypto); ok {
			return asset.QuoteDigits
		}
	}
	return 0
}
