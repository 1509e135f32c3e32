package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/keyring"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/quote"
)

// column is a column of the table payments.
type column struct {
	name string
	typ  string
	kind kind
	at   func(*record) any // the pointer that a scan fills and that value reads
}

// kind says what a column is for. A column that the insert does not write starts with the default of the schema.
type kind uint8

const (
	isFixed   kind = 1 << iota // never changes after the insert
	isBorn                     // written by the insert
	isSealed                   // readable with a master key only
	isDerived                  // follows from other columns; statements search by it and never select it
	isShown                    // part of the answers to a GET and of lists
	isRare                     // may change, but not on the usual way from pending to settled
)

// columns is the one list of columns. Insert, update and select take their names, values and scan targets from it.
// TestColumns fails when a field of a payment has no column.
var columns = []column{
	{"id", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.ID }},
	{"reference", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Reference }},
	{"merchant_id", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.MerchantID }},
	{"key_id", "bigint", isFixed | isBorn, func(r *record) any { return &r.KeyID }},
	{"mode", "text", isFixed | isBorn | isShown, func(r *record) any { return (*string)(&r.Mode) }},
	{"type", "text", isFixed | isBorn | isShown, func(r *record) any { return (*string)(&r.Type) }},
	{"version", "bigint", isBorn, func(r *record) any { return &r.Version }},
	{"sequence", "bigint", isBorn, func(r *record) any { return &r.Sequence }},
	{"status", "text", isBorn | isDerived, func(r *record) any { return (*string)(&r.status) }},
	{"exception", "text", isDerived, func(r *record) any { return (*string)(&r.exception) }},
	{"due_at", "timestamptz", isBorn | isDerived, func(r *record) any { return (*instant)(&r.due) }},
	{"fiat_currency", "text", isFixed | isBorn | isShown, func(r *record) any { return (*string)(&r.Currency) }},
	{"fiat_amount", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.FiatAmount) }},
	{"charge_from", "text", isBorn | isRare, func(r *record) any { return (*string)(&r.ChargeFrom) }},
	{"crypto", "text", isBorn | isShown | isRare, func(r *record) any { return &r.Quote.Crypto }},
	{"network", "text", isBorn | isShown | isRare, func(r *record) any { return &r.Quote.Network }},
	{"network_name", "text", isBorn | isShown | isRare, func(r *record) any { return &r.NetworkName }},
	{"crypto_amount", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.CryptoAmount) }},
	{"payout_amount", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.PayoutAmount) }},
	{"charge_fiat", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.Charge.Fiat) }},
	{"charge_crypto", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.Charge.Crypto) }},
	{"charge_usd", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.Charge.USD) }},
	{"transaction_usd", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.TransactionUSD) }},
	{"rate", "numeric", isBorn | isShown | isRare, func(r *record) any { return (*number)(&r.Quote.Rate.Value) }},
	{"price", "json", isBorn | isRare, func(r *record) any { return &r.price }},
	{"fee_schedule", "text", isBorn | isShown | isRare, func(r *record) any { return &r.fees }},
	{"fee_tiers", "json", isBorn | isRare, func(r *record) any { return &r.tiers }},
	{"family", "text", isBorn | isDerived | isRare, func(r *record) any { return (*zeronull.Text)(&r.family) }},
	{"address", "text", isBorn | isShown | isRare, func(r *record) any { return (*zeronull.Text)(&r.Address) }},
	{"payer", "bytea", isBorn | isSealed | isRare, func(r *record) any { return &r.payer }},
	{"payer_index", "bytea", isBorn | isSealed | isDerived | isRare, func(r *record) any { return &r.payerIndex }},
	{"account_index", "bytea", isBorn | isSealed | isDerived | isRare, func(r *record) any { return &r.accountIndex }},
	{"receiver", "bytea", isBorn | isSealed | isShown | isRare, func(r *record) any { return &r.receiver }},
	{"preferred_crypto", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Preferred.Crypto }},
	{"preferred_network", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Preferred.Network }},
	{"rail", "text", isBorn | isRare, func(r *record) any { return &r.Rail }},
	{"bank_ref", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.BankRef }},
	{"callback_url", "text", isFixed | isBorn, func(r *record) any { return &r.CallbackURL }},
	{"merchant_reference", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Shop.MerchantReference }},
	{"description", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Shop.Description }},
	{"locale", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Shop.Locale }},
	{"return_url", "text", isFixed | isBorn | isShown, func(r *record) any { return &r.Shop.ReturnURL }},
	{"to_balance", "boolean", isFixed | isBorn, func(r *record) any { return &r.ToBalance }},
	{"metadata", "bytea", isFixed | isBorn | isShown, func(r *record) any { return &r.Metadata }},
	{"trace", "text", isFixed | isBorn, func(r *record) any { return (*zeronull.Text)(&r.Trace) }},
	{"funding", "text", isBorn | isShown, func(r *record) any { return (*string)(&r.Funding) }},
	{"timing", "text", isBorn | isShown, func(r *record) any { return (*string)(&r.Timing) }},
	{"claim", "text", isBorn | isShown, func(r *record) any { return (*string)(&r.Claim) }},
	{"payout", "text", isBorn | isShown, func(r *record) any { return (*string)(&r.Payout) }},
	{"hold", "text", isShown | isRare, func(r *record) any { return (*string)(&r.Hold) }},
	{"ended", "text", isShown, func(r *record) any { return (*string)(&r.End) }},
	{"closed", "boolean", isShown, func(r *record) any { return &r.Closed }},
	{"underpaid", "boolean", isShown | isRare, func(r *record) any { return &r.Underpaid }},
	{"overpaid", "boolean", isShown | isRare, func(r *record) any { return &r.Overpaid }},
	{"wrong_asset", "boolean", isShown | isRare, func(r *record) any { return &r.WrongAsset }},
	{"reorged", "boolean", isShown | isRare, func(r *record) any { return &r.Reorged }},
	{"screening", "text", 0, func(r *record) any { return (*string)(&r.Screening) }},
	{"received", "numeric", isShown, func(r *record) any { return (*number)(&r.Received) }},
	{"transfers", "integer", isShown, func(r *record) any { return &r.Transfers }},
	{"credit_n", "integer", 0, func(r *record) any { return &r.Credit.N }},
	{"credit_crypto", "numeric", 0, func(r *record) any { return (*number)(&r.Credit.Crypto) }},
	{"credit_payout", "numeric", isShown, func(r *record) any { return (*number)(&r.Credit.Payout) }},
	{"credit_fee", "numeric", isShown, func(r *record) any { return (*number)(&r.Credit.Fee) }},
	{"credit_fee_crypto", "numeric", isShown, func(r *record) any { return (*number)(&r.Credit.FeeCrypto) }},
	{"credit_fee_usd", "numeric", isShown, func(r *record) any { return (*number)(&r.Credit.FeeUSD) }},
	{"late_rate", "numeric", isShown | isRare, func(r *record) any { return (*number)(&r.LateRate) }},
	{"ignored", "numeric", isShown | isRare, func(r *record) any { return (*number)(&r.Ignored) }},
	{"credit_frozen", "boolean", isShown, func(r *record) any { return &r.Credit.Frozen }},
	{"attempt", "integer", isShown, func(r *record) any { return &r.Attempt }},
	{"holds", "integer", 0, func(r *record) any { return &r.Holds }},
	{"token_hash", "bytea", isRare, func(r *record) any { return &r.Token.Hash }},
	{"token_expires_at", "timestamptz", isRare, func(r *record) any { return (*instant)(&r.Token.ExpiresAt) }},
	{"refund_address", "text", isShown | isRare, func(r *record) any { return &r.RefundAddress }},
	{"refund_address_from", "timestamptz", isShown | isRare, func(r *record) any { return (*instant)(&r.RefundAddressFrom) }},
	{"refund_address_proposed", "text", isShown | isRare, func(r *record) any { return &r.RefundAddressProposed }},
	{"refund_proposals", "integer", isRare, func(r *record) any { return &r.RefundProposals }},
	{"refund_tx", "text", isShown | isRare, func(r *record) any { return &r.RefundTx }},
	{"refunds", "integer", isShown | isRare, func(r *record) any { return &r.Refunds }},
	{"unclaimed", "integer", isRare, func(r *record) any { return &r.Unclaimed }},
	{"settlement_ref", "text", isShown | isRare, func(r *record) any { return &r.SettlementRef }},
	{"created_at", "timestamptz", isFixed | isBorn | isShown, func(r *record) any { return (*instant)(&r.CreatedAt) }},
	{"expires_at", "timestamptz", isBorn | isShown | isRare, func(r *record) any { return (*instant)(&r.ExpiresAt) }},
	{"deadline_at", "timestamptz", 0, func(r *record) any { return (*instant)(&r.DeadlineAt) }},
	{"waits_until", "timestamptz", 0, func(r *record) any { return (*instant)(&r.WaitsUntil) }},
	{"fulfilled_at", "timestamptz", isRare, func(r *record) any { return (*instant)(&r.FulfilledAt) }},
	{"claimed_at", "timestamptz", isRare, func(r *record) any { return (*instant)(&r.ClaimedAt) }},
	{"confirmed_at", "timestamptz", isShown, func(r *record) any { return (*instant)(&r.ConfirmedAt) }},
	{"settled_at", "timestamptz", isShown, func(r *record) any { return (*instant)(&r.SettledAt) }},
}

