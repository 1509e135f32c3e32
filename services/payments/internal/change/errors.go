package change

import (
	"errors"
	"time"

	"causeway.internal/libs/fault"
)

// Reasons why the store did not write a payment; the caller tries again with another address or reference.
var (
	ErrAddressUsed   = errors.New("the address belongs to a payment or has received money")
	ErrReferenceUsed = errors.New("the reference is taken")
)

// The faults that several use cases share.
var (
	ErrNotFound     = fault.New(fault.NotFound, "payment_not_found", "Payment not found")
	ErrLiveDisabled = fault.New(fault.Unavailable, "live_disabled", "Live payments are not open yet. Use a test key.").After(time.Hour).Closed()
	ErrNoPayout     = fault.New(fault.NotFound, "payout_not_found", "Payout not found")
	ErrNoRefund     = fault.New(fault.NotFound, "refund_not_found", "Refund not found")
	ErrBusy         = fault.New(fault.Unavailable, "busy", "The payment is being changed by another request. Try again shortly.").After(time.Second)
	// ErrTransactionUsed refuses a transaction that is the refund of another payment, or moved money of this system.
	ErrTransactionUsed = fault.New(fault.Conflict, "transaction_used", "This transaction has refunded another payment, or is none of a refund")
	// ErrRefundNamed refuses a refund of money that an operator may have refunded from elsewhere.
	ErrRefundNamed = fault.New(fault.Conflict, "refund_open",
		"An operator has named a transaction as a refund to this address, and it is being looked up. Try again later.")
	// ErrMerchantReference refuses a second payment for one order of a merchant.
	ErrMerchantReference = fault.New(fault.Conflict, "merchant_reference_used",
		"Another payment has this merchantReference. It is free again once that payment is expired, cancelled or refunded.")
	ErrDailyLimit = fault.New(fault.Invalid, "daily_limit_exceeded",
		"The daily limit of this merchant, key, payer or receiver would be exceeded. Send a smaller amount, or try again tomorrow.")
)
