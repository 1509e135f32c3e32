package payment

import "time"

// Unmined reports a transfer that only a node's mempool shows: no block holds it.
func (d Deposit) Unmined() bool { return !d.Reverted && d.BlockHeight <= 0 }

// at is the time that decides whether a mined transfer is on time, or how late it is. One that a mempool showed inside the
// window is as early as that if a block holds it by the end of the hold. Every other transfer is as late as its block. So nobody
// keeps a lock with a transaction that pays too little to be mined.
func (c *change) at(d Deposit) time.Time {
	if d.BlockTime.IsZero() || !d.FirstSeenAt.After(c.p.ExpiresAt) && !c.outlived(d) {
		return d.At()
	}
	return d.BlockTime
}

// holdEnds is the time until which an unmined transfer counts.
func (c *change) holdEnds() time.Time { return c.p.ExpiresAt.Add(c.pol.MempoolHold) }

// outlived reports a transfer that was seen inside the window and mined after the end of the hold.
func (c *change) outlived(d Deposit) bool {
	return !d.FirstSeenAt.After(c.p.ExpiresAt) && d.BlockTime.After(c.holdEnds())
}

// idle reports an unmined transfer that counts for nothing: it was first seen after the window, or the window is closed.
// Nothing is decided on it before a block holds it.
func (c *change) idle(d Deposit) bool {
	return d.Unmined() && (c.p.Closed || d.FirstSeenAt.After(c.p.ExpiresAt))
}

// waits says until when the payment waits for a block to hold what counts and is unmined, and zero if nothing is.
func (c *change) waits() time.Time {
	counts := c.counts(c.onTime)
	for _, d := range c.rows {
		if d.Unmined() && counts(d) {
			return c.holdEnds()
		}
	}
	return timeZero
}
