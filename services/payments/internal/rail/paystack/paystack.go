// Package paystack pays out over Paystack: banks in Nigeria, Ghana, Kenya and South Africa, mobile money in Ghana and
// Kenya. A Paystack business has one country, so each currency has its own secret key. Amounts are whole subunits.
// docs/rails.md says what each answer means.
package paystack

import (
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/config"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/remote"
)

// Name is the rail's name in configuration, ledger accounts and payout rows.
const Name = "paystack"

// Base is Paystack's address.
const Base = "https://api.paystack.co"

// Bounds.
const (
	patience       = 12 * time.Second
	timeout        = patience
	bodyMost       = 4 << 20
	recipientsMost = 10_000
	pagesMost      = 20
	subunits       = 2
	refMin         = 16
	refMax         = 50
)

// Options of the rail.
type Options struct {
	Base   string
	Keys   map[money.Currency]config.Secret // a currency without a key is not paid
	Limits map[money.Currency]rail.CurrencyCaps
	Now    func() time.Time
}

// Rail is Paystack. It is safe for concurrent use.
type Rail struct {
	clients map[money.Currency]*remote.Client
	keys    [][]byte
	caps    rail.Caps
	book    *rail.Book

	mu         sync.Mutex
	recipients map[recipientKey]string
}

type recipientKey struct {
	cur                 money.Currency
	kind, bank, account string
}

var _ rail.Lister = (*Rail)(nil)

// New makes the rail.
func New(o Options) (*Rail, error) {
	r := &Rail{
		clients: map[money.Currency]*remote.Client{}, recipients: map[recipientKey]string{},
		caps: rail.Caps{Currencies: map[money.Currency]rail.CurrencyCaps{}, RefMin: refMin, RefMax: refMax, Patience: patience},
	}
	r.book = &rail.Book{Fetch: r.ReadBanks, Opens: opens, Pays: func(e rail.Entry) bool { return r.clients[e.Currency] != nil }, Now: o.Now}
	for _, cur := range money.Currencies() {
		key := o.Keys[cur].Reveal()
		if key == "" {
			continue
		}
		client, err := remote.New(remote.Options{
			Base: o.Base, Timeout: timeout, Most: bodyMost, Header: http.Header{"Authorization": {"Bearer " + key}},
		})
		if err != nil {
			return nil, err
		}
		r.clients[cur], r.keys = client, append(r.keys, []byte(key))
		caps := o.Limits[cur]
		caps.Resolves, caps.Whole = cur == money.NGN || cur == money.GHS, cur == money.KES
		r.caps.Currencies[cur] = caps
	}
	if len(r.clients) == 0 {
		return nil, errors.New("no currency has a secret key")
	}
	return r, nil
}

// Name is "paystack".
func (*Rail) Name() string { return Name }

// Caps are the currencies that have a key.
func (r *Rail) Caps() rail.Caps { return r.caps }

// Pays reports whether the currency has a key and Paystack lists the bank.
func (r *Rail) Pays(cur money.Currency, bankCode string) bool {
	return r.clients[cur] != nil && r.book.Takes(cur, bankCode)
}

// Banks lists the banks of a currency that has a key.
func (r *Rail) Banks(cur money.Currency) []rail.Bank {
	if r.clients[cur] == nil {
		return nil
	}
	return r.book.Banks(cur)
}

// KeepBanks makes the rail use a list.
func (r *Rail) KeepBanks(cur money.Currency, l rail.List) { r.book.Keep(cur, l) }

// kinds are Paystack's types of accounts at banks. Those of mobile money have codes of their own (rail.Entry).
var kinds = []string{"nuban", "ghipss", "kepss", "basa"}

func opens(_ money.Currency, l rail.Listed) bool { return slices.Contains(kinds, l.Kind) }

// envelope wraps every answer.
type envelope struct {
	Status  bool            `json:"status"`
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    string          `json:"code"`
	Data    json.RawMessage `json:"data"`
	Meta    struct {
		Next *string `json:"next"`
	} `json:"meta"`
}

var errUnreadable = errors.New("unreadable answer")

