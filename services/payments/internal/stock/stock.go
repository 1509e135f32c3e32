// Package stock keeps free deposit addresses. It asks wallets for them, leases blocks of them to each process, and
// gives them to new payments.
package stock

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/fault"
	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
)

// Limits of a replica's addresses in memory. A replica uses a block only until leaseMargin before its lease ends, by a
// monotonic clock, so that two replicas do not give out one address. The unique index of payments would refuse the
// second use.
const (
	LeaseFor    = 10 * time.Minute
	leaseMargin = 2 * time.Minute
	leaseTry    = 2 * time.Second
	addressWait = 3 * time.Second
	addressPoll = 25 * time.Millisecond
)

// Address is a deposit address with the wallet that watches it.
type Address struct {
	WalletID string
	Address  string
}

// ErrNoAddress refuses a payment while the stock is empty.
var ErrNoAddress = fault.New(fault.Unavailable, "no_address", "No deposit address is free right now. Try again shortly.").After(3 * time.Second)

// Leaser is the table of free addresses.
type Leaser interface {
	// Lease leases up to n addresses to owner for d; fewer when the stock is short.
	Lease(ctx context.Context, mode tenant.Mode, family money.Family, n int, owner string, d time.Duration) ([]Address, error)
	// Release returns addresses that owner has not used.
	Release(ctx context.Context, mode tenant.Mode, family money.Family, owner string, addresses []string) error
}

// Stock gives out deposit addresses from blocks that this replica has leased, so that a create needs no query. It is
// safe for concurrent use.
type Stock struct {
	leaser Leaser
	owner  string
	block  int
	log    *slog.Logger
	now    func() time.Time

	fills    singleflight.Group
	prefetch sync.WaitGroup
	mu       sync.Mutex
	shelves  map[Shelf][]held
	closed   bool
}

type held struct {
	Address
	until time.Time
}

// New makes an empty stock. owner names this process in the leases; block is how many addresses it leases at once.
func New(leaser Leaser, owner string, block int, log *slog.Logger) *Stock {
	return &Stock{leaser: leaser, owner: owner, block: block, log: log, now: time.Now, shelves: map[Shelf][]held{}}
}

// Take returns an address that nobody else has. While the stock is empty it waits, after three seconds it returns
// ErrNoAddress.
func (s *Stock) Take(ctx context.Context, mode tenant.Mode, family money.Family) (Address, error) {
	k := Shelf{mode, family}
	if a, ok := s.pop(k); ok {
		return a, nil
	}
	ctx, cancel := context.WithTimeout(ctx, addressWait)
	defer cancel()
	poll := time.NewTicker(addressPoll)
	defer poll.Stop()
	for {
		if err := s.fill(ctx, k); err != nil && ctx.Err() == nil {
			return Address{}, err
		}
		if a, ok := s.pop(k); ok {
			return a, nil
		}
		select {
		case <-ctx.Done():
			return Address{}, ErrNoAddress
		case <-poll.C:
		}
	}
}

// Give returns an address that was taken and certainly not used.
func (s *Stock) Give(mode tenant.Mode, family money.Family, a Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := Shelf{mode, family}
	s.shelves[k] = append(s.shelves[k], held{a, s.now().Add(leaseMargin)})
}

// pop takes an address from the shelf, drops those whose lease ended, and starts a refill once half a block is left.
func (s *Stock) pop(k Shelf) (Address, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for rows := s.shelves[k]; len(rows) > 0; rows = s.shelves[k] {
		h := rows[0]
		rows[0] = held{}
		s.shelves[k] = rows[1:]
		if now.After(h.until) {
			continue
		}
		if len(rows)-1 == s.block/2 && !s.closed {
			s.prefetch.Go(func() {
				if err := s.fill(context.Background(), k); err != nil {
					s.log.Warn("addresses not leased ahead", "mode", k.Mode, "family", k.Family, "err", err)
				}
			})
		}
		return h.Address, true
	}
	return Address{}, false
}

// fill leases one block; concurrent callers share it, and a later caller finds the shelf filled.
func (s *Stock) fill(ctx context.Context, k Shelf) error {
	_, err, _ := s.fills.Do(string(k.Mode)+"/"+string(k.Family), func() (any, error) {
		if s.stocked(k) {
			return nil, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaseTry)
		defer cancel()
		until := s.now().Add(LeaseFor - leaseMargin) // begins before the lease in the database
		got, err := s.leaser.Lease(ctx, k.Mode, k.Family, s.block, s.owner, LeaseFor)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, a := range got {
			s.shelves[k] = append(s.shelves[k], held{a, until})
		}
		return nil, nil
	})
	return err
}

// stocked reports whether more than half a block is on the shelf.
func (s *Stock) stocked(k Shelf) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.shelves[k]) > s.block/2
}

// Close returns unused addresses. Take must not be called afterwards.
func (s *Stock) Close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.prefetch.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, rows := range s.shelves {
		unused := make([]string, 0, len(rows))
		for _, h := range rows {
			unused = append(unused, h.Address.Address)
		}
		if err := s.leaser.Release(ctx, k.Mode, k.Family, s.owner, unused); err != nil {
			s.log.Warn("unused addresses not returned, leased until expiry", "mode", k.Mode, "family", k.Family, "err", err)
		}
		delete(s.shelves, k)
	}
}
