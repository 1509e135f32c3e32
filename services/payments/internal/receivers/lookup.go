package receivers

import (
	"context"
	"errors"
	"strings"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/id"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/views"
)

type bankView struct {
	Code     string         `json:"code"`
	Name     string         `json:"name"`
	Currency money.Currency `json:"currency"`
}

type banksAnswer struct {
	Success bool       `json:"success"`
	Banks   []bankView `json:"banks"`
}

// Banks is the body of GET /v1/banks: the banks of one currency or all that a rail of the mode pays and that match a
// name (rail.Search). Without a mode they are those of live mode, where it is open.
func (a *Receivers) Banks(mode tenant.Mode, currency money.Currency, name string) ([]byte, error) {
	_, set, err := provider.Front(a.Providers, mode)
	if err != nil {
		return nil, err
	}
	currencies := money.Currencies()
	if currency != "" {
		currencies = []money.Currency{currency}
	}
	out := banksAnswer{Success: true, Banks: []bankView{}}
	for _, cur := range currencies {
		for _, b := range rail.Search(cur, set.Banks(cur), name) {
			out.Banks = append(out.Banks, bankView{b.Code, b.Name, cur})
		}
	}
	return views.Encode(out)
}

type verifiedAnswer struct {
	Success  bool         `json:"success"`
	Receiver verifiedView `json:"receiver"`
}

type verifiedView struct {
	AccountName   string          `json:"accountName"`
	AccountNumber string          `json:"accountNumber"`
	BankCode      string          `json:"bankCode"`
	BankName      string          `json:"bankName"`
	FiatCurrency  money.Currency  `json:"fiatCurrency"`
	NameVerified  bool            `json:"nameVerified"`
	CheckDigit    rail.CheckDigit `json:"checkDigit"` // advice: see rail.NUBAN
}

// Lookup is the decoded body of a look-up of an account, with its caller.
type Lookup struct {
	Owner     *tenant.Owner // nil without a key
	Receiver  payment.ReceiverInput
	Currency  string
	Reference string
}

// Refusals of a look-up.
var (
	errLookup = fault.New(fault.Unauthenticated, "reference_required",
		"Send an API key with the permission payment:create, or in `reference` the reference of a gift that can be claimed.")
	errLookups = fault.New(fault.RateLimited, "rate_limited", "Too many accounts were looked up for this payment. Try again later.")
)

// VerifyReceiver is the body of POST /v1/payments/verify-receiver: the holder of an account, as a claim would find it.
// Without a currency the bank's code decides, else NGN. A payment's reference gives mode and currency instead. A caller
// without a key must send one, and every refusal of it is the same.
func (a *Receivers) VerifyReceiver(ctx context.Context, l Lookup, problems *fault.Problems) ([]byte, error) {
	in, currency := l.Receiver, l.Currency
	mode, cur := tenant.Mode(""), money.Currency(currency)
	if l.Owner != nil {
		mode = l.Owner.Mode
	}
	var asking payment.Payment
	if l.Owner == nil || l.Reference != "" {
		var err error
		if asking, err = a.asking(ctx, l); err != nil {
			return nil, err
		}
		mode, cur = asking.Mode, asking.Currency
	}
	set, open := a.Providers[mode]
	if !open {
		return nil, change.ErrLiveDisabled
	}
	switch {
	case asking.ID != "":
	case currency == "":
		cur = currencyOf(mode, set, in.BankCode)
	case !cur.Valid():
		problems.Add("fiatCurrency", "must be one of NGN, GHS, KES, ZAR")
	}
	var nested fault.Problems
	r := payment.CheckReceiver(&in, mode, cur, &nested)
	flatten(problems, nested.Err())
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := KnownBank(mode, set, payment.Payment{Currency: cur, Receiver: r}); err != nil {
		flatten(problems, err)
		return nil, problems.Err()
	}
	if l.Owner == nil {
		if wait := a.lookups.take(asking.ID); wait > 0 {
			return nil, errLookups.After(wait)
		}
	}
	named, ok, err := a.Complete(ctx, mode, cur, r)
	switch {
	case errors.Is(err, rail.ErrNotFound):
		flatten(problems, AccountNotFound())
		return nil, problems.Err()
	case err != nil:
		return nil, err
	case !ok:
		return nil, errNameDown
	}
	return views.Encode(verifiedAnswer{true, verifiedView{
		named.AccountName, named.AccountNumber, named.BankCode, named.BankName, cur, named.NameVerified,
		rail.NUBAN(cur, named.BankCode, named.AccountNumber),
	}})
}

// asking is the payment of a look-up: one of the merchant's, or without a key a gift that can be claimed. No other
// payment takes an account from a caller without a key, and anybody can make payments of a link.
func (a *Receivers) asking(ctx context.Context, l Lookup) (payment.Payment, error) {
	if l.Owner != nil {
		if !id.IsPaymentReference(l.Reference) {
			return payment.Payment{}, change.ErrNotFound
		}
		v, err := a.Find(ctx, *l.Owner, l.Reference)
		return v.Payment, err
	}
	v, _, _, err := a.Access.Open(ctx, l.Reference, idempotency.Key{})
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.NotFound {
		return payment.Payment{}, errLookup
	}
	if err == nil && (v.Payment.Type != payment.Gift || change.Refuses(a.Policy, v.Payment, payment.ClaimGift{}, a.Now())) {
		err = errLookup
	}
	return v.Payment, err
}

// flatten adds the problems of a receiver for a body whose fields are not nested.
func flatten(into *fault.Problems, err error) {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		for _, field := range f.Fields {
			into.Add(strings.TrimPrefix(field.Field, "receiver."), "%s", field.Message)
		}
	}
}

// currencyOf is the only currency that has the bank code, NGN when none or several have it. Test mode pays any code.
func currencyOf(mode tenant.Mode, set provider.Set, code string) money.Currency {
	var found []money.Currency
	for _, cur := range money.Currencies() {
		_, known := rail.BankName(cur, code)
		if _, paid := set.Paying(cur, code); known || mode == tenant.Live && paid {
			found = append(found, cur)
		}
	}
	if len(found) == 1 {
		return found[0]
	}
	return money.NGN
}
