package merchant

import (
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"causeway.internal/services/console/internal/api"
	"causeway.internal/services/console/internal/people"
	"causeway.internal/services/console/internal/web"
)

// payment is a payment as GET /v1/payments shows it.
type payment struct {
	Reference             string
	Type                  string
	Status                string
	Exception             string
	DepositAddress        string
	CryptoAmount          json.Number
	Crypto                string
	Network               string
	FiatAmount            json.Number
	FiatCurrency          string
	TransactionUSD        json.Number `json:"transactionUsd"`
	Rate                  json.Number
	Charge                *struct{ Fiat, Crypto, USD json.Number }
	ExpiresAt             string
	ConfirmedAt           string
	SettledAt             string
	CreatedAt             string
	TxHash                string
	Confirmations         int64
	ReceivedAmount        json.Number
	IgnoredAmount         json.Number
	PayoutAmount          json.Number
	BankRef               string
	SettlementReference   string
	MerchantReference     string
	Description           string
	ReturnURL             string `json:"returnUrl"`
	Metadata              json.RawMessage
	Receiver              *receiver
	Payout                *payout
	Refunds               []refund
	RefundAddress         string
	RefundAddressProposed string
	RefundHeldUntil       string `json:"refundAddressHeldUntil"`
	CheckoutURL           string `json:"checkoutUrl"`
	Preferred             *struct{ Crypto, Network string }
}

// Data is the merchant's metadata, indented; "" where there is none.
func (p payment) Data() string {
	if text := strings.TrimSpace(string(p.Metadata)); text == "" || text == "{}" || text == "null" {
		return ""
	}
	var all map[string]any
	if json.Unmarshal(p.Metadata, &all) != nil {
		return ""
	}
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return ""
	}
	return string(text)
}

// MayCancel reports whether no money has come to the payment.
func (p payment) MayCancel() bool { return p.Status == "created" || p.Status == "pending" }

// MayRefund reports whether the payment may owe its payer money. The API decides.
func (p payment) MayRefund() bool {
	switch p.Status {
	case "created", "pending", "confirming", "settling":
		return false
	}
	return strings.Trim(p.ReceivedAmount.String(), "0.") != "" || strings.Trim(p.IgnoredAmount.String(), "0.") != "" ||
		p.Status == "needs_review" || p.Exception == "wrong_asset"
}

type receiver struct {
	AccountName, AccountNumber, BankName string
	NameVerified                         bool
}

type payout struct {
	ID, Status, Currency, Reference string
	Amount                          json.Number
	Attempt                         int
	SentAt, EndedAt                 string
}

type refund struct {
	ID, Status, Crypto, Network, Address, TxHash string
	Amount                                       json.Number
	CreatedAt, ConfirmedAt                       string
	Failure                                      string
	ExplorerURL                                  string `json:"explorerUrl"`
}

// timeline is the history of a payment.
type timeline struct {
	Timeline struct {
		ID      string
		Entries []entry
	}
}

type entry struct {
	At       string
	Kind     string
	Status   *struct{ Status, Exception string }
	Quote    *quote
	Transfer *transfer
	Payout   *payout
	Refund   *refund
}

type quote struct {
	Crypto, Network, FiatCurrency, DepositAddress, ExpiresAt string
	CryptoAmount, FiatAmount, Rate                           json.Number
	Charge                                                   struct{ Fiat, Crypto json.Number }
}

type transfer struct {
	TxHash, Crypto, Network, MinedAt string
	ExplorerURL                      string `json:"explorerUrl"`
	Amount                           json.Number
	Confirmations                    int64
	RequiredConfirmations            *int64
	Reverted                         bool
	BlockHeight                      json.Number
}

// Need is the number of required confirmations, 0 if only finality counts.
func (t transfer) Need() int64 {
	if t.RequiredConfirmations == nil {
		return 0
	}
	return *t.RequiredConfirmations
}

// Steps are the confirmations as far as they are required, for a progress bar.
func (t transfer) Steps() int64 { return min(t.Confirmations, t.Need()) }

type paymentsPage struct {
	Payments []payment
	Pager    *web.Pager
	Statuses []string
	Types    []string
	Search   string
	Unknown  bool   // the search is no reference, hash or address
	Export   string // the query of the export
}

func statuses() []string {
	return []string{"created", "pending", "confirming", "confirmed", "settling", "settled", "expired", "cancelled", "needs_review", "refunded"}
}

func types() []string {
	return []string{"transfer", "gift", "request", "merchant", "bank_confirmation"}
}

var (
	isReference = regexp.MustCompile(`(?i)^\s*CW-[A-Z0-9]{12,20}\s*$`)
	isHash      = regexp.MustCompile(`^(0x)?[0-9a-fA-F]{64}$|^[1-9A-HJ-NP-Za-km-z]{80,90}$`)
)

