// Package admission decides whether money may come in or go out now: daily limits, the capacity of live mode, pauses of operators,
// networks whose scan has stopped, and the screening of addresses.
package admission

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// The kinds of subjects that have a daily limit.
const (
	LimitKey      = "key"
	LimitPayer    = "payer"
	LimitReceiver = "receiver"
)

// Daily are the limits in money of one day in UTC, by kind and currency. They bind live mode only; what is not named is
// not limited.
type Daily map[string]map[money.Currency]decimal.Decimal

// On reports whether anything is limited.
func (d Daily) On() bool {
	for _, limits := range d {
		if len(limits) > 0 {
			return true
		}
	}
	return false
}

// reservations are those of everybody whom a payment names, in the order in which they are locked. amount is what each counts.
func (d Daily) reservations(keys *keyring.Ring, p payment.Payment, amount decimal.Decimal) (out []change.Reservation) {
	if p.Mode != tenant.Live || !d.On() {
		return nil
	}
	who := map[string]string{LimitKey: strconv.FormatInt(p.KeyID, 10), LimitPayer: p.Payer.ChatID}
	if p.Receiver.Known() {
		who[LimitReceiver] = p.Receiver.BankCode + "/" + p.Receiver.AccountNumber
	}
	for _, kind := range []string{LimitKey, LimitPayer, LimitReceiver} {
		most, limited := d[kind][p.Currency]
		if limited && who[kind] != "" {
			out = append(out, change.Reservation{
				Kind: kind, Subject: keys.Blind(who[kind], "limit/"+kind+"/"+p.MerchantID), Currency: p.Currency, Amount: amount, Most: most,
			})
		}
	}
	return out
}

// Quoted are the reservations that a payment is made with: they count the quote.
func (d Daily) Quoted(keys *keyring.Ring, p payment.Payment) []change.Reservation {
	return d.reservations(keys, p, p.FiatAmount)
}

// Further are the reservations of those whom a change has named for the first time.
func (d Daily) Further(keys *keyring.Ring, before, after payment.Payment) []change.Reservation {
	return added(d.Quoted(keys, before), d.Quoted(keys, after))
}

func added(before, after []change.Reservation) (out []change.Reservation) {
	for _, r := range after {
		if !slices.ContainsFunc(before, func(had change.Reservation) bool { return had.Kind == r.Kind }) {
			out = append(out, r)
		}
	}
	return out
}

// Differences are what a change makes a payment count beside its quote, because what is converted is another amount. undo says
// that what it has counted so far counts no more.
func (d Daily) Differences(keys *keyring.Ring, before, after payment.Payment) (undo bool, book []change.Reservation) {
	if after.Mode != tenant.Live {
		return false, nil
	}
	was, is := beside(before), beside(after)
	if !is.IsZero() {
		book = d.reservations(keys, after, is)
	}
	if was.Equal(is) {
		return false, added(d.reservations(keys, before, was), book)
	}
	return true, book // where a version that knows no differences undid the last conversion, what that counted is still there
}

// beside is what a payment's conversion counts in fiat beside the priced amount, which is the payout and, where it is taken from
// that, the fee.
func beside(p payment.Payment) decimal.Decimal {
	if !p.Credit.Frozen {
		return decimal.Zero
	}
	converted := p.Credit.Payout
	if p.ChargeFrom == quote.Fiat {
		converted = converted.Add(p.Credit.Fee)
	}
	return converted.Sub(p.FiatAmount)
}

// Exposure is what is open of one mode: crypto at a locked rate that has not been converted, and fiat that is promised to
// receivers and not paid.
type Exposure struct {
	Crypto map[string]decimal.Decimal
	Fiat   map[money.Currency]decimal.Decimal
}

// capacityNear is the share of a cap at which operators are told.
var capacityNear = decimal.New(7, -1)

var errCapacity = fault.New(fault.Unavailable, "capacity", "No more payments of this kind can be taken right now. Try again later.").After(time.Minute).Closed()

