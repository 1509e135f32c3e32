package payment

import (
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/refund"
)

// refundProposalsMost bounds the proposals of payers for one payment. Each may be an event to the merchant, and its
// answer says whether an address belongs to this service.
const refundProposalsMost = 5

// TakesRefundAddress reports whether a payer may propose a refund address: something is owed to the payer.
func (pol Policy) TakesRefundAddress(p Payment, rows []Deposit) bool {
	return len(pol.Owed(p, rows, nil)) > 0
}

// held refuses a refund while the address of refunds is new, so that the merchant can stop a change that it did not
// order. The refund may go to an earlier address: who changed the address may have ordered the refund too.
func (c *change) held() error {
	if !c.now.Before(c.p.RefundAddressFrom) {
		return nil
	}
	return fault.New(fault.Conflict, "refund_address_held", "The refund address has changed. No refund leaves before %s.",
		c.p.RefundAddressFrom.UTC().Format(time.RFC3339)).After(c.p.RefundAddressFrom.Sub(c.now))
}

// refundAddress stores the merchant's choice, which answers an open proposal of the payer too.
func (c *change) refundAddress(t SetRefundAddress) error {
	return c.refundTo(t.Address)
}

// failedAddress is why a request failed whose address the payment no longer has.
const failedAddress = "refund_address_changed"

// refundTo changes the address of refunds. The merchant hears of it, and a live refund waits, so that a person can stop
// what a stolen key ordered. Requests that wait for an approval name the old address, so they end.
func (c *change) refundTo(address string) error {
	if c.p.RefundAddress == address {
		c.p.RefundAddressProposed = ""
		return nil
	}
	c.p.RefundAddress, c.p.RefundAddressProposed, c.p.RefundAddressFrom = address, "", timeZero
	if c.p.Mode != tenant.Test {
		c.p.RefundAddressFrom = c.now.Add(c.pol.RefundHold)
	}
	c.event(EventRefundAddressChanged, false)
	return c.endRequests(failedAddress, func(refund.Refund) bool { return true })
}

func (c *change) proposeRefund(t ProposeRefundAddress) error {
	switch {
	case len(c.owed()) == 0:
		return refusal(c.p, OnRefundProposal)
	case t.Address == c.p.RefundAddressProposed || t.Address == c.p.RefundAddress:
		return nil
	case c.p.RefundProposals >= refundProposalsMost:
		return fault.New(fault.Conflict, "too_many_proposals", "This payment takes no further proposals of a refund address.")
	}
	c.p.RefundProposals++
	if !t.Refused {
		c.p.RefundAddressProposed = t.Address
		c.event(EventRefundAddressProposed, false)
	}
	return nil
}

func (c *change) confirmRefund(t ConfirmRefundAddress) error {
	switch t.Address {
	case "":
		return fault.New(fault.Internal, "confirmation_incomplete", "a confirmation needs an address")
	case c.p.RefundAddressProposed:
		return c.refundTo(t.Address)
	case c.p.RefundAddress: // the same confirmation again
	default:
		return fault.New(fault.Conflict, "refund_address_not_proposed",
			"The payer has not proposed this address, or has proposed another one since. Read the payment again.")
	}
	return nil
}
