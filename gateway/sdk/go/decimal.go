package causeway

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Decimal is an exact decimal number. Its zero value is 0. It is read and written in JSON digit by digit.
type Decimal struct {
	digits big.Int // the number without its point
	scale  int     // digits after the point
}

// most bounds the digits before and after the point: more than any amount has.
const most = 400

var (
	number     = regexp.MustCompile(`^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]{1,6}))?$`)
	errDecimal = errors.New("causeway: not a decimal number")
)

// ParseDecimal reads a number as JSON writes numbers, such as 25000.50.
func ParseDecimal(text string) (Decimal, error) {
	m := number.FindStringSubmatch(text)
	if m == nil || len(text) > most {
		return Decimal{}, fmt.Errorf("%w: %.40q", errDecimal, text)
	}
	exponent := 0
	if m[4] != "" {
		exponent, _ = strconv.Atoi(m[4]) // at most six digits
	}
	var d Decimal
	d.digits.SetString(m[1]+m[2]+m[3], 10) // digits alone
	d.scale = len(m[3]) - exponent
	if d.scale > most || d.scale < -most {
		return Decimal{}, fmt.Errorf("%w: %.40q has too many digits", errDecimal, text)
	}
	if d.scale < 0 {
		d.digits.Mul(&d.digits, power(-d.scale))
		d.scale = 0
	}
	return d, nil
}

// MustDecimal is ParseDecimal for numbers in the text of a program. It panics for a text that is none.
func MustDecimal(text string) Decimal {
	d, err := ParseDecimal(text)
	if err != nil {
		panic(err)
	}
	return d
}

// Int is a whole number as a Decimal.
func Int(n int64) Decimal {
	var d Decimal
	d.digits.SetInt64(n)
	return d
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// String writes plain digits without zeros at the end: 25000.5.
func (d Decimal) String() string {
	text := new(big.Int).Abs(&d.digits).String()
	if len(text) <= d.scale {
		text = strings.Repeat("0", d.scale-len(text)+1) + text
	}
	if d.scale > 0 {
		whole, parts := text[:len(text)-d.scale], strings.TrimRight(text[len(text)-d.scale:], "0")
		if text = whole; parts != "" {
			text += "." + parts
		}
	}
	if d.digits.Sign() < 0 {
		return "-" + text
	}
	return text
}

// Rat is the number as a fraction, for arithmetic that this type lacks.
func (d Decimal) Rat() *big.Rat { return new(big.Rat).SetFrac(&d.digits, power(d.scale)) }

// Sign is -1, 0 or 1.
func (d Decimal) Sign() int { return d.digits.Sign() }

// IsZero reports 0. JSON leaves out such a field of a request that may be left out.
func (d Decimal) IsZero() bool { return d.digits.Sign() == 0 }

// Cmp is -1 where d is less than o, 0 where they are equal, and 1 where d is more.
func (d Decimal) Cmp(o Decimal) int {
	a, b, _ := aligned(d, o)
	return a.Cmp(b)
}

// Equal reports the same number, whatever the zeros at its end.
func (d Decimal) Equal(o Decimal) bool { return d.Cmp(o) == 0 }

// Add is d + o.
func (d Decimal) Add(o Decimal) Decimal {
	a, b, scale := aligned(d, o)
	return of(a.Add(a, b), scale)
}

// Sub is d - o.
func (d Decimal) Sub(o Decimal) Decimal {
	a, b, scale := aligned(d, o)
	return of(a.Sub(a, b), scale)
}

// Mul is d × o.
func (d Decimal) Mul(o Decimal) Decimal {
	return of(new(big.Int).Mul(&d.digits, &o.digits), d.scale+o.scale)
}

func of(digits *big.Int, scale int) Decimal {
	var d Decimal
	d.digits.Set(digits)
	d.scale = scale
	return d
}

// aligned are copies of both with as many digits after the point.
func aligned(d, o Decimal) (a, b *big.Int, scale int) {
	scale = max(d.scale, o.scale)
	a = new(big.Int).Mul(&d.digits, power(scale-d.scale))
	b = new(big.Int).Mul(&o.digits, power(scale-o.scale))
	return a, b, scale
}

// MarshalJSON writes the number digit by digit.
func (d Decimal) MarshalJSON() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalJSON reads a number, and a text that holds one, as amounts of wallets are. Null changes nothing.
func (d *Decimal) UnmarshalJSON(raw []byte) error {
	text := string(raw)
	if text == "null" {
		return nil
	}
	if len(text) > 1 && text[0] == '"' {
		text = text[1 : len(text)-1]
	}
	read, err := ParseDecimal(text)
	if err == nil {
		*d = read
	}
	return err
}
