package payment

import (
	"slices"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/quote"
)

// adopt makes the payment of an address whose money no payment has. The payment has ended before it begins, so that
// nothing is converted: all of its money is owed to the payer. Each booked deposit leaves the books as money of no
// payment and enters them again as money of this one. The payment counts from the first sight of its money on, because
// the money has been owed since then.
func (c *change) adopt(t Adopt) error {
	d := t.Draft
	booked := func(d Deposit) bool { return d.Booked != "" }
	if d.ID == "" || d.Reference == "" || d.Address == "" || !slices.ContainsFunc(c.rows, booked) {
		return fault.New(fault.Internal, "draft_incomplete", "an adoption needs an id, an address and money that is booked")
	}
	c.p = Payment{
		ID: d.ID, Reference: d.Reference, Mode: d.Mode, Type: Stray, Quote: quote.Quote{Network: d.Quote.Network},
		NetworkName: d.NetworkName, Address: d.Address, Metadata: []byte("{}"),
		Funding: Unfunded, Timing: OnTime, Claim: NoClaim, Payout: NoPayout, End: Cancelled, Closed: true, CreatedAt: c.now,
	}
	for i := range c.rows {
		d := &c.rows[i]
		if !booked(*d) {
			continue
		}
		if d.At().Before(c.p.CreatedAt) {
			c.p.CreatedAt = d.At()
		}
		stray := c.entry(*d, d.Booked, d.BookedAmount)
		stray.Payment = ""
		c.post(stray.Reverted())
		d.Booked, d.BookedAmount, d.BookedBlock = "", decimal.Zero, ""
		c.mark(*d)
	}
	c.p.ExpiresAt = c.p.CreatedAt
	c.deposits(decimal.Zero)
	if c.pol.Screen {
		c.p.Screening = c.pol.Verdict(c.p, c.rows)
	}
	return nil
}
