package payment

import (
	"crypto/subtle"
	"slices"
	"time"

	"github.com/shopspring/decimal"

	"causeway.internal/libs/fault"
	"causeway.internal/services/payments/internal/alert"
	"causeway.internal/services/payments/internal/ledger"
	"causeway.internal/services/payments/internal/quote"
	"causeway.internal/services/payments/internal/refund"
)

func (c *change) create(t Create) error {
	d := t.Draft
	request := d.Type == Request
	switch {
	case d.ID == "" || d.Reference == "" || d.MerchantID == "" || !d.Type.Valid() || !d.Currency.Valid():
		return fault.New(fault.Internal, "draft_incomplete", "the draft of a payment lacks an id, a merchant, a type or a currency")
	case request == d.Quote.Priced() || request == (d.Address != ""):
		return fault.New(fault.Internal, "draft_incomplete", "a request needs no price and no address, and every other payment needs both")
	}
	c.p = Payment{
		ID: d.ID, Reference: d.Reference, MerchantID: d.MerchantID, KeyID: d.KeyID, Mode: d.Mode, Type: d.Type, Version: d.Version,
		Currency: d.Currency, FiatAmount: d.FiatAmount, ChargeFrom: d.ChargeFrom, Quote: d.Quote, NetworkName: d.NetworkName,
		Address: d.Address, Payer: d.Payer, Receiver: d.Receiver, Preferred: d.Preferred, Rail: d.Rail, BankRef: d.BankRef,
		CallbackURL: d.CallbackURL, Shop: d.Shop, ToBalance: d.ToBalance, Metadata: d.Metadata,
		Funding: Unfunded, Timing: OnTime, Claim: NoClaim, Payout: NoPayout, CreatedAt: c.now,
	}
	if request {
		c.p.ChargeFrom = quote.Crypto
		c.p.ExpiresAt = c.now.Add(c.pol.RequestWindow)
	} else {
		c.p.FiatAmount = d.Quote.FiatAmount
		c.p.ExpiresAt = c.now.Add(c.pol.Window)
	}
	if d.Type == Gift {
		c.p.Claim = ClaimOpen
	}
	return nil
}

func (c *change) fulfil(t Fulfil) error {
	if c.now.After(c.p.ExpiresAt) {
		return fault.New(fault.Conflict, "request_expired", "Request has expired")
	}
	if !t.Quote.Priced() || t.Address == "" || t.Quote.Currency != c.p.Currency || !t.Quote.FiatAmount.Equal(c.p.FiatAmount) ||
		t.Quote.ChargeFrom != quote.Crypto {
		return fault.New(fault.Internal, "fulfilment_incomplete", "a fulfilment needs a price of the request's amount and an address")
	}
	c.p.Quote, c.p.NetworkName, c.p.Address, c.p.Payer = t.Quote, t.NetworkName, t.Address, t.Payer
	c.p.FulfilledAt, c.p.ExpiresAt = c.now, c.now.Add(c.pol.Window)
	return nil
}

func (c *change) cancel(Cancel) error {
	if c.p.Transfers > 0 {
		return refusal(c.p, OnCancel)
	}
	c.p.End, c.p.Reorged, c.p.Claim = Cancelled, false, cancelledClaim(c.p.Claim)
	return nil
}

func cancelledClaim(cl Claim) Claim {
	if cl == ClaimOpen {
		return ClaimVoid
	}
	return cl
}

func (c *change) claim(t ClaimGift) error {
	if c.p.Type != Gift || c.p.Claim != ClaimOpen {
		return refusal(c.p, OnClaim)
	}
	if !t.Receiver.Known() {
		return fault.New(fault.Internal, "claim_incomplete", "a claim needs an account")
	}
	c.p.Claim, c.p.Receiver, c.p.ClaimedAt, c.p.DeadlineAt = Claimed, t.Receiver, c.now, timeZero
	if t.Rail != "" {
		c.p.Rail = t.Rail
	}
	if c.p.Funding == Confirmed {
		c.step()
		c.holdPayout()
	}
	return nil
}

