// Package money holds the decimals, currencies, networks and assets that Causeway prices and pays in. It is pure: no
// I/O, no clock, and no float64 anywhere (docs/api-contract.md#money).
package money

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/shopspring/decimal"
)

// Currency is a fiat currency that we pay out in. All four have two digits (ISO 4217).
type Currency string

// The currencies of docs/api-contract.md#fees.
const (
	NGN Currency = "NGN"
	GHS Currency = "GHS"
	KES Currency = "KES"
	ZAR Currency = "ZAR"
)

// Currencies lists every currency in the order of the interface.
func Currencies() []Currency { return []Currency{NGN, GHS, KES, ZAR} }

// Valid reports whether c is one of the four.
func (c Currency) Valid() bool { return c == NGN || c == GHS || c == KES || c == ZAR }

// FiatDigits is the number of fractional digits of every fiat amount.
const FiatDigits = 2

// Max is the largest amount that any request may carry (docs/api-contract.md#numbers).
var Max = decimal.New(1, 15)

// Number is a decimal that JSON shows as a number ("12.5", never "1.25e1" or a string). The zero value is 0.
type Number struct{ decimal.Decimal }

// N wraps a decimal for JSON.
func N(d decimal.Decimal) Number { return Number{d} }

// Text is a decimal as Number shows it. encoding/json copies it, while it calls a Number and checks the answer, and
// pages of payments are full of amounts.
func Text(d decimal.Decimal) json.Number { return json.Number(Canonical(d)) }

// MarshalJSON writes plain digits without exponent or trailing zeros.
func (n Number) MarshalJSON() ([]byte, error) { return appendCanonical(nil, n.Decimal), nil }

// UnmarshalJSON reads a JSON number digit by digit; a string or anything else is refused.
func (n *Number) UnmarshalJSON(b []byte) error {
	d, err := Parse(string(b))
	if err != nil {
		return err
	}
	n.Decimal = d
	return nil
}

// ErrNotNumber is returned by Parse for any text that is not a JSON number.
var ErrNotNumber = errors.New("must be a number")

// Parse reads the text of a JSON number (RFC 8259 §6) exactly. Exponents are allowed within ±30, so that a few bytes
// cannot make a huge value; other scripts' digits and signs are refused.
func Parse(s string) (decimal.Decimal, error) {
	if !isJSONNumber(s) || len(s) > 64 {
		return decimal.Decimal{}, ErrNotNumber
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		exp := strings.TrimLeft(s[i+1:], "+-")
		if exp = strings.TrimLeft(exp, "0"); len(exp) > 2 || (len(exp) == 2 && exp > "30") {
			return decimal.Decimal{}, fmt.Errorf("%w of a sensible size", ErrNotNumber)
		}
	}
	d, err := decimal.NewFromString(s)
	if err != nil {
		return decimal.Decimal{}, ErrNotNumber
	}
	return d, nil
}

func isJSONNumber(s string) bool {
	digits := func(i int) int {
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	end := digits(i)
	if end == i || (s[i] == '0' && end > i+1) {
		return false
	}
	if i = end; i < len(s) && s[i] == '.' {
		if end = digits(i + 1); end == i+1 {
			return false
		}
		i = end
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if end = digits(i); end == i {
			return false
		}
		i = end
	}
	return i == len(s)
}

// Canonical writes a decimal without exponent and without trailing zeros: "12.5", "0".
func Canonical(d decimal.Decimal) string { return string(appendCanonical(nil, d)) }

// appendCanonical writes a value that fits a machine word, as nearly every amount does, digit by digit from the end.
// decimal.String takes three times as long and writes the rest.
func appendCanonical(to []byte, d decimal.Decimal) []byte {
	place := d.Exponent()
	if digits := d.NumDigits(); digits > wordDigits || digits+int(place) > wordDigits || place < -wordDigits {
		text := d.String()
		if strings.Contains(text, ".") {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		return append(to, text...)
	}
	n := d.CoefficientInt64() // Coefficient makes a copy
	rest := uint64(n)         //nolint:gosec // negated below when n is negative
	if n < 0 {
		rest = -rest
	}
	for ; place > 0; place-- {
		rest *= 10
	}
	var text [2 * wordDigits]byte
	begins := len(text)
	put := func(c byte) {
		begins--
		text[begins] = c
	}
	for ; place <= 0 || rest > 0; place++ {
		digit := byte(rest % 10)
		rest /= 10
		some := begins < len(text)
		if place < 0 && digit == 0 && !some {
			continue // a zero at the end of the fraction
		}
		if place == 0 && some {
			put('.')
		}
		put('0' + digit)
	}
	if n < 0 {
		put('-')
	}
	return append(to, text[begins:]...)
}

// wordDigits is the number of digits that always fit a machine word.
const wordDigits = 18

// Digits is the number of significant fractional digits of d.
func Digits(d decimal.Decimal) int32 {
	s := Canonical(d)
	if i := strings.IndexByte(s, '.'); i >= 0 {
		return int32(len(s) - i - 1) //nolint:gosec // a number has few digits
	}
	return 0
}

// Up rounds towards more, to the given digits: the amount that a payer owes.
func Up(d decimal.Decimal, digits int32) decimal.Decimal { return d.RoundCeil(digits) }

// Down rounds towards less, to the given digits: the amount that a receiver gets.
func Down(d decimal.Decimal, digits int32) decimal.Decimal { return d.RoundFloor(digits) }

// HalfUp rounds half away from zero, for figures that are shown and never paid.
func HalfUp(d decimal.Decimal, digits int32) decimal.Decimal { return d.Round(digits) }

// DivUp divides rounding towards more, exact to the last of the given digits. Both arguments must be positive.
func DivUp(a, b decimal.Decimal, digits int32) decimal.Decimal {
	q, r := a.QuoRem(b, digits)
	if r.IsPositive() {
		q = q.Add(decimal.New(1, -digits))
	}
	return q
}

// DivDown divides rounding towards less, exact to the last of the given digits. Both arguments must be positive.
func DivDown(a, b decimal.Decimal, digits int32) decimal.Decimal {
	q, _ := a.QuoRem(b, digits)
	return q
}
