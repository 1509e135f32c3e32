// Package flutterwave pays out over Flutterwave v3: banks in Nigeria and Ghana, mobile money in Ghana and Kenya, from
// one account. It pays no banks in Kenya, which require the payer's identity papers, and none in South Africa, which
// require the receiver's name, e-mail, phone and address: Causeway has neither. Amounts are in major units.
// docs/rails.md says what each answer means.
package flutterwave

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
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
const Name = "flutterwave"

// Base is Flutterwave's address.
const Base = "https://api.flutterwave.com/v3"

// Bounds. Flutterwave's own gateway gives up after 28 s.
const (
	timeout  = 30 * time.Second
	bodyMost = 4 << 20
	refMin   = 5
	refMax   = 50
)

var countries = map[money.Currency]string{money.NGN: "NG", money.GHS: "GH", money.KES: "KE"}

// Options of the rail.
type Options struct {
	Base   string
	Key    config.Secret
	Hash   config.Secret // the "secret hash" of the dashboard, which each webhook contains
	Limits map[money.Currency]rail.CurrencyCaps
	Now    func() time.Time
}

// Rail is Flutterwave. It is safe for concurrent use.
type Rail struct {
	client *remote.Client
	hash   [32]byte
	caps   rail.Caps
	book   *rail.Book

	mu       sync.Mutex
	branches map[string]string // of a bank's id
}

var _ rail.Lister = (*Rail)(nil)

// New makes the rail.
func New(o Options) (*Rail, error) {
	if o.Key.Reveal() == "" || o.Hash.Reveal() == "" {
		return nil, errors.New("secret key or webhook hash is missing")
	}
	client, err := remote.New(remote.Options{
		Base: o.Base, Timeout: timeout, Most: bodyMost, Header: http.Header{"Authorization": {"Bearer " + o.Key.Reveal()}},
	})
	if err != nil {
		return nil, err
	}
	r := &Rail{
		client: client, hash: sha256.Sum256([]byte(o.Hash.Reveal())), branches: map[string]string{},
		caps: rail.Caps{Currencies: map[money.Currency]rail.CurrencyCaps{}, RefMin: refMin, RefMax: refMax, Patience: timeout},
	}
	r.book = &rail.Book{Fetch: r.ReadBanks, Opens: opens, Pays: pays, Now: o.Now}
	for cur := range countries {
		caps := o.Limits[cur]
		caps.Resolves, caps.Whole = cur == money.NGN, cur == money.KES
		r.caps.Currencies[cur] = caps
	}
	return r, nil
}

// Name is "flutterwave".
func (*Rail) Name() string { return Name }

// Caps are NGN, GHS and KES.
func (r *Rail) Caps() rail.Caps { return r.caps }

// pays reports whether an institution requires no data that Causeway lacks.
func pays(e rail.Entry) bool {
	return countries[e.Currency] != "" && (e.Wallet || e.Currency != money.KES)
}

// opens reports whether a bank that the table does not have is paid. Only banks of Ghana have such codes there; the
// others are mobile money.
func opens(cur money.Currency, l rail.Listed) bool {
	return cur == money.NGN || cur == money.GHS && strings.HasPrefix(l.Code, "GH")
}

// Pays reports whether Flutterwave lists the bank and requires no data that Causeway lacks.
func (r *Rail) Pays(cur money.Currency, bankCode string) bool {
	return countries[cur] != "" && r.book.Takes(cur, bankCode)
}

// Banks lists the banks that are paid.
func (r *Rail) Banks(cur money.Currency) []rail.Bank {
	if countries[cur] == "" {
		return nil
	}
	return r.book.Banks(cur)
}

// KeepBanks makes the rail use a list.
func (r *Rail) KeepBanks(cur money.Currency, l rail.List) { r.book.Keep(cur, l) }

