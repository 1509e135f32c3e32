package payment

import "time"

// Unmined reports a transfer that is in a node's mempool and in no block.
func (d Deposit) Unmined() bool { return !d.Reverted && d.BlockHeight <= 0 }

// at is the time by which a mined transfer is on time or late. A transfer that a mempool showed inside the window has
// that time if a block holds it before the hold ends. Every other transfer has the time of its block. So a payer cannot
// keep a locked rate with a transaction whose fee is too low to be mined.
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

// idle reports an unmined transfer that counts for nothing: it was first seen after the window, or the window is
// closed. It changes nothing until a block holds it.
func (c *change) idle(d Deposit) bool {
	return d.Unmined() && (c.p.Closed || d.FirstSeenAt.After(c.p.ExpiresAt))
}

// orphaned reports a transfer in time whose block left the chain. Most come back in another block, and wallets learns
// from its next look at a mempool, or from that block, that this one does.
func (c *change) orphaned(d Deposit) bool {
	return d.Reverted && d.BlockHeight > 0 && c.p.quoted(d) && !c.dust(d) && !d.FirstSeenAt.After(c.p.ExpiresAt)
}

// waits returns until when the payment waits for a block with its unmined or orphaned money, or zero without it.
func (c *change) waits() time.Time {
	counts := c.counts(c.onTime)
	for _, d := range c.rows {
		if d.Unmined() && counts(d) || c.orphaned(d) {
			return c.holdEnds()
		}
	}
	return timeZero
}