func (c *change) settle(t Settle) error {
	if !c.p.CallerSettles() {
		return refusal(c.p, OnSettle)
	}
	if len(c.p.Token.Hash) == 0 || subtle.ConstantTimeCompare(c.p.Token.Hash, t.TokenHash) != 1 || c.now.After(c.p.Token.ExpiresAt) {
		const text = "is not valid, has been used or has expired"
		f := fault.New(fault.Invalid, "invalid_settlement_token", "settlementToken: %s", text)
		f.Fields = []fault.Field{{Field: "settlementToken", Message: text}}
		return f
	}
	c.post(ledger.Settled(c.p.ID, c.p.MerchantID, c.p.Currency, c.p.Credit.Payout))
	c.p.Payout, c.p.SettledAt, c.p.SettlementRef = PayoutSucceeded, c.now, t.Reference
	c.p.Token, c.p.DeadlineAt = Token{}, timeZero
	return nil
}

// credit moves the money of a confirmed payment to the merchant's balance once no reorganisation can take back what was
// converted. Until then it is pending, and a reorganisation reverses the conversion as for every payment.
func (c *change) credit() {
	if !c.p.ToBalance || c.p.State() != confirmed || c.p.Unclaimed > 0 ||
		slices.ContainsFunc(c.rows, func(d Deposit) bool { return d.Counted.IsPositive() && !d.Finalized }) {
		return
	}
	c.post(ledger.Settled(c.p.ID, c.p.MerchantID, c.p.Currency, c.p.Credit.Payout))
	c.p.Payout, c.p.SettledAt = PayoutSucceeded, c.now
	c.p.Token, c.p.DeadlineAt = Token{}, timeZero
}

func (c *change) token(t NewToken) error {
	if !c.p.CallerSettles() {
		return refusal(c.p, OnToken)
	}
	c.p.Token = t.Token
	return nil
}

// named fills in the names of the receiver's account. It ignores a name that arrives after the payout left, and a name
// of another account.
func (c *change) named(t Named) error {
	if c.p.Payout.Left() || t.Receiver.AccountNumber != c.p.Receiver.AccountNumber || t.Receiver.BankCode != c.p.Receiver.BankCode {
		return nil
	}
	c.p.Receiver.AccountName, c.p.Receiver.BankName = t.Receiver.AccountName, t.Receiver.BankName
	c.p.Receiver.NameVerified = t.Receiver.NameVerified
	return nil
}

func (c *change) changed(t Deposits) error {
	c.deposits(t.Rate)
	return nil
}

func (c *change) windowOver(t WindowOver) error {
	if c.p.Closed {
		return nil
	}
	switch {
	case t.Early:
		if c.now.Before(c.p.ExpiresAt) {
			c.p.ExpiresAt = c.now
		}
	case c.before(c.p.ExpiresAt, t.ScannedTo):
		return fault.New(fault.Conflict, "window_open", "The window of the payment is still open")
	default:
		if c.p.WaitsUntil = c.waits(); c.before(c.p.WaitsUntil, t.ScannedTo) {
			return nil
		}
	}
	c.p.Closed, c.p.WaitsUntil = true, timeZero
	if c.p.Quote.Priced() && c.p.End == NotEnded && c.p.Hold == NotHeld && c.p.Funding != Confirmed {
		c.deposits(t.Rate)
	}
	return nil
}

// before reports that the window has not ended, or that its network is not scanned past the end.
func (c *change) before(end, scanned time.Time) bool {
	return c.now.Before(end) || c.p.Address != "" && scanned.Before(end.Add(c.pol.ScanMargin))
}

// creditAgain is how long a payment to the balance waits for its final block after a deadline.
const creditAgain = time.Hour

