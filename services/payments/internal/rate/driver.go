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

// Tick is what a source says that one unit of Base is worth in Quote.
type Tick struct {
	Base, Quote string          // "BTC" in "USD", "USDT" in "NGN", "USD" in "KES"
	Bid         decimal.Decimal // what a buyer pays: we receive crypto and sell it
	Ask         decimal.Decimal // what a seller wants; equal to Bid where the source gives one number, zero where it gives only what it pays
	At          time.Time       // the source's own time; zero: it gives none, and the time of reading stands for it
	Mark        string          // moves while the market lives although its price may not; "" is not judged
}

// Terms are how a source is to be read and believed.
type Terms struct {
	Every     time.Duration // between two reads
	Fresh     time.Duration // the age after which a tick counts no more
	Reference bool          // official or reference rates at which nobody trades
}

// Driver reads one outside source. Fetch makes as many calls as it needs within ctx; ticks that it could read are good
// even beside an error. It never guesses: a row that it cannot read gives no tick.
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

// Client is how drivers call: bounded in time and bytes, without redirects.
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

// Number is a price in an answer: a JSON number, or a string that holds one. Anything else, NaN and exponents beyond ±30
// included, reads as zero, which is no price.
type Number struct{ decimal.Decimal }

// UnmarshalJSON reads digit by digit and never fails, so that one broken row costs no other.
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

// The span of a price that can be one: a bitcoin in naira has nine digits, a tenth of a cent is the least coin.
var (
	least = decimal.New(1, -6)
	most  = decimal.New(1, 11)
	// widest is the spread between bid and ask beyond which a book is no market.
	widest = decimal.New(3, -2)
)

// Check says why a tick is no price: zero, negative, out of any bounds, crossed, or too wide a book.
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
