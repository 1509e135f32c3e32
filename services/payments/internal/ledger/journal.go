package ledger

import (
	"fmt"

	"github.com/shopspring/decimal"
)

// Entry moves an amount on one side of one account. Amounts are positive.
type Entry struct {
	Account Account
	Side    Side
	Amount  decimal.Decimal
}

// Journal is one immutable event of the ledger. Key is unique: writing the same journal twice changes nothing. A
// reversing journal corrects a mistake.
type Journal struct {
	Key     string
	Event   string
	Payment string // id of the payment, "" when the event concerns none
	Entries []Entry
}

// Check refuses a journal without entries, with an amount that is not positive, or with debits and credits that differ
// in an asset.
func (j Journal) Check() error {
	if j.Key == "" || len(j.Entries) < 2 {
		return fmt.Errorf("journal %q (%s) is empty", j.Key, j.Event)
	}
	sums := map[string]decimal.Decimal{}
	for _, e := range j.Entries {
		if !e.Amount.IsPositive() {
			return fmt.Errorf("journal %q: amount on %s is not positive", j.Key, e.Account.Code)
		}
		switch e.Side {
		case Debit:
			sums[e.Account.Asset] = sums[e.Account.Asset].Add(e.Amount)
		case Credit:
			sums[e.Account.Asset] = sums[e.Account.Asset].Sub(e.Amount)
		default:
			return fmt.Errorf("journal %q: side %q of %s is unknown", j.Key, e.Side, e.Account.Code)
		}
	}
	for asset, sum := range sums {
		if !sum.IsZero() {
			return fmt.Errorf("journal %q: debits and credits differ by %s %s", j.Key, sum, asset)
		}
	}
	return nil
}

// Empty reports a journal without entries: every amount was zero, so there is nothing to write.
func (j Journal) Empty() bool { return len(j.Entries) == 0 }

// move adds one balanced pair: debit one account, credit another of the same asset. An amount of zero adds nothing.
func (j *Journal) move(debit, credit Account, amount decimal.Decimal) {
	if !amount.IsPositive() {
		return
	}
	j.Entries = append(j.Entries, Entry{debit, Debit, amount}, Entry{credit, Credit, amount})
}

// reversed swaps the sides of every entry.
func (j Journal) reversed(key, event string) Journal {
	r := Journal{Key: key, Event: event, Payment: j.Payment}
	for _, e := range j.Entries {
		if e.Side == Debit {
			e.Side = Credit
		} else {
			e.Side = Debit
		}
		r.Entries = append(r.Entries, e)
	}
	return r
}
