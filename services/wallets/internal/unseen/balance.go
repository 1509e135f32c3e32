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

// Compared is an address with its balances on the chain and in the books after a block.
type Compared struct {
	Account
	Balance, Expected *big.Int
}

// Differs reports whether an operator should inspect the difference: any missing sum, and a surplus that is large
// enough for a payment. Without that limit anybody could fill the list with dust.
func (c Compared) Differs(least *big.Int) bool {
	over := new(big.Int).Sub(c.Balance, c.Expected)
	return over.Sign() < 0 || (over.Sign() > 0 && over.Cmp(least) >= 0)
}

// Pass is the progress of a comparison of all addresses.
type Pass struct {
	Seq   int64         // of the last address that was compared
	Ended bool          // no address is left
	Age   time.Duration // since it began
	All   int64         // number of existing addresses
}

// Balances keeps the results of comparisons. Each method is one transaction.
type Balances interface {
	// Scanned is how far a live network is scanned, and its newest final block.
	Scanned(ctx context.Context, network string) (height, final int64, err error)
	// OpenPass returns the pass of a network. It begins the next one if the last has ended and began longer ago than
	// every.
	OpenPass(ctx context.Context, network string, every time.Duration) (Pass, error)
	// After returns the next addresses of the pass.
	After(ctx context.Context, seq int64, most int) ([]Account, error)
	// Listed returns listed addresses that were not compared for a while, oldest first.
	Listed(ctx context.Context, network string, rest time.Duration, most int) ([]Account, error)
	// Expected is the balance of the native coin that the books expect of each address after a block. It omits
	// addresses with a transaction under way.
	Expected(ctx context.Context, network string, height int64, of []Account) (map[string]*big.Int, error)
	// Note lists addresses that differ and removes the others from the list.
	Note(ctx context.Context, network string, height int64, differing, same []Compared) error
	// EndBatch moves the pass to an address; ended means that it was the last one.
	EndBatch(ctx context.Context, network string, seq int64, ended bool) error
}

// Bounds of the comparison.
const (
	batchMost   = 50              // addresses in one step
	askedAtOnce = 4               // concurrent reads of balances: the scan has priority
	stepLeast   = time.Second     // between two steps
	listedRest  = time.Minute     // between two comparisons of listed addresses
	depthMost   = 64              // blocks below the scan whose balances nodes keep
	retryAfter  = 5 * time.Second // after a failed step
)

// Comparer compares the balances of one network's addresses with the books.
type Comparer struct {
	network string
	every   time.Duration // one pass over all addresses
	least   *big.Int      // the smallest surplus that counts
	store   Balances
	chain   Chain
	log     *slog.Logger
	next    time.Time // time of the pass's next batch
}

// NewComparer makes the comparer of a network.
func NewComparer(network string, every time.Duration, least *big.Int, store Balances, c Chain, log *slog.Logger) *Comparer {
	return &Comparer{network: network, every: every, least: least, store: store, chain: c, log: log.With("network", network)}
}

// Step compares the listed addresses again and, when it is due, the next batch of the pass; a pass takes its whole
// interval. It returns the wait before the next step.
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

// batch compares the next batch of the pass, and returns the wait before the one after it.
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

// compare compares a few addresses. Nodes that do not keep balances of that block are no error of the scan.
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