func (c *change) deadlineOver(DeadlineOver) error {
	switch {
	case c.p.DeadlineAt.IsZero() || c.now.Before(c.p.DeadlineAt):
		return nil
	case c.p.ToBalance && len(c.rows) < c.p.Transfers:
		return errRowsMissing(OnDeadline)
	case c.p.ToBalance: // an earlier release confirmed it, for its caller to settle, and credits nothing
		c.p.DeadlineAt, c.p.Token = c.now.Add(creditAgain), Token{}
		c.credit()
		return nil
	}
	c.p.Hold, c.p.DeadlineAt, c.p.Token = HoldUnclaimed, timeZero, Token{}
	return nil
}

// screened stores the verdict. A hit withdraws a payout that has not left and holds the payment for an operator. A hit
// after the payout left is an alert.
func (c *change) screened(t Screened) error {
	c.p.Screening = t.Verdict
	if t.Verdict != Hit {
		if c.p.Funding == Seen && c.p.Hold == NotHeld {
			c.deposits(decimal.Zero)
		}
		return nil
	}
	switch state := c.p.State(); {
	case c.p.Payout.Left():
		c.alert(alert.ScreeningHit, "screening hit after the payout left")
	case state == State(StatusConfirming), state == State(StatusConfirmed), state == StateUnfunded, state == State(StatusSettling),
		state == State(StatusPending) && c.p.Transfers > 0:
		c.voidPayout()
		c.p.Hold, c.p.DeadlineAt, c.p.Token = HoldScreening, timeZero, Token{}
	}
	return nil
}

// sending is the last check before money leaves.
func (c *change) sending(t Sending) error {
	due := c.p.Payout == PayoutHeld || c.p.Payout == PayoutUnknown
	if !due || t.Attempt != c.p.Attempt || !c.p.Confirmed() || c.p.Hold != NotHeld || (c.pol.Screen && !c.p.Screening.Cleared()) {
		return refusal(c.p, OnPayoutSending)
	}
	c.p.Payout = PayoutSending
	return nil
}

func (c *change) unknown(t Unknown) error {
	if c.p.Attempt == 0 || t.Attempt > c.p.Attempt {
		return refusal(c.p, OnPayoutUnknown)
	}
	if t.Attempt == c.p.Attempt && (c.p.Payout == PayoutSending || c.p.Payout == PayoutHeld) {
		c.p.Payout = PayoutUnknown // held: after a restore the rail knows a payout that the row does not show as sent
	}
	return nil
}

// failedPaid is why a request failed whose money the receiver has got.
const failedPaid = "paid_out"

// succeeded accepts the rail's conclusive success in unexpected states too. After a restore a payout may be paid that
// the row does not show as sent. A payout that was reported as failed and then as paid is paid, and an incident. It
// ends the requests for its money that nobody has approved.
func (c *change) succeeded(t Succeeded) error {
	switch {
	case c.p.Attempt == 0 || t.Attempt > c.p.Attempt:
		return refusal(c.p, OnPayoutSucceeded)
	case t.Attempt < c.p.Attempt, c.p.End == Refunded, c.p.Payout == PayoutFailed && !c.p.Credit.Frozen: // a refund took the money
		c.alert(alert.PaidAfterDecision, "success of a payout attempt that had failed and was then paid again or refunded")
		return nil
	}
	switch c.p.Payout {
	case PayoutFailed:
		c.alert(alert.PaidAfterFailure, "success of a payout attempt that had failed")
		if err := c.endRequests(failedPaid, refund.Refund.Reserves); err != nil {
			return err
		}
		c.p.Holds++
		c.post(c.payoutEntry().Held())
	case PayoutHeld:
		c.p.Payout = PayoutSending
		c.step()
	case PayoutSending, PayoutUnknown:
	case NoPayout, PayoutSucceeded, PayoutReturned:
		return nil
	}
	c.post(c.payoutEntry().Succeeded(t.Fee))
	c.p.Payout, c.p.SettledAt = PayoutSucceeded, c.now
	return nil
}

