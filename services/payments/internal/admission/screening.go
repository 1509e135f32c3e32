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

// ErrListOutdated refuses crypto on its way out while the list of sanctioned addresses is older than SANCTIONS_MAX_AGE.
var ErrListOutdated = fault.New(fault.Unavailable, "sanctions_list_outdated",
	"Addresses cannot be checked against a current list of sanctioned addresses. No crypto is sent until the list is renewed.").After(time.Hour)

// Destination screens the address to which crypto is to be sent. In live mode it refuses every address while the list
// is outdated: an outdated list stops money out, not in. The caller refuses an address that is a hit, and keeps the
// verdict.
func (s Screening) Destination(ctx context.Context, mode tenant.Mode, network, to string) (change.Verdict, error) {
	v, screening := s.Ask(ctx, mode, network, []string{to})
	switch {
	case screening == payment.Unscreened:
		return change.Verdict{}, ErrScreenDown
	case mode == tenant.Live && v.Outdated:
		return change.Verdict{}, ErrListOutdated
	}
	return v, nil
}