// Sets of columns.
func mutable(c column) bool { return c.kind&isFixed == 0 }
func usual(c column) bool   { return mutable(c) && c.kind&isRare == 0 }
func newborn(c column) bool { return c.kind&isBorn != 0 }
func whole(c column) bool   { return c.kind&isDerived == 0 } // every field of a Payment
func shown(c column) bool   { return c.kind&isShown != 0 }

// reviewed is the set that operators see. It includes the fields that a decision needs and excludes the payer.
func reviewed(c column) bool { return whole(c) && c.name != "payer" }

// columnsOf returns the names of a set, qualified for a select from payments p.
func columnsOf(set func(column) bool) string {
	var names []string
	for _, c := range columns {
		if set(c) {
			names = append(names, "p."+c.name)
		}
	}
	return strings.Join(names, ", ")
}

// record is a row of payments: the payment's own fields, and the columns that are made from several of them.
type record struct {
	payment.Payment
	status, exception, family, fees           string
	due                                       time.Time
	price, tiers, payer, payerIndex, receiver []byte
	accountIndex                              []byte
}

// price is what a payment keeps of its quote beside the amounts and the fees: the provenance of the rate. FeeTable is
// for pods of releases that knew one table of fees.
type price struct {
	Rate     quote.Rate `json:"rate"`
	FeeTable string     `json:"feeTable"`
}

