package payment

import "time"

// at is the time that decides whether a transfer is on time. One that a mempool showed inside the window is as early as that
// for MempoolHold after it; mined later, its time is that of its block. So nobody keeps a lock with a transaction that pays
// too little to be mined.
func (c *change) at(d Deposit) time.Time {
	if c.outlived(d) {
		return d.BlockTime
	}
	return d.At()
}

// outlived reports a transfer that was seen inside the window and mined after the lock's end.
func (c *change) outlived(d Deposit) bool {
	return !d.FirstSeenAt.After(c.p.ExpiresAt) && d.BlockTime.After(c.p.ExpiresAt.Add(c.pol.MempoolHold))
}
