package payment

import (
	"slices"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/quote"
)

// Ledger accounts that a deposit may be booked to.
const (
	bookedCustomer = "customer"
	bookedSuspense = "suspense"
)

// due is the amount that the payer owes: the quoted amount, or more where late money is worth less than at the locked
// rate. floor and ceiling bound the amounts that pay the quoted payout.
func (c *change) due() decimal.Decimal {
	q := c.p.Quote
	if !c.cheaper() {
		return q.CryptoAmount
	}
	return money.DivUp(q.CryptoAmount.Mul(q.Rate.Value), c.p.LateRate, digits(q))
}

// cheaper reports late money whose rate is below the locked one.
func (c *change) cheaper() bool {
	return c.p.LateRate.IsPositive() && c.p.LateRate.LessThan(c.p.Quote.Rate.Value)
}

// digits is the number of decimals of the quoted asset on its network.
func digits(q quote.Quote) int32 {
	n, _ := money.NetworkOf(q.Network)
	if a, ok := n.Asset(q.Crypto); ok {
		return a.Decimals
	}
	return maxDigits
}

func (c *change) floor() decimal.Decimal   { return c.due().Sub(c.due().Mul(c.pol.Under)) }
func (c *change) ceiling() decimal.Decimal { return above(c.due(), c.pol.Over) }

func above(amount, share decimal.Decimal) decimal.Decimal { return amount.Add(amount.Mul(share)) }

// dust reports a transfer that is too small to open a payment. Tally says when dust counts.
func (c *change) dust(d Deposit) bool {
	if !c.p.quoted(d) {
		switch {
		case d.USD.IsPositive():
			return d.USD.LessThan(c.pol.DustUSD)
		case stable(d):
			return d.Amount.LessThan(c.pol.DustUSD)
		}
		return !d.Amount.IsPositive()
	}
	return d.Amount.LessThan(c.opens())
}

// opens is the smallest transfer of the quoted asset that opens the payment. Where the whole due is worth little more
// than the dollar bound, a tenth of the due replaces the bound. Otherwise such a payment could never be paid.
func (c *change) opens() decimal.Decimal {
	due := c.p.Quote.CryptoAmount
	least := due.Mul(c.pol.DustShare)
	if unit := c.p.Quote.Rate.UnitUSD(); unit.IsPositive() {
		byUSD := decimal.Min(money.DivUp(c.pol.DustUSD, unit, maxDigits), due.Shift(-1))
		least = decimal.Max(least, byUSD)
	}
	return least
}

const maxDigits = 18

func stable(d Deposit) bool {
	n, _ := money.NetworkOf(d.Network)
	a, ok := n.Asset(d.Asset)
	return ok && a.Stable
}

// onTime reports a transfer that counts by its time: inside the window, or inside the grace after late money was taken.
func (c *change) onTime(d Deposit) bool {
	if d.Unmined() {
		return !c.idle(d)
	}
	end := c.p.ExpiresAt
	if c.p.Timing == Late {
		end = end.Add(c.pol.LateGrace)
	}
	return !c.at(d).After(end)
}

// lost reports a converted transfer that was reorged away, left its block, or changed its amount.
func (c *change) lost(d Deposit) bool {
	return d.Counted.IsPositive() && (d.Booked == "" || c.unbooks(d) || !d.Amount.Equal(d.Counted))
}

// unbooks reports a transfer whose booking no longer holds: it is reorged away or in no block, has another amount, or
// is in another block and not deep enough there. The last one happens when the snapshot without a block is overtaken.
func (c *change) unbooks(d Deposit) bool {
	moved := d.BookedBlock != "" && d.BlockHash != d.BookedBlock
	return d.Booked != "" && (d.Reverted || d.Unmined() || !d.Amount.Equal(d.BookedAmount) || moved && !c.deep(d))
}

// Need is the depth that this payment needs for its risk.
func (pol Policy) Need(p Payment) Depth {
	return pol.Depths.Required(p.Quote.Network, p.Quote.Crypto, p.risk())
}

// risk is the worth of the payment in dollars, or the worth of all received money if that is more.
func (p Payment) risk() decimal.Decimal {
	return decimal.Max(p.Quote.TransactionUSD, p.Received.Mul(p.Quote.Rate.UnitUSD()))
}

