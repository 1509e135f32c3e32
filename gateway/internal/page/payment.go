package page

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"causeway.internal/gateway/internal/merchant"
	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
)

// payment is GET /v1/checkout/:reference. Amounts keep their original text.
type payment struct {
	Reference    string      `json:"reference"`
	Type         string      `json:"type"`
	Status       string      `json:"status"`
	Exception    string      `json:"exception"`
	Mode         string      `json:"mode"`
	Locale       string      `json:"locale"` // the language that the merchant asked for
	Address      string      `json:"depositAddress"`
	CryptoAmount json.Number `json:"cryptoAmount"`
	Crypto       string      `json:"crypto"`
	NetworkName  string      `json:"network"`
	FiatAmount   json.Number `json:"fiatAmount"`
	FiatCurrency string      `json:"fiatCurrency"`
	PayoutAmount json.Number `json:"payoutAmount"`
	Rate         json.Number `json:"rate"`
	Charge       struct {
		Fiat json.Number `json:"fiat"`
	} `json:"charge"`
	ExpiresAt       time.Time   `json:"expiresAt"`
	SettledAt       *time.Time  `json:"settledAt"`
	TxHash          string      `json:"txHash"`
	Confirmations   int64       `json:"confirmations"`
	Required        int64       `json:"requiredConfirmations"`
	ReceivedAmount  json.Number `json:"receivedAmount"`
	RemainingAmount json.Number `json:"remainingAmount"`
	PaymentURI      string      `json:"paymentUri"`
	Claimed         bool        `json:"claimed"`
	TakesHash       bool        `json:"takesTransactionHash"` // the scanner does not see a coin that a contract sends
	TakesRefund     bool        `json:"takesRefundAddress"`   // some money may go back to the payer
	RefundAddress   string      `json:"refundAddress"`
	RefundHeldUntil time.Time   `json:"refundAddressHeldUntil"`
	RefundProposed  string      `json:"refundAddressProposed"`
	Refunds         []refund    `json:"refunds"`
	Preferred       struct {
		Crypto  string `json:"crypto"`
		Network string `json:"network"`
	} `json:"preferred"`
	Options     []choice `json:"options"`
	Order       string   `json:"merchantReference"` // the merchant's own name of what is paid
	Description string   `json:"description"`
	ReturnURL   string   `json:"returnUrl"`

	payee merchant.Brand // who is paid; the answer of payments says it to the gateway alone
}

// choice is one way to pay a request.
type choice struct {
	Crypto       string      `json:"crypto"`
	NetworkName  string      `json:"network"`
	CryptoAmount json.Number `json:"cryptoAmount"`
}

// problem is an answer in the error shape of docs/api-contract.md#errors.
type problem struct {
	Message string `json:"message"`
	Error   struct {
		Code   string        `json:"code"`
		Fields []fault.Field `json:"fields"`
	} `json:"error"`
}

// ask calls payments and reads the answer into out; a refusal is returned as an error.
func (p *Pages) ask(ctx context.Context, method, path string, in, out any) (raw []byte, refused *refusal) {
	raw, _, refused = p.askOf(ctx, method, path, in, out)
	return raw, refused
}

// askOf is ask with the merchant whose object the answer is about.
func (p *Pages) askOf(ctx context.Context, method, path string, in, out any) (raw []byte, merchantID string, refused *refusal) {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil { // structs of strings always encode
			panic(err)
		}
	}
	reply, err := p.payments.Ask(ctx, method, path, body)
	return understand(reply, err, out)
}

// askOnce is ask for a POST that makes something, under an Idempotency-Key of the form.
func (p *Pages) askOnce(ctx context.Context, path, key string, in, out any) *refusal {
	body, err := json.Marshal(in)
	if err != nil { // structs of strings always encode
		panic(err)
	}
	reply, err := p.payments.AskOnce(ctx, path, key, body)
	_, _, refused := understand(reply, err, out)
	return refused
}

// understand reads a reply into out.
func understand(reply proxy.Reply, err error, out any) (raw []byte, merchantID string, refused *refusal) {
	if err != nil {
		return nil, "", refusedBy(fault.As(err))
	}
	if reply.Status != http.StatusOK && reply.Status != http.StatusCreated {
		return nil, "", read(reply)
	}
	if err := json.Unmarshal(reply.Body, out); err != nil {
		return nil, "", refusedBy(fault.As(fmt.Errorf("read an answer of payments: %w", err)))
	}
	return reply.Body, reply.MerchantID, nil
}

