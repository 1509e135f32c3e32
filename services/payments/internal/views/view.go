// Package views shows payments to merchants, in answers, events, lists and reports.
package views

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

// Renderer turns payments into the JSON that merchants see. The same code makes the answer of GET and the webhook body,
// so that both show the same.
type Renderer struct {
	PublicURL string // base URL of the pages, without a trailing slash
}

type charge struct {
	Fiat   json.Number `json:"fiat"`
	Crypto json.Number `json:"crypto"`
	USD    json.Number `json:"usd"`
}

// Created is the payment in the answer to a create, exactly the fields of docs/api-contract.md#answers. The fields
// with omitempty are absent on an unfulfilled request, id on everything else.
type Created struct {
	ID             string       `json:"id,omitempty"`
	Reference      string       `json:"reference"`
	Type           payment.Type `json:"type,omitempty"`
	Status         string       `json:"status"`
	DepositAddress string       `json:"depositAddress,omitempty"`
	CryptoAmount   json.Number  `json:"cryptoAmount,omitempty"`
	Crypto         string       `json:"crypto,omitempty"`
	Network        string       `json:"network,omitempty"`
	FiatAmount     json.Number  `json:"fiatAmount"`
	FiatCurrency   string       `json:"fiatCurrency"`
	TransactionUSD json.Number  `json:"transactionUsd,omitempty"`
	Rate           json.Number  `json:"rate,omitempty"`
	Charge         *charge      `json:"charge,omitempty"`
	ExpiresAt      string       `json:"expiresAt,omitempty"`
}

func createdOf(p payment.Payment) Created {
	c := Created{
		Reference: p.Reference, Type: p.Type, Status: string(p.Status()),
		FiatAmount: money.Text(p.FiatAmount), FiatCurrency: string(p.Currency),
	}
	q := p.Quote
	if !q.Priced() {
		c.ID = p.ID
		return c
	}
	c.DepositAddress, c.Crypto, c.Network = p.Address, q.Crypto, p.NetworkName
	taken := p.Charge()
	c.CryptoAmount, c.TransactionUSD, c.Rate = money.Text(q.CryptoAmount), money.Text(q.TransactionUSD), money.Text(p.Rate())
	c.Charge = &charge{money.Text(taken.Fiat), money.Text(taken.Crypto), money.Text(taken.USD)}
	c.ExpiresAt = timestamp.Text(p.ExpiresAt)
	return c
}

type receiver struct {
	AccountName   string `json:"accountName"`
	AccountNumber string `json:"accountNumber"`
	BankName      string `json:"bankName"`
	NameVerified  bool   `json:"nameVerified"`
}

type transfer struct {
	TxHash        string      `json:"txHash"`
	Amount        json.Number `json:"amount"`
	Confirmations int64       `json:"confirmations"`
	FirstSeenAt   string      `json:"firstSeenAt"`
}

type PayoutView struct {
	ID        string      `json:"id"`
	Status    string      `json:"status"`
	Amount    json.Number `json:"amount"`
	Currency  string      `json:"currency"`
	Reference string      `json:"reference"`
}

func PayoutViewOf(o payout.Payout) PayoutView {
	return PayoutView{o.ID, string(o.State), money.Text(o.Amount), string(o.Currency), o.Reference}
}