// oneTable is the version that releases with one table of fees gave to it.
const oneTable = "2026-01"

// recordOf returns the row of a payment that was before. Payer and receiver are null where they did not change and
// empty where they were removed, as makeUpdate expects.
func (s vault) recordOf(before, p payment.Payment) (r *record, err error) {
	r = &record{Payment: p, status: string(p.Status()), exception: string(p.Exception())}
	r.due, _ = p.Timer()
	if p.Quote.Priced() {
		if r.price, err = json.Marshal(price{p.Quote.Rate, oneTable}); err != nil {
			return nil, fmt.Errorf("encode the price: %w", err)
		}
		if fees := p.Quote.Fees; fees.ID != quote.First(p.Currency).ID { // the program knows the tiers of the first one
			r.fees = fees.ID
			if r.tiers, err = json.Marshal(fees.Tiers); err != nil {
				return nil, fmt.Errorf("encode the fees: %w", err)
			}
		}
	}
	if r.family, err = familyOf(p); err != nil {
		return nil, err
	}
	if r.payer, err = replaced(s.keys, before.Payer, p.Payer, payerPlace(p.ID)); err != nil {
		return nil, fmt.Errorf("encode the payer: %w", err)
	}
	if p.Payer != before.Payer {
		r.payerIndex = s.payerIndex(p)
		if r.payerIndex == nil && before.Payer.ChatID != "" {
			r.payerIndex = []byte{}
		}
	}
	if p.Receiver != before.Receiver {
		r.accountIndex = s.accountIndex(p)
		if r.accountIndex == nil && before.Receiver.AccountNumber != "" {
			r.accountIndex = []byte{}
		}
	}
	if r.receiver, err = replaced(s.keys, before.Receiver, p.Receiver, receiverPlace(p.ID)); err != nil {
		return nil, fmt.Errorf("encode the receiver: %w", err)
	}
	return r, nil
}

// usualRow returns the row of a payment for a write of the usual columns alone. It reports false where a change may
// have reached another column: it takes equal values for different ones where a comparison would be dear.
func usualRow(before, p payment.Payment) (r *record, ok bool) {
	old, r := &record{Payment: before}, &record{Payment: p, status: string(p.Status()), exception: string(p.Exception())}
	r.due, _ = p.Timer()
	for _, c := range columns {
		if mutable(c) && !usual(c) && !same(c.at(old), c.at(r)) {
			return nil, false
		}
	}
	// The columns of these are made of them when a row is written.
	ok = before.Payer == p.Payer && before.Receiver == p.Receiver && sameRate(before.Quote.Rate, p.Quote.Rate) &&
		before.Quote.Fees.ID == p.Quote.Fees.ID && slices.Equal(before.Quote.Fees.Tiers, p.Quote.Fees.Tiers)
	return r, ok
}