// witnesses reports whether a second host must still confirm some money of a large payment, and whether one host alone
// reports some of it, so that an operator must decide.
func (c *change) witnesses() (pending, alone bool) {
	if c.p.Mode != tenant.Live || !c.pol.WitnessUSD.IsPositive() || c.p.risk().LessThanOrEqual(c.pol.WitnessUSD) {
		return false, false
	}
	counts := c.counts(c.onTime)
	for _, d := range c.rows {
		if counts(d) {
			pending, alone = pending || d.Witness == WitnessPending, alone || d.Witness == WitnessAlone
		}
	}
	return pending, alone
}

// deep reports a transfer that is deep enough. A transfer of another asset follows the table of its own network, for
// its own worth where that is more.
func (c *change) deep(d Deposit) bool {
	if !c.p.quoted(d) {
		return c.pol.Depths.Required(d.Network, d.Asset, decimal.Max(c.p.Quote.TransactionUSD, d.USD)).Met(d)
	}
	return c.pol.Need(c.p).Met(d)
}

// deposits processes all transfers of the payment: first the sums, then the ledger, then the state.
func (c *change) deposits(rate decimal.Decimal) {
	c.sum()
	frozen := c.p.Credit.Frozen
	switch {
	case c.p.End == Refunded, c.p.Status() == StatusNeedsReview, c.p.Payout.Left():
		c.book()
		if frozen {
			c.watchFrozen()
		} else if c.p.End != Refunded {
			c.watchHeld()
		}
	case frozen && !c.anyLost():
		c.book()
		c.p.Overpaid = c.excess()
		c.credit()
	default:
		if frozen {
			c.unfreeze()
		}
		c.book()
		c.judge(rate)
	}
}

// sum adds up the valid transfers. It notes whether the sum grew, and whether money of any asset came or went.
func (c *change) sum() {
	standing, wrong := 0, false
	for _, d := range c.rows {
		if d.Reverted {
			continue
		}
		standing++
		if !c.p.quoted(d) && !c.dust(d) && !c.idle(d) && d.Refunded.LessThan(d.Amount) {
			wrong = true
		}
	}
	t, had := c.tally(), c.p.WrongAsset
	c.grew = c.begun(anyTime) && t.Received.GreaterThan(c.p.Received)
	c.vanished = had && !wrong || t.Received.Add(c.opens()).LessThanOrEqual(c.p.Received)
	c.appeared = c.grew || wrong && !had
	if c.p.Payout != PayoutSucceeded && c.p.End != Refunded {
		c.p.WrongAsset = wrong // transfers after the end are recorded and change no flag
	}
	if !t.Received.Equal(c.p.Received) {
		c.p.Received = t.Received
	}
	if !t.Ignored.Equal(c.p.Ignored) {
		c.p.Ignored = t.Ignored
	}
	c.p.Transfers, c.p.WaitsUntil = standing, c.waits()
	if c.grew && c.p.Screening.Cleared() && !c.p.Credit.Frozen && c.trigger != OnScreened {
		c.p.Screening = Unscreened // a new sender needs its own verdict
	}
}

// book posts each deep transfer to the ledger once. It reverses a transfer that was reorged away, is unmined again, or
// was mined again with another amount or in a block that is not deep yet. Money for a running payment goes to its
// payer's account, and other money to suspense.
func (c *change) book() {
	running := c.p.End == NotEnded && c.p.Status() != StatusNeedsReview
	for i := range c.rows {
		d := &c.rows[i]
		if c.unbooks(*d) {
			from := d.Booked
			if d.Counted.IsPositive() {
				from = bookedSuspense // it was converted: operators recover the loss from suspense
			}
			gone := c.entry(*d, from, d.BookedAmount)
			gone.Gone = decimal.Min(d.Refunded, d.BookedAmount)
			c.post(gone.Reverted())
			d.Booked, d.BookedAmount, d.BookedBlock = "", decimal.Zero, ""
			c.mark(*d)
		}
		if d.Booked != "" && d.BookedBlock != "" && d.BookedBlock != d.BlockHash { // deep in another block already
			d.BookedBlock = d.BlockHash
			c.mark(*d)
		}
		if d.Booked == "" && !d.Reverted && d.Amount.IsPositive() && c.deep(*d) {
			d.Booked = bookedSuspense
			if running && c.p.quoted(*d) && d.Counted.IsZero() && d.Refunded.IsZero() {
				d.Booked = bookedCustomer
			}
			d.BookedAmount, d.BookedBlock = d.Amount, d.BlockHash
			d.Bookings++
			c.post(c.entry(*d, d.Booked, d.Amount).Confirmed())
			c.mark(*d)
		}
	}
}

