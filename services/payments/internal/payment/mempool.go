package payment

import "time"

// at is the time that decides whether a transfer is on time. One that a mempool showed is as early as that for MempoolHold,
// counted from the window's end or from a later sighting; mined after that, its time is that of its block. So nobody keeps a
// rate with a transaction that pays too little to be mined.
func (c *change) at(d Deposit) time.Time {
	if c.outlived(d) {
		return d.BlockTime
	}
	return d.At()
}

// outlived reports a transfer that was mined after the hold of its sighting.
func (c *change) outlived(d Deposit) bool {
	from := c.p.ExpiresAt
	if d.FirstSeenAt.After(from) {
		from = d.FirstSeenAt
	}
	return d.BlockTime.After(from.Add(c.pol.MempoolHold))
}
