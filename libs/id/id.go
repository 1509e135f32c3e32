// Package id makes the identifiers of docs/api-contract.md#ids: sortable prefixed ids for objects and random references
// that serve as bearer secrets. It reads crypto/rand, takes the time as an argument and keeps no state.
package id

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/binary"
	"regexp"
	"strings"
	"time"

	"causeway.internal/libs/shard"
)

// Prefixes of the sortable ids.
const (
	Payment  = "pay_"
	Wallet   = "wal_"
	Event    = "evt_"
	Delivery = "dlv_"
	Payout   = "pyo_"
	Request  = "req_"
	Deposit  = "dep_"
	Message  = "msg_"
	Endpoint = "whe_"
	Refund   = "rfd_"
	Lapse    = "unc_"
	Fees     = "fee_"
	Draw     = "wwd_"
	Payee    = "adr_"

	SettlementAccount = "sac_"
	Withdrawal        = "wdr_"
)

var crockford = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// New returns prefix plus 26 lower-case characters: 48 bits of milliseconds and 80 random bits, so ids made later sort
// later (ULID, but lower-case).
func New(prefix string, now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	_, _ = rand.Read(b[6:]) // crypto/rand.Read never fails: it crashes the program instead (Go 1.24)
	return prefix + crockford.EncodeToString(b[:])
}

// Placed returns New with the code of a shard at its end, so that ids sort by time whatever their shards: the id of an
// object that callers name. Without a code it has the form of earlier releases.
func Placed(prefix string, in shard.Code, now time.Time) string {
	return New(prefix, now) + in.Suffix()
}

// Beside returns Placed in the shard of another object, without which the new one would not be.
func Beside(prefix, other string, now time.Time) string { return New(prefix, now) + suffix(other) }

// suffix is the code at the end of an id as it is there, "" where it has none.
func suffix(of string) string {
	const without = len(Payment) + 26
	if len(of) > without && objectID.MatchString(of) {
		return of[without:]
	}
	return ""
}

const place = `(` + shard.SuffixPattern + `)?$`

var (
	objectID  = regexp.MustCompile(`^[a-z]{3}_[0-9a-z]{26}` + place)
	paymentID = regexp.MustCompile(`^` + Payment + `[0-9abcdefghjkmnpqrstvwxyz]{26}` + place)
)

// IsObject reports whether s has the form of an object's id, with or without the code of a shard.
func IsObject(s string) bool { return objectID.MatchString(s) }

// IsPayment reports whether s has the form of a payment's id. Any other text gets the answer of an unknown id, without
// a look-up.
func IsPayment(s string) bool { return paymentID.MatchString(s) }

// ShardOf returns the shard of a payment's reference or of an object's id: the first where it carries no code. ok is
// false for a text of any other form.
func ShardOf(name string) (in shard.Code, ok bool) {
	m := paymentReference.FindStringSubmatch(name)
	if m == nil {
		m = objectID.FindStringSubmatch(name)
	}
	if m == nil {
		return "", false
	}
	return shard.Code(strings.ToUpper(m[1])).Home(), true
}

// Alphabet of references: no character that is mistaken for another when read aloud.
const Alphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"

// ReportReference returns RPT- and six characters of Alphabet; the caller retries on collision.
func ReportReference() string { return "RPT-" + random(6) }

// random draws n characters without modulo bias: it draws bytes beyond the last full multiple of the alphabet again.
func random(n int) string {
	const full = 256 - 256%len(Alphabet)
	out := make([]byte, 0, n)
	var buf [32]byte
	for len(out) < n {
		_, _ = rand.Read(buf[:])
		for _, b := range buf {
			if int(b) < full && len(out) < n {
				out = append(out, Alphabet[int(b)%len(Alphabet)])
			}
		}
	}
	return string(out)
}
