package admission

import (
	"context"
	"log/slog"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/payment"
)

// Screener decides whether money of some addresses may be taken and paid out. It is called at each deposit and again
// before each payout, never under a lock. After an error nothing moves (fail closed). The network is that of the
// addresses, because on some networks a transfer names no sender.
type Screener interface {
	Screen(ctx context.Context, mode tenant.Mode, network string, addresses []string) (change.Verdict, error)
}

// AlertUnscreened names the log lines and the fault of senders that cannot be screened.
const AlertUnscreened = "screening_unavailable"

// Screening asks a screener about addresses.
type Screening struct {
	screener Screener
	log      *slog.Logger
}

// NewScreening uses the screener; without one nobody is screened, and the policy's Screen is false.
func NewScreening(screener Screener, log *slog.Logger) Screening { return Screening{screener, log} }

// Ask asks the screener; where it fails, the verdict is empty and the payment stays unscreened.
func (s Screening) Ask(ctx context.Context, mode tenant.Mode, network string, addresses []string) (change.Verdict, payment.Screening) {
	if s.screener == nil {
		return change.Verdict{}, payment.Unscreened
	}
	v, err := s.screener.Screen(ctx, mode, network, addresses)
	if err != nil {
		s.log.WarnContext(ctx, "senders not screened", "code", AlertUnscreened, "err", err)
		return change.Verdict{}, payment.Unscreened
	}
	return v, v.Screening()
}

// ErrScreenDown refuses an address while the screener fails.
var ErrScreenDown = fault.New(fault.Unavailable, AlertUnscreened, "Addresses cannot be checked right now. Try again shortly.").After(5 * time.Second)
