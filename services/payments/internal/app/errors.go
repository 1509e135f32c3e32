package app

import (
	"errors"
	"time"

	"causeway.internal/libs/fault"
)

// What Payments.Insert may report besides faults; the caller tries again with another address or reference.
var (
	ErrAddressUsed   = errors.New("the address belongs to a payment or has received money")
	ErrReferenceUsed = errors.New("the reference is taken")
	ErrKeyTaken      = errors.New("a request with this idempotency key won")
)

// The faults of the use cases.
var (
	ErrNotFound     = fault.New(fault.NotFound, "payment_not_found", "Payment not found")
	ErrLiveDisabled = fault.New(fault.Unavailable, "live_disabled", "Live payments are not open yet. Use a test key.").After(time.Hour)
	ErrBusy         = fault.New(fault.Unavailable, "busy", "The payment is being changed by another request. Try again shortly.").After(time.Second)
	ErrNoAddress    = fault.New(fault.Unavailable, "no_address", "No deposit address is free right now. Try again shortly.").After(3 * time.Second)
)
