package operator

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"causeway.internal/services/console/internal/web"
)

// act is a decision of an operator: a form, and the request of the API that it becomes. Its texts have the keys
// "decide.NAME" and "decide.NAME.text".
type act struct {
	Name   string
	Path   string // of the page: /refunds/{id}/approve
	Row    string // the same with members of a row, where they have other names
	Method string
	API    string // path of the API, with the values of the page's path
	Shown  string // member of the answer to GET there: the fields begin with its members, an empty field removes one, and the request has its version
	Back   string // page to which it leads afterwards
	Fields []field
	Body   map[string]string // members with fixed values
	Fits   func(r row) bool  // whether a row has this act; nil is every row
}

// field is a field of an act's form, and a member of the request. Its label is the text of "field." and the name.
type field struct {
	Name    string
	Member  string // with a dot: a member of a member; "" is Name
	Kind    string
	Options []string
	Needed  bool
}

// The kinds of a field, beside plain.
const (
	choice = "choice"
	number = "number"
	long   = "long"
	texts  = "texts"   // several, separated by commas or spaces
	sums   = "amounts" // several, by currency: NGN 500000, KES 10000
)

var (
	reason = field{Name: "reason", Kind: long, Needed: true}
	mode   = field{Name: "mode", Kind: choice, Options: []string{"live", "test"}, Needed: true}
)

// RowPath is the address of the act's page for a row.
func (a act) RowPath() string {
	if a.Row != "" {
		return a.Row
	}
	return a.Path
}

func (a act) fits(r row) bool { return a.Name != "" && (a.Fits == nil || a.Fits(r)) }

func status(of ...string) func(row) bool {
	return func(r row) bool {
		for _, one := range of {
			if r.text("status") == one {
				return true
			}
		}
		return false
	}
}

// simple is an act on an object that takes a reason alone.
func simple(name, place, verb, backTo string, fits func(row) bool) act {
	return act{
		Name: name, Path: "/" + backTo + "/{id}/" + verb, Method: http.MethodPost, API: place + "/{id}/" + verb, Back: "/" + backTo, Fields: []field{reason}, Fits: fits,
	}
}

