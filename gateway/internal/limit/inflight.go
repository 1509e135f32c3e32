// Package limit holds the gates that keep one caller, or all callers together, from exhausting the service
// (docs/api-contract.md#limits). A gate decides from memory alone.
package limit

import (
	"context"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
)

// InFlight admits a number of calls at a time, and a share of them to one upstream, so that a service that hangs leaves
// slots for the others. A part of both is for live traffic alone. Further calls wait a bounded time in a bounded queue;
// the rest are refused at once, because a wait in vain helps no caller.
type InFlight struct {
	*pool
	byTraffic map[string]map[route.Upstream]slotSets
}

// NewInFlight makes a gate for so many calls at a time, of which share may go to one upstream. Test traffic cannot take
// the last liveOnly of either, but always has half.
func NewInFlight(calls, share, liveOnly int, wait time.Duration) *InFlight {
	f := &InFlight{newPool("calls", calls, liveOnly, wait), map[string]map[route.Upstream]slotSets{live: {}, test: {}}}
	for _, to := range []route.Upstream{
		route.Payments, route.Wallets, route.Reports, route.Dispatcher, route.Self, route.Console, route.ConsoleOperators,
	} {
		all := make(slotSet, min(share, calls))
		if to == route.Console || to == route.ConsoleOperators {
			all = make(slotSet, max(1, min(share, calls)/consolePart))
		}
		tests := make(slotSet, besides(cap(all), liveOnly))
		f.byTraffic[live][to] = append(slotSets{all}, f.sets(live)...)
		f.byTraffic[test][to] = append(slotSets{tests, all}, f.sets(test)...)
	}
	return f
}

// consolePart is the part of a share that a console may hold. A page waits for calls that the console makes in turn,
// and these need slots too.
const consolePart = 4

// Admit implements proxy.Gate.
func (f *InFlight) Admit(ctx context.Context, c *proxy.Call) (func(int), error) {
	traffic := trafficOf(c)
	all := f.byTraffic[traffic][c.Route.Upstream]
	if err := f.enter(ctx, traffic, all); err != nil {
		return nil, err
	}
	return func(int) { all.leave() }, nil
}