// Shown is the payment as GET and events show it (docs/api-contract.md#reading-a-payment).
type Shown struct {
	Created
	// Token precedes every text that a merchant chose, because the dispatcher replaces the first match
	// (wire.TokenMask).
	Token          string      `json:"settlementToken,omitempty"`
	TxHash         string      `json:"txHash"`
	Confirmations  int64       `json:"confirmations"`
	ReceivedAmount json.Number `json:"receivedAmount"`
	IgnoredAmount  json.Number `json:"ignoredAmount,omitempty"`
	ConfirmedAt    *string     `json:"confirmedAt"`
	SettledAt      *string     `json:"settledAt"`
	PayoutAmount   json.Number `json:"payoutAmount,omitempty"`
	FeeSchedule    string      `json:"feeScheduleId,omitempty"`
	BankRef        string      `json:"bankRef,omitempty"`
	SettlementRef  string      `json:"settlementReference,omitempty"`
	Shop
	Exception *payment.Exception  `json:"exception"`
	CreatedAt string              `json:"createdAt"`
	Metadata  json.RawMessage     `json:"metadata"`
	Transfers []transfer          `json:"transfers"`
	Receiver  *receiver           `json:"receiver,omitempty"`
	Payout    *PayoutView         `json:"payout,omitempty"`
	Refunds   []RefundView        `json:"refunds"`
	Preferred *payment.Preference `json:"preferred,omitempty"`
	RefundAddress
	CheckoutURL string `json:"checkoutUrl,omitempty"`
	PaymentURI  string `json:"paymentUri,omitempty"`
	Sequence    int64  `json:"sequence,omitempty"`
}

// Shop is how a payment belongs to its merchant's shop, as the create said it.
type Shop struct {
	MerchantReference string `json:"merchantReference,omitempty"`
	Description       string `json:"description,omitempty"`
	Locale            string `json:"locale,omitempty"`
	ReturnURL         string `json:"returnUrl,omitempty"`
}

// RefundAddress is the address to which money of a payment goes back, and the one that its payer proposes instead.
type RefundAddress struct {
	Address   string `json:"refundAddress,omitempty"`
	HeldUntil string `json:"refundAddressHeldUntil,omitempty"`
	Proposed  string `json:"refundAddressProposed,omitempty"`
}

// RefundAddressOf is the refund address of a payment, as its merchant, its payer and operators see it.
func RefundAddressOf(p payment.Payment) RefundAddress {
	r := RefundAddress{Address: p.RefundAddress, Proposed: p.RefundAddressProposed}
	if !p.RefundAddressFrom.IsZero() {
		r.HeldUntil = timestamp.Text(p.RefundAddressFrom)
	}
	return r
}

func (r Renderer) ShownOf(v change.View) Shown {
	p := v.Payment
	s := Shown{
		Created: createdOf(p), ReceivedAmount: money.Text(p.Received), ConfirmedAt: timestamp.OrNull(p.ConfirmedAt), SettledAt: timestamp.OrNull(p.SettledAt),
		CreatedAt: timestamp.Text(p.CreatedAt), Metadata: json.RawMessage(p.Metadata), Transfers: []transfer{},
		BankRef: p.BankRef, SettlementRef: p.SettlementRef, Shop: Shop(p.Shop), RefundAddress: RefundAddressOf(p),
		Refunds: RefundsOf(v.Refunds),
	}
	s.ID, s.ExpiresAt = "", timestamp.Text(p.ExpiresAt)
	if p.Ignored.IsPositive() {
		s.IgnoredAmount = money.Text(p.Ignored)
	}
	if e := p.Exception(); e != payment.None {
		s.Exception = &e
	}
	if q := p.Quote; q.Priced() {
		s.PayoutAmount, s.PaymentURI, s.FeeSchedule = money.Text(p.PayoutAmount()), paymentURI(p), q.Fees.ID
	}
	if first, ok := p.Shown(v.Rows); ok {
		s.TxHash, s.Confirmations = first.TxHash, first.Confirmations(v.Heads[first.Network].Height)
	}
	for _, d := range v.Rows {
		if !d.Reverted {
			s.Transfers = append(s.Transfers, transfer{d.TxHash, money.Text(d.Amount), d.Confirmations(v.Heads[d.Network].Height), timestamp.Text(d.FirstSeenAt)})
		}
	}
	if p.Receiver.Known() {
		m := p.Receiver.Masked()
		s.Receiver = &receiver{m.AccountName, m.AccountNumber, m.BankName, m.NameVerified}
	}
	if o := v.Payout; o != nil {
		paid := PayoutViewOf(*o)
		s.Payout = &paid
	}
	if p.Type == payment.Request && p.Preferred != (payment.Preference{}) {
		preferred := p.Preferred // a copy, so that p does not escape to the heap
		s.Preferred = &preferred
	}
	s.CheckoutURL = r.page(p.Reference)
	return s
}

