package unseen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"time"

	"golang.org/x/sync/errgroup"

	"causeway.internal/services/wallets/internal/chain"
)

// Account is an address in the order of its allocation.
type Account struct {
	Seq      int64
	Address  string
	WalletID string
}

// Compared is an address with what the chain and the books say that it has after a block.
type Compared struct {
	Account
	Balance, Expected *big.Int
}

// Differs reports whether the difference is worth an operator's look: any that is missing, and what is over from a sum on that
// may be somebody's payment. Below it anybody could fill the list with dust.
func (c Compared) Differs(least *big.Int) bool {
	over := new(big.Int).Sub(c.Balance, c.Expected)
	return over.Sign() < 0 || (over.Sign() > 0 && over.Cmp(least) >= 0)
}

// Pass is how far a comparison of all addresses has come.
type Pass struct {
	Seq   int64         // of the last address that was compared
	Ended bool          // there was no further one
	Age   time.Duration // since it began
	All   int64         // addresses that there are
}

// Balances keeps what was compared. Each method is one transaction.
type Balances interface {
	// Scanned is how far a live network is scanned, and the newest final block.
	Scanned(ctx context.Context, network string) (height, final int64, err error)
	// OpenPass returns the pass of a network, and begins the next one if the last ended and began longer ago than every.
	OpenPass(ctx context.Context, network string, every time.Duration) (Pass, error)
	// After returns the next addresses of the pass.
	After(ctx context.Context, seq int64, most int) ([]Account, error)
	// Listed returns addresses of the list that were not compared for a while, oldest first.
	Listed(ctx context.Context, network string, rest time.Duration, most int) ([]Account, error)
	// Expected is what the books say that addresses have of the native coin after a block. Those with a transaction under way
	// are left out.
	Expected(ctx context.Context, network string, height int64, of []Account) (map[string]*big.Int, error)
	// Note lists those that differ and forgets the others of the list.
	Note(ctx context.Context, network string, height int64, differing, same []Compared) error
	// EndBatch moves the pass on to an address; ended when it was the last one.
	EndBatch(ctx context.Context, network string, seq int64, ended bool) error
}

// Bounds of the comparison.
const (
	batchMost   = 50              // addresses in one step
	askedAtOnce = 4               // balances: the scan comes first
	stepLeast   = time.Second     // between two steps
	listedRest  = time.Minute     // between two looks at what is listed
	depthMost   = 64              // blocks below the scan that nodes keep the balances of
	retryAfter  = 5 * time.Second // a step that failed
)

// Comparer compares the balances of one network's addresses with the books.
type Comparer struct {
	network string
	every   time.Duration // one pass over all addresses
	least   *big.Int      // what is over counts from here on
	store   Balances
	chain   Chain
	log     *slog.Logger
	next    time.Time // of the pass's next few addresses
}

// NewComparer makes the comparer of a network.
func NewComparer(network string, every time.Duration, least *big.Int, store Balances, c Chain, log *slog.Logger) *Comparer {
	return &Comparer{network: network, every: every, least: least, store: store, chain: c, log: log.With("network", network)}
}

// Step compares what is listed again, and when it is time for them the next few addresses of the pass: a pass takes all of its
// time. It returns how long to wait for the next step.
func (c *Comparer) Step(ctx context.Context) (wait time.Duration, err error) {
	scanned, final, err := c.store.Scanned(ctx, c.network)
	if err != nil {
		return retryAfter, err
	}
	height := max(final, scanned-depthMost)
	listed, err := c.store.Listed(ctx, c.network, listedRest, batchMost)
	if err != nil {
		return retryAfter, err
	}
	if err := c.compare(ctx, height, listed); err != nil {
		return retryAfter, err
	}
	if until := time.Until(c.next); until > 0 {
		return min(until, listedRest), nil
	}
	after, err := c.batch(ctx, height)
	if err != nil {
		return retryAfter, err
	}
	after = max(after, stepLeast)
	c.next = time.Now().Add(after)
	return min(after, listedRest), nil
}

// batch compares the next few addresses of the pass, and returns after which time the ones after them come.
func (c *Comparer) batch(ctx context.Context, height int64) (time.Duration, error) {
	pass, err := c.store.OpenPass(ctx, c.network, c.every)
	if err != nil {
		return 0, err
	}
	if pass.Ended {
		return c.every - pass.Age, nil
	}
	next, err := c.store.After(ctx, pass.Seq, batchMost)
	if err != nil {
		return 0, err
	}
	if err := c.compare(ctx, height, next); err != nil {
		return 0, err
	}
	if len(next) > 0 {
		pass.Seq = next[len(next)-1].Seq
	}
	return c.every / time.Duration(pass.All/batchMost+1), c.store.EndBatch(ctx, c.network, pass.Seq, len(next) < batchMost)
}

// compare looks at a few addresses. Nodes that keep no balances of that block are no trouble of the scan's.
func (c *Comparer) compare(ctx context.Context, height int64, of []Account) error {
	if len(of) == 0 {
		return nil
	}
	expected, err := c.store.Expected(ctx, c.network, height, of)
	if err != nil {
		return err
	}
	all := make([]Compared, len(of))
	g, asking := errgroup.WithContext(ctx)
	g.SetLimit(askedAtOnce)
	for i, a := range of {
		if all[i].Account = a; expected[a.Address] == nil {
			continue
		}
		all[i].Expected = expected[a.Address]
		g.Go(func() (err error) {
			all[i].Balance, err = c.chain.Balance(asking, a.Address, height)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		if errors.Is(err, chain.ErrNoState) {
			return fmt.Errorf("balances after block %d: %w", height, err)
		}
		return err
	}
	var differing, same []Compared
	for _, one := range all {
		switch {
		case one.Expected == nil:
		case one.Differs(c.least):
			c.log.WarnContext(ctx, "balance unexplained", "address", one.Address, "wallet_id", one.WalletID, "balance", one.Balance, "expected", one.Expected, "height", height)
			differing = append(differing, one)
		default:
			same = append(same, one)
		}
	}
	return c.store.Note(ctx, c.network, height, differing, same)
}
