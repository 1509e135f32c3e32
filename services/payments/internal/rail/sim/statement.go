package sim

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Outcome is what the simulated bank does with a transfer.
type Outcome string

// The outcomes. Timeout: the transfer is taken, but neither the send nor any query is answered until the outcome is
// changed.
const (
	Succeed Outcome = "succeed"
	Fail    Outcome = "fail"
	Return  Outcome = "return"
	Timeout Outcome = "timeout"
)

// Valid reports whether o is one of the four of POST /v1/sandbox/payouts/:id/outcome.
func (o Outcome) Valid() bool { return o == Succeed || o == Fail || o == Return || o == Timeout }

// Transfer is one line of the simulated bank's statement.
type Transfer struct {
	Ref           string
	Currency      money.Currency
	Amount        decimal.Decimal
	BankCode      string
	AccountNumber string
	AccountName   string
	Outcome       Outcome   // what will come of it
	At            time.Time // when it was taken
	DoneAt        time.Time // from then on a query gives the outcome
}

// Statement is the simulated bank's own memory, in its own table: it outlives every crash of payments, and an auditor
// counts payouts in it. An implementation may not join anything of payments to it.
type Statement interface {
	// Record writes the transfer, with the outcome that was ordered for its reference if there is one, unless one with
	// this reference stands there; it returns what stands there and whether it was written now. One reference is one
	// transfer, whatever runs in parallel.
	Record(ctx context.Context, t Transfer) (stands Transfer, fresh bool, err error)
	// Lookup finds a transfer.
	Lookup(ctx context.Context, ref string) (t Transfer, ok bool, err error)
	// Order runs change on the transfer with this reference, or keeps the outcome for one that is still to come.
	// Nothing else is recorded or ordered for the reference meanwhile. An error of change is returned as it is and
	// changes nothing.
	Order(ctx context.Context, ref string, o Outcome, change func(*Transfer) error) error
	// Ordered gives the outcome that Order keeps for a reference; "" when there is none.
	Ordered(ctx context.Context, ref string) (Outcome, error)
}