func (c *change) failed(t Failed) error {
	switch {
	case c.p.Attempt == 0 || t.Attempt > c.p.Attempt:
		return refusal(c.p, OnPayoutFailed)
	case t.Attempt < c.p.Attempt:
		return nil
	case c.p.Payout == PayoutSucceeded:
		return nil // a late failure never downgrades a success (R8)
	}
	switch c.p.Payout {
	case PayoutHeld, PayoutSending, PayoutUnknown:
		c.post(c.payoutEntry().Voided())
		c.p.Payout = PayoutFailed
		c.failOver(t.Over)
	case NoPayout, PayoutSucceeded, PayoutFailed, PayoutReturned:
	}
	return nil
}

// failOver starts the next attempt over another rail, under its own reference, as an operator's retry does.
func (c *change) failOver(rail string) {
	if rail == "" || c.from != settling || c.p.Hold != NotHeld || c.p.Reorged {
		return
	}
	c.alert(alert.PayoutFailedOver, "payout failed at "+c.p.Rail+" and goes over "+rail)
	c.p.Rail, c.p.Attempt, c.p.Holds = rail, c.p.Attempt+1, 0
	c.holdPayout()
}

func (c *change) returned(t Returned) error {
	switch {
	case c.p.Attempt == 0 || t.Attempt > c.p.Attempt:
		return refusal(c.p, OnPayoutReturned)
	case t.Attempt < c.p.Attempt:
		return nil
	}
	switch c.p.Payout {
	case PayoutHeld, PayoutSending, PayoutUnknown:
		// The rail never reported a success, so the payment is not settled and no event says so. The ledger shows the money
		// leave and come back: it is in the float again and owed to the receiver.
		c.post(c.payoutEntry().Succeeded(decimal.Zero))
	case PayoutSucceeded:
	case NoPayout, PayoutFailed, PayoutReturned:
		return nil
	}
	c.post(c.payoutEntry().Returned())
	c.p.Payout, c.p.SettledAt = PayoutReturned, timeZero
	return nil
}

// release lifts the hold. It overrules a verdict and undoes a cancellation. freeze moves money in suspense back to the
// payment.
func (c *change) release() {
	c.p.Hold, c.p.End = NotHeld, NotEnded
	if c.p.Screening == Hit {
		c.p.Screening = Overruled
	}
	if c.p.Claim == ClaimVoid {
		c.p.Claim = ClaimOpen
	}
}

func (c *change) retry(t Retry) error {
	switch {
	case c.p.Payout != PayoutFailed && c.p.Payout != PayoutReturned:
		return fault.New(fault.Conflict, "no_failed_payout", "No payout of this payment has failed or been returned")
	case c.p.Reorged:
		return errReorged
	case !c.p.Credit.Frozen:
		return errRefundBegun
	case c.reserved():
		return errRefundOpen
	case c.p.Hold != NotHeld:
		return refusal(c.p, OnRetry)
	case c.p.Receiver.Forgotten() && !t.Receiver.Known():
		const text = "The receiver has been erased; name another account or refund the money"
		return fault.New(fault.Conflict, "receiver_forgotten", "%s", text)
	case c.p.Credit.Payout.GreaterThan(c.pol.PayoutLimit(c.p.Currency)):
		return c.aboveMaximum()
	}
	if t.Receiver.Known() {
		c.p.Receiver = t.Receiver
	}
	if t.Rail != "" {
		c.p.Rail = t.Rail
	}
	c.p.Attempt, c.p.Holds = c.p.Attempt+1, 0
	c.holdPayout()
	return nil
}

