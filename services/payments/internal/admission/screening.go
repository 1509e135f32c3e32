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

// Screener says whether money of some addresses may be taken, and sent on. It is asked at each deposit and again before
// each payout, never under a lock. An error means that nobody can say: then nothing moves (fail closed).
// The network is that of the addresses: some let a transfer name no sender.
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

// NewScreening asks the screener; without one nobody is screened, and the policy's Screen is false.
func NewScreening(screener Screener, log *slog.Logger) Screening { return Screening{screener, log} }

// Ask asks the screener, and gives the empty verdict of a payment while nobody can say.
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

// ErrScreenDown is the answer about an address while nobody can say whether it may be used.
var ErrScreenDown = fault.New(fault.Unavailable, AlertUnscreened, "Addresses cannot be checked right now. Try again shortly.").After(5 * time.Second)