func open(a remote.Answer) (envelope, error) {
	var e envelope
	if json.Unmarshal(a.Body, &e) != nil {
		return e, errUnreadable
	}
	return e, nil
}

// ReadBanks reads Paystack's list of a currency.
func (r *Rail) ReadBanks(ctx context.Context, cur money.Currency) ([]rail.Listed, error) {
	client := r.clients[cur]
	if client == nil {
		return nil, rail.ErrUnsupported
	}
	var out []rail.Listed
	query := url.Values{"currency": {string(cur)}, "perPage": {"100"}, "use_cursor": {"true"}}
	for range pagesMost {
		a, err := client.Get(ctx, "/bank", query)
		if err != nil {
			return nil, err
		}
		e, err := open(a)
		var rows []struct {
			Name    string `json:"name"`
			Code    string `json:"code"`
			Type    string `json:"type"`
			Active  bool   `json:"active"`
			Deleted bool   `json:"is_deleted"`
		}
		if err != nil || !a.OK() || !e.Status || json.Unmarshal(e.Data, &rows) != nil {
			return nil, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
		}
		for _, b := range rows {
			if b.Active && !b.Deleted {
				kind := strings.Replace(b.Type, "ghipps", "ghipss", 1) // filter and recipient spell it differently
				out = append(out, rail.Listed{Code: b.Code, Name: b.Name, Kind: kind})
			}
		}
		if e.Meta.Next == nil || *e.Meta.Next == "" {
			return out, nil
		}
		query.Set("next", *e.Meta.Next)
	}
	return nil, fmt.Errorf("%w: the list of banks has more than %d pages", rail.ErrUnavailable, pagesMost)
}

// place is the destination of an order: Paystack's type of account, bank code and number.
func (r *Rail) place(ctx context.Context, cur money.Currency, bankCode, account string) (recipientKey, error) {
	e, ok := r.book.Entry(cur, bankCode)
	if !ok || r.clients[cur] == nil {
		return recipientKey{}, rail.ErrUnsupported
	}
	if e.Wallet {
		local, _, ok := rail.Phone(cur, account)
		code, known := e.Own(Name)
		if !ok || !known {
			return recipientKey{}, fmt.Errorf("not a phone number of the country: %w", rail.ErrNotFound)
		}
		return recipientKey{cur, "mobile_money", code, local}, nil
	}
	l, err := r.book.Find(ctx, e)
	return recipientKey{cur, l.Kind, l.Code, account}, err
}

// Resolve returns the name of an account in Nigeria and Ghana. Kenya and South Africa have no names.
func (r *Rail) Resolve(ctx context.Context, cur money.Currency, bankCode, account string) (rail.Account, error) {
	e, _ := r.book.Entry(cur, bankCode)
	found := rail.Account{BankName: e.Name, Number: account}
	if !r.caps.Currencies[cur].Resolves {
		return found, rail.ErrUnsupported
	}
	p, err := r.place(ctx, cur, bankCode, account)
	if err != nil {
		return found, err
	}
	a, err := r.clients[cur].Get(ctx, "/bank/resolve", url.Values{"account_number": {p.account}, "bank_code": {p.bank}})
	if err != nil {
		return found, fmt.Errorf("%w: %w", rail.ErrUnavailable, err)
	}
	opened, err := open(a)
	var data struct {
		Name string `json:"account_name"`
	}
	switch {
	case err != nil:
		return found, fmt.Errorf("%w: %w", rail.ErrUnavailable, err)
	case a.OK() && opened.Status && json.Unmarshal(opened.Data, &data) == nil && data.Name != "":
		found.Name, found.Verified = data.Name, true
		return found, nil
	case a.Status == http.StatusBadRequest, a.Status == http.StatusNotFound, a.Status == http.StatusUnprocessableEntity:
		return found, rail.ErrNotFound
	}
	return found, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
}