// refusal is why payments gave no answer.
type refusal struct {
	status     int
	retryAfter string
	problem    problem
	fault      *fault.Error
}

func refusedBy(f *fault.Error) *refusal {
	r := &refusal{status: http.StatusServiceUnavailable, fault: f}
	r.problem.Message, r.problem.Error.Code = f.Message, f.Code
	return r
}

// kinds maps a service's refusal to a kind for callers that did not ask for a page.
var kinds = map[int]fault.Kind{
	http.StatusNotFound: fault.NotFound, http.StatusConflict: fault.Conflict, http.StatusTooManyRequests: fault.RateLimited,
	http.StatusServiceUnavailable: fault.Unavailable, http.StatusBadRequest: fault.Invalid,
}

func read(reply proxy.Reply) *refusal {
	r := &refusal{status: reply.Status, retryAfter: reply.RetryAfter}
	kind, known := kinds[reply.Status]
	if err := json.Unmarshal(reply.Body, &r.problem); err != nil || !known || r.problem.Error.Code == "" {
		return refusedBy(fault.New(fault.Unavailable, "upstream_failed", "%s", "The service is not available right now. Try again in a moment."))
	}
	r.fault = fault.New(kind, r.problem.Error.Code, "%s", r.problem.Message)
	return r
}

var errNoReference = errors.New("the answer to a create names no payment")

var errUnknown = fault.New(fault.NotFound, "payment_not_found", "Payment not found")

// find reads the payment of a reference. When it cannot, it answers the request itself.
func (p *Pages) find(w http.ResponseWriter, r *http.Request) (found payment, tag string, ok bool) {
	if !id.IsPaymentReference(r.PathValue("reference")) {
		p.fail(w, r, http.StatusNotFound, "", errUnknown)
		return payment{}, "", false
	}
	var answer struct {
		Payment payment `json:"payment"`
	}
	raw, merchantID, refused := p.askOf(r.Context(), http.MethodGet, "/v1/checkout/"+r.PathValue("reference"), nil, &answer)
	if refused != nil {
		p.fail(w, r, refused.status, refused.retryAfter, refused.fault)
		return payment{}, "", false
	}
	if merchantID != "" {
		answer.Payment.payee = p.brands.Brand(r.Context(), merchantID)
	}
	return answer.Payment, p.tag(fmt.Appendf(raw, "%q", answer.Payment.payee)), true
}

// some reports whether an amount is there and not zero.
func some(n json.Number) bool { return strings.Trim(n.String(), "0.") != "" }

// PaysFee reports a fee on top of the price; any other fee is taken from the payout, which is no concern of the payer.
func (p payment) PaysFee() bool { return some(p.Charge.Fiat) && p.PayoutAmount == p.FiatAmount }

// Return is the page of the shop to which the payer goes back, with the payment's reference. That of a gift is enough
// to claim it, and stays here.
func (p payment) Return() string {
	u, err := url.Parse(p.ReturnURL)
	if err != nil || p.ReturnURL == "" {
		return ""
	}
	if p.Type != "gift" {
		if u.RawQuery != "" {
			u.RawQuery += "&"
		}
		u.RawQuery += "reference=" + url.QueryEscape(p.Reference)
	}
	return u.String()
}

// Due is the amount that is still to be sent.
func (p payment) Due() json.Number { return p.RemainingAmount }

// Coins writes an amount as wallets take it, in every language.
func (p payment) Coins(n json.Number) string { return n.String() + " " + p.Crypto }

// Network is how people call the payment's network.
func (p payment) Network() string { return networkTitle(p.NetworkName) }

// Network is how people call the choice's network.
func (c choice) Network() string { return networkTitle(c.NetworkName) }

// Early reports a network that usually calls a block final before the required confirmations.
func (p payment) Early() bool {
	n, _ := money.NetworkOf(p.NetworkName)
	return n.Finality
}

// networkTitle turns a name or alias into the name that wallets show.
func networkTitle(name string) string {
	if n, ok := money.NetworkOf(name); ok {
		return titles[n.Name]
	}
	return name
}

// titles are the networks as wallets name them, in every language.
var titles = map[string]string{
	"bitcoin": "Bitcoin", "ethereum": "Ethereum (ERC20)", "bsc": "BNB Smart Chain (BEP20)", "polygon": "Polygon", "base": "Base",
	"arbitrum": "Arbitrum One", "tron": "TRON (TRC20)", "solana": "Solana",
}
