package wire

import (
	"slices"
	"strings"
)

// EventType is a kind of webhook event (docs/api-contract.md#webhooks) with its meaning for a merchant.
type EventType struct {
	Type string
	When string
}

// EventTypes is the one list of webhook event types. A service may send no other, and an endpoint may filter by no
// other.
func EventTypes() []EventType { return slices.Clone(eventTypes) }

var eventTypes = []EventType{
	{"payment.created", "a request exists and waits to be fulfilled"},
	{"payment.pending", "rate locked, deposit address assigned; waits for the payer"},
	{"payment.confirming", "enough money was seen and is not deep enough yet; with 0 confirmations no block holds it, and it may still go back"},
	{"payment.confirmed", "the deposit is final; the payout, the claim or the caller's settlement comes next"},
	{"payment.settling", "the bank payout is on its way, or a gift was claimed before its deposit confirmed"},
	{"payment.settled", "the receiver has been paid"},
	{"payment.expired", "the window closed with nothing received"},
	{"payment.cancelled", "the merchant cancelled before anything was received"},
	{"payment.needs_review", "an operator must decide; exception says why"},
	{"payment.refunded", "all of the crypto was returned to the payer"},
	{"payment.underpaid", "less than the quote has arrived so far"},
	{"payment.overpaid", "more than the quote has arrived"},
	{"payment.reorged", "a transfer that was seen is no longer on the chain"},
	{"payment.wrong_asset", "another crypto or network than the quoted one was seen on the deposit address"},
	{"payment.refund_address_changed", "the address to which money goes back has changed; no live refund leaves before refundAddressHeldUntil"},
	{"payment.refund_address_proposed", "the payer proposes the address in refundAddressProposed for a refund; it takes effect when it is confirmed"},
	{"payment.refund_requested", "a refund was requested, and its money is held; refunds says which"},
	{"payment.refund_approved", "a refund was approved, and leaves soon"},
	{"payment.refund_signing", "the transaction of a refund is being made"},
	{"payment.refund_sent", "the transaction of a refund was sent; also after a reorganisation took a confirmed one back"},
	{"payment.refund_confirmed", "a refund is in a final block"},
	{"payment.refund_failed", "a refund was refused or can never arrive; its money is owed to the payer again"},
	{"withdrawal.requested", "a withdrawal was made, and its money has left the balance"},
	{"withdrawal.approved", "a withdrawal leaves soon"},
	{"withdrawal.sending", "the payout of a withdrawal is on its way to the bank"},
	{"withdrawal.paid", "a withdrawal was paid to the settlement account"},
	{"withdrawal.failed", "a withdrawal was refused or could not be paid; its money is in the balance again"},
	{"withdrawal.returned", "a withdrawal came back after it was paid; its money is in the balance again"},
	{"settlement_account.added", "a settlement account was proposed; it waits for its confirmation"},
	{"settlement_account.confirmed", "a settlement account was confirmed; no live money leaves to it before heldUntil"},
	{"settlement_account.deleted", "a settlement account was deleted; no withdrawal goes to it any more"},
	{"wallet.watching", "the wallet's address is watched"},
	{"wallet.deposit_detected", "a transfer to the wallet was seen"},
	{"wallet.confirmed", "every transfer to the wallet seen so far is final"},
	{"wallet.swept", "the wallet's balance was moved to the treasury"},
	{"wallet.expired", "the wallet's window has passed; late money is still recorded and reported"},
	{"wallet.address_added", "an address was added to the address book; no live withdrawal goes there before usableAt"},
	{"wallet.withdrawal_requested", "a withdrawal from the wallets was requested; above a bound it waits for operators"},
	{"wallet.withdrawal_approved", "a withdrawal was approved, and leaves soon"},
	{"wallet.withdrawal_signing", "the balance holds the amount and the fee of a withdrawal, and its transaction is being made"},
	{"wallet.withdrawal_sent", "the transaction of a withdrawal was sent; also after a reorganisation took a confirmed one back"},
	{"wallet.withdrawal_confirmed", "a withdrawal is in a final block"},
	{"wallet.withdrawal_failed", "a withdrawal was refused or can never arrive; its amount and its fee are in the balance again"},
	{"report.created", "a fraud report was filed"},
	{"report.updated", "a report's status changed"},
	{"webhook.endpoint_failing", "an endpoint has failed for 1 hour, 24 hours or 4 days; sent to the merchant's other endpoints"},
	{"webhook.endpoint_disabled", "an endpoint was disabled, because it answered 410 or failed for 5 days; its events are held"},
	{"webhook.test", "a test that the merchant asked for; sent to that endpoint alone, whatever its filter"},
}

// IsEventType reports whether name is one of EventTypes.
func IsEventType(name string) bool {
	return slices.ContainsFunc(eventTypes, func(e EventType) bool { return e.Type == name })
}

// guarding are the events that a hold of live mode relies on: for 24 hours no money goes to a place that was named
// lately, so that the merchant, who has the event, can stop a thief of a key. With them go the events of all money that
// leaves at the word of a key.
var guarding = []string{"settlement_account.", "withdrawal.", "wallet.address_", "wallet.withdrawal_", "payment.refund_address_changed"}

// IsGuarding reports whether an event of this type warns a merchant of money that may leave. In live mode no filter of
// an endpoint keeps it back, because a thief of a key could set that filter.
func IsGuarding(name string) bool {
	return slices.ContainsFunc(guarding, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// sender is a service that sends events about objects of a kind: their events have one prefix, and so have their ids.
type sender struct {
	message       Name
	event, object string
}

var senders = []sender{
	{PaymentStatusChangedV1, "payment.", "pay_"},
	{PaymentStatusChangedV1, "withdrawal.", "wdr_"},
	{PaymentStatusChangedV1, "settlement_account.", "sac_"},
	{PaymentStatusChangedV1, "wallet.withdrawal_", "wwd_"},
	{PaymentStatusChangedV1, "wallet.address_", "adr_"},
	{WalletStatusChangedV1, "wallet.", "wal_"},
	{ReportStatusChangedV1, "report.", "RPT-"},
}

// MayTell reports whether a status message may bring an event about an object. A service may only send events about its
// own objects, so that one service's keys cannot forge the events of another.
func (n Name) MayTell(event, object string) bool {
	may := false
	for _, s := range senders {
		own := s.message == n && strings.HasPrefix(event, s.event)
		if strings.HasPrefix(object, s.object) {
			return own
		}
		may = may || own
	}
	return may
}
