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

// landAfter is how long deliveries may be under way without rows of their own: longer than a burst that fills the lanes
// takes, or else the whole of it would get them. Lists are late by as much.
const landAfter = 3 * time.Second

// flights are the commits of this process's intake whose deliveries have no rows yet (00005_flight.sql).
type flights struct {
	// landing is held while flights land. Whoever records reads it, so that no statement of this process finds neither
	// the flight nor the rows that it has become.
	landing sync.RWMutex

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

// since lists the flights that began before a time, and takes those that have ended.
func (f *flights) since(before time.Time) (old, ended []int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, a := range f.aloft {
		if a.since.Before(before) {
			old = append(old, id)
		}
	}
	ended, f.ended = f.ended, nil
	return old, ended
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

// Land implements app.Leases.
func (s *Store) Land(ctx context.Context) error {
	return s.land(ctx, time.Now().Add(-landAfter))
}

// land gives what is under way since before a time its rows, and forgets flights of which nothing is left.
func (s *Store) land(ctx context.Context, before time.Time) error {
	old, ended := s.flights.since(before)
	if len(ended) > 0 {
		if _, err := s.db.Exec(ctx, endedSQL, ended); err != nil {
			s.flights.mu.Lock()
			s.flights.ended = append(s.flights.ended, ended...)
			s.flights.mu.Unlock()
			return fmt.Errorf("end flights: %w", err)
		}
	}
	if len(old) == 0 {
		return nil
	}
	s.flights.landing.Lock()
	defer s.flights.landing.Unlock()
	if _, err := s.db.Exec(ctx, landSQL, old, s.instance); err != nil {
		return fmt.Errorf("land deliveries: %w", err)
	}
	s.flights.forget(old)
	return nil
}
