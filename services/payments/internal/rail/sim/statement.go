package sim

import (
	"context"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
)

// Outcome is the outcome of a transfer at the simulated bank.
type Outcome string

// The outcomes. With Timeout the bank makes the transfer and answers neither the send nor a query until the outcome is
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
	Outcome       Outcome
	At            time.Time // when the bank accepted it
	DoneAt        time.Time // from then on a query returns the outcome
}

// Statement is the simulated bank's own memory, in its own table. It survives every crash of payments, and an auditor
// counts payouts in it. An implementation may not join it with tables of payments.
type Statement interface {
	// Record writes the transfer, with the outcome that was ordered for its reference, unless the reference is recorded
	// already. It returns the recorded transfer and whether this call wrote it. Parallel calls record one transfer.
	Record(ctx context.Context, t Transfer) (recorded Transfer, fresh bool, err error)
	// Lookup finds a transfer.
	Lookup(ctx context.Context, ref string) (t Transfer, ok bool, err error)
	// Order runs change on the transfer with this reference, or keeps the outcome for a later transfer. It excludes
	// parallel records and orders of the reference. An error of change is returned unchanged, and nothing is written.
	Order(ctx context.Context, ref string, o Outcome, change func(*Transfer) error) error
	// Ordered returns the outcome that Order keeps for a reference, "" without one.
	Ordered(ctx context.Context, ref string) (Outcome, error)
}
