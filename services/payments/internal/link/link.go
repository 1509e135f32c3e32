// Package link holds payment links: terms out of which anybody who has the link makes payments. It is pure.
package link

import (
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
)

// Prefix begins the id of a link.
const Prefix = "plk_"

// Bounds of a link.
const (
	TitleMax       = 100
	DescriptionMax = 500
	UsesMost       = 100_000
	OpenMost       = 1_000 // links of a merchant and mode that have not ended

	// WaitingMost bounds the payments of one link that were made within WaitingWithin and wait for their money. Anybody
	// can make them, and each takes an address, and in live mode a part of the capacity and of the key's daily limit.
	WaitingMost   = 200
	WaitingWithin = 30 * time.Minute
)

// Link is what payments are made of. Zero values are absent: an amount of zero leaves the amount to the payer.
type Link struct {
	ID          string
	Owner       tenant.Owner
	Type        payment.Type // request or merchant
	Title       string
	Description string
	Currency    money.Currency
	Amount      decimal.Decimal
	Minimum     decimal.Decimal // of an open amount
	Maximum     decimal.Decimal
	AccountID   string // settlement account that a request pays out to
	UsageLimit  int
	Uses        int
	ExpiresAt   time.Time
	EndedAt     time.Time
	CreatedAt   time.Time
}

// The statuses of a link.
const (
	Active  = "active"
	Ended   = "ended"
	Expired = "expired"
	UsedUp  = "used_up"
)

// Status is what the link may do at a time.
func (l Link) Status(now time.Time) string {
	switch {
	case !l.EndedAt.IsZero():
		return Ended
	case !l.ExpiresAt.IsZero() && !now.Before(l.ExpiresAt):
		return Expired
	case l.UsageLimit > 0 && l.Uses >= l.UsageLimit:
		return UsedUp
	}
	return Active
}

// The refusals of links.
var (
	ErrUnknown = fault.New(fault.NotFound, "payment_link_not_found", "Payment link not found")
	ErrClosed  = fault.New(fault.Conflict, "payment_link_closed", "This payment link takes no more payments.")
	ErrBusy    = fault.New(fault.RateLimited, "payment_link_busy", "Too many payments of this link wait for their money. Try again later.").After(time.Minute)
	ErrMany    = fault.New(fault.Conflict, "too_many_payment_links", "A merchant has at most %d payment links that have not ended. End one first.", OpenMost)
)

// Check adds what is wrong with a new link to the problems.
func (l Link) Check(now time.Time, problems *fault.Problems) {
	if l.Type != payment.Request && l.Type != payment.MerchantPayment {
		problems.Add("type", "must be one of request, merchant")
	}
	if !l.Currency.Valid() {
		problems.Add("fiatCurrency", "must be one of NGN, GHS, KES, ZAR")
	}
	for _, a := range []struct {
		field string
		of    decimal.Decimal
	}{{"fiatAmount", l.Amount}, {"minimumAmount", l.Minimum}, {"maximumAmount", l.Maximum}} {
		switch {
		case a.of.GreaterThan(money.Max):
			problems.Add(a.field, "must be at most %s", money.Canonical(money.Max))
		case money.Digits(a.of) > money.FiatDigits:
			problems.Add(a.field, "must have at most %d decimal places", money.FiatDigits)
		}
	}
	switch {
	case l.Amount.IsPositive() && (l.Minimum.IsPositive() || l.Maximum.IsPositive()):
		problems.Add("fiatAmount", "cannot be given together with minimumAmount or maximumAmount")
	case l.Maximum.IsPositive() && l.Minimum.GreaterThan(l.Maximum):
		problems.Add("minimumAmount", "must be at most maximumAmount")
	}
	switch {
	case l.Type == payment.Request && l.AccountID == "":
		problems.Add("settlementAccountId", "is required for a link of type request")
	case l.Type == payment.MerchantPayment && l.AccountID != "":
		problems.Add("settlementAccountId", "is not allowed for a link of type merchant")
	}
	l.CheckTerms(now, problems)
}

// CheckTerms checks what may change.
func (l Link) CheckTerms(now time.Time, problems *fault.Problems) {
	if l.Title == "" {
		problems.Add("title", "is required")
	}
	if utf8.RuneCountInString(l.Title) > TitleMax {
		problems.Add("title", "must be at most %d characters", TitleMax)
	}
	if utf8.RuneCountInString(l.Description) > DescriptionMax {
		problems.Add("description", "must be at most %d characters", DescriptionMax)
	}
	if l.UsageLimit < 0 || l.UsageLimit > UsesMost {
		problems.Add("usageLimit", "must be a whole number from 1 to %d", UsesMost)
	}
	if !l.ExpiresAt.IsZero() && !l.ExpiresAt.After(now) {
		problems.Add("expiresAt", "must be in the future")
	}
}

// Priced is the amount of a payment: the link's, or the one that the payer names.
func (l Link) Priced(named *decimal.Decimal, problems *fault.Problems) *decimal.Decimal {
	if l.Amount.IsPositive() {
		if named != nil && !named.Equal(l.Amount) {
			problems.Add("fiatAmount", "is %s for this link", money.Canonical(l.Amount))
		}
		return &l.Amount
	}
	switch {
	case named == nil:
	case named.LessThan(l.Minimum):
		problems.Add("fiatAmount", "must be at least %s", money.Canonical(l.Minimum))
	case l.Maximum.IsPositive() && named.GreaterThan(l.Maximum):
		problems.Add("fiatAmount", "must be at most %s", money.Canonical(l.Maximum))
	}
	return named
}