func (c *change) entry(d Deposit, to string, amount decimal.Decimal) ledger.Deposit {
	account := ledger.Customer(c.p.ID, d.Asset)
	if to == bookedSuspense {
		account = ledger.Suspense(d.Asset)
	}
	return ledger.Deposit{Payment: c.p.ID, Key: d.Key, N: d.Bookings, Network: d.Network, Asset: d.Asset, Amount: amount, To: account}
}

func (c *change) mark(d Deposit) {
	m := Mark{
		Key: d.Key, Booked: d.Booked, BookedAmount: d.BookedAmount, BookedBlock: d.BookedBlock, Bookings: d.Bookings,
		Counted: d.Counted, Refunded: d.Refunded,
	}
	if i, had := c.marks[d.Key]; had {
		c.facts[i] = m
		return
	}
	if c.marks == nil {
		c.marks = map[string]int{}
	}
	c.marks[d.Key] = len(c.facts)
	c.facts = append(c.facts, m)
}

// watchFrozen follows a payment whose money is converted. No status changes. A deposit that is reorged away is an
// alert, and further money is owed to the payer.
func (c *change) watchFrozen() {
	gone := c.anyLost()
	if gone && !c.p.Reorged {
		c.alert(alert.DepositReorged, "converted deposit reorged away")
	}
	c.p.Reorged = gone
	if c.p.End == NotEnded && c.p.Status() != StatusNeedsReview {
		c.p.Overpaid = c.excess()
	}
}

// watchHeld follows a payment that waits for an operator and whose money is not converted. The payment is reorged while
// a deposit is missing, and no longer once all deposits are valid again.
func (c *change) watchHeld() {
	gone := slices.ContainsFunc(c.rows, func(d Deposit) bool { return d.Reverted && !c.dust(d) })
	switch {
	case gone && c.vanished:
		c.p.Reorged = true
	case !gone && c.appeared:
		c.p.Reorged = false
	}
}

func (c *change) anyLost() bool {
	for _, d := range c.rows {
		if c.lost(d) {
			return true
		}
	}
	return false
}

// excess reports mined money beyond what was converted, or converted money beyond the tolerance.
func (c *change) excess() bool {
	counted := decimal.Zero
	for _, d := range c.rows {
		switch {
		case d.Counted.IsPositive():
			counted = counted.Add(d.Counted)
		case c.valid(d) && !d.Unmined() && !c.dust(d):
			return true
		}
	}
	return counted.GreaterThan(c.ceiling())
}

// judge sets the funding facets while no payout has left and the payment has no hold.
func (c *change) judge(rate decimal.Decimal) {
	before := c.p.Funding
	switch {
	case c.refunding() && before == Confirmed: // the conversion was undone, and a refund has taken the surplus
		c.p.Funding, c.p.Hold, c.p.Reorged = Short, HoldUnderpaid, true
		return
	case c.refunding(), c.p.End == Cancelled, c.p.Receiver.Forgotten():
		c.judgeOver()
		return
	}
	c.forgetLate()
	if c.p.Timing == Late && c.grew && !c.takeLate(rate) {
		return
	}
	seen := c.tally().Counts
	switch {
	case seen.IsPositive() && seen.GreaterThanOrEqual(c.floor()):
		c.fund(false)
	case c.p.Closed && (!seen.IsPositive() || (c.p.WrongAsset && !c.p.Underpaid)):
		c.judgeClosed(before, rate)
	case c.p.Closed && c.p.Type.ProRata() && c.worth(seen).Payout.IsPositive():
		c.fund(true)
	case c.p.Closed:
		c.p.Funding, c.p.Hold = Short, HoldUnderpaid
		c.dropped(before)
	case seen.IsPositive():
		c.p.Funding, c.p.Underpaid = Short, false
		c.dropped(before)
	default:
		c.p.Funding, c.p.Underpaid = Unfunded, false
		c.dropped(before)
	}
	if c.p.Funding != Seen {
		c.p.Overpaid = false
		return
	}
	c.p.Overpaid = c.mined().GreaterThan(c.ceiling()) // includes late money that was taken
	c.confirm()
}

// fund notes that enough money is visible, or with short that the window ended with less.
func (c *change) fund(short bool) {
	c.p.Funding, c.p.Underpaid, c.p.Reorged = Seen, short, false
	if c.p.Claim == ClaimVoid {
		c.p.Claim = ClaimOpen
	}
}

