package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"causeway.internal/services/callback-dispatcher/internal/app"
)

// A flight of which few deliveries are left, because their targets take their time, lands after landAfter, and one that has
// many left, because there is more to send than this process can, after landAtLast: rows for all of them would slow it
// further. Lists of deliveries are late by as much.
const (
	landAfter  = 3 * time.Second
	landFew    = 20
	landAtLast = 15 * time.Second
)

// flights are the commits of this process's intake whose deliveries have no rows yet (00005_flight.sql).
type flights struct {
	mu    sync.Mutex
	aloft map[int64]*flight
	ended []int64 // nothing of them is left, but their rows
}

type flight struct {
	left  int // deliveries without a result
	since time.Time
}

// fanOf says where an event goes that is sent at once, a line for each delivery. One that cannot be said so gets a row.
func fanOf(a *app.Arrival) string {
	var fan strings.Builder
	for n := range a.Deliveries {
		d := &a.Deliveries[n]
		if !a.Leased[n] || !plain(d.URL) {
			continue
		}
		if fan.Len() > 0 {
			fan.WriteByte('\n')
		}
		for i, field := range [...]string{d.Target, d.ID, d.EndpointID, d.URL} {
			if i > 0 {
				fan.WriteByte('\t')
			}
			fan.WriteString(field)
		}
	}
	return fan.String()
}

// plain reports whether a URL can stand in a fan: it holds none of its separators.
func plain(url string) bool { return !strings.ContainsAny(url, "\t\n") }

// begun notes that a commit left one more delivery in the air.
func (f *flights) begun(id int64, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.aloft[id] == nil {
		f.aloft[id] = &flight{since: now}
	}
	f.aloft[id].left++
}

// recorded notes that results were written.
func (f *flights) recorded(results []app.Result) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range results {
		id := results[i].Delivery.Flight
		if a := f.aloft[id]; a != nil {
			if a.left--; a.left == 0 {
				delete(f.aloft, id)
				f.ended = append(f.ended, id)
			}
		}
	}
}

// due lists the flights that are to land, and takes those that have ended.
func (f *flights) due(now time.Time) (landing, ended []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, a := range f.aloft {
		if age := now.Sub(a.since); age > landAtLast || age > landAfter && a.left <= landFew {
			landing = append(landing, id)
		}
	}
	ended, f.ended = f.ended, nil
	return landing, ended
}

func (f *flights) forget(landed []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, id := range landed {
		delete(f.aloft, id)
	}
}

func (f *flights) known() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.AppendSeq(make([]int64, 0, len(f.aloft)+len(f.ended)), maps.Keys(f.aloft))
}

// Land implements app.Leases. It also forgets the flights of which nothing is left.
func (s *Store) Land(ctx context.Context) error {
	landing, ended := s.flights.due(time.Now())
	if len(ended) > 0 {
		if _, err := s.db.Exec(ctx, endedSQL, ended); err != nil {
			s.flights.mu.Lock()
			s.flights.ended = append(s.flights.ended, ended...)
			s.flights.mu.Unlock()
			return fmt.Errorf("end flights: %w", err)
		}
	}
	return s.land(ctx, landing)
}

// land gives what is left of flights its rows.
func (s *Store) land(ctx context.Context, landing []int64) error {
	if len(landing) == 0 {
		return nil
	}
	if _, err := s.db.Exec(ctx, landSQL, landing, s.instance); err != nil {
		return fmt.Errorf("land deliveries: %w", err)
	}
	s.flights.forget(landing)
	return nil
}
