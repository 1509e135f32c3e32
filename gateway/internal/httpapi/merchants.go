package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"causeway.internal/gateway/internal/audit"
	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/approval"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/timestamp"
)

func (a *API) registerMerchants(s *httpkit.Server) {
	httpkit.Handle(s, "GET /v1/merchant", httpkit.ForMerchants, a.ownMerchant)
	httpkit.Handle(s, "POST /v1/merchant", httpkit.ForMerchants, a.registerMerchant)
	httpkit.Handle(s, "PATCH /v1/merchant", httpkit.ForMerchants, a.changeOwnMerchant)
	httpkit.Handle(s, "POST /v1/admin/merchants", httpkit.ForOperators, a.createMerchant)
	httpkit.Handle(s, "GET /v1/admin/merchants", httpkit.ForOperators, a.listMerchants)
	httpkit.Handle(s, "GET /v1/admin/merchants/{merchantId}", httpkit.ForOperators, a.getMerchant)
	httpkit.Handle(s, "PATCH /v1/admin/merchants/{merchantId}", httpkit.ForOperators, a.changeMerchant)
	httpkit.Handle(s, "POST /v1/admin/merchants/{merchantId}/approve", httpkit.ForOperators, a.approveMerchant)
	httpkit.Handle(s, "POST /v1/admin/merchants/{merchantId}/suspend", httpkit.ForOperators, a.suspendMerchant)
	httpkit.Handle(s, "POST /v1/admin/merchants/{merchantId}/resume", httpkit.ForOperators, a.resumeMerchant)
}

// The acts on merchants that take two operators.
const (
	approveMerchant = "approve_merchant"
	resumeMerchant  = "resume_merchant"
	changeTerms     = "change_merchant_terms"
)

// MerchantView has the fields of a merchant that every reader sees.
type MerchantView struct {
	MerchantID     string      `json:"merchantId"`
	Name           string      `json:"name"`
	Country        *string     `json:"country"`
	ContactEmail   *string     `json:"contactEmail"`
	SupportContact *string     `json:"supportContact"`
	Logo           *string     `json:"logo"`
	Status         string      `json:"status"`
	Currencies     []string    `json:"currencies"`
	Networks       []string    `json:"networks"`
	Types          []string    `json:"types"`
	Limits         []limitView `json:"limits"`
	DailyLimits    []limitView `json:"dailyLimits"`
	CreatedAt      *string     `json:"createdAt"`
	ApprovedAt     *string     `json:"approvedAt"`
	SuspendedAt    *string     `json:"suspendedAt"`
	*MerchantMoreView
}

// MerchantMoreView has the fields that operators see beyond those of the merchant.
type MerchantMoreView struct {
	CreatedBy   string  `json:"createdBy"`
	ApprovedBy  *string `json:"approvedBy"`
	SuspendedBy *string `json:"suspendedBy"`
	Reason      *string `json:"reason"`
	InForce     bool    `json:"inForce"`
	Version     int64   `json:"version"`
}

type limitView struct {
	FiatCurrency money.Currency `json:"fiatCurrency"`
	Maximum      money.Number   `json:"maximum"`
}

// ViewMerchant shows a merchant to operators.
func ViewMerchant(m merchant.Merchant) MerchantView {
	v := viewOwn(m)
	v.MerchantMoreView = &MerchantMoreView{
		CreatedBy: m.CreatedBy, ApprovedBy: orNull(m.ApprovedBy), SuspendedBy: orNull(m.SuspendedBy), Reason: orNull(m.Reason), InForce: m.Told, Version: m.Version,
	}
	return v
}

func viewOwn(m merchant.Merchant) MerchantView {
	v := MerchantView{
		MerchantID: m.ID, Name: m.Name, Country: orNull(m.Country), ContactEmail: orNull(m.ContactEmail), SupportContact: orNull(m.SupportContact),
		Status: string(m.Status), Currencies: some(m.Terms.Currencies), Networks: some(m.Terms.Networks), Types: some(m.Terms.Types),
		Limits: viewLimits(m.Terms.Limits), DailyLimits: viewLimits(m.Terms.DailyLimits),
		CreatedAt: timestamp.OrNull(m.CreatedAt), ApprovedAt: timestamp.OrNull(m.ApprovedAt), SuspendedAt: timestamp.OrNull(m.SuspendedAt),
	}
	v.Logo = orNull(m.Brand().Logo)
	return v
}