// recipient creates or finds Paystack's record of an account. No order is sent without one.
func (r *Rail) recipient(ctx context.Context, p recipientKey, name string) (string, error) {
	r.mu.Lock()
	code := r.recipients[p]
	r.mu.Unlock()
	if code != "" {
		return code, nil
	}
	a, err := r.clients[p.cur].Post(ctx, "/transferrecipient", map[string]string{
		"type": p.kind, "name": name, "account_number": p.account, "bank_code": p.bank, "currency": string(p.cur),
	})
	if err != nil {
		return "", fmt.Errorf("recipient: %w: %w", rail.ErrNotSent, err)
	}
	e, err := open(a)
	var data struct {
		Code string `json:"recipient_code"`
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("recipient: %w: %w", rail.ErrNotSent, err)
	case a.Status == http.StatusBadRequest, a.Status == http.StatusUnprocessableEntity:
		return "", refusal{rail.ErrRefused, e.Message}
	case !a.OK() || !e.Status || json.Unmarshal(e.Data, &data) != nil || data.Code == "":
		return "", fmt.Errorf("recipient: %w: status %d", rail.ErrNotSent, a.Status)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.recipients) >= recipientsMost {
		clear(r.recipients) // Paystack returns the same record again for the same account
	}
	r.recipients[p] = data.Code
	return data.Code, nil
}

// refusal is a definite refusal with Paystack's reason.
type refusal struct {
	kind   error
	reason string
}

func (e refusal) Error() string { return e.kind.Error() }
func (e refusal) Unwrap() error { return e.kind }

// transfer is Paystack's answer about one transfer.
type transfer struct {
	Reference string         `json:"reference"`
	Code      string         `json:"transfer_code"`
	Amount    money.Number   `json:"amount"`
	Currency  money.Currency `json:"currency"`
	Status    string         `json:"status"`
	Fee       *money.Number  `json:"fee_charged"`
	Gateway   string         `json:"gateway_response"`
}

// states maps Paystack's statuses. Any other status is unreadable. "reversed" may come without a "success" before it:
// the amount was returned, and no receiver was paid.
var states = map[string]rail.State{
	"pending": rail.Pending, "processing": rail.Pending, "queued": rail.Pending, "received": rail.ActionRequired, "otp": rail.ActionRequired,
	"success": rail.Succeeded, "failed": rail.Failed, "abandoned": rail.Failed, "blocked": rail.Failed, "rejected": rail.Failed,
	"reversed": rail.Returned,
}

func (t transfer) status() (rail.Status, error) {
	state, ok := states[t.Status]
	if !ok {
		return rail.Status{}, fmt.Errorf("%w: status %q", errUnreadable, t.Status)
	}
	s := rail.Status{
		Ref: t.Reference, State: state, Amount: t.Amount.Shift(-subunits), Currency: t.Currency, RailID: t.Code, Reason: t.Gateway,
	}
	if t.Fee != nil {
		s.Fee = t.Fee.Shift(-subunits)
	}
	return s, nil
}

// Send creates the recipient and then the transfer. After the first byte of the transfer, only a definite refusal
// counts as refused.
func (r *Rail) Send(ctx context.Context, o rail.Order) (rail.Status, error) {
	p, err := r.place(ctx, o.Currency, o.BankCode, o.AccountNumber)
	switch {
	case errors.Is(err, rail.ErrUnsupported), errors.Is(err, rail.ErrNotFound):
		return rail.Status{Reason: "Paystack does not reach the account"}, fmt.Errorf("%w: %w", rail.ErrRefused, err)
	case err != nil:
		return rail.Status{}, fmt.Errorf("%w: %w", rail.ErrNotSent, err)
	}
	amount := o.Amount.Shift(subunits)
	if !amount.IsInteger() || !amount.IsPositive() {
		return rail.Status{Reason: "the amount is no whole number of subunits"}, rail.ErrRefused
	}
	code, err := r.recipient(ctx, p, rail.Label(o))
	if err != nil {
		return refused(err)
	}
	a, err := r.clients[o.Currency].Post(ctx, "/transfer", map[string]any{
		"source": "balance", "amount": money.N(amount), "recipient": code, "reference": o.Ref, "reason": o.Narration, "currency": o.Currency,
	})
	if err != nil {
		return rail.Status{}, err
	}
	s, err := judged(a)
	return s, err
}

func refused(err error) (rail.Status, error) {
	if why, ok := errors.AsType[refusal](err); ok {
		return rail.Status{Reason: why.reason}, err
	}
	return rail.Status{}, err
}

