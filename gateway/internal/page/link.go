package page

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/httpkit"
	"causeway.internal/libs/id"
)

// link is GET /v1/links/:id.
type link struct {
	ID           string      `json:"id"`
	Type         string      `json:"type"`
	Status       string      `json:"status"`
	Mode         string      `json:"mode"`
	Title        string      `json:"title"`
	Description  string      `json:"description"`
	FiatCurrency string      `json:"fiatCurrency"`
	FiatAmount   json.Number `json:"fiatAmount"`
	Minimum      json.Number `json:"minimumAmount"`
	Maximum      json.Number `json:"maximumAmount"`
	Options      []choice    `json:"options"`

	payee merchant.Brand // who is paid; the answer of payments says it to the gateway alone
}

// linkView is what /link/:id shows.
type linkView struct {
	view
	L       link
	Coins   []coin
	Chosen  string
	Amount  string // as typed
	Once    string // names the payment that the form makes, so that a form that is sent twice makes one
	Problem string // the key of the reason why the form was refused
}

var errNoLink = fault.New(fault.NotFound, "payment_link_not_found", "Payment link not found")

// findLink reads a link. When it cannot, it answers the request itself.
func (p *Pages) findLink(w http.ResponseWriter, r *http.Request) (link, bool) {
	name := r.PathValue("id")
	if !id.IsObject(name) {
		p.fail(w, r, http.StatusNotFound, "", errNoLink)
		return link{}, false
	}
	var answer struct {
		Link link `json:"link"`
	}
	_, merchantID, refused := p.askOf(r.Context(), http.MethodGet, "/v1/links/"+name, nil, &answer)
	if refused != nil {
		p.fail(w, r, refused.status, refused.retryAfter, refused.fault)
		return link{}, false
	}
	answer.Link.payee = p.brands.Brand(r.Context(), merchantID)
	return answer.Link, true
}

func (p *Pages) showLink(w http.ResponseWriter, r *http.Request) {
	if found, ok := p.findLink(w, r); ok {
		p.link(w, r, found, http.StatusOK, linkView{Chosen: r.URL.Query().Get("pair")})
	}
}

// link renders the page; the handler has filled in the state of the form.
func (p *Pages) link(w http.ResponseWriter, r *http.Request, found link, status int, v linkView) {
	said := p.speak(r, found.Mode, "")
	v.view = view{Title: found.Title, Test: found.Mode == "test", Path: "/link/" + found.ID, Payee: found.payee, Speech: said}
	v.L = found
	v.Coins, v.Chosen = coins(payment{Options: found.Options}, v.Chosen)
	if v.Once == "" {
		v.Once = id.New(id.Request, p.now())
	}
	p.render(w, r, said.Language, status, "link", v)
}

// payLink makes a payment out of a link and goes on to its page.
func (p *Pages) payLink(w http.ResponseWriter, r *http.Request) {
	found, ok := p.findLink(w, r)
	if !ok {
		return
	}
	typed := form(r, "amount", "pair", "once")
	v := linkView{Amount: typed[0], Chosen: typed[1], Once: typed[2]}
	if !httpkit.IsIdempotencyKey(v.Once) { // another form than the page's; without a key two clicks make two payments
		v.Once = id.New(id.Request, p.now())
	}
	crypto, network, chosen := strings.Cut(v.Chosen, "/")
	if !chosen && len(found.Options) > 0 {
		v.Problem = "choose.missing"
		p.link(w, r, found, http.StatusBadRequest, v)
		return
	}
	body := map[string]any{"crypto": crypto, "network": network}
	if found.FiatAmount == "" {
		amount := json.Number(strings.ReplaceAll(v.Amount, " ", ""))
		if !plainAmount(amount.String()) {
			v.Problem = "link.wrong"
			p.link(w, r, found, http.StatusBadRequest, v)
			return
		}
		body["fiatAmount"] = amount
	}
	var answer struct {
		Payment struct {
			Reference string `json:"reference"`
		} `json:"payment"`
	}
	refused := p.askOnce(r.Context(), "/v1/links/"+found.ID+"/payments", v.Once, body, &answer)
	switch {
	case refused == nil && id.IsPaymentReference(answer.Payment.Reference):
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "/pay/"+answer.Payment.Reference+p.speak(r, found.Mode, "").Query, http.StatusSeeOther)
	case refused == nil:
		p.fail(w, r, http.StatusServiceUnavailable, "", fault.As(errNoReference))
	case refused.status == http.StatusNotFound || refused.status == http.StatusTooManyRequests:
		p.fail(w, r, refused.status, refused.retryAfter, refused.fault)
	default:
		v.Problem, v.Once = problemOf(refused), ""
		if found, ok = p.findLink(w, r); ok { // its state may have changed
			p.link(w, r, found, refused.status, v)
		}
	}
}

// problemOf is the key of the words for a refusal.
func problemOf(refused *refusal) string {
	code := refused.problem.Error.Code
	amount := slices.ContainsFunc(refused.problem.Error.Fields, func(f fault.Field) bool { return f.Field == "fiatAmount" })
	switch {
	case amount, code == "amount_out_of_range", code == "amount_below_minimum", code == "daily_limit_exceeded":
		return "link.wrong"
	case refused.status >= http.StatusInternalServerError:
		return "choose.unavailable"
	}
	return "choose.failed"
}

// plainAmount reports digits with at most one point between them.
func plainAmount(text string) bool {
	const most = 20
	whole, part, pointed := strings.Cut(text, ".")
	digits := func(s string) bool {
		return s != "" && strings.Trim(s, "0123456789") == ""
	}
	return len(text) <= most && digits(whole) && (len(whole) == 1 || whole[0] != '0') && (!pointed || digits(part))
}