// envelope wraps every answer.
type envelope struct {
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

var errUnreadable = errors.New("unreadable answer")

// read opens an answer. ok is false for an error of Flutterwave. An answer that does not come from Flutterwave, such as
// a proxy's page, is an error.
func read(a remote.Answer, data any) (e envelope, ok bool, err error) {
	if json.Unmarshal(a.Body, &e) != nil || (e.Status != "success" && e.Status != "error") {
		return e, false, fmt.Errorf("%w: status %d", errUnreadable, a.Status)
	}
	if !a.OK() || e.Status != "success" {
		return e, false, nil
	}
	if json.Unmarshal(e.Data, data) != nil {
		return e, false, errUnreadable
	}
	return e, true, nil
}

// ReadBanks reads Flutterwave's list of a currency.
func (r *Rail) ReadBanks(ctx context.Context, cur money.Currency) ([]rail.Listed, error) {
	if countries[cur] == "" {
		return nil, rail.ErrUnsupported
	}
	a, err := r.client.Get(ctx, "/banks/"+countries[cur], nil)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ID   json.Number `json:"id"`
		Code string      `json:"code"`
		Name string      `json:"name"`
	}
	if _, ok, err := read(a, &rows); err != nil || !ok {
		return nil, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
	}
	out := make([]rail.Listed, 0, len(rows))
	for _, b := range rows {
		out = append(out, rail.Listed{ID: b.ID.String(), Code: b.Code, Name: b.Name})
	}
	return out, nil
}

// branch is the first branch of a Ghanaian bank. Flutterwave requires a branch, although the account number suffices.
func (r *Rail) branch(ctx context.Context, bankID string) (string, error) {
	r.mu.Lock()
	code := r.branches[bankID]
	r.mu.Unlock()
	if code != "" {
		return code, nil
	}
	a, err := r.client.Get(ctx, "/banks/"+url.PathEscape(bankID)+"/branches", nil)
	if err != nil {
		return "", err
	}
	var rows []struct {
		Code string `json:"branch_code"`
	}
	if _, ok, err := read(a, &rows); err != nil || !ok || len(rows) == 0 || rows[0].Code == "" {
		return "", fmt.Errorf("%w: no branches", rail.ErrUnavailable)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.branches[bankID] = rows[0].Code
	return rows[0].Code, nil
}

// place is the destination of an order.
type place struct{ bank, account, branch string }

func (r *Rail) place(ctx context.Context, cur money.Currency, bankCode, account string) (place, error) {
	e, ok := r.book.Entry(cur, bankCode)
	if !ok || countries[cur] == "" {
		return place{}, rail.ErrUnsupported
	}
	if e.Wallet {
		_, international, ok := rail.Phone(cur, account)
		code, known := e.Own(Name)
		if !ok || !known {
			return place{}, fmt.Errorf("not a phone number of the country: %w", rail.ErrNotFound)
		}
		return place{bank: code, account: international}, nil
	}
	l, err := r.book.Find(ctx, e)
	if err != nil {
		return place{}, err
	}
	p := place{bank: l.Code, account: account}
	if cur == money.GHS {
		p.branch, err = r.branch(ctx, l.ID)
	}
	return p, err
}

// Resolve returns the name of an account in Nigeria. For Ghana the documents contradict each other, and Kenya has no
// names.
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
	a, err := r.client.Post(ctx, "/accounts/resolve", map[string]string{"account_number": p.account, "account_bank": p.bank})
	if err != nil {
		return found, fmt.Errorf("%w: %w", rail.ErrUnavailable, err)
	}
	var data struct {
		Name string `json:"account_name"`
	}
	_, ok, err := read(a, &data)
	switch {
	case err != nil:
		return found, fmt.Errorf("%w: %w", rail.ErrUnavailable, err)
	case ok && data.Name != "":
		found.Name, found.Verified = data.Name, true
		return found, nil
	case a.Status == http.StatusBadRequest, a.Status == http.StatusNotFound, a.Status == http.StatusUnprocessableEntity:
		return found, rail.ErrNotFound
	}
	return found, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
}

// transfer is Flutterwave's answer about one transfer.
type transfer struct {
	ID        json.Number    `json:"id"`
	Reference string         `json:"reference"`
	Amount    money.Number   `json:"amount"`
	Currency  money.Currency `json:"currency"`
	Status    string         `json:"status"`
	Fee       money.Number   `json:"fee"`
	Complete  string         `json:"complete_message"`
}

// states maps Flutterwave's statuses. Any other status is unreadable: version 3 documents no status for returned money.
var states = map[string]rail.State{
	"NEW": rail.Pending, "PENDING": rail.Pending, "SUCCESSFUL": rail.Succeeded, "FAILED": rail.Failed,
}