// judged translates the answer to an order (R3, R4). The HTTP status alone decides nothing: several statuses answer a
// duplicate reference.
func judged(a remote.Answer) (rail.Status, error) {
	e, err := open(a)
	if err != nil {
		return rail.Status{}, err
	}
	if a.OK() {
		var t transfer
		if !e.Status || json.Unmarshal(e.Data, &t) != nil {
			return rail.Status{}, errUnreadable
		}
		return t.status()
	}
	text := strings.ToLower(e.Message + " " + e.Code)
	switch {
	case strings.Contains(text, "duplicate"), strings.Contains(text, "reference"):
		return rail.Status{}, rail.ErrDuplicate
	case a.Status == http.StatusUnauthorized:
		return rail.Status{}, fmt.Errorf("%w: %s", rail.ErrNotSent, "the key is refused")
	case a.Status != http.StatusBadRequest && a.Status != http.StatusUnprocessableEntity:
		return rail.Status{}, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
	case strings.Contains(text, "balance is not enough"), strings.Contains(text, "insufficient"):
		return rail.Status{Reason: e.Message}, rail.ErrNoFunds
	}
	return rail.Status{Reason: e.Message}, rail.ErrRefused
}

// Query reads the status of a reference.
func (r *Rail) Query(ctx context.Context, cur money.Currency, ref string) (rail.Status, error) {
	client := r.clients[cur]
	if client == nil {
		return rail.Status{}, rail.ErrUnavailable // the key may be configured again
	}
	a, err := client.Get(ctx, "/transfer/verify/"+url.PathEscape(ref), nil)
	if err != nil {
		return rail.Status{}, err
	}
	e, err := open(a)
	var t transfer
	switch {
	case err != nil:
		return rail.Status{}, err
	case a.OK() && e.Status && json.Unmarshal(e.Data, &t) == nil:
		return t.status()
	case a.Status == http.StatusNotFound && !e.Status && strings.Contains(strings.ToLower(e.Message), "not found"):
		return rail.Status{}, rail.ErrNoSuchRef
	}
	return rail.Status{}, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
}

// Balance is Causeway's float in a currency.
func (r *Rail) Balance(ctx context.Context, cur money.Currency) (decimal.Decimal, error) {
	client := r.clients[cur]
	if client == nil {
		return decimal.Zero, rail.ErrUnsupported
	}
	a, err := client.Get(ctx, "/balance", nil)
	if err != nil {
		return decimal.Zero, err
	}
	e, err := open(a)
	var rows []struct {
		Currency money.Currency `json:"currency"`
		Balance  money.Number   `json:"balance"`
	}
	if err != nil || !a.OK() || !e.Status || json.Unmarshal(e.Data, &rows) != nil {
		return decimal.Zero, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
	}
	for _, b := range rows {
		if b.Currency == cur {
			return b.Balance.Shift(-subunits), nil
		}
	}
	return decimal.Zero, fmt.Errorf("%w: no balance in %s", rail.ErrUnavailable, cur)
}

// ParseWebhook checks x-paystack-signature, the hex HMAC-SHA512 of the raw body under the secret key of any currency.
func (r *Rail) ParseWebhook(h http.Header, raw []byte) (rail.Event, error) {
	given, err := hex.DecodeString(h.Get("x-paystack-signature"))
	if err != nil {
		return rail.Event{}, rail.ErrForged
	}
	signed := false
	for _, key := range r.keys { // every key, so that the duration reveals nothing
		mac := hmac.New(sha512.New, key)
		mac.Write(raw)
		signed = hmac.Equal(mac.Sum(nil), given) || signed
	}
	if !signed {
		return rail.Event{}, rail.ErrForged
	}
	var body struct {
		Event string `json:"event"`
		Data  struct {
			Reference string `json:"reference"`
			Status    string `json:"status"`
		} `json:"data"`
	}
	if json.Unmarshal(raw, &body) != nil || !strings.HasPrefix(body.Event, "transfer.") || !rail.IsReference(body.Data.Reference) {
		return rail.Event{}, rail.ErrNoHint
	}
	return rail.Event{Ref: body.Data.Reference, Raw: states[body.Data.Status]}, nil
}