// Capacity bounds what live mode may have open: crypto per asset at locked rates, fiat per currency from our float. It
// answers from memory: what the database said a few seconds ago, and what this process has taken since. It is a guard and
// no ledger: replicas may together exceed a cap by what they take in those seconds. The zero value bounds nothing.
type Capacity struct {
	from   func(ctx context.Context, mode tenant.Mode) (Exposure, error)
	crypto map[string]decimal.Decimal
	fiat   map[money.Currency]decimal.Decimal
	told   func(kind, of string, share decimal.Decimal)
	near   func(kind, of string)

	mu   sync.Mutex
	open Exposure
	was  map[string]bool // what was near its cap at the last look
}

// NewCapacity makes a guard with caps per asset and currency. told is given each share of a cap, near each cap of which 70 %
// has just been reached.
func NewCapacity(from func(context.Context, tenant.Mode) (Exposure, error), crypto map[string]decimal.Decimal, fiat map[money.Currency]decimal.Decimal,
	told func(kind, of string, share decimal.Decimal), near func(kind, of string),
) *Capacity {
	return &Capacity{from: from, crypto: crypto, fiat: fiat, told: told, near: near, was: map[string]bool{}, open: Exposure{map[string]decimal.Decimal{}, map[money.Currency]decimal.Decimal{}}}
}

// On reports whether anything is bounded.
func (c *Capacity) On() bool { return c != nil && (len(c.crypto) > 0 || len(c.fiat) > 0) }

// Load reads what is open anew. Call it every few seconds.
func (c *Capacity) Load(ctx context.Context) error {
	if !c.On() {
		return nil
	}
	open, err := c.from(ctx, tenant.Live)
	if err != nil {
		return err
	}
	if open.Crypto == nil {
		open.Crypto = map[string]decimal.Decimal{}
	}
	if open.Fiat == nil {
		open.Fiat = map[money.Currency]decimal.Decimal{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = open
	for asset, most := range maps.All(c.crypto) {
		c.look("crypto", asset, open.Crypto[asset], most)
	}
	for currency, most := range maps.All(c.fiat) {
		c.look("float", string(currency), open.Fiat[currency], most)
	}
	return nil
}

func (c *Capacity) look(kind, of string, open, most decimal.Decimal) {
	if !most.IsPositive() {
		return
	}
	share := open.DivRound(most, 4)
	c.told(kind, of, share)
	near := share.GreaterThanOrEqual(capacityNear)
	if near && !c.was[kind+of] {
		c.near(kind, of)
	}
	c.was[kind+of] = near
}

// Take counts a quote, or refuses it.
func (c *Capacity) Take(mode tenant.Mode, q quote.Quote) error {
	if mode != tenant.Live || !c.On() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	crypto, fiat := c.open.Crypto[q.Crypto].Add(q.CryptoAmount), c.open.Fiat[q.Currency].Add(q.PayoutAmount)
	if most, ok := c.crypto[q.Crypto]; ok && crypto.GreaterThan(most) {
		return errCapacity
	}
	if most, ok := c.fiat[q.Currency]; ok && fiat.GreaterThan(most) {
		return errCapacity
	}
	c.open.Crypto[q.Crypto], c.open.Fiat[q.Currency] = crypto, fiat
	return nil
}

// More counts what a conversion takes beyond its quote; ok is false where there is no room for it.
func (c *Capacity) More(before, after payment.Payment) (ok bool) {
	q, credit := after.Quote, after.Credit
	beyond := quote.Quote{
		Currency: q.Currency, Crypto: q.Crypto,
		CryptoAmount: credit.Crypto.Sub(q.CryptoAmount), PayoutAmount: credit.Payout.Sub(q.PayoutAmount),
	}
	if !converted(before, after) || !beyond.PayoutAmount.IsPositive() {
		return true
	}
	return c.Take(after.Mode, beyond) == nil
}

// converted reports a change that fixes what is converted.
func converted(before, after payment.Payment) bool {
	return after.Credit.Frozen && after.Credit.N != before.Credit.N
}
