// Package merchant holds merchants: who they are, whether they may act, and their terms. It uses no HTTP and no SQL
// (the store does).
package merchant

import (
	"context"
	"net/mail"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopspring/decimal"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Status says whether a merchant may act (docs/api-contract.md#merchants).
type Status string

// The statuses. A draft has test mode alone.
const (
	Draft     Status = "draft"
	Active    Status = "active"
	Suspended Status = "suspended"
)

// Statuses lists the statuses.
func Statuses() []string { return []string{string(Draft), string(Active), string(Suspended)} }

// Types lists the types of payments that a merchant may be limited to.
func Types() []string {
	return []string{"transfer", "gift", "request", "merchant", "bank_confirmation"}
}

// Terms bound a merchant's payments and wallets. An empty list allows all.
type Terms struct {
	Currencies  []string
	Networks    []string // canonical names
	Types       []string
	Limits      Limits // of one payment
	DailyLimits Limits // of one day in UTC, in live mode
}

// Limits bound fiat by currency. A currency without one has the limits of everybody alone.
type Limits map[money.Currency]decimal.Decimal

// Merchant is a merchant as it is stored. A zero time means never.
type Merchant struct {
	ID             string
	Name           string
	Country        string // ISO 3166 alpha-2; "" of merchants who were taken before there was one
	ContactEmail   string
	SupportContact string // for payers
	LogoName       string // under /logos; "" without one
	Status         Status
	Reason         string // of the suspension
	Terms          Terms
	CreatedBy      string
	CreatedAt      time.Time
	ApprovedBy     string
	ApprovedAt     time.Time
	SuspendedBy    string
	SuspendedAt    time.Time
	Version        int64
	N              int64 // place in lists
	Told           bool  // payments has acknowledged the status and the terms
}

// Standing is what the gateway remembers of a merchant with each of its keys.
type Standing struct {
	Status   Status
	Networks []string
}

// The refusals.
var (
	ErrNotFound = fault.New(fault.NotFound, "merchant_not_found", "Merchant not found")
	ErrExists   = fault.New(fault.Conflict, "merchant_exists", "There is a merchant with this merchantId already.")
	ErrUnknown  = fault.New(fault.Conflict, "merchant_unknown",
		"A live key needs a merchant that operators have approved.")
	ErrSuspended = fault.New(fault.Forbidden, "merchant_suspended",
		"The merchant is suspended: it can make nothing new. Deposits and refunds go on.")
	errNotApproved  = fault.New(fault.Forbidden, "merchant_not_approved", "The merchant is not approved yet: it has test mode alone.")
	errResumeFirst  = fault.New(fault.Conflict, "merchant_is_suspended", "The merchant is suspended. Resume it.")
	errNotSuspended = fault.New(fault.Conflict, "merchant_not_suspended", "The merchant is not suspended.")
	errChanged      = fault.New(fault.Conflict, "merchant_changed", "The merchant has changed meanwhile. Read it again.")
	errNameFixed    = fault.New(fault.Conflict, "merchant_name_fixed", "Operators change the name of an approved merchant, because payers trust it.")
)

// MayCreate refuses what a merchant in this standing may not make in a mode.
func (s Standing) MayCreate(mode tenant.Mode) error {
	if s.Status == Suspended {
		return ErrSuspended
	}
	return s.MayAct(mode)
}

// MayAct refuses every act in live mode to a draft. Anybody can register one, and its people have a console key of
// either mode, so none of their acts may lead to live money.
func (s Standing) MayAct(mode tenant.Mode) error {
	if s.Status == Draft && mode == tenant.Live {
		return errNotApproved
	}
	return nil
}

// MayHaveKey refuses a key of a mode to a merchant with this status; "" is an unknown merchant.
func (s Status) MayHaveKey(mode tenant.Mode) error {
	switch {
	case mode != tenant.Live || s == Active:
		return nil
	case s == Suspended:
		return ErrSuspended
	}
	return ErrUnknown
}

// Order is an order to make a merchant.
type Order struct {
	ID             string
	Name           string
	Country        string
	ContactEmail   string
	SupportContact string
}

// Bounds of the fields.
const (
	IDMax      = 50
	NameMax    = 100
	ContactMax = 200
	ReasonMax  = 500
)

// Check adds an error for every broken rule of an order.
func (o *Order) Check(p *fault.Problems) {
	if o.ID == "" || utf8.RuneCountInString(o.ID) > IDMax || !plain(o.ID) {
		p.Add("merchantId", "must have 1 to %d characters, without control characters or spaces at its ends", IDMax)
	}
	checkName(p, o.Name)
	checkCountry(p, o.Country)
	checkEmail(p, o.ContactEmail)
	checkContact(p, o.SupportContact)
}

// Change is a change of a merchant; nil leaves a field as it is.
type Change struct {
	Name           *string
	Country        *string
	ContactEmail   *string
	SupportContact *string
	Logo           *Logo // without a name: none
	Currencies     *[]string
	Networks       *[]string
	Types          *[]string
	Limits         *Limits
	DailyLimits    *Limits
	Version        int64 `json:",omitempty"` // that the change was made for; 0 is any
}

// For refuses a change that was made for another version of the merchant.
func (c *Change) For(m Merchant) error {
	if c.Version != 0 && c.Version != m.Version {
		return errChanged
	}
	return nil
}

// OfTerms reports whether a change touches the terms, which only operators change.
func (c *Change) OfTerms() bool {
	return c.Currencies != nil || c.Networks != nil || c.Types != nil || c.Limits != nil || c.DailyLimits != nil
}

// Check adds an error for every broken rule of a change.
func (c *Change) Check(p *fault.Problems) {
	if c.Name != nil {
		checkName(p, *c.Name)
	}
	if c.Country != nil {
		checkCountry(p, *c.Country)
	}
	if c.ContactEmail != nil {
		checkEmail(p, *c.ContactEmail)
	}
	if c.SupportContact != nil {
		checkContact(p, *c.SupportContact)
	}
	checkSome(p, "currencies", c.Currencies, currencies())
	checkSome(p, "networks", c.Networks, networks())
	checkSome(p, "types", c.Types, Types())
	c.Limits.check(p, "limits")
	c.DailyLimits.check(p, "dailyLimits")
}

func (l *Limits) check(p *fault.Problems, field string) {
	if l == nil {
		return
	}
	for currency, most := range *l {
		if !currency.Valid() {
			p.Add(field, "must name currencies of %s", strings.Join(currencies(), ", "))
		}
		if !most.IsPositive() || money.Digits(most) > fiatDigits || most.GreaterThan(money.Max) {
			p.Add(field, "must have maximums above 0 of at most %d decimals", fiatDigits)
		}
	}
}

const fiatDigits = 2

func checkName(p *fault.Problems, name string) {
	if name == "" || utf8.RuneCountInString(name) > NameMax || !plain(name) {
		p.Add("name", "must have 1 to %d characters, without control characters or spaces at its ends", NameMax)
	}
}

func checkCountry(p *fault.Problems, country string) {
	if len(country) != 2 || strings.IndexFunc(country, func(c rune) bool { return c < 'A' || c > 'Z' }) >= 0 {
		p.Add("country", "must be a country of ISO 3166 in two capital letters, such as NG")
	}
}

func checkEmail(p *fault.Problems, email string) {
	if email == "" {
		return
	}
	if a, err := mail.ParseAddress(email); err != nil || a.Address != email || len(email) > ContactMax {
		p.Add("contactEmail", "must be an e-mail address of at most %d characters", ContactMax)
	}
}

func checkContact(p *fault.Problems, contact string) {
	if utf8.RuneCountInString(contact) > ContactMax || !plain(contact) {
		p.Add("supportContact", "must have at most %d characters, without control characters or spaces at its ends", ContactMax)
	}
}

func checkSome(p *fault.Problems, field string, got *[]string, known []string) {
	if got == nil {
		return
	}
	for i, one := range *got {
		if !slices.Contains(known, one) || slices.Contains((*got)[:i], one) {
			p.Add(field, "must be different ones of %s", strings.Join(known, ", "))
			return
		}
	}
}

func currencies() (out []string) {
	for _, c := range money.Currencies() {
		out = append(out, string(c))
	}
	return out
}

func networks() (out []string) {
	for _, n := range money.Networks() {
		out = append(out, n.Name)
	}
	return out
}

// plain reports whether a text has no control character, no character that turns the direction of text, and no space at
// its ends.
func plain(s string) bool {
	return strings.TrimSpace(s) == s && strings.IndexFunc(s, func(c rune) bool {
		return c < 0x20 || c == 0x7f || (c >= 0x200e && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069)
	}) < 0
}

// Filter narrows a list of merchants, newest first. The page holds those below Before; 0 starts at the newest.
type Filter struct {
	Status Status
	Search string // part of the id or of the name
	Before int64
	Limit  int
}

// Once keeps the answer to a creation under its Idempotency-Key.
type Once struct {
	Key    idempotency.Key
	Answer func(Merchant) (idempotency.Answer, error)
}

// Store keeps merchants. A write commits with its audit entry or not at all.
type Store interface {
	// InsertMerchant returns ErrExists for an id that is taken.
	InsertMerchant(ctx context.Context, m Merchant, by audit.Entry, once Once) (Merchant, error)
	// UpdateMerchant changes a merchant under its lock. Without an entry nothing changes; an error of f is returned as
	// it is. tell says that payments has to know the change.
	UpdateMerchant(ctx context.Context, id string, f func(Merchant) (next Merchant, logo *Logo, tell bool, by *audit.Entry, err error)) (Merchant, error)
	Merchant(ctx context.Context, id string) (Merchant, error)
	Merchants(ctx context.Context, f Filter) ([]Merchant, error)
}

// Registry makes and changes merchants.
type Registry struct {
	store   Store
	changed func(id string)
	now     func() time.Time
}

// NewRegistry makes a registry. It calls changed, which may be nil, after a change.
func NewRegistry(store Store, changed func(id string), now func() time.Time) *Registry {
	if changed == nil {
		changed = func(string) {}
	}
	return &Registry{store: store, changed: changed, now: now}
}

// Create makes a draft.
func (r *Registry) Create(ctx context.Context, o Order, by audit.Entry, once Once) (Merchant, error) {
	var p fault.Problems
	o.Check(&p)
	if err := p.Err(); err != nil {
		return Merchant{}, err
	}
	by.Act, by.Object = audit.MerchantCreated, object(o.ID)
	by.Detail = map[string]string{"country": o.Country}
	return r.store.InsertMerchant(ctx, Merchant{
		ID: o.ID, Name: o.Name, Country: o.Country, ContactEmail: o.ContactEmail, SupportContact: o.SupportContact, Status: Draft, CreatedBy: by.Actor,
	}, by, once)
}

// Get returns a merchant.
func (r *Registry) Get(ctx context.Context, id string) (Merchant, error) {
	return r.store.Merchant(ctx, id)
}

// List returns merchants, newest first, and whether there are more.
func (r *Registry) List(ctx context.Context, f Filter) (found []Merchant, more bool, err error) {
	limit := f.Limit
	f.Limit++
	if found, err = r.store.Merchants(ctx, f); err != nil {
		return nil, false, err
	}
	if len(found) > limit {
		return found[:limit], true, nil
	}
	return found, false, nil
}

// Approve lets a draft use live mode. Repeating it changes nothing.
func (r *Registry) Approve(ctx context.Context, id string, by audit.Entry) (Merchant, error) {
	by.Act = audit.MerchantApproved
	return r.update(ctx, id, by, func(m *Merchant) (map[string]string, error) {
		switch m.Status {
		case Active:
			return nil, nil
		case Suspended:
			return nil, errResumeFirst
		case Draft:
		}
		m.Status, m.ApprovedBy, m.ApprovedAt = Active, by.Actor, r.now()
		return map[string]string{}, nil
	})
}

// Suspend stops what a merchant creates and what is paid out for it. Repeating it changes nothing.
func (r *Registry) Suspend(ctx context.Context, id, reason string, by audit.Entry) (Merchant, error) {
	by.Act = audit.MerchantSuspended
	return r.update(ctx, id, by, func(m *Merchant) (map[string]string, error) {
		if m.Status == Suspended {
			return nil, nil
		}
		m.Status, m.Reason, m.SuspendedBy, m.SuspendedAt = Suspended, reason, by.Actor, r.now()
		return map[string]string{"reason": reason}, nil
	})
}

// Resume ends a suspension: the merchant is again what it was before.
func (r *Registry) Resume(ctx context.Context, id, reason string, by audit.Entry) (Merchant, error) {
	by.Act = audit.MerchantResumed
	return r.update(ctx, id, by, func(m *Merchant) (map[string]string, error) {
		if m.Status != Suspended {
			return nil, errNotSuspended
		}
		if m.Status = Active; m.ApprovedAt.IsZero() {
			m.Status = Draft
		}
		m.Reason, m.SuspendedBy, m.SuspendedAt = "", "", time.Time{}
		return map[string]string{"reason": reason}, nil
	})
}

// Change changes a merchant. itself says that the merchant does it and not an operator.
func (r *Registry) Change(ctx context.Context, id string, c Change, itself bool, by audit.Entry) (Merchant, error) {
	var p fault.Problems
	c.Check(&p)
	if err := p.Err(); err != nil {
		return Merchant{}, err
	}
	by.Act = audit.MerchantChanged
	return r.updateWith(ctx, id, by, c.Logo, func(m *Merchant) (map[string]string, error) {
		if err := c.For(*m); err != nil {
			return nil, err
		}
		if itself && m.Status != Draft && c.Name != nil && *c.Name != m.Name {
			return nil, errNameFixed
		}
		return c.apply(m), nil
	})
}

func (r *Registry) update(ctx context.Context, id string, by audit.Entry, f func(*Merchant) (map[string]string, error)) (Merchant, error) {
	return r.updateWith(ctx, id, by, nil, f)
}

// updateWith changes a merchant by f, which returns the detail of the audit entry, nil where nothing changes.
func (r *Registry) updateWith(ctx context.Context, id string, by audit.Entry, logo *Logo, f func(*Merchant) (map[string]string, error)) (Merchant, error) {
	by.Object = object(id)
	m, err := r.store.UpdateMerchant(ctx, id, func(old Merchant) (Merchant, *Logo, bool, *audit.Entry, error) {
		if by.Confirms != nil && by.Confirms.Version != old.Version {
			return Merchant{}, nil, false, nil, approval.ErrOutdated
		}
		next := old
		detail, err := f(&next)
		if err != nil || len(detail) == 0 && next.Status == old.Status {
			return old, nil, false, nil, err
		}
		entry := by
		entry.Detail = detail
		return next, logo, next.Status != old.Status || !next.Terms.same(old.Terms), &entry, nil
	})
	if err != nil {
		return Merchant{}, err
	}
	r.changed(id)
	return m, nil
}

// apply changes a merchant and returns the differences for the audit, which holds no text that may name a person.
func (c *Change) apply(m *Merchant) map[string]string {
	detail := map[string]string{}
	text := func(field string, to *string, at *string) {
		if to != nil && *to != *at {
			*at, detail[field] = *to, "changed"
		}
	}
	text("name", c.Name, &m.Name)
	text("country", c.Country, &m.Country)
	text("contactEmail", c.ContactEmail, &m.ContactEmail)
	text("supportContact", c.SupportContact, &m.SupportContact)
	if c.Logo != nil && c.Logo.Name != m.LogoName {
		m.LogoName, detail["logo"] = c.Logo.Name, "changed"
	}
	some := func(field string, to *[]string, at *[]string) {
		if to != nil && !slices.Equal(*to, *at) {
			detail[field] = all(*at) + " -> " + all(*to)
			*at = *to
		}
	}
	some("currencies", c.Currencies, &m.Terms.Currencies)
	some("networks", c.Networks, &m.Terms.Networks)
	some("types", c.Types, &m.Terms.Types)
	limits := func(field string, to, at *Limits) {
		if to != nil && !to.same(*at) {
			detail[field] = at.String() + " -> " + to.String()
			*at = *to
		}
	}
	limits("limits", c.Limits, &m.Terms.Limits)
	limits("dailyLimits", c.DailyLimits, &m.Terms.DailyLimits)
	return detail
}

func all(list []string) string {
	if len(list) == 0 {
		return "all"
	}
	return strings.Join(list, " ")
}

func (t Terms) same(o Terms) bool {
	return slices.Equal(t.Currencies, o.Currencies) && slices.Equal(t.Networks, o.Networks) && slices.Equal(t.Types, o.Types) &&
		t.Limits.same(o.Limits) && t.DailyLimits.same(o.DailyLimits)
}

func (l Limits) same(o Limits) bool { return l.String() == o.String() }

// String lists the limits in the order of the currencies.
func (l Limits) String() string {
	var parts []string
	for _, currency := range money.Currencies() {
		if most, ok := l[currency]; ok {
			parts = append(parts, string(currency)+" "+money.Canonical(most))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

func object(id string) string { return "merchant:" + id }