func viewLimits(of merchant.Limits) []limitView {
	out := []limitView{}
	for _, currency := range money.Currencies() {
		if most, ok := of[currency]; ok {
			out = append(out, limitView{currency, money.N(most)})
		}
	}
	return out
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

type merchantAnswer struct {
	Merchant MerchantView `json:"merchant"`
}

// registerRequest is the body of POST /v1/merchant. The caller's identity names the merchant; the registry checks the
// rest.
type registerRequest struct{ order merchant.Order }

// Read implements httpkit.Reader.
func (c *registerRequest) Read(in *httpkit.Input) {
	b := in.Body()
	c.order = merchant.Order{
		Name: b.Text("name", merchant.NameMax), Country: b.Text("country", countryMax),
		ContactEmail: b.Text("contactEmail", merchant.ContactMax), SupportContact: b.Text("supportContact", merchant.ContactMax),
	}
}

// createMerchantRequest is the body of POST /v1/admin/merchants.
type createMerchantRequest struct{ registerRequest }

// Read implements httpkit.Reader.
func (c *createMerchantRequest) Read(in *httpkit.Input) {
	c.registerRequest.Read(in)
	c.order.ID = in.Body().Text("merchantId", merchant.IDMax)
	c.order.Check(&in.Problems)
}

const countryMax = 2

func (a *API) createMerchant(ctx context.Context, r createMerchantRequest) (idempotency.Answer, error) {
	return a.makeMerchant(ctx, r.order, ViewMerchant)
}

func (a *API) registerMerchant(ctx context.Context, r registerRequest) (idempotency.Answer, error) {
	r.order.ID = httpkit.From(ctx).Owner.MerchantID
	return a.makeMerchant(ctx, r.order, viewOwn)
}

// makeMerchant makes a draft once per Idempotency-Key.
func (a *API) makeMerchant(ctx context.Context, o merchant.Order, view func(merchant.Merchant) MerchantView) (idempotency.Answer, error) {
	key := httpkit.From(ctx).Key()
	if earlier, found, err := a.Answers.Earlier(ctx, key); err != nil || found {
		return earlier, err
	}
	made := idempotency.Answer{}
	answer := func(m merchant.Merchant) (_ idempotency.Answer, err error) {
		made.Status = http.StatusCreated
		made.Body, err = httpkit.Success(merchantAnswer{view(m)})
		return made, err
	}
	m, err := a.Merchants.Create(ctx, o, byCaller(ctx), merchant.Once{Key: key, Answer: answer})
	if idempotency.IsTaken(err) || errors.Is(err, merchant.ErrExists) { // perhaps by the same request
		if earlier, found, lookErr := a.Answers.Earlier(ctx, key); lookErr != nil || found {
			return earlier, lookErr
		}
	}
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.tellMerchant(ctx, m.ID)
	return answer(m)
}

type listMerchantsRequest struct{ filter merchant.Filter }

// Read implements httpkit.Reader.
func (l *listMerchantsRequest) Read(in *httpkit.Input) {
	l.filter = merchant.Filter{
		Status: merchant.Status(in.QueryOneOf("status", merchant.Statuses()...)), Search: in.QueryText("search", merchant.NameMax),
		Limit: in.QueryInt("limit", 50, 1, 100),
	}
	if text := in.Query("cursor"); text != "" {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err == nil {
			_, err = fmt.Sscanf(string(raw), "m%x", &l.filter.Before)
		}
		if err != nil || l.filter.Before <= 0 {
			in.Problems.Add("cursor", "must be the nextCursor of an earlier answer")
		}
	}
}

type merchantsAnswer struct {
	Merchants  []MerchantView `json:"merchants"`
	Pagination pagination     `json:"pagination"`
}

func (a *API) listMerchants(ctx context.Context, r listMerchantsRequest) (merchantsAnswer, error) {
	found, more, err := a.Merchants.List(ctx, r.filter)
	if err != nil {
		return merchantsAnswer{}, err
	}
	out := merchantsAnswer{Merchants: make([]MerchantView, 0, len(found)), Pagination: pagination{Limit: r.filter.Limit, HasMore: more}}
	for _, m := range found {
		out.Merchants = append(out.Merchants, ViewMerchant(m))
	}
	if more {
		next := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "m%x", found[len(found)-1].N))
		out.Pagination.NextCursor = &next
	}
	return out, nil
}

