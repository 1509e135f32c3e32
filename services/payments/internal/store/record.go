package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgtype/zeronull"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
	"causeway.internal/services/payments/internal/quote"
)

// price is what is kept of a quote beside its figures: where the rate came from and which fees applied.
type price struct {
	Rate     quote.Rate `json:"rate"`
	FeeTable string     `json:"feeTable"`
}

// nullTime makes the zero time the SQL null.
func nullTime(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t
}

func nullText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// vault seals who pays and who is paid, each value bound to its payment, and makes what payers are found by.
type vault struct{ keys *keyring.Ring }

func payerPlace(paymentID string) string    { return "payer/" + paymentID }
func receiverPlace(paymentID string) string { return "receiver/" + paymentID }

// blindPlace parts the payers of one merchant and world from all others.
func blindPlace(mode payment.Mode, merchantID string) string {
	return "payer/" + string(mode) + "/" + merchantID
}

// sealed is the value as it is kept, nil for the zero value.
func sealed[T comparable](keys *keyring.Ring, v T, place string) ([]byte, error) {
	var zero T
	if v == zero {
		return nil, nil
	}
	plain, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return keys.Seal(plain, place), nil
}

// opened reads a kept value. One from before values were sealed is plain JSON; the verb rotate-master seals it.
func opened[T any](keys *keyring.Ring, raw []byte, place string, into *T) (err error) {
	if raw == nil {
		return nil
	}
	if plain(raw) {
		return json.Unmarshal(raw, into)
	}
	if raw, err = keys.Open(raw, place); err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

// plain reports JSON: a sealed value begins with its version, which is no brace.
func plain(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// payerIndex is what a payer is found by, nil without one.
func (s vault) payerIndex(p payment.Payment) []byte {
	if p.Payer.ChatID == "" {
		return nil
	}
	return s.keys.Blind(p.Payer.ChatID, blindPlace(p.Mode, p.MerchantID))
}

// familyOf is the address family of a payment, nil before it has an address.
func familyOf(p payment.Payment) (any, error) {
	if p.Address == "" {
		return nil, nil
	}
	n, ok := money.NetworkOf(p.Quote.Network)
	if !ok {
		return nil, fmt.Errorf("payment %s has the unknown network %q", p.ID, p.Quote.Network)
	}
	return string(n.Family), nil
}

// values gives every column's value in the order of columns. Decimals go as their text, which costs pgx less than asking
// each for it.
func (s vault) values(p payment.Payment) ([]any, error) {
	payer, err := sealed(s.keys, p.Payer, payerPlace(p.ID))
	if err != nil {
		return nil, fmt.Errorf("encode the payer: %w", err)
	}
	receiver, err := sealed(s.keys, p.Receiver, receiverPlace(p.ID))
	if err != nil {
		return nil, fmt.Errorf("encode the receiver: %w", err)
	}
	return valuesWith(p, payer, s.payerIndex(p), receiver)
}

// changed is values of an update: who pays and who is paid are null where they stay as they were, and empty where they go.
func (s vault) changed(before, p payment.Payment) ([]any, error) {
	var payer, index, receiver []byte
	var err error
	if p.Payer != before.Payer {
		if payer, err = sealed(s.keys, p.Payer, payerPlace(p.ID)); err != nil {
			return nil, fmt.Errorf("encode the payer: %w", err)
		}
		payer, index = orEmpty(payer), orEmpty(s.payerIndex(p))
	}
	if p.Receiver != before.Receiver {
		if receiver, err = sealed(s.keys, p.Receiver, receiverPlace(p.ID)); err != nil {
			return nil, fmt.Errorf("encode the receiver: %w", err)
		}
		receiver = orEmpty(receiver)
	}
	return valuesWith(p, payer, index, receiver)
}

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func valuesWith(p payment.Payment, payer, index, receiver []byte) ([]any, error) {
	var priced any
	q := p.Quote
	if q.Priced() {
		b, err := json.Marshal(price{q.Rate, q.FeeTable})
		if err != nil {
			return nil, fmt.Errorf("encode the price: %w", err)
		}
		priced = string(b)
	}
	family, err := familyOf(p)
	if err != nil {
		return nil, err
	}
	due, _ := p.Timer()
	return []any{
		p.ID, p.Reference, p.MerchantID, p.KeyID, string(p.Mode), string(p.Type),
		p.Version, p.Sequence, string(p.Status()), string(p.Exception()), nullTime(due),
		string(p.Currency), p.FiatAmount.String(), string(p.ChargeFrom), q.Crypto, q.Network, p.NetworkName,
		q.CryptoAmount.String(), q.PayoutAmount.String(), q.Charge.Fiat.String(), q.Charge.Crypto.String(), q.Charge.USD.String(), q.TransactionUSD.String(),
		q.Rate.Value.String(), priced, family, nullText(p.Address), payer, index, receiver,
		p.Preferred.Crypto, p.Preferred.Network, p.Rail, p.BankRef, p.CallbackURL, p.Metadata, nullText(p.Trace),
		string(p.Funding), string(p.Timing), string(p.Claim), string(p.Payout), string(p.Hold), string(p.End), p.Closed,
		p.Underpaid, p.Overpaid, p.WrongAsset, p.Reorged, string(p.Screening),
		p.Received.String(), p.Transfers, p.Credit.N, p.Credit.Crypto.String(), p.Credit.Payout.String(), p.Credit.Fee.String(),
		p.Credit.FeeCrypto.String(), p.Credit.FeeUSD.String(), p.LateRate.String(), p.Ignored.String(), p.Credit.Frozen, p.Attempt, p.Holds,
		p.Token.Hash, nullTime(p.Token.ExpiresAt), p.RefundAddress, p.RefundTx, p.SettlementRef,
		p.CreatedAt, p.ExpiresAt, nullTime(p.DeadlineAt), nullTime(p.WaitsUntil), nullTime(p.FulfilledAt), nullTime(p.ClaimedAt), nullTime(p.ConfirmedAt), nullTime(p.SettledAt),
	}, nil
}

// pick keeps what belongs to a set of columns, of what was given for all.
func pick(all []any, set func(column) bool) []any {
	out := make([]any, 0, len(all)+12)
	for i, c := range columns {
		if set(c) {
			out = append(out, all[i])
		}
	}
	return out
}

// number reads a decimal from what the database sends, without the detour over text that decimal.Decimal takes by itself and
// that costs a third of reading a payment.
type number decimal.Decimal

var errNoNumber = errors.New("a number that is none")

// ScanNumeric implements pgtype.NumericScanner.
func (n *number) ScanNumeric(v pgtype.Numeric) error {
	if !v.Valid || v.NaN || v.InfinityModifier != pgtype.Finite {
		return errNoNumber
	}
	*n = number(decimal.NewFromBigInt(v.Int, v.Exp))
	return nil
}

// instant reads a time in UTC, null as the zero time.
type instant time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (i *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*i = instant(v.Time.UTC())
	return nil
}

// record reads rows of payments, one after another.
type record struct {
	vault
	payment.Payment
	priced, payer, receiver []byte
	into                    []any
}

// record reads a set of columns. What is not among them stays empty.
func (s vault) record(set func(column) bool) *record {
	r := &record{vault: s}
	r.into = pick(r.targets(), set)
	return r
}

// targets says where each column goes. Types of ours are given as what they are made of, which the library need not find out
// for every value.
func (r *record) targets() []any {
	p, q := &r.Payment, &r.Quote
	return []any{
		&p.ID, &p.Reference, &p.MerchantID, &p.KeyID, (*string)(&p.Mode), (*string)(&p.Type),
		&p.Version, &p.Sequence, nil, nil, nil,
		(*string)(&p.Currency), (*number)(&p.FiatAmount), (*string)(&p.ChargeFrom), &q.Crypto, &q.Network, &p.NetworkName,
		(*number)(&q.CryptoAmount), (*number)(&q.PayoutAmount), (*number)(&q.Charge.Fiat), (*number)(&q.Charge.Crypto), (*number)(&q.Charge.USD), (*number)(&q.TransactionUSD),
		(*number)(&q.Rate.Value), &r.priced, nil, (*zeronull.Text)(&p.Address), &r.payer, nil, &r.receiver,
		&p.Preferred.Crypto, &p.Preferred.Network, &p.Rail, &p.BankRef, &p.CallbackURL, &p.Metadata, (*zeronull.Text)(&p.Trace),
		(*string)(&p.Funding), (*string)(&p.Timing), (*string)(&p.Claim), (*string)(&p.Payout), (*string)(&p.Hold), (*string)(&p.End), &p.Closed,
		&p.Underpaid, &p.Overpaid, &p.WrongAsset, &p.Reorged, (*string)(&p.Screening),
		(*number)(&p.Received), &p.Transfers, &p.Credit.N, (*number)(&p.Credit.Crypto), (*number)(&p.Credit.Payout), (*number)(&p.Credit.Fee),
		(*number)(&p.Credit.FeeCrypto), (*number)(&p.Credit.FeeUSD), (*number)(&p.LateRate), (*number)(&p.Ignored), &p.Credit.Frozen, &p.Attempt, &p.Holds,
		&p.Token.Hash, (*instant)(&p.Token.ExpiresAt), &p.RefundAddress, &p.RefundTx, &p.SettlementRef,
		(*instant)(&p.CreatedAt), (*instant)(&p.ExpiresAt), (*instant)(&p.DeadlineAt), (*instant)(&p.WaitsUntil), (*instant)(&p.FulfilledAt), (*instant)(&p.ClaimedAt), (*instant)(&p.ConfirmedAt),
		(*instant)(&p.SettledAt),
	}
}

// scan reads a row that a select of the record's columns gave.
func (r *record) scan(row pgx.Row) (payment.Payment, error) {
	r.Payment = payment.Payment{}
	if err := row.Scan(r.into...); err != nil {
		return payment.Payment{}, err
	}
	p, q := &r.Payment, &r.Quote
	if q.Priced() {
		q.Currency, q.ChargeFrom, q.FiatAmount = p.Currency, p.ChargeFrom, p.FiatAmount
	}
	if r.priced != nil { // what is shown has the rate's value alone
		var kept price
		if err := json.Unmarshal(r.priced, &kept); err != nil {
			return payment.Payment{}, fmt.Errorf("read the price of %s: %w", p.ID, err)
		}
		q.Rate, q.FeeTable = kept.Rate, kept.FeeTable
	}
	if err := opened(r.keys, r.payer, payerPlace(p.ID), &p.Payer); err != nil {
		return payment.Payment{}, fmt.Errorf("read the payer of %s: %w", p.ID, err)
	}
	if err := opened(r.keys, r.receiver, receiverPlace(p.ID), &p.Receiver); err != nil {
		return payment.Payment{}, fmt.Errorf("read the receiver of %s: %w", p.ID, err)
	}
	return *p, nil
}

func scanDeposit(row pgx.CollectableRow) (d payment.Deposit, err error) {
	err = row.Scan(&d.Key, &d.Version, &d.Network, &d.Asset, &d.Contract, &d.TxHash, (*number)(&d.Amount), &d.Reverted, &d.BlockHeight, (*instant)(&d.BlockTime),
		(*instant)(&d.FirstSeenAt), &d.Depth, &d.Finalized, &d.Senders, &d.Witness, &d.Screening, (*number)(&d.USD), &d.Booked, (*number)(&d.BookedAmount), &d.Bookings, &d.Counted)
	return d, err
}

func (s vault) scanPayout(row pgx.CollectableRow) (*payout.Payout, error) {
	return s.scanPayoutWith(row, &payout.Payout{})
}

// scanDuePayout reads a row of duePayouts.
func (s vault) scanDuePayout(row pgx.CollectableRow) (*payout.Payout, error) {
	var o payout.Payout
	return s.scanPayoutWith(row, &o, &o.MerchantID, &o.Trace)
}

// scanPayoutWith reads payoutColumns into o, and what stands behind them into more.
func (s vault) scanPayoutWith(row pgx.CollectableRow, o *payout.Payout, more ...any) (*payout.Payout, error) {
	var receiver []byte
	err := row.Scan(append([]any{
		&o.ID, &o.PaymentID, &o.Mode, &o.Reference, &o.Attempt, &o.Rail, &o.Currency, (*number)(&o.Amount), &receiver, &o.State, &o.Frozen, (*instant)(&o.LeaseUntil),
		&o.Sends, (*instant)(&o.SentAt), &o.Polls, &o.Misses, (*instant)(&o.FirstMissAt), (*instant)(&o.NextAt), &o.Paged, &o.NoFloat, &o.RailID, &o.Reason, (*number)(&o.Fee),
		(*instant)(&o.CreatedAt), (*instant)(&o.DoneAt),
		&o.Stopped, (*instant)(&o.FirstSentAt), &o.Answer, (*instant)(&o.AnswerAt), &o.Concluded, (*instant)(&o.ConcludedAt), &o.Contradicted,
	}, more...)...)
	if err != nil {
		return nil, err
	}
	var r payment.Receiver
	if err := opened(s.keys, receiver, receiverPlace(o.PaymentID), &r); err != nil {
		return nil, fmt.Errorf("read the receiver of payout %s: %w", o.ID, err)
	}
	o.BankCode, o.BankName, o.AccountNumber, o.AccountName = r.BankCode, r.BankName, r.AccountNumber, r.AccountName
	return o, nil
}