// acts are all decisions.
func acts() []act {
	review := func(name, action string, fields ...field) act {
		return act{
			Name: name, Path: "/payments/{reference}/" + strings.ReplaceAll(action, "_", "-"), Row: "/payments/{id}/" + strings.ReplaceAll(action, "_", "-"),
			Method: http.MethodPost, API: "/v1/admin/payments/{reference}/resolve", Back: "/payments/{reference}", Fields: append(fields, reason),
			Body: map[string]string{"action": action}, Fits: inReview,
		}
	}
	return []act{
		review("accept", "accept"),
		review("retry_payout", "retry_payout", field{Name: "bankCode", Member: "receiver.bankCode"}, field{Name: "accountNumber", Member: "receiver.accountNumber"}),
		review("mark_refunded", "mark_refunded", field{Name: "txHash", Needed: true}),
		{
			Name: "refund_address", Path: "/payments/{reference}/refund-address", Row: "/payments/{id}/refund-address", Method: http.MethodPost,
			API: "/v1/admin/payments/{reference}/refund-address/confirm", Back: "/payments/{reference}", Fields: []field{{Name: "address", Needed: true}, reason},
		},
		{
			Name: "refund_ask", Path: "/payments/{reference}/refund", Row: "/payments/{id}/refund", Method: http.MethodPost, API: "/v1/admin/payments/{reference}/refunds",
			Back: "/payments/{reference}", Fields: []field{reason},
		},
		simple("refund_approve", "/v1/admin/refunds", "approve", "refunds", status("requested")),
		simple("refund_refuse", "/v1/admin/refunds", "refuse", "refunds", status("requested")),
		simple("refund_cancel", "/v1/admin/refunds", "cancel", "refunds", status("requested", "approved", "signing")),
		simple("withdrawal_approve", "/v1/admin/withdrawals", "approve", "withdrawals", status("requested")),
		simple("withdrawal_refuse", "/v1/admin/withdrawals", "refuse", "withdrawals", status("requested")),
		simple("draw_approve", "/v1/admin/wallets/withdrawals", "approve", "draws", status("requested")),
		simple("draw_refuse", "/v1/admin/wallets/withdrawals", "refuse", "draws", status("requested")),
		simple("draw_cancel", "/v1/admin/wallets/withdrawals", "cancel", "draws", status("requested", "approved", "signing")),
		simple("payout_ask", "/v1/admin/payouts", "ask", "payouts", nil),
		{
			Name: "payout_conclude", Path: "/payouts/{id}/conclude", Method: http.MethodPost, API: "/v1/admin/payouts/{id}/conclude", Back: "/payouts",
			Fields: []field{
				{Name: "outcome", Kind: choice, Options: []string{"paid", "failed"}, Needed: true},
				{Name: "sends", Kind: number, Needed: true},
				{Name: "evidence", Kind: long, Needed: true},
				reason,
			},
		},
		{
			Name: "deposit_adopt", Path: "/deposits/adopt", Method: http.MethodPost, API: "/v1/admin/deposits/adopt", Back: "/deposits",
			Fields: []field{mode, {Name: "deposit", Needed: true}, reason},
		},
		{
			Name: "unclaimed_book", Path: "/unclaimed/book", Method: http.MethodPost, API: "/v1/admin/unclaimed", Back: "/unclaimed",
			Fields: []field{{Name: "paymentId", Needed: true}, {Name: "asset"}, reason},
		},
		simple("unclaimed_return", "/v1/admin/unclaimed", "return", "unclaimed", func(r row) bool { return r.text("returnedAt") == "" }),
		{
			Name: "fraud_confirm", Path: "/fraud/{mode}/{address}/confirm", Row: "/fraud/{mode}/{walletAddress}/confirm", Method: http.MethodPost,
			API: "/v1/admin/reports/confirmations", Back: "/fraud", Fields: []field{reason},
			Body: map[string]string{"action": "confirm", "mode": "{mode}", "walletAddress": "{address}"}, Fits: func(r row) bool { return r.text("confirmed") != "true" },
		},
		{
			Name: "fraud_withdraw", Path: "/fraud/{mode}/{address}/withdraw", Row: "/fraud/{mode}/{walletAddress}/withdraw", Method: http.MethodPost,
			API: "/v1/admin/reports/confirmations", Back: "/fraud", Fields: []field{reason},
			Body: map[string]string{"action": "withdraw", "mode": "{mode}", "walletAddress": "{address}"},
		},
		{
			Name: "merchant_create", Path: "/merchants/new", Method: http.MethodPost, API: "/v1/admin/merchants", Back: "/merchants",
			Fields: []field{{Name: "merchantId", Needed: true}, {Name: "name", Needed: true}, {Name: "country", Needed: true}},
		},
		{
			Name: "merchant_approve", Path: "/merchants/{merchantId}/approve", Method: http.MethodPost, API: "/v1/admin/merchants/{merchantId}/approve",
			Back: "/merchants/{merchantId}", Fits: status("draft"),
		},
		{
			Name: "merchant_suspend", Path: "/merchants/{merchantId}/suspend", Method: http.MethodPost, API: "/v1/admin/merchants/{merchantId}/suspend",
			Back: "/merchants/{merchantId}", Fields: []field{reason}, Fits: status("active"),
		},
		{
			Name: "merchant_resume", Path: "/merchants/{merchantId}/resume", Method: http.MethodPost, API: "/v1/admin/merchants/{merchantId}/resume",
			Back: "/merchants/{merchantId}", Fields: []field{reason}, Fits: status("suspended"),
		},
		{
			Name: "merchant_terms", Path: "/merchants/{merchantId}/terms", Method: http.MethodPatch, API: "/v1/admin/merchants/{merchantId}", Shown: "merchant",
			Back: "/merchants/{merchantId}",
			Fields: []field{
				{Name: "currencies", Kind: texts},
				{Name: "networks", Kind: texts},
				{Name: "types", Kind: texts},
				{Name: "limits", Kind: sums},
				{Name: "dailyLimits", Kind: sums},
			},
		},
		{
			Name: "key_create", Path: "/keys/new", Method: http.MethodPost, API: "/v1/admin/keys", Back: "/keys",
			Fields: []field{
				{Name: "merchantId", Needed: true},
				{Name: "name", Needed: true},
				mode,
				{Name: "permissions", Kind: texts, Needed: true},
				{Name: "tier", Kind: choice, Options: []string{"standard", "premium", "unlimited"}},
				{Name: "allowedCidrs", Kind: texts},
			},
		},
		{
			Name: "key_revoke", Path: "/keys/{id}/revoke", Method: http.MethodDelete, API: "/v1/admin/keys/{id}", Back: "/keys/{id}",
			Fits: func(r row) bool { return r.text("revokedAt") == "" && r.text("kind") == "" },
		},
		{
			Name: "pause_begin", Path: "/pauses/new", Method: http.MethodPost, API: "/v1/admin/pauses", Back: "/pauses",
			Fields: []field{
				{Name: "what", Member: "paused", Kind: choice, Options: []string{"quotes", "payouts", "refunds"}, Needed: true},
				{Name: "currency", Member: "fiatCurrency"},
				{Name: "network"},
				{Name: "rail"},
				{Name: "merchantId"},
				{Name: "until"},
				reason,
			},
		},
		{Name: "pause_end", Path: "/pauses/{id}/end", Method: http.MethodDelete, API: "/v1/admin/pauses/{id}", Back: "/pauses", Fields: []field{reason}},
		{
			Name: "network_rescan", Path: "/networks/{mode}/{network}/rescan", Method: http.MethodPost, API: "/v1/admin/networks/{network}/rescan", Back: "/networks",
			Fields: []field{{Name: "from", Kind: number, Needed: true}, {Name: "to", Kind: number, Needed: true}, reason},
			Body:   map[string]string{"mode": "{mode}"}, Fits: func(r row) bool { return r.text("height") != "" },
		},
		simple("delivery_retry", "/v1/admin/deliveries", "retry", "deliveries", nil),
		simple("dead_replay", "/v1/admin/dead-messages", "replay", "dead", nil),
		simple("sweep_release", "/v1/admin/sweeps", "release", "sweeps", nil),
		{
			Name: "passkey_revoke", Path: "/passkeys/{id}/revoke", Method: http.MethodDelete, API: "/v1/admin/operators/passkeys/{id}", Back: "/passkeys",
			Fits: func(r row) bool { return r.text("revokedAt") == "" },
		},
		{
			Name: "token_revoke", Path: "/tokens/{id}/revoke", Method: http.MethodDelete, API: "/v1/admin/operators/{id}", Back: "/tokens",
			Fits: func(r row) bool { return r.text("revokedAt") == "" },
		},
	}
}