// oneMerchantRequest names a merchant in the path.
type oneMerchantRequest struct{ id string }

// Read implements httpkit.Reader.
func (o *oneMerchantRequest) Read(in *httpkit.Input) { o.id = in.Path("merchantId") }

func (a *API) getMerchant(ctx context.Context, r oneMerchantRequest) (merchantAnswer, error) {
	m, err := a.Merchants.Get(ctx, r.id)
	return merchantAnswer{ViewMerchant(m)}, err
}

func (a *API) ownMerchant(ctx context.Context, _ noRequest) (merchantAnswer, error) {
	m, err := a.Merchants.Get(ctx, httpkit.From(ctx).Owner.MerchantID)
	return merchantAnswer{viewOwn(m)}, err
}

// changeOwnRequest is the body of PATCH /v1/merchant. A missing field stays as it is; an empty text removes it.
type changeOwnRequest struct{ change merchant.Change }

// Read implements httpkit.Reader.
func (c *changeOwnRequest) Read(in *httpkit.Input) {
	readBrand(in.Body(), &c.change)
	c.change.Check(&in.Problems)
}

func readBrand(b *httpkit.Body, c *merchant.Change) {
	for name, field := range map[string]struct {
		to  **string
		max int
	}{
		"name": {&c.Name, merchant.NameMax}, "country": {&c.Country, countryMax},
		"contactEmail": {&c.ContactEmail, merchant.ContactMax}, "supportContact": {&c.SupportContact, merchant.ContactMax},
	} {
		if b.Sent(name) {
			text := b.Text(name, field.max)
			*field.to = &text
		}
	}
	if !b.Sent("logo") {
		return
	}
	logo := merchant.Logo{}
	if text := b.Text("logo", merchant.LogoTextMax); text != "" {
		var refusal string
		if logo, refusal = merchant.ReadLogo(text); refusal != "" {
			b.Problem("logo", "%s", refusal)
		}
	}
	c.Logo = &logo
}

func (a *API) changeOwnMerchant(ctx context.Context, r changeOwnRequest) (merchantAnswer, error) {
	m, err := a.Merchants.Change(ctx, httpkit.From(ctx).Owner.MerchantID, r.change, true, byCaller(ctx))
	return merchantAnswer{viewOwn(m)}, err
}

// changeMerchantRequest is the body of PATCH /v1/admin/merchants/{merchantId}.
type changeMerchantRequest struct {
	oneMerchantRequest
	change merchant.Change
}

// Read implements httpkit.Reader.
func (c *changeMerchantRequest) Read(in *httpkit.Input) {
	c.oneMerchantRequest.Read(in)
	b := in.Body()
	readBrand(b, &c.change)
	for name, to := range map[string]**[]string{"currencies": &c.change.Currencies, "networks": &c.change.Networks, "types": &c.change.Types} {
		if b.Sent(name) {
			list := some(b.Texts(name, termsMax, wordMax))
			*to = &list
		}
	}
	if c.change.Networks != nil {
		for i, name := range *c.change.Networks {
			if n, ok := money.NetworkOf(name); ok {
				(*c.change.Networks)[i] = n.Name
			}
		}
	}
	c.change.Limits, c.change.DailyLimits = readLimits(b, "limits"), readLimits(b, "dailyLimits")
	c.change.Version, _ = b.Int("version", 1, versionMax)
	c.change.Check(&in.Problems)
}

// versionMax is the greatest whole number that every client of JSON keeps.
const versionMax = 1<<53 - 1

