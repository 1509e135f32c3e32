package payment

import "github.com/shopspring/decimal"

// Tally is what the transfers of the quoted asset come to. It is the one answer to what has been received, what is left to
// pay and what is ignored: the state machine, GET, the events and the page for payers all have it from here.
//
// Dust, a transfer too small to open a payment, counts once another transfer has opened it, and for nothing before. Dust of a
// listed sender never counts: anybody can send it, so it must neither hold the payment nor be converted.
type Tally struct {
	Received decimal.Decimal // all that stands, mined or in time and waiting for a block
	Ignored  decimal.Decimal // of it, the dust that counts for nothing
	Counts   decimal.Decimal // of it, what pays the payment: in time, and no ignored dust
	Deep     decimal.Decimal // of what counts, what is deep enough
	Left     decimal.Decimal // what the payer still has to send
}

// Tally adds up the transfers of a payment; it is given all of them.
func (pol Policy) Tally(p Payment, rows []Deposit) Tally {
	c := change{pol: pol, p: p, rows: rows}
	return c.tally()
}

func (c *change) tally() (t Tally) {
	begun, counts := c.begun(anyTime), c.counts(c.onTime)
	for _, d := range c.rows {
		if !c.stands(d) {
			continue
		}
		t.Received = t.Received.Add(d.Amount)
		if !c.pays(d, begun) {
			t.Ignored = t.Ignored.Add(d.Amount)
		}
		if !counts(d) {
			continue
		}
		t.Counts = t.Counts.Add(d.Amount)
		if c.deep(d) {
			t.Deep = t.Deep.Add(d.Amount)
		}
	}
	t.Left = c.left(t)
	return t
}

// left is what is missing from the due. Dust that waits for the payment to be opened is no longer asked for, but the next
// transfer must open it.
func (c *change) left(t Tally) decimal.Decimal {
	switch {
	case t.Counts.IsPositive() && t.Counts.GreaterThanOrEqual(c.floor()):
		return decimal.Zero
	case t.Counts.IsPositive():
		return c.due().Sub(t.Counts)
	}
	waiting := decimal.Zero
	for _, d := range c.rows {
		if c.stands(d) && c.pays(d, true) && c.dust(d) && c.onTime(d) {
			waiting = waiting.Add(d.Amount)
		}
	}
	least := c.opens().RoundUp(digits(c.p.Quote))
	return decimal.Max(c.due().Sub(waiting), decimal.Min(least, c.due()))
}

// mined is what counts and is in a block.
func (c *change) mined() (sum decimal.Decimal) {
	counts := c.counts(c.onTime)
	for _, d := range c.rows {
		if counts(d) && !d.Unmined() {
			sum = sum.Add(d.Amount)
		}
	}
	return sum
}

// stands reports a transfer of what was quoted that may count.
func (c *change) stands(d Deposit) bool { return c.p.quoted(d) && !d.Reverted && !c.idle(d) }

// begun reports that a transfer among those chosen opens the payment.
func (c *change) begun(among func(Deposit) bool) bool {
	for _, d := range c.rows {
		if c.stands(d) && !c.dust(d) && among(d) {
			return true
		}
	}
	return false
}

// pays reports a transfer that counts if its time and depth allow it, in a payment that is begun or not.
func (c *change) pays(d Deposit, begun bool) bool {
	return c.stands(d) && (!c.dust(d) || begun && d.Screening != Hit)
}

// counts chooses the transfers that pay the payment among some.
func (c *change) counts(among func(Deposit) bool) func(Deposit) bool {
	begun := c.begun(among)
	return func(d Deposit) bool { return among(d) && c.pays(d, begun) }
}

func anyTime(Deposit) bool { return true }
