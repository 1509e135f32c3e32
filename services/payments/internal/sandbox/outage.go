package sandbox

import (
	"context"
	"errors"
	"strings"
	"time"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/idempotency"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/timestamp"
	"causeway.internal/services/payments/internal/admission"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/views"
)

// Outage is the body of POST /v1/sandbox/outages.
type Outage struct {
	What    string
	Network string
	Seconds int64 // 0 ends it
}

// Outages lists what a merchant can take down.
func Outages() []string { return []string{admission.OutageRates, admission.OutageNetwork} }

// The length of an outage, in seconds.
const (
	OutageUsual = 60
	OutageMost  = 600
)

type outageAnswer struct {
	Success bool       `json:"success"`
	Outage  outageView `json:"outage"`
}

type outageView struct {
	What    string  `json:"what"`
	Network *string `json:"network"`
	Until   string  `json:"until"`
}

// TakeDown makes the merchant's own test mode lose its prices or a network for a time. Other processes follow within a
// second.
func (a *Sandbox) TakeDown(ctx context.Context, o tenant.Owner, ask Outage, problems *fault.Problems, k idempotency.Key) (idempotency.Answer, error) {
	if o.Mode != tenant.Test {
		return idempotency.Answer{}, errNoSandbox
	}
	n, known := money.NetworkOf(ask.Network)
	switch {
	case ask.What == admission.OutageRates && ask.Network != "":
		problems.Add("network", "is for an outage of a network only")
	case ask.What == admission.OutageNetwork && !known:
		problems.Add("network", "is not supported. Supported: %s", money.Pairs())
	case ask.What != admission.OutageRates && ask.What != admission.OutageNetwork:
		problems.Add("what", "must be one of %s", strings.Join(Outages(), ", "))
	}
	if err := problems.Err(); err != nil {
		return idempotency.Answer{}, err
	}
	if earlier, found, err := a.Access.Replay(ctx, k); err != nil || found {
		return earlier, err
	}
	wanted := admission.Outage{MerchantID: o.MerchantID, What: ask.What, Network: n.Name}
	answer, err := a.Store.TakeDown(ctx, wanted, time.Duration(ask.Seconds)*time.Second, k, func(begun admission.Outage) (idempotency.Answer, error) {
		v := outageView{What: begun.What, Until: timestamp.Text(begun.Until)}
		if begun.Network != "" {
			v.Network = &begun.Network
		}
		body, err := views.Encode(outageAnswer{true, v})
		return idempotency.Answer{Status: change.StatusOK, Body: body}, err
	})
	if errors.Is(err, idempotency.ErrTaken) {
		earlier, _, err := a.Access.Replay(ctx, k)
		return earlier, err
	}
	if err != nil {
		return idempotency.Answer{}, err
	}
	return answer, a.Outages.Load(ctx)
}