// paymentURI is the link that a wallet app opens: BIP-21 for bitcoin, EIP-681 for a network's own coin, Solana Pay for
// SOL and for tokens of solana. Wallets read links for tokens of other networks too differently for money to rest on
// them.
func paymentURI(p payment.Payment) string {
	n, ok := money.NetworkOf(p.Quote.Network)
	if !ok || p.Address == "" {
		return ""
	}
	asset, ok := n.Asset(p.Quote.Crypto)
	if !ok || !asset.Native && n.Family != money.Solana {
		return ""
	}
	amount := url.QueryEscape(money.Canonical(p.Quote.CryptoAmount))
	switch n.Family {
	case money.Bitcoin:
		return "bitcoin:" + p.Address + "?amount=" + amount
	case money.Solana:
		if !asset.Native {
			amount += "&spl-token=" + asset.Contract
		}
		return "solana:" + p.Address + "?amount=" + amount
	case money.EVM:
		return "ethereum:" + p.Address + "@" + strconv.FormatInt(n.ChainID, 10) + "?value=" + asset.ToUnits(p.Quote.CryptoAmount).Truncate(0).String()
	case money.Tron:
	}
	return ""
}

// Encode writes JSON without escaped HTML and without a trailing newline.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.Grow(1024)
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

type PaymentAnswer struct {
	Success bool `json:"success"`
	Payment any  `json:"payment"`
}

// Created is the body of the answer to a create.
func (r Renderer) Created(p payment.Payment) ([]byte, error) {
	return Encode(PaymentAnswer{true, createdOf(p)})
}

// Places are the headers of the answer to a create, whose body has no room for them: where the payment is read, and the
// page on which it is paid.
func (r Renderer) Places(answer []byte) map[string][]string {
	var made struct {
		Payment struct{ Reference string }
	}
	if err := json.Unmarshal(answer, &made); err != nil || made.Payment.Reference == "" {
		return nil // a refusal
	}
	h := map[string][]string{"Location": {"/v1/payments/" + made.Payment.Reference}}
	if page := r.page(made.Payment.Reference); page != "" {
		h["Link"] = []string{"<" + page + `>; rel="payment"`}
	}
	return h
}

// page is the address of the page on which a payment is paid, "" where none is configured.
func (r Renderer) page(reference string) string {
	if r.PublicURL == "" {
		return ""
	}
	return r.PublicURL + "/pay/" + reference
}

// Shown is the body of the answer to a GET.
func (r Renderer) Shown(v change.View) ([]byte, error) {
	return Encode(PaymentAnswer{true, r.ShownOf(v)})
}

// Answered is the change whose answer is the changed payment as GET shows it. v is the payment before the change.
func (r Renderer) Answered(v change.View, done change.Result) (change.Result, error) {
	v.Payment = done.Payment
	body, err := r.Shown(v)
	if err != nil {
		return change.Result{}, err
	}
	done.Answer = &idempotency.Answer{Status: change.StatusOK, Body: body}
	return done, nil
}

type eventBody struct {
	ID        string      `json:"id"`
	Type      string      `json:"type"`
	CreatedAt string      `json:"createdAt"`
	Mode      tenant.Mode `json:"mode"`
	Data      eventData   `json:"data"`
}

type eventData struct {
	Payment Shown `json:"payment"`
}

// EventBody is the webhook body of an event, byte for byte as it is signed and sent (docs/api-contract.md#webhooks).
func (r Renderer) EventBody(eventID, kind string, at time.Time, v change.View) ([]byte, error) {
	s := r.ShownOf(v)
	s.Sequence = v.Payment.Sequence
	if v.Token {
		s.Token = "***"
	}
	return Encode(eventBody{eventID, kind, timestamp.Text(at), v.Payment.Mode, eventData{s}})
}
