// Package banks keeps the rails' own lists of banks. One process reads them from the rails once a day and keeps them in
// the database; every process gives its rails what is kept, so that a restart or a rail that is down changes nothing.
package banks

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/payments/internal/provider"
	"causeway.internal/services/payments/internal/rail"
)

// Place names a list: that of a rail in one currency.
type Place struct {
	Rail     string
	Currency money.Currency
}

// Kept is a list of banks as the database has it.
type Kept struct {
	Place
	Banks   rail.List
	Version int64
	Age     time.Duration // since it was read, by the database's clock
	Trusted bool          // the next list is taken however short it is
}

// ErrChanged refuses to keep a list in place of one that has changed meanwhile.
var ErrChanged = errors.New("the kept list of banks has changed")

// Store keeps lists of banks.
type Store interface {
	// KeptBanks returns the lists that have another version than the known ones.
	KeptBanks(ctx context.Context, known map[Place]int64) ([]Kept, error)
	// KeepBanks keeps a list in place of one of a version; version 0 is none.
	KeepBanks(ctx context.Context, p Place, l rail.List, version int64) error
	// BanksRead returns all lists without their banks.
	BanksRead(ctx context.Context) ([]Kept, error)
}

// Metrics show the lists to operators.
type Metrics struct {
	Listed  func(p Place, banks int, age time.Duration)
	Refused func(p Place, refused bool)
}

// Banks keeps the rails' own lists of banks. It is safe for concurrent use.
type Banks struct {
	Store Store
	Sets  map[tenant.Mode]provider.Set
	Log   *slog.Logger

	mu   sync.Mutex
	have map[Place]Kept
}

// Refresher reads the lists from the rails. One process at a time needs one.
type Refresher struct {
	*Banks
	Every   time.Duration // age at which a list is read again
	Metrics Metrics
}

// readTimeout bounds the reading of one list, of several pages.
const readTimeout = time.Minute

// listers are the rails of all modes that have lists of their own. A rail that serves both modes has two providers.
func (b *Banks) listers() (out []rail.Lister) {
	for _, mode := range tenant.Modes() {
		for _, p := range b.Sets[mode].Rails() {
			if l, ok := p.(rail.Lister); ok {
				out = append(out, l)
			}
		}
	}
	return out
}

// Load gives the rails of this process the lists that have changed. Call it at the start, and once a minute.
func (b *Banks) Load(ctx context.Context) error {
	listers := b.listers()
	if len(listers) == 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known := map[Place]int64{}
	for p, k := range b.have {
		known[p] = k.Version
	}
	changed, err := b.Store.KeptBanks(ctx, known)
	if err != nil {
		return err
	}
	for _, k := range changed {
		if b.have == nil {
			b.have = map[Place]Kept{}
		}
		b.have[k.Place] = k
		for _, r := range listers {
			if r.Name() == k.Rail {
				r.KeepBanks(k.Currency, k.Banks)
			}
		}
	}
	return nil
}

// Refresh reads the lists that are old from their rails. A rail that does not answer, or whose list is refused, keeps
// the list before; it is asked again at the next call.
func (b Refresher) Refresh(ctx context.Context) error {
	if err := b.Load(ctx); err != nil {
		return err
	}
	read, err := b.Store.BanksRead(ctx)
	if err != nil {
		return err
	}
	at := map[Place]Kept{}
	for _, k := range read {
		at[k.Place] = k
	}
	done := map[Place]bool{}
	for _, r := range b.listers() {
		for cur := range r.Caps().Currencies {
			p := Place{r.Name(), cur}
			if k, ok := at[p]; done[p] || ok && k.Age < b.Every && !k.Trusted {
				continue
			}
			done[p] = true
			err := b.refresh(ctx, r, p, at[p].Trusted)
			b.Metrics.Refused(p, errors.Is(err, rail.ErrListRefused))
			if err != nil {
				b.Log.WarnContext(ctx, "list of banks not taken, the one before stays in force", "rail", p.Rail, "currency", p.Currency, "err", err)
			}
		}
	}
	if err := b.Load(ctx); err != nil {
		return err
	}
	b.show(done, at)
	return nil
}

// refresh reads one list and keeps it.
func (b Refresher) refresh(ctx context.Context, r rail.Lister, p Place, trusted bool) error {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	fresh, err := r.ReadBanks(reading, p.Currency)
	if err != nil {
		return err
	}
	b.mu.Lock()
	before := b.have[p]
	b.mu.Unlock()
	next, err := before.Banks.Renew(fresh, trusted)
	if err != nil {
		return err
	}
	if err := b.Store.KeepBanks(ctx, p, next, before.Version); err != nil {
		return err
	}
	b.Log.InfoContext(ctx, "list of banks read", "rail", p.Rail, "currency", p.Currency, "banks", next.Open(), "gone", len(next)-next.Open())
	return nil
}

// show sets the metrics of the lists.
func (b Refresher) show(read map[Place]bool, at map[Place]Kept) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p, k := range b.have {
		age := at[p].Age
		if read[p] && k.Version != at[p].Version {
			age = 0
		}
		b.Metrics.Listed(p, k.Banks.Open(), age)
	}
}