// listPayments searches by one box: a reference leads to its payment, and a transaction's hash or a deposit address
// narrows the list. Any other text is taken for the merchant's own identifier of a payer.
func listPayments(v *web.Visit) error {
	search := v.Query("search")
	if isReference.MatchString(search) {
		reference := strings.ToUpper(search)
		err := v.API.Get(v.Context(), api.Path("v1", "payments", reference), nil, nil)
		if err == nil {
			return v.Redirect("/payments/" + url.PathEscape(reference))
		}
		if !api.Is(err, "payment_not_found") {
			return err
		}
	}
	p := paymentsPage{Pager: v.NewPager(), Statuses: statuses(), Types: types(), Search: search}
	q := query(v, p.Pager, "status", "type", "from", "to", "payerChatId")
	switch {
	case search == "":
	case isReference.MatchString(search):
		p.Unknown = true
		return v.Render("payments", "payments.title", p)
	case isHash.MatchString(search):
		q.Set("txHash", search)
	default:
		q.Set("address", search)
	}
	var list paymentList
	err := v.API.Get(v.Context(), "/v1/payments", q, &list)
	if q.Get("address") != "" && api.Is(err, "validation_failed") { // no address of a network: perhaps a payer
		q.Del("address")
		q.Set("payerChatId", search)
		err = v.API.Get(v.Context(), "/v1/payments", q, &list)
	}
	if err != nil {
		return err
	}
	p.Payments = list.Payments
	v.More(p.Pager, list.Pagination.NextCursor)
	q.Del("limit")
	q.Del("cursor")
	p.Export = q.Encode()
	return v.Render("payments", "payments.title", p)
}

func exportPayments(v *web.Visit) error {
	return pass(v, "/v1/payments/export", v.Filters("status", "type", "from", "to", "payerChatId", "txHash", "address"), "payments.csv")
}

type paymentPage struct {
	P          payment
	ID         string
	Entries    []entry
	Deliveries []delivery
	More       bool // there are more deliveries
	QR         string
}

func showPayment(v *web.Visit) error {
	p, err := readPayment(v)
	if err != nil {
		return err
	}
	page := paymentPage{P: p}
	var past timeline
	if err := v.API.Get(v.Context(), api.Path("v1", "payments", p.Reference, "timeline"), nil, &past); err != nil {
		return err
	}
	page.ID, page.Entries = past.Timeline.ID, past.Timeline.Entries
	if v.Allows(people.WebhookManage) {
		var list deliveryList
		err := v.API.Get(v.Context(), "/v1/webhooks/deliveries", url.Values{"objectId": {page.ID}, "limit": {"50"}}, &list)
		if err != nil {
			return err
		}
		page.Deliveries, page.More = list.Deliveries, list.Pagination.NextCursor != ""
	}
	if p.MayCancel() {
		page.QR = p.CheckoutURL
	}
	return v.Render("payment", "payment.title", page)
}

// versionPayment changes whenever the page does.
func versionPayment(v *web.Visit) (string, error) {
	p, err := readPayment(v)
	if err != nil {
		return "", err
	}
	return version(p), nil
}

func readPayment(v *web.Visit) (payment, error) {
	var answer struct{ Payment payment }
	err := v.API.Get(v.Context(), api.Path("v1", "payments", v.Param("reference")), nil, &answer)
	return answer.Payment, err
}

type actPage struct {
	Form *web.Form
	P    payment
}

func askCancel(v *web.Visit) error {
	p, err := readPayment(v)
	if err != nil {
		return err
	}
	return v.Render("cancel", "cancel.title", actPage{v.Form(nil), p})
}

func cancel(v *web.Visit) error {
	f := v.Form(nil)
	reference := v.Param("reference")
	if err := v.API.Post(v.Context(), api.Path("v1", "payments", reference, "cancel"), f.Key, nil, nil); err != nil {
		if !v.Refused(f, err) {
			return err
		}
		p, err := readPayment(v)
		if err != nil {
			return err
		}
		return v.Refuse("cancel", "cancel.title", actPage{f, p})
	}
	v.Notice("cancel.done")
	return v.Redirect("/payments/" + url.PathEscape(reference))
}

func askRefund(v *web.Visit) error {
	p, err := readPayment(v)
	if err != nil {
		return err
	}
	return v.Render("refund", "refund.title", actPage{v.Form(nil), p})
}

// sendRefund refunds to the address of the payment. If the payment has none, the first step is to name it.
func sendRefund(v *web.Visit) error {
	f := v.Form(nil)
	reference := v.Param("reference")
	again := func(err error, members ...string) error {
		if err != nil && !v.Refused(f, err, members...) {
			return err
		}
		p, err := readPayment(v)
		if err != nil {
			return err
		}
		return v.Refuse("refund", "refund.title", actPage{f, p})
	}
	if address := f.Get("address"); address != "" {
		step := api.Path("v1", "payments", reference, "refund-address")
		if f.Get("proposed") == address {
			step = api.Path("v1", "payments", reference, "refund-address", "confirm")
		}
		if err := v.API.Post(v.Context(), step, f.Key+"-address", map[string]string{"address": address}, nil); err != nil {
			return again(err, "address", "address")
		}
	}
	if !v.Need(f, "reason") {
		return again(nil)
	}
	body := map[string]any{"reason": f.Get("reason")}
	if n, ok := amount(v, f, "amount"); ok {
		body["amount"] = n
	} else if !f.OK() {
		return again(nil)
	}
	if err := v.API.Post(v.Context(), api.Path("v1", "payments", reference, "refunds"), f.Key, body, nil); err != nil {
		return again(err, "amount", "amount", "reason", "reason")
	}
	v.Notice("refund.done")
	return v.Redirect("/payments/" + url.PathEscape(reference))
}