// readLimits reads a list of amounts by currency, nil where it was not sent.
func readLimits(b *httpkit.Body, name string) *merchant.Limits {
	if !b.Sent(name) {
		return nil
	}
	limits := merchant.Limits{}
	for _, item := range b.Objects(name, len(money.Currencies())) {
		currency := money.Currency(strings.ToUpper(item.RequiredText("fiatCurrency", wordMax)))
		if _, twice := limits[currency]; twice {
			item.Problem("fiatCurrency", "must not be sent twice")
		}
		limits[currency], _ = item.Number("maximum") // the zero of a missing one is refused
	}
	return &limits
}

// termsMax bounds a list of a merchant's terms.
const termsMax = 32

// changeMerchant takes two operators for the terms of a merchant who is approved. A change that was made for an earlier
// version is refused before it waits for the second one.
func (a *API) changeMerchant(ctx context.Context, r changeMerchantRequest) (idempotency.Answer, error) {
	second := ""
	if r.change.Version != 0 {
		m, err := a.Merchants.Get(ctx, r.id)
		if err == nil {
			err = r.change.For(m)
		}
		if err != nil {
			return idempotency.Answer{}, err
		}
	}
	if r.change.OfTerms() {
		second = changeTerms
	}
	return a.actOnMerchant(ctx, r.id, second, r.change, func(by audit.Entry) (merchant.Merchant, error) {
		return a.Merchants.Change(ctx, r.id, r.change, false, by)
	})
}

func (a *API) approveMerchant(ctx context.Context, r oneMerchantRequest) (idempotency.Answer, error) {
	return a.actOnMerchant(ctx, r.id, approveMerchant, r.id, func(by audit.Entry) (merchant.Merchant, error) {
		return a.Merchants.Approve(ctx, r.id, by)
	})
}

// reasonRequest is the body of an act that needs a reason.
type reasonRequest struct {
	oneMerchantRequest
	reason string
}

// Read implements httpkit.Reader.
func (r *reasonRequest) Read(in *httpkit.Input) {
	r.oneMerchantRequest.Read(in)
	r.reason = strings.TrimSpace(in.Body().RequiredText("reason", merchant.ReasonMax))
	if r.reason == "" {
		in.Problems.Add("reason", "is required")
	}
}

func (a *API) suspendMerchant(ctx context.Context, r reasonRequest) (idempotency.Answer, error) {
	return a.actOnMerchant(ctx, r.id, "", nil, func(by audit.Entry) (merchant.Merchant, error) {
		return a.Merchants.Suspend(ctx, r.id, r.reason, by)
	})
}

func (a *API) resumeMerchant(ctx context.Context, r reasonRequest) (idempotency.Answer, error) {
	return a.actOnMerchant(ctx, r.id, resumeMerchant, r.id, func(by audit.Entry) (merchant.Merchant, error) {
		return a.Merchants.Resume(ctx, r.id, r.reason, by)
	})
}

// actOnMerchant carries out an operator's act, after a second operator's confirmation if second names an action. The
// change of a draft takes one operator, because its approval takes two.
func (a *API) actOnMerchant(ctx context.Context, id, second string, order any, act func(by audit.Entry) (merchant.Merchant, error)) (idempotency.Answer, error) {
	by := byOperator(ctx)
	if second != "" {
		m, err := a.Merchants.Get(ctx, id)
		if err != nil {
			return idempotency.Answer{}, err
		}
		needed := second != changeTerms || m.Status != merchant.Draft
		needed = needed && (second != approveMerchant || m.Status == merchant.Draft) && (second != resumeMerchant || m.Status == merchant.Suspended)
		if needed {
			waits, err := a.seconded(ctx, &by, approval.Request{Object: "merchant:" + id, Version: m.Version, Action: second}, order, idempotency.Key{})
			if err != nil || waits != nil {
				return orNone(waits), err
			}
		}
	}
	m, err := act(by)
	if err != nil {
		return idempotency.Answer{}, err
	}
	a.tellMerchant(ctx, id)
	body, err := httpkit.Success(merchantAnswer{ViewMerchant(m)})
	return idempotency.Answer{Status: http.StatusOK, Body: body}, err
}

// tellMerchant logs an act on a merchant.
func (a *API) tellMerchant(ctx context.Context, id string) {
	r := httpkit.From(ctx)
	a.Log.InfoContext(ctx, "act on a merchant recorded", "route", r.Route, "merchant", id, "actor", byCaller(ctx).Actor)
}