// dropped notes a reorg that removed money which the payment already showed. A claimed gift that was never funded stays
// unfunded, because no recipient relied on its money.
func (c *change) dropped(before Funding) {
	if c.trigger == OnWindow || before == Seen && slices.ContainsFunc(c.rows, func(d Deposit) bool { return c.valid(d) && c.outlived(d) }) {
		return // never mined, or mined too late: no money was lost
	}
	if (before == Seen && c.p.Claim != Claimed) || before == Confirmed {
		c.p.Reorged = true
	}
}

// judgeClosed handles a window that closed unpaid.
func (c *change) judgeClosed(before Funding, rate decimal.Decimal) {
	c.p.Funding, c.p.Underpaid = Unfunded, false
	c.dropped(before)
	if c.p.Claim == Claimed {
		c.p.Claim, c.p.Receiver, c.p.ClaimedAt = ClaimVoid, Receiver{}, timeZero
	}
	if c.p.WrongAsset {
		c.p.Hold = HoldWrongAsset
		return
	}
	first, ok := c.firstLate()
	if !ok {
		return
	}
	c.step() // records the expiry before the late money
	c.p.Timing = Late
	if c.at(first).After(c.p.ExpiresAt.Add(c.pol.LateGrace)) {
		c.p.Hold = HoldLate
		return
	}
	if !c.takeLate(rate) {
		return
	}
	seen := c.tally().Counts
	switch {
	case seen.GreaterThanOrEqual(c.floor()):
		c.fund(false)
	case c.p.Type.ProRata() && c.worth(seen).Payout.IsPositive():
		c.fund(true)
	default:
		c.p.Funding, c.p.Hold = Short, HoldUnderpaid
	}
}

// takeLate fixes the rate of late money when a block holds it: the lowest of the locked rate and of the current rates
// at each arrival. So a payer cannot wait for a better rate. Without a current rate, or when it moved too far, an
// operator decides.
func (c *change) takeLate(rate decimal.Decimal) bool {
	lock := c.p.Quote.Rate
	if !lock.Drift(rate, c.pol.LateDrift) {
		c.p.Hold = HoldLate
		return false
	}
	if !c.p.LateRate.IsPositive() {
		c.p.LateRate = lock.Value
	}
	c.p.LateRate = decimal.Min(c.p.LateRate, rate)
	return true
}

// firstLate finds the earliest valid, mined transfer of the quoted asset that arrived after the window.
func (c *change) firstLate() (first Deposit, ok bool) {
	for _, d := range c.rows {
		late := c.valid(d) && !d.Unmined() && !c.dust(d) && c.at(d).After(c.p.ExpiresAt)
		if late && (!ok || c.at(d).Before(c.at(first))) {
			first, ok = d, true
		}
	}
	return first, ok
}

// forgetLate makes a payment expired again after its late money was reorged away. When the money is mined again, it is
// judged again.
func (c *change) forgetLate() {
	if c.p.Timing != Late {
		return
	}
	if first, ok := c.firstLate(); !ok || c.at(first).After(c.p.ExpiresAt.Add(c.pol.LateGrace)) {
		c.p.Timing, c.p.LateRate = OnTime, decimal.Zero
	}
}

// judgeOver holds money that arrives after a cancellation or after the receiver was erased. An operator decides on it.
func (c *change) judgeOver() {
	for _, d := range c.rows {
		if !d.Reverted && !d.Unmined() && !c.dust(d) {
			c.p.Hold, c.p.Timing = HoldLate, Late
			return
		}
	}
}

// confirm freezes the credit once enough of the money is deep enough and its senders are clear.
func (c *change) confirm() {
	t := c.tally()
	enough := t.Deep.IsPositive() && t.Deep.GreaterThanOrEqual(c.floor())
	if c.p.Underpaid {
		enough = t.Deep.Equal(t.Counts)
	}
	pending, alone := c.witnesses()
	if !enough || pending || (c.pol.Screen && !c.p.Screening.Cleared()) {
		return
	}
	c.step() // the event of confirming comes before that of confirmed
	credit := c.worth(t.Deep)
	switch above := credit.Payout.GreaterThan(c.p.Quote.PayoutAmount); {
	case alone:
		c.p.Hold = HoldUnverified
	case above && credit.Payout.GreaterThan(c.pol.PayoutLimit(c.p.Currency)):
		c.p.Hold = HoldMaximum
	case above && c.pol.NoRoom:
		c.p.Hold = HoldLimit
	default:
		c.freeze(credit, c.counts(c.onTime))
	}
}

