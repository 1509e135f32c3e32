package merchant

import (
	"context"
	"sync"
	"time"
)

// Brand is what payers see of a merchant.
type Brand struct {
	Name    string
	Support string // where they find help
	Logo    string // path of the picture
}

// LogoPath is where logos are served.
const LogoPath = "/logos/"

// Brand is what payers see of a merchant. A merchant whose name is only its id has said nothing.
func (m *Merchant) Brand() Brand {
	b := Brand{Support: m.SupportContact}
	if m.Name != m.ID {
		b.Name = m.Name
	}
	if m.LogoName != "" {
		b.Logo = LogoPath + m.LogoName
	}
	return b
}

// Pictures are the part of a store that brands are read from.
type Pictures interface {
	Merchant(ctx context.Context, id string) (Merchant, error)
	Logo(ctx context.Context, name string) ([]byte, error)
}

// Brands remembers brands, because open pages ask for them every few seconds. A change shows within brandLife.
type Brands struct {
	store Pictures
	now   func() time.Time

	mu    sync.Mutex
	known map[string]rememberedBrand
}

type rememberedBrand struct {
	brand Brand
	since time.Time
}

// How long a brand is remembered, how many are, and how long a page waits for one.
const (
	brandLife  = 10 * time.Second
	brandsMost = 10_000
	brandWait  = time.Second
)

// NewBrands makes an empty memory.
func NewBrands(store Pictures, now func() time.Time) *Brands {
	return &Brands{store: store, now: now, known: map[string]rememberedBrand{}}
}

// Brand finds the brand of a merchant. While it cannot be read, the last one is shown, or none: a page works without
// it.
func (b *Brands) Brand(ctx context.Context, id string) Brand {
	b.mu.Lock()
	last, ok := b.known[id]
	b.mu.Unlock()
	if ok && b.now().Sub(last.since) < brandLife {
		return last.brand
	}
	ctx, cancel := context.WithTimeout(ctx, brandWait)
	defer cancel()
	found := last.brand
	if m, err := b.store.Merchant(ctx, id); err == nil {
		found = m.Brand()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.known) >= brandsMost {
		clear(b.known)
	}
	b.known[id] = rememberedBrand{found, b.now()}
	return found
}

// Logo returns the picture with a name, nil when there is none.
func (b *Brands) Logo(ctx context.Context, name string) ([]byte, error) {
	return b.store.Logo(ctx, name)
}