func (c *change) refunded(t MarkRefunded) error {
	switch {
	case c.p.RefundAddress == "":
		return errNoRefundAddress
	case t.Tx == "":
		return fault.New(fault.Invalid, "validation_failed", "txHash: is required")
	case slices.ContainsFunc(t.Refunds, func(r refund.Refund) bool { return r.State.Open() }):
		return errRefundOpen
	}
	c.sum()
	if c.p.Credit.Frozen {
		c.unconvert()
		c.p.Credit.Frozen = false
	}
	r := ledger.Refund{Payment: c.p.ID, N: 1}
	for i := range c.rows {
		d := &c.rows[i]
		if d.Booked == "" || slices.Contains(t.Later, d.Key) {
			continue
		}
		from := ledger.Suspense(d.Asset)
		if d.Booked == bookedCustomer {
			from = ledger.Customer(c.p.ID, d.Asset)
		}
		r.Parts = append(r.Parts, ledger.RefundPart{Network: d.Network, Asset: d.Asset, Amount: d.BookedAmount.Sub(d.Refunded), From: from})
		d.Booked = bookedSuspense // a transfer reorged away under a refund is a loss to chase
		d.Refunded = decimal.Max(d.Refunded, d.BookedAmount)
		c.mark(*d)
	}
	c.post(r.Sent())
	c.p.End, c.p.RefundTx, c.p.Hold = Refunded, t.Tx, NotHeld
	return nil
}

// CodePayoutNotDue is the code with which a payment refuses Sending: its payout must not leave now.
const CodePayoutNotDue = "payout_not_due"

// refusal is the error of a trigger that the payment's state refuses.
func refusal(p Payment, t TriggerName) error {
	conflict := func(code, text string) error { return fault.New(fault.Conflict, code, "%s", text) }
	invalid := func(code, text string) error { return fault.New(fault.Invalid, code, "%s", text) }
	if p.State() == StateNone {
		return fault.New(fault.NotFound, "payment_not_found", "Payment not found")
	}
	switch t {
	case OnCreate, OnAdopt:
		return conflict("payment_exists", "The payment exists already")
	case OnFulfil:
		return refuseFulfil(p)
	case OnClaim:
		return refuseClaim(p)
	case OnCancel:
		return conflict("cancel_too_late", "Payment can no longer be cancelled")
	case OnSettle, OnToken:
		switch {
		case !p.CallerSettles():
			return conflict("not_settled_by_caller", "Payment is not settled by its caller")
		case p.Payout == PayoutSucceeded:
			return conflict("already_settled", "Payment has already been settled")
		}
		return conflict("not_confirmed", "Payment is not waiting to be settled")
	case OnPayoutSending:
		return conflict(CodePayoutNotDue, "The payout must not be sent now")
	case OnPayoutUnknown, OnPayoutSucceeded, OnPayoutFailed, OnPayoutReturned:
		return conflict("no_such_payout", "The payment has no such payout")
	case OnAccept, OnRetry, OnRefund:
		return conflict("not_in_review", "Payment is not waiting for a decision")
	case OnDeposits, OnScreened:
		return conflict("no_address", "The payment has no deposit address")
	case OnRefundAddress, OnRefundProposal, OnRefundConfirm:
		return conflict("refund_address_not_needed", "Nothing of this payment can be refunded now, so it needs no refund address")
	case OnRefundRequested, OnRefundChanged:
		return errNothingOwed
	case OnNamed, OnWindow, OnDeadline:
	}
	return invalid("not_possible", "This is not possible for the payment now")
}

func refuseFulfil(p Payment) error {
	switch {
	case p.Type != Request:
		return fault.New(fault.Invalid, "not_a_request", TextNotRequest)
	case p.Status() == StatusExpired:
		return fault.New(fault.Conflict, "request_expired", "Request has expired")
	case p.Status() == StatusCancelled:
		return fault.New(fault.Conflict, "request_cancelled", "Request has been cancelled")
	}
	return fault.New(fault.Invalid, "request_already_fulfilled", TextAlreadyFulfilled)
}

func refuseClaim(p Payment) error {
	switch {
	case p.Type != Gift:
		return fault.New(fault.Invalid, "not_a_gift", TextNotGift)
	case p.Claim == Claimed:
		return fault.New(fault.Invalid, "gift_already_claimed", TextAlreadyClaimed)
	case p.Status() == StatusExpired:
		return fault.New(fault.Conflict, "gift_expired", "Gift has expired")
	case p.Status() == StatusCancelled:
		return fault.New(fault.Conflict, "gift_cancelled", "Gift has been cancelled")
	}
	return fault.New(fault.Conflict, "gift_not_claimable", "Gift cannot be claimed now")
}