func actsByName() map[string]act {
	out := map[string]act{}
	for _, a := range acts() {
		out[a.Name] = a
	}
	return out
}

// actPage is the content of an act's page.
type actPage struct {
	Title, Text string // keys of texts
	About       []cell // the values of the path
	Form        *web.Form
	Fields      []field
	Back        string
	Version     string // of the object that the form was made for
	Now         []cell // the newest values, beside a form that was typed for earlier ones
}

// filledFrom fills the {names} of an address with the values of the page's path.
func filledFrom(v *web.Visit, address string) string {
	parts := strings.Split(address, "/")
	for i, part := range parts {
		if name, braced := strings.CutPrefix(part, "{"); braced {
			parts[i] = url.PathEscape(v.Param(strings.TrimSuffix(name, "}")))
		}
	}
	return strings.Join(parts, "/")
}

func (a act) page(v *web.Visit, f *web.Form) actPage {
	page := actPage{Title: "decide." + a.Name, Text: "decide." + a.Name + ".text", Form: f, Fields: a.Fields, Back: filledFrom(v, a.Back)}
	for part := range strings.SplitSeq(a.Path, "/") {
		if name, braced := strings.CutPrefix(part, "{"); braced {
			name = strings.TrimSuffix(name, "}")
			page.About = append(page.About, cell{Label: "field." + name, As: code, Text: v.Param(name)})
		}
	}
	return page
}