func sameRate(a, b quote.Rate) bool {
	return a.Fiat == b.Fiat && a.Crypto == b.Crypto && a.Value == b.Value && a.Mid == b.Mid && a.SpreadBPS == b.SpreadBPS && a.USD == b.USD &&
		slices.Equal(a.Sources, b.Sources) && slices.Equal(a.Excluded, b.Excluded) && a.Degraded == b.Degraded && a.At == b.At
}

// same reports whether two places of one column surely have one value. An unchanged decimal is the same pointer.
func same(a, b any) bool {
	switch a := a.(type) {
	case *string:
		return *a == *b.(*string)
	case *zeronull.Text:
		return *a == *b.(*zeronull.Text)
	case *number:
		return *a == *b.(*number)
	case *instant:
		return *a == *b.(*instant)
	case *bool:
		return *a == *b.(*bool)
	case *int:
		return *a == *b.(*int)
	case *int64:
		return *a == *b.(*int64)
	case *[]byte:
		return bytes.Equal(*a, *b.(*[]byte))
	}
	return false
}

// replaced returns the new value of a sealed column: null when it did not change, empty when it was removed.
func replaced[T comparable](keys *keyring.Ring, before, now T, place string) ([]byte, error) {
	if now == before {
		return nil, nil
	}
	b, err := sealed(keys, now, place)
	if b == nil {
		b = []byte{}
	}
	return b, err
}

// places returns the pointers of a set of columns, in the order of columns.
func (r *record) places(set func(column) bool) []any {
	out := make([]any, 0, len(columns)+argsOfInsert)
	for _, c := range columns {
		if set(c) {
			out = append(out, c.at(r))
		}
	}
	return out
}

// argsOfInsert is about how many arguments follow the columns in an insert; it only saves an allocation.
const argsOfInsert = 12

// values returns the values of a set of columns, in the order of columns.
func (r *record) values(set func(column) bool) []any {
	out := r.places(set)
	for i, at := range out {
		out[i] = value(at)
	}
	return out
}

// value reads a place. A decimal becomes text, because pgx encodes that faster than it queries a decimal's interfaces.
func value(at any) any {
	switch v := at.(type) {
	case *string:
		return *v
	case *zeronull.Text:
		return nullText(string(*v))
	case *number:
		return decimal.Decimal(*v).String()
	case *instant:
		return nullTime(time.Time(*v))
	case *bool:
		return *v
	case *int:
		return *v
	case *int64:
		return *v
	case *[]byte:
		return *v
	}
	return at
}

// reader reads rows of payments, one after another.
type reader struct {
	vault
	record
	into []any
}

// reader returns a reader of a set of columns. Fields without a column in the set stay empty.
func (s vault) reader(set func(column) bool) *reader {
	r := &reader{vault: s}
	r.into = r.places(set)
	return r
}

// scan reads a row that a select of the reader's columns returned.
func (r *reader) scan(row pgx.Row) (payment.Payment, error) {
	r.Payment = payment.Payment{}
	if err := row.Scan(r.into...); err != nil {
		return payment.Payment{}, err
	}
	p, q := &r.Payment, &r.Quote
	if q.Priced() {
		q.Currency, q.ChargeFrom, q.FiatAmount = p.Currency, p.ChargeFrom, p.FiatAmount
		if q.Fees = quote.First(p.Currency); r.fees != "" {
			q.Fees = quote.Schedule{ID: r.fees}
		}
	}
	if r.price != nil { // the set shown has the rate's value and no provenance
		var kept price
		if err := json.Unmarshal(r.price, &kept); err != nil {
			return payment.Payment{}, fmt.Errorf("read the price of %s: %w", p.ID, err)
		}
		q.Rate = kept.Rate
		if r.fees != "" {
			if err := json.Unmarshal(r.tiers, &q.Fees.Tiers); err != nil {
				return payment.Payment{}, fmt.Errorf("read the fees of %s: %w", p.ID, err)
			}
		}
	}
	if err := opened(r.keys, r.payer, payerPlace(p.ID), &p.Payer); err != nil {
		return payment.Payment{}, fmt.Errorf("read the payer of %s: %w", p.ID, err)
	}
	if err := opened(r.keys, r.receiver, receiverPlace(p.ID), &p.Receiver); err != nil {
		return payment.Payment{}, fmt.Errorf("read the receiver of %s: %w", p.ID, err)
	}
	return *p, nil
}
