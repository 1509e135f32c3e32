package rail

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"causeway.internal/libs/money"
)

// bookKeep is the age at which a rail's list of banks is read again. The old list is used until that succeeds.
const bookKeep = 24 * time.Hour

// Listed is a bank in a rail's own list.
type Listed struct {
	ID   string // the rail's internal number, "" where it has none
	Code string
	Kind string // the rail's type of accounts at this bank
}

// Book finds a bank's code in a rail's own list, which is read once a day. A bank has several codes, and each rail
// accepts only the one in its list. It is safe for concurrent use.
type Book struct {
	Fetch func(ctx context.Context, cur money.Currency) ([]Listed, error)
	Now   func() time.Time

	calls singleflight.Group
	mu    sync.Mutex
	lists map[money.Currency]kept
}

type kept struct {
	banks []Listed
	at    time.Time
}

// Find returns the entry's line in the rail's list, or ErrUnsupported.
func (b *Book) Find(ctx context.Context, e Entry) (Listed, error) {
	list, err := b.list(ctx, e.Currency)
	if err != nil {
		return Listed{}, err
	}
	for _, code := range e.Codes {
		for _, l := range list {
			if l.Code == code {
				return l, nil
			}
		}
	}
	return Listed{}, fmt.Errorf("%s is not in the rail's list: %w", e.Name, ErrUnsupported)
}

func (b *Book) list(ctx context.Context, cur money.Currency) ([]Listed, error) {
	b.mu.Lock()
	have := b.lists[cur]
	b.mu.Unlock()
	if !have.at.IsZero() && b.Now().Sub(have.at) < bookKeep {
		return have.banks, nil
	}
	v, err, _ := b.calls.Do(string(cur), func() (any, error) { return b.Fetch(ctx, cur) })
	fresh, _ := v.([]Listed)
	if err != nil || len(fresh) == 0 {
		if len(have.banks) > 0 {
			return have.banks, nil
		}
		return nil, fmt.Errorf("%w: no list of banks: %w", ErrUnavailable, errOr(err))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lists == nil {
		b.lists = map[money.Currency]kept{}
	}
	b.lists[cur] = kept{fresh, b.Now()}
	return fresh, nil
}

func errOr(err error) error {
	if err == nil {
		return ErrNotFound
	}
	return err
}
