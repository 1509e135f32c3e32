// Package admission decides whether money may come in or go out now, by daily limits, the capacity of live mode, the
// pauses of operators, the scans of networks, and the screening of addresses.
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
	LimitMerchant = "merchant"
	LimitPayer    = "payer"
	LimitReceiver = "receiver"
)

// Daily holds the limits in fiat of one day in UTC, of live mode only. A kind or currency that is not named has no
// limit.
type Daily struct {
	Settings map[string]map[money.Currency]decimal.Decimal // of every key, payer and receiver
	Terms    *Terms                                        // of single merchants
}

// Counts reports whether a payment may have reserved some of a limit.
func (d Daily) Counts(p payment.Payment) bool {
	return p.Mode == tenant.Live && (d.set() || d.Terms.of(p.MerchantID).Counted)
}

func (d Daily) set() bool {
	for _, limits := range d.Settings {
		if len(limits) > 0 {
			return true
		}
	}
	return false
}

// Of lists the limits of a payment in the order of their locks, which is that of the alphabet.
func (d Daily) Of(p payment.Payment) (out []Limit) {
	if p.Mode != tenant.Live {
		return nil
	}
	for _, kind := range []string{LimitKey, LimitMerchant, LimitPayer, LimitReceiver} {
		limits := d.Settings[kind]
		if kind == LimitMerchant {
			limits = d.Terms.of(p.MerchantID).DailyLimits
		}
		if most, limited := limits[p.Currency]; limited {
			out = append(out, Limit{kind, most})
		}
	}
	return out
}

// Limit is the most of one day that a kind of subject may have reserved and settled.
type Limit struct {
	Kind string
	Most decimal.Decimal
}

// reservations lists a reservation of amount for each limit of a payment, in the order of their locks.
func (d Daily) reservations(keys *keyring.Ring, p payment.Payment, amount decimal.Decimal) (out []change.Reservation) {
	for _, l := range d.Of(p) {
		if who := subject(l.Kind, p); who != "" {
			out = append(out, change.Reservation{
				Kind: l.Kind, Subject: keys.Blind(who, "limit/"+l.Kind+"/"+p.MerchantID), Currency: p.Currency, Amount: amount, Most: l.Most,
			})
		}
	}
	return out
}

// subject names the subject of a kind, "" while a payment has none.
func subject(kind string, p payment.Payment) string {
	switch {
	case kind == LimitKey:
		return strconv.FormatInt(p.KeyID, 10)
	case kind == LimitMerchant:
		return p.MerchantID
	case kind == LimitPayer:
		return p.Payer.ChatID
	case p.Receiver.Known():
		return p.Receiver.BankCode + "/" + p.Receiver.AccountNumber
	}
	return ""
}

// Quoted lists the reservations of a new payment; they count the quote.
func (d Daily) Quoted(keys *keyring.Ring, p payment.Payment) []change.Reservation {
	return d.reservations(keys, p, p.FiatAmount)
}

// Further lists the reservations of the payer and receiver whom a change named for the first time.
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

// Differences lists what a payment counts beside its quote when a change converts another amount than the quote. undo
// says that its earlier differences count no more.
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
	return true, book // an earlier version that undid the last conversion left its differences
}

// beside is the fiat of a payment's conversion minus the priced amount. The fiat of a conversion is the payout, plus
// the fee where the fee is taken out of the fiat.
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

// Exposure is the open money of one mode: crypto at a locked rate that has not been converted, and fiat that is
// promised to receivers and not paid.
type Exposure struct {
	Crypto map[string]decimal.Decimal
	Fiat   map[money.Currency]decimal.Decimal
}

// capacityNear is the share of a cap that alerts operators.
var capacityNear = decimal.New(7, -1)

var errCapacity = fault.New(fault.Unavailable, "capacity", "No more payments of this kind can be taken right now. Try again later.").After(time.Minute).Closed()

// Capacity limits the open money of live mode: crypto per asset at locked rates, fiat per currency from our float. It
// adds the amounts that this process took to those that the database gave a few seconds ago. Replicas may together
// exceed a cap by what they take in those seconds. The zero value has no limit.
type Capacity struct {
	from    func(ctx context.Context, mode tenant.Mode) (Exposure, error)
	crypto  map[string]decimal.Decimal
	fiat    map[money.Currency]decimal.Decimal
	observe func(kind, of string, share decimal.Decimal)
	near    func(kind, of string)

	mu     sync.Mutex
	open   Exposure
	beyond map[string]bool // conversions that More has counted since the last Load
	was    map[string]bool // caps that were near at the last Load
}

// NewCapacity makes a guard with caps per asset and currency. It calls observe with the used share of each cap, and
// near for each cap that has just reached 70 %.
func NewCapacity(from func(context.Context, tenant.Mode) (Exposure, error), crypto map[string]decimal.Decimal, fiat map[money.Currency]decimal.Decimal,
	observe func(kind, of string, share decimal.Decimal), near func(kind, of string),
) *Capacity {
	return &Capacity{from: from, crypto: crypto, fiat: fiat, observe: observe, near: near, beyond: map[string]bool{}, was: map[string]bool{}, open: Exposure{map[string]decimal.Decimal{}, map[money.Currency]decimal.Decimal{}}}
}

// On reports whether there is a cap.
func (c *Capacity) On() bool { return c != nil && (len(c.crypto) > 0 || len(c.fiat) > 0) }

// Load reads the open amounts again. Call it every few seconds.
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
	clear(c.beyond)
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
	c.observe(kind, of, share)
	near := share.GreaterThanOrEqual(capacityNear)
	if near && !c.was[kind+of] {
		c.near(kind, of)
	}
	c.was[kind+of] = near
}

// Take counts a quote, or refuses it where a cap has no room.
func (c *Capacity) Take(mode tenant.Mode, q quote.Quote) error {
	if mode != tenant.Live || !c.On() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.take(q)
}

func (c *Capacity) take(q quote.Quote) error {
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

// More counts the amount that a conversion takes beyond its quote; ok is false where a cap has no room. A change may be
// decided several times before it is committed, and its conversion is counted once.
func (c *Capacity) More(before, after payment.Payment) (ok bool) {
	q, credit := after.Quote, after.Credit
	beyond := quote.Quote{
		Currency: q.Currency, Crypto: q.Crypto,
		CryptoAmount: credit.Crypto.Sub(q.CryptoAmount), PayoutAmount: credit.Payout.Sub(q.PayoutAmount),
	}
	if !converted(before, after) || !beyond.PayoutAmount.IsPositive() || after.Mode != tenant.Live || !c.On() {
		return true
	}
	conversion := after.ID + "/" + strconv.Itoa(credit.N)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.beyond[conversion] {
		return true
	}
	if c.take(beyond) != nil {
		return false
	}
	c.beyond[conversion] = true
	return true
}

// converted reports whether a change fixes the converted amount.
func converted(before, after payment.Payment) bool {
	return after.Credit.Frozen && after.Credit.N != before.Credit.N
}
