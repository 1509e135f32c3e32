package payment

import "github.com/shopspring/decimal"

// Tally sums the transfers of the quoted asset. The state machine, GET, the events and the pay page take the received,
// missing and ignored amounts from it.
//
// Dust is a transfer that is too small to open a payment. It counts only after another transfer has opened the payment.
// Dust of a listed sender never counts: anybody can send it, so it must neither hold the payment nor be converted.
type Tally struct {
	Received decimal.Decimal // all valid transfers: mined, or on time and unmined
	Ignored  decimal.Decimal // part of Received: dust that counts for nothing
	Counts   decimal.Decimal // part of Received that pays the payment: on time, and no ignored dust
	Deep     decimal.Decimal // part of Counts that is deep enough
	Left     decimal.Decimal // amount that the payer still has to send
}

// Tally sums the transfers of a payment. rows are all of them.
func (pol Policy) Tally(p Payment, rows []Deposit) Tally {
	c := change{pol: pol, p: p, rows: rows}
	return c.tally()
}

func (c *change) tally() (t Tally) {
	begun, counts := c.begun(anyTime), c.counts(c.onTime)
	for _, d := range c.rows {
		if !c.valid(d) {
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

// left is the missing part of the due. Received dust reduces it, but the next transfer must still be large enough to
// open the payment.
func (c *change) left(t Tally) decimal.Decimal {
	switch {
	case t.Counts.IsPositive() && t.Counts.GreaterThanOrEqual(c.floor()):
		return decimal.Zero
	case t.Counts.IsPositive():
		return c.due().Sub(t.Counts)
	}
	waiting := decimal.Zero
	for _, d := range c.rows {
		if c.valid(d) && c.pays(d, true) && c.dust(d) && c.onTime(d) {
			waiting = waiting.Add(d.Amount)
		}
	}
	least := c.opens().RoundUp(digits(c.p.Quote))
	return decimal.Max(c.due().Sub(waiting), decimal.Min(least, c.due()))
}

// mined is the sum of the counting transfers that are in a block.
func (c *change) mined() (sum decimal.Decimal) {
	counts := c.counts(c.onTime)
	for _, d := range c.rows {
		if counts(d) && !d.Unmined() {
			sum = sum.Add(d.Amount)
		}
	}
	return sum
}

// valid reports a valid transfer of the quoted asset, which may count.
func (c *change) valid(d Deposit) bool { return c.p.quoted(d) && !d.Reverted && !c.idle(d) }

// begun reports whether one of the chosen transfers opens the payment.
func (c *change) begun(among func(Deposit) bool) bool {
	for _, d := range c.rows {
		if c.valid(d) && !c.dust(d) && among(d) {
			return true
		}
	}
	return false
}

// pays reports a transfer that counts if its time and depth allow it. begun says whether the payment is opened.
func (c *change) pays(d Deposit, begun bool) bool {
	return c.valid(d) && (!c.dust(d) || begun && d.Screening != Hit)
}

// counts chooses the transfers that pay the payment, among the given ones.
func (c *change) counts(among func(Deposit) bool) func(Deposit) bool {
	begun := c.begun(among)
	return func(d Deposit) bool { return among(d) && c.pays(d, begun) }
}

func anyTime(Deposit) bool { return true }