func (a act) ask(v *web.Visit) error {
	if a.Shown == "" {
		page := a.page(v, v.Form(nil))
		return v.Render("act", page.Title, page)
	}
	var answer row
	if err := v.API.Get(v.Context(), filledFrom(v, a.API), nil, &answer); err != nil {
		return err
	}
	first := url.Values{}
	var now []cell
	for _, one := range a.Fields {
		value := answer.at(a.Shown + "." + one.member())
		first.Set(one.Name, one.text(value))
		now = append(now, cell{Label: "field." + one.Name, Text: one.said(v, value)})
	}
	f := v.Form(first)
	page := a.page(v, f)
	if page.Version = answer.text(a.Shown + "." + versionField); f.Restored {
		page.Now = now
	}
	return v.Render("act", page.Title, page)
}

// versionField is a hidden field, and a member of the request: the version of the object that the form was made for.
const versionField = "version"

// take makes the request of the API from the form, and leads to its approval.
func (a act) take(v *web.Visit) error {
	f := v.Form(nil)
	var needed []string
	for _, one := range a.Fields {
		if one.Needed {
			needed = append(needed, one.Name)
		}
	}
	page := a.page(v, f)
	body := map[string]any{}
	if page.Version = f.Get(versionField); a.Shown != "" && isNumber(page.Version) {
		body[versionField] = json.Number(page.Version)
	}
	for name, value := range a.Body {
		if of, braced := strings.CutPrefix(value, "{"); braced {
			value = v.Param(strings.TrimSuffix(of, "}"))
		}
		body[name] = value
	}
	ok := v.Need(f, needed...)
	for _, one := range a.Fields {
		typed := f.Get(one.Name)
		if typed == "" && a.Shown == "" {
			continue
		}
		value, wrong := one.value(typed)
		if wrong != "" {
			f.Err(one.Name, v.T(wrong))
			ok = false
			continue
		}
		set(body, one.member(), value)
	}
	if !ok {
		return v.Refuse("act", page.Title, page)
	}
	return keep(v, a, f, body)
}

// value is what was typed, as the API takes it. wrong is the key of a text.
func (f field) value(typed string) (value any, wrong string) {
	switch f.Kind {
	case number:
		if !isNumber(typed) {
			return nil, "decide.number"
		}
		return json.Number(typed), ""
	case texts:
		return strings.FieldsFunc(typed, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\r' }), ""
	case sums:
		limits := []limit{}
		for part := range strings.FieldsFuncSeq(typed, func(c rune) bool { return c == ',' || c == '\n' || c == '\r' }) {
			words := strings.Fields(part)
			if len(words) == 0 {
				continue
			}
			if len(words) != 2 || !isNumber(words[1]) {
				return nil, "decide.amounts"
			}
			limits = append(limits, limit{words[0], json.Number(words[1])})
		}
		return limits, ""
	}
	return typed, ""
}

func isNumber(typed string) bool {
	_, err := json.Marshal(json.Number(typed))
	return err == nil
}

type limit struct {
	FiatCurrency string      `json:"fiatCurrency"`
	Maximum      json.Number `json:"maximum"`
}

// text is what a field has in an object of the API, as it is typed.
func (f field) text(value any) string {
	several, ok := value.([]any)
	if f.Kind != sums || !ok {
		return textOf(value)
	}
	parts := make([]string, 0, len(several))
	for _, one := range several {
		if of, ok := one.(map[string]any); ok {
			parts = append(parts, textOf(of["fiatCurrency"])+" "+textOf(of["maximum"]))
		}
	}
	return strings.Join(parts, ", ")
}

// said is the text of a value for a reader, who learns about an empty list too.
func (f field) said(v *web.Visit, value any) string {
	if several, ok := value.([]any); ok && len(several) == 0 {
		return v.T("decide.empty")
	}
	return f.text(value)
}

func (f field) member() string {
	if f.Member != "" {
		return f.Member
	}
	return f.Name
}

// set sets a member, or one of a member.
func set(body map[string]any, member string, value any) {
	outer, inner, nested := strings.Cut(member, ".")
	if !nested {
		body[member] = value
		return
	}
	object, ok := body[outer].(map[string]any)
	if !ok {
		object = map[string]any{}
		body[outer] = object
	}
	object[inner] = value
}
