package payouts

import (
	"context"
	"errors"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
	"causeway.internal/services/payments/internal/views"
)

// Hints takes the webhooks of rails.
type Hints struct {
	Providers map[tenant.Mode]provider.Set
	Hint      func(ctx context.Context, rail, reference string) error // makes the worker ask about a payout now; it moves no money
	Metrics   Metrics
}

var (
	errNoRail = fault.New(fault.NotFound, "rail_not_found", "No such rail.")
	errForged = fault.New(fault.Unauthenticated, "signature_invalid", "The signature does not verify.")
)

type hintAnswer struct {
	Success bool `json:"success"`
}

// RailHint takes a rail's webhook. Once its signature verifies, the worker asks the rail about the payout that it
// names. Its content changes nothing (R6), so a forged, repeated or late webhook has no effect.
func (a *Hints) RailHint(ctx context.Context, name string, header map[string][]string, raw []byte) ([]byte, error) {
	refusal := error(errNoRail)
	for _, mode := range tenant.Modes() {
		p, ok := a.Providers[mode].Named(name)
		if !ok {
			continue
		}
		event, err := p.ParseWebhook(header, raw)
		switch {
		case errors.Is(err, rail.ErrUnsupported):
			continue
		case errors.Is(err, rail.ErrNoHint):
			a.hinted(name, "other")
			return views.Encode(hintAnswer{true})
		case err != nil:
			refusal = errForged // by the keys of this mode; the other mode has its own
			continue
		}
		if err := a.Hint(ctx, name, event.Ref); err != nil {
			return nil, err
		}
		a.hinted(name, "ok")
		return views.Encode(hintAnswer{true})
	}
	if errors.Is(refusal, errForged) {
		a.hinted(name, "forged")
	}
	return nil, refusal
}

func (a *Hints) hinted(name, outcome string) {
	if a.Metrics.Hint != nil {
		a.Metrics.Hint(name, outcome)
	}
}