// isAmount is a decimal as the API takes it.
var isAmount = regexp.MustCompile(`^(0|[1-9][0-9]{0,14})(\.[0-9]{1,18})?$`)

// amount reads a decimal as people of the visitor's language type it.
func amount(v *web.Visit, f *web.Form, name string) (json.RawMessage, bool) {
	if f.Get(name) == "" {
		return nil, false
	}
	text, ok := v.Speech().Decimal(f.Get(name))
	if !ok || !isAmount.MatchString(text) {
		f.Err(name, v.T("form.amount"))
		return nil, false
	}
	return json.RawMessage(text), true
}

type createPage struct {
	Form       *web.Form
	Types      []string
	Currencies []string
	Pairs      []pair
	Banks      []bank
	Sent       bool
}

// pair is a crypto on a network that takes payments now.
type pair struct{ Crypto, Network string }

// Value names the pair in a form.
func (p pair) Value() string { return p.Crypto + "/" + p.Network }

type bank struct{ Code, Name, Currency string }

// options reads the pairs and the banks that a new payment may have.
func options(v *web.Visit) (pairs []pair, banks []bank, err error) {
	var all struct {
		Networks []struct {
			Network string
			Cryptos []struct{ Crypto string }
			Modes   map[string]struct{ Open bool }
		}
	}
	if err := v.API.Get(v.Context(), "/v1/networks", nil, &all); err != nil {
		return nil, nil, err
	}
	for _, n := range all.Networks {
		for _, c := range n.Cryptos {
			if n.Modes[string(v.Mode)].Open {
				pairs = append(pairs, pair{c.Crypto, n.Network})
			}
		}
	}
	var list struct{ Banks []bank }
	err = v.API.Get(v.Context(), "/v1/banks", nil, &list)
	return pairs, list.Banks, err
}

func askCreate(v *web.Visit) error {
	f := v.Form(url.Values{"type": {"transfer"}, "fiatCurrency": {"NGN"}, "chargeFrom": {"crypto"}})
	return create(v, f, v.Render)
}

func create(v *web.Visit, f *web.Form, render func(page, title string, data any) error) error {
	pairs, banks, err := options(v)
	if err != nil {
		return err
	}
	return render("create", "create.title", createPage{Form: f, Types: types(), Currencies: currencies(), Pairs: pairs, Banks: banks})
}

// createPayment sends the members that the type needs. The API reports the errors.
func createPayment(v *web.Visit) error {
	f := v.Form(nil)
	kind := f.Get("type")
	body := map[string]any{"type": kind, "fiatCurrency": f.Get("fiatCurrency")}
	if !v.Need(f, "type", "fiatAmount", "fiatCurrency") {
		return create(v, f, v.Refuse)
	}
	if n, ok := amount(v, f, "fiatAmount"); ok {
		body["fiatAmount"] = n
	}
	if crypto, network, ok := strings.Cut(f.Get("pair"), "/"); ok {
		body["crypto"], body["network"] = crypto, network
	} else if kind != "request" {
		f.Err("pair", v.T("form.needed"))
	}
	if kind == "transfer" {
		body["chargeFrom"] = f.Get("chargeFrom")
	}
	if payer := f.Get("payer"); payer != "" && kind != "request" {
		body["payer"] = map[string]string{"chatId": payer}
	}
	if code, number := f.Get("bank"), f.Get("account"); (code != "" || number != "") && kind != "gift" && kind != "bank_confirmation" {
		if _, one, ok := strings.Cut(code, ":"); ok { // the select names the currency too
			code = one
		}
		body["receiver"] = map[string]string{"bankCode": code, "accountNumber": number}
	}
	for _, name := range []string{"bankRef", "merchantReference", "description", "returnUrl", "locale"} {
		if text := f.Get(name); text != "" && (name != "bankRef" || kind == "bank_confirmation") {
			body[name] = text
		}
	}
	if !f.OK() {
		return create(v, f, v.Refuse)
	}
	var made struct{ Payment payment }
	err := v.API.Post(v.Context(), "/v1/payments", f.Key, body, &made)
	if err != nil {
		if !v.Refused(f, err, "type", "type", "fiatAmount", "fiatAmount", "fiatCurrency", "fiatCurrency", "crypto", "pair", "network", "pair",
			"payer", "payer", "payer.chatId", "payer", "receiver", "account", "receiver.bankCode", "bank", "receiver.accountNumber", "account",
			"bankRef", "bankRef", "chargeFrom", "chargeFrom", "merchantReference", "merchantReference", "description", "description",
			"returnUrl", "returnUrl", "locale", "locale") {
			return err
		}
		return create(v, f, v.Refuse)
	}
	v.Notice("create.done")
	return v.Redirect("/payments/" + url.PathEscape(made.Payment.Reference))
}
