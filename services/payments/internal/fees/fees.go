// Package fees knows the fee schedules that operators have published, and which of them a merchant pays.
package fees

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/quote"
)

// Scope is for whose payments a schedule is: one currency, and one merchant and mode. An empty MerchantID is every
// merchant, and an empty Mode both.
type Scope struct {
	Currency   money.Currency
	Mode       tenant.Mode
	MerchantID string
}

// Published is a schedule that an operator has published. It never changes. A merchant's schedule without tiers ends
// the merchant's own fees.
type Published struct {
	quote.Schedule
	Scope
	Number    int64 // the place in the order of publication
	ValidFrom time.Time
	CreatedAt time.Time
	CreatedBy string
	Note      string
}

// Lead is how long before its first use a schedule is published at the latest. Processes read schedules more often, so
// that all begin to use it at the same time.
const Lead = 10 * time.Second

// Schedules holds in memory what is in force or will be, because a create does not query the database for its fees. Nil
// knows the first schedule of each currency only.
type Schedules struct {
	list func(ctx context.Context, after int64) ([]Published, error)
	now  func() time.Time
	held atomic.Pointer[held]
}

// held is what a process knows. It is replaced as a whole.
type held struct {
	last int64                 // number of the newest schedule
	of   map[Scope][]Published // in the order in which they come into force
}

// NewSchedules makes an empty copy of the table. list gives the schedules that are in force or will be, and have a
// greater number; now is the database's clock.
func NewSchedules(list func(ctx context.Context, after int64) ([]Published, error), now func() time.Time) *Schedules {
	return &Schedules{list: list, now: now}
}

// Load adds what has been published since the last call. Call it every few seconds from one place; while the database
// is down, what is known remains.
func (s *Schedules) Load(ctx context.Context) error {
	known := s.held.Load()
	if known == nil {
		known = &held{}
	}
	found, err := s.list(ctx, known.last)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		s.held.Store(known.with(found, s.now()))
	}
	return nil
}

// with is a copy with more schedules, without those that a later one has replaced by now.
func (h *held) with(more []Published, now time.Time) *held {
	next := &held{last: h.last, of: maps.Clone(h.of)}
	if next.of == nil {
		next.of = map[Scope][]Published{}
	}
	for _, p := range more {
		list := append(slices.Clone(next.of[p.Scope]), p)
		slices.SortFunc(list, func(a, b Published) int {
			return cmp.Or(a.ValidFrom.Compare(b.ValidFrom), cmp.Compare(a.Number, b.Number))
		})
		next.of[p.Scope] = list[max(0, inForce(list, now)):]
		next.last = max(next.last, p.Number)
	}
	return next
}

// inForce is the place of the schedule that is in force, -1 before the first one is.
func inForce(list []Published, now time.Time) int {
	for i, p := range slices.Backward(list) {
		if !p.ValidFrom.After(now) {
			return i
		}
	}
	return -1
}

// Of is the schedule that a merchant pays now in a currency: the merchant's own one, else that of every merchant.
func (s *Schedules) Of(o tenant.Owner, cur money.Currency) quote.Schedule {
	if s == nil {
		return quote.First(cur)
	}
	if known := s.held.Load(); known != nil {
		now := s.now()
		for _, scope := range []Scope{{cur, o.Mode, o.MerchantID}, {cur, o.Mode, ""}, {cur, "", ""}} {
			list := known.of[scope]
			if i := inForce(list, now); i >= 0 && len(list[i].Tiers) > 0 {
				return list[i].Schedule
			}
		}
	}
	return quote.First(cur)
}