func (t transfer) status() (rail.Status, error) {
	state, ok := states[t.Status]
	if !ok {
		return rail.Status{}, fmt.Errorf("%w: status %q", errUnreadable, t.Status)
	}
	return rail.Status{
		Ref: t.Reference, State: state, Amount: t.Amount.Decimal, Currency: t.Currency, RailID: t.ID.String(), Reason: t.Complete, Fee: t.Fee.Decimal,
	}, nil
}

// Send makes the transfer. It looks up the destination before it sends the order.
func (r *Rail) Send(ctx context.Context, o rail.Order) (rail.Status, error) {
	p, err := r.place(ctx, o.Currency, o.BankCode, o.AccountNumber)
	switch {
	case errors.Is(err, rail.ErrUnsupported), errors.Is(err, rail.ErrNotFound):
		return rail.Status{Reason: "Flutterwave does not reach the account"}, fmt.Errorf("%w: %w", rail.ErrRefused, err)
	case err != nil:
		return rail.Status{}, fmt.Errorf("%w: %w", rail.ErrNotSent, err)
	}
	body := map[string]any{
		"account_bank": p.bank, "account_number": p.account, "amount": money.N(o.Amount), "currency": o.Currency, "debit_currency": o.Currency,
		"narration": o.Narration, "reference": o.Ref, "beneficiary_name": rail.Label(o),
	}
	if p.branch != "" {
		body["destination_branch_code"] = p.branch
	}
	a, err := r.client.Post(ctx, "/transfers", body)
	if err != nil {
		return rail.Status{}, err
	}
	return judged(a)
}

// judged translates the answer to an order (R3, R4).
func judged(a remote.Answer) (rail.Status, error) {
	var t transfer
	e, ok, err := read(a, &t)
	if err != nil {
		return rail.Status{}, err
	}
	if ok {
		return t.status()
	}
	text := strings.ToLower(e.Message)
	switch {
	case strings.Contains(text, "duplicate"), strings.Contains(text, "reference"):
		return rail.Status{}, rail.ErrDuplicate
	case a.Status == http.StatusUnauthorized:
		return rail.Status{}, fmt.Errorf("%w: the key is refused", rail.ErrNotSent)
	case a.Status != http.StatusBadRequest && a.Status != http.StatusUnprocessableEntity:
		return rail.Status{}, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
	case strings.Contains(text, "insufficient"), strings.Contains(text, "balance"):
		return rail.Status{Reason: e.Message}, rail.ErrNoFunds
	}
	return rail.Status{Reason: e.Message}, rail.ErrRefused
}

// Query reads the status of a reference. Only an empty list means that the rail has no such transfer. Rows of other
// references mean that the filter was ignored, and prove nothing.
func (r *Rail) Query(ctx context.Context, _ money.Currency, ref string) (rail.Status, error) {
	a, err := r.client.Get(ctx, "/transfers", url.Values{"reference": {ref}})
	if err != nil {
		return rail.Status{}, err
	}
	var rows []transfer
	_, ok, err := read(a, &rows)
	switch {
	case err != nil:
		return rail.Status{}, err
	case !ok || rows == nil:
		return rail.Status{}, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
	case len(rows) == 0:
		return rail.Status{}, rail.ErrNoSuchRef
	}
	var found []transfer
	for _, t := range rows {
		if t.Reference == ref {
			found = append(found, t)
		}
	}
	if len(found) != 1 {
		return rail.Status{}, fmt.Errorf("%w: %d of %d transfers have the reference", errUnreadable, len(found), len(rows))
	}
	return found[0].status()
}

// Balance is Causeway's float in a currency.
func (r *Rail) Balance(ctx context.Context, cur money.Currency) (decimal.Decimal, error) {
	a, err := r.client.Get(ctx, "/balances/"+string(cur), nil)
	if err != nil {
		return decimal.Zero, err
	}
	var data struct {
		Available *money.Number `json:"available_balance"`
	}
	if _, ok, err := read(a, &data); err != nil || !ok || data.Available == nil {
		return decimal.Zero, fmt.Errorf("%w: status %d", rail.ErrUnavailable, a.Status)
	}
	return data.Available.Decimal, nil
}

// ParseWebhook compares verif-hash with the secret hash. The body is not signed, so it is only a hint.
func (r *Rail) ParseWebhook(h http.Header, raw []byte) (rail.Event, error) {
	given := sha256.Sum256([]byte(h.Get("verif-hash")))
	if subtle.ConstantTimeCompare(given[:], r.hash[:]) != 1 {
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