// worth converts a sum of the quoted asset: to the quoted payout within the tolerance, and otherwise by the type's
// policy. Money beyond the quote stays the payer's for types that pay the quote. Late money at a lower rate never pays
// more than at the locked rate.
func (c *change) worth(sum decimal.Decimal) Credit {
	q := c.p.Quote
	credit := Credit{Crypto: sum, Payout: q.PayoutAmount, Fee: q.Charge.Fiat}
	short, over := sum.LessThan(c.floor()), sum.GreaterThan(c.ceiling())
	switch {
	case short, c.p.Type.ProRata() && (over || c.cheaper() && sum.LessThan(c.due())):
		if !c.cheaper() {
			credit.Payout, credit.Fee = q.Convert(sum, q.CryptoAmount)
		} else {
			credit.Payout, credit.Fee = q.Convert(sum.Mul(c.p.LateRate), q.CryptoAmount.Mul(q.Rate.Value))
			most, _ := q.Convert(sum, q.CryptoAmount)
			if sum.LessThanOrEqual(above(q.CryptoAmount, c.pol.Over)) {
				most = decimal.Min(most, q.PayoutAmount)
			}
			gross := credit.Payout.Add(credit.Fee)
			credit.Payout = decimal.Min(credit.Payout, most)
			credit.Fee = gross.Sub(credit.Payout)
		}
	case over:
		credit.Crypto = c.due()
	}
	return credit
}

// freeze fixes the conversion and marks its transfers: those that count and are deep.
func (c *change) freeze(credit Credit, counts func(Deposit) bool) {
	rate := c.p.Quote.Rate
	if c.cheaper() {
		rate.Value = c.p.LateRate
	}
	charge := rate.Charge(credit.Fee)
	credit.N, credit.FeeCrypto, credit.FeeUSD, credit.Frozen = c.p.Credit.N+1, charge.Crypto, charge.USD, true
	for i := range c.rows {
		d := &c.rows[i]
		if d.Booked == "" || !counts(*d) || !c.deep(*d) {
			continue
		}
		if d.Booked == bookedSuspense { // it arrived while the payment waited for an operator
			c.post(c.entry(*d, bookedCustomer, d.BookedAmount).Released())
			d.Booked = bookedCustomer
		}
		d.Counted = d.Amount
		c.mark(*d)
	}
	c.p.Credit, c.p.Funding, c.p.ConfirmedAt, c.p.Reorged = credit, Confirmed, c.now, false
	c.p.Overpaid = c.excess()
	c.post(c.conversion().Converted())
	c.goOn()
}

// goOn starts the next step of a confirmed payment: the payout, the wait for a claim, the wait for the caller, or the
// credit of the merchant's balance.
func (c *change) goOn() {
	switch {
	case c.p.ToBalance:
		c.step()
		c.credit()
	case c.p.CallerSettles():
		c.p.DeadlineAt = c.now.Add(c.pol.SettleWindow)
		c.p.Token = Token{}
	case c.p.Type == Gift && c.p.Claim != Claimed:
		c.p.Claim = ClaimOpen
		c.p.DeadlineAt = c.now.Add(c.pol.ClaimWindow)
	default:
		c.step() // records the status first; the hold of the payout does not change it
		c.holdPayout()
	}
}

// unfreeze undoes a confirmation whose money was reorged away before the payout left.
func (c *change) unfreeze() {
	c.voidPayout()
	c.unconvert()
	c.p.Credit = Credit{N: c.p.Credit.N}
	c.p.ConfirmedAt, c.p.DeadlineAt, c.p.Token = timeZero, timeZero, Token{}
}

// unconvert reverses the conversion. The converted money is owed to the payer again. The loss of a transfer that was
// reorged away is booked in suspense.
func (c *change) unconvert() {
	c.post(c.conversion().Unconverted())
	for i := range c.rows {
		d := &c.rows[i]
		if d.Counted.IsZero() {
			continue
		}
		if d.Booked != bookedCustomer {
			c.post(c.entry(*d, bookedCustomer, d.Counted.Sub(d.Refunded)).Absorbed())
		}
		d.Counted = decimal.Zero
		c.mark(*d)
	}
}
