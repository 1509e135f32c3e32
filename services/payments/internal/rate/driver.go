package rate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/services/payments/internal/remote"
)

// Tick is a source's price of one unit of Base in Quote.
type Tick struct {
	Base, Quote string          // "BTC" in "USD", "USDT" in "NGN", "USD" in "KES"
	Bid         decimal.Decimal // price that buyers pay; Causeway sells the received crypto at it
	Ask         decimal.Decimal // price that sellers ask; equal to Bid where the source has one price, zero where it has bids only
	At          time.Time       // the source's own time; zero where it has none, and then the time of reading counts
	Mark        string          // changes while the market trades, even at the same price; "" is not checked
}

// Terms are the schedule and the trust of a source.
type Terms struct {
	Every     time.Duration // between two reads
	Fresh     time.Duration // age at which a tick expires
	Reference bool          // official or reference rates, which are not tradable
}

// Driver reads one outside source. Fetch makes its calls within ctx. Its ticks are valid even when it also returns an
// error. It never guesses: an unreadable row yields no tick.
type Driver interface {
	Name() string
	Terms() Terms
	Fetch(ctx context.Context) ([]Tick, error)
}

// Bounds of one read of a source.
const (
	CallTimeout = 3 * time.Second
	bodyMost    = 1 << 20
)

// Client makes the HTTP client of a driver: bounded in time and bytes, without redirects.
func Client(base string) (*remote.Client, error) {
	return remote.New(remote.Options{Base: base, Timeout: CallTimeout, Most: bodyMost})
}

// Get reads JSON into v.
func Get(ctx context.Context, c *remote.Client, path string, query url.Values, v any) error {
	a, err := c.Get(ctx, path, query)
	if err != nil {
		return err
	}
	if !a.OK() {
		return fmt.Errorf("status %d", a.Status)
	}
	dec := json.NewDecoder(bytes.NewReader(a.Body))
	if err := dec.Decode(v); err != nil {
		return errors.New("unreadable answer")
	}
	return nil
}

// Number is a price in an answer: a JSON number, or a string with one. Anything else, also NaN and an exponent beyond
// ±30, becomes zero, which Check refuses.
type Number struct{ decimal.Decimal }

// UnmarshalJSON reads digit by digit and never fails, so that one broken row does not lose the others.
func (n *Number) UnmarshalJSON(b []byte) error {
	n.Decimal = decimal.Zero
	var s string
	if len(b) > 0 && b[0] == '"' {
		if json.Unmarshal(b, &s) != nil {
			return nil
		}
	} else {
		s = string(b)
	}
	if d, err := money.Parse(s); err == nil {
		n.Decimal = d
	}
	return nil
}

// The bounds of a valid price. A bitcoin in naira has nine digits; the cheapest coin costs a tenth of a cent.
var (
	least = decimal.New(1, -6)
	most  = decimal.New(1, 11)
	// widest is the largest spread between bid and ask of a usable order book.
	widest = decimal.New(3, -2)
)

// Check refuses a tick whose price is zero, negative or out of bounds, or whose order book is crossed or too wide.
func (t Tick) Check() error {
	switch {
	case t.Base == "" || t.Quote == "" || t.Base == t.Quote:
		return errors.New("no pair")
	case t.Bid.LessThan(least) || t.Bid.GreaterThan(most):
		return errors.New("no price")
	case t.Ask.IsZero():
		return nil
	case t.Ask.LessThan(t.Bid):
		return errors.New("crossed book")
	case t.Ask.Sub(t.Bid).GreaterThan(t.Bid.Mul(widest)):
		return errors.New("book too wide")
	}
	return nil
}
