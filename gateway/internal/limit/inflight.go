// Package limit holds the gates that keep one caller, or all of them together, from taking more than the service can
// give (docs/api-contract.md#limits). A gate decides from memory alone.
package limit

import (
	"context"
	"time"

	"causeway.internal/gateway/internal/proxy"
	"causeway.internal/gateway/internal/route"
)

// InFlight lets a number of calls in at a time, and of them a share to one upstream, so that a service that hangs leaves
// room for the others. Of both, a part is for live traffic alone. Further calls wait a bounded time, and only so many of
// them; the rest are refused at once, because a wait in vain helps nobody.
type InFlight struct {
	*pool
	byTraffic map[string]map[route.Upstream]rooms
}

// NewInFlight makes a gate for so many calls at a time, of which share may go to one upstream. Test traffic cannot take
// the last liveOnly of either; it may take half in any case.
func NewInFlight(calls, share, liveOnly int, wait time.Duration) *InFlight {
	f := &InFlight{newPool("calls", calls, liveOnly, wait), map[string]map[route.Upstream]rooms{live: {}, test: {}}}
	for _, to := range []route.Upstream{route.Payments, route.Wallets, route.Reports, route.Dispatcher, route.Self} {
		all := make(room, min(share, calls))
		tests := make(room, besides(cap(all), liveOnly))
		f.byTraffic[live][to] = append(rooms{all}, f.rooms(live)...)
		f.byTraffic[test][to] = append(rooms{tests, all}, f.rooms(test)...)
	}
	return f
}

// Admit implements proxy.Gate.
func (f *InFlight) Admit(ctx context.Context, c *proxy.Call) (func(int), error) {
	traffic := trafficOf(c)
	all := f.byTraffic[traffic][c.Route.Upstream]
	if err := f.enter(ctx, traffic, all); err != nil {
		return nil, err
	}
	return func(int) { all.leave() }, nil
}
