package store

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/shopspring/decimal"

	"causeway.internal/libs/keyring"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/payment"
	"causeway.internal/services/payments/internal/payout"
)

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

// vault seals payers and receivers, each value bound to its payment, and makes the index by which payers are found.
type vault struct{ keys *keyring.Ring }

func payerPlace(paymentID string) string    { return "payer/" + paymentID }
func receiverPlace(paymentID string) string { return "receiver/" + paymentID }

// blindPlace separates the payers of one merchant and mode from all others.
func blindPlace(mode tenant.Mode, merchantID string) string {
	return "payer/" + string(mode) + "/" + merchantID
}

// accountPlace separates the accounts of one mode from those of the other.
func accountPlace(mode tenant.Mode) string { return "account/" + string(mode) }

// sealed returns the stored form of a value, nil for the zero value.
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

// opened reads a stored value. Values of early versions are plain JSON; the command rotate-master seals them.
func opened[T any](keys *keyring.Ring, raw []byte, place string, into *T) (err error) {
	if raw == nil {
		return nil
	}
	if !plain(raw) {
		if raw, err = keys.Open(raw, place); err != nil {
			return err
		}
	}
	if r, ok := any(into).(*payment.Receiver); ok && readReceiver(raw, r) {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// readReceiver reads a receiver as sealed writes it, for a fifth of the cost: every payment of a list has one. It
// returns false for JSON that is written otherwise, with fields of another release or with escapes.
func readReceiver(raw []byte, into *payment.Receiver) bool {
	var r payment.Receiver
	for _, field := range []struct {
		begins string
		to     *string
	}{
		{`{"bankCode":"`, &r.BankCode},
		{`,"bankName":"`, &r.BankName},
		{`,"accountNumber":"`, &r.AccountNumber},
		{`,"accountName":"`, &r.AccountName},
	} {
		after, ok := bytes.CutPrefix(raw, []byte(field.begins))
		end := bytes.IndexByte(after, '"')
		if !ok || end < 0 || !utf8.Valid(after[:end]) || bytes.ContainsFunc(after[:end], func(r rune) bool { return r < ' ' || r == '\\' }) {
			return false
		}
		*field.to, raw = string(after[:end]), after[end+1:]
	}
	switch string(raw) {
	case `,"nameVerified":true}`:
		r.NameVerified = true
	case `,"nameVerified":false}`:
	default:
		return false
	}
	*into = r
	return true
}

// plain reports JSON. A sealed value begins with its version, never with a brace.
func plain(raw []byte) bool { return len(raw) > 0 && raw[0] == '{' }

// payerIndex is the index by which a payer is found, nil without a payer.
func (s vault) payerIndex(p payment.Payment) []byte {
	if p.Payer.ChatID == "" {
		return nil
	}
	return s.keys.Blind(p.Payer.ChatID, blindPlace(p.Mode, p.MerchantID))
}

// accountEnds is how many last digits of an account number operators search by.
const accountEnds = 4

// accountIndex is the index by which operators find the payments to an account by its last digits, nil without an
// account. It is keyed: ten thousand values are soon tried.
func (s vault) accountIndex(p payment.Payment) []byte {
	number := p.Receiver.AccountNumber
	if len(number) < accountEnds {
		return nil
	}
	return s.keys.Blind(number[len(number)-accountEnds:], accountPlace(p.Mode))
}

// familyOf returns the address family of a payment, "" before it has an address.
func familyOf(p payment.Payment) (string, error) {
	if p.Address == "" {
		return "", nil
	}
	n, ok := money.NetworkOf(p.Quote.Network)
	if !ok {
		return "", fmt.Errorf("payment %s has the unknown network %q", p.ID, p.Quote.Network)
	}
	return string(n.Family), nil
}

// number reads a decimal from PostgreSQL's binary format. decimal.Decimal itself reads text, which costs a third of the
// time of reading a payment.
type number decimal.Decimal

var errNoNumber = errors.New("numeric value is null, NaN or infinite")

// ScanNumeric implements pgtype.NumericScanner.
func (n *number) ScanNumeric(v pgtype.Numeric) error {
	if !v.Valid || v.NaN || v.InfinityModifier != pgtype.Finite {
		return errNoNumber
	}
	*n = number{} // many amounts of a payment are zero, which needs no memory
	if v.Int.Sign() != 0 {
		*n = number(decimal.NewFromBigInt(v.Int, v.Exp))
	}
	return nil
}

// instant reads a time in UTC, null as the zero time.
type instant time.Time

// ScanTimestamptz implements pgtype.TimestamptzScanner.
func (i *instant) ScanTimestamptz(v pgtype.Timestamptz) error {
	*i = instant(v.Time.UTC())
	return nil
}

func scanDeposit(row pgx.CollectableRow) (d payment.Deposit, err error) {
	err = row.Scan(&d.Key, &d.Version, &d.Network, &d.Asset, &d.Contract, &d.TxHash, (*number)(&d.Amount), &d.Reverted, &d.BlockHeight, &d.BlockHash, (*instant)(&d.BlockTime),
		(*instant)(&d.FirstSeenAt), &d.Depth, &d.Finalized, &d.Senders, &d.Witness, &d.Screening, (*number)(&d.USD), &d.Booked, (*number)(&d.BookedAmount), &d.BookedBlock, &d.Bookings, &d.Counted,
		(*number)(&d.Refunded))
	return d, err
}

func (s vault) scanPayout(row pgx.CollectableRow) (*payout.Payout, error) {
	return s.scanPayoutWith(row, &payout.Payout{})
}

// scanDuePayout reads a row of duePayouts.
func (s vault) scanDuePayout(row pgx.CollectableRow) (*payout.Payout, error) {
	var o payout.Payout
	o.ReadHere = time.Now()
	return s.scanPayoutWith(row, &o, &o.MerchantID, &o.Trace, &o.Written, (*instant)(&o.ReadAt))
}

// scanPayoutWith reads payoutColumns into o, and the columns after them into more.
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
