// Package holdings reads from the chains what lies at the addresses of this system, compares it with the transactions
// that wallets knows, and has both sent to payments for the report of the treasury.
package holdings

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"slices"
	"time"

	"causeway.internal/libs/money"
	"causeway.internal/services/wallets/internal/chain"
)

// Place is where an account is. An address of two places belongs to the first one.
type Place string

// The places.
const (
	Deposits      Place = "deposits" // addresses for payers
	GasStation    Place = "gas_station"
	RefundStation Place = "refund_station"
	Treasury      Place = "treasury"
)

// Account is one asset at one address.
type Account struct {
	Place    Place
	Address  string
	WalletID string // of a deposit address
	Asset    string
	Contract string // "" for the network's own coin
}

// Balance is an account after a block.
type Balance struct {
	Account
	Amount *big.Int
	Height int64
	Block  string // the hash of that block; "" for one that was final when it was read
	Fault  error  // why the chain's answer tells no balance
}

// Reading is what a chain has at one time.
type Reading struct {
	Network  string
	At       time.Time // by the clock of the database
	Through  int64     // deposits in later blocks were not looked for
	Assets   []string
	Unknown  map[Place]bool // places whose address nobody knows at present, or with an account that was not read
	Balances []Balance
}

// Height is the newest block of the balances; everything up to it must be final before they are compared.
func (r Reading) Height() (newest int64) {
	for _, b := range r.Balances {
		newest = max(newest, b.Height)
	}
	return newest
}

// Settled is the block of the places with one address each, whose balances one call or one block gives.
func (r Reading) Settled() int64 {
	for _, b := range r.Balances {
		if b.Place != Deposits {
			return b.Height
		}
	}
	return r.Height()
}

// Has is what a place has of an asset; a place without an address has nothing.
func (r Reading) Has(place Place, asset string) *big.Int {
	sum := new(big.Int)
	for _, b := range r.Balances {
		if b.Place == place && b.Asset == asset {
			sum.Add(sum, b.Amount)
		}
	}
	return sum
}

// Store keeps readings. Each method is one transaction.
type Store interface {
	// Scanned is how far a live network is scanned, and its newest final block.
	Scanned(ctx context.Context, network string) (height, final int64, err error)
	// Follows reports whether the scan of a live network follows its chain at present.
	Follows(ctx context.Context, network string) (bool, error)
	Time(ctx context.Context) (time.Time, error)
	// HashAt is the hash of a scanned block of a live network, "" for one that is not kept.
	HashAt(ctx context.Context, network string, height int64) (string, error)
	// HeldAccounts lists the accounts of deposit addresses with money in blocks up to one: first those that were never
	// read, then those that were read longest ago.
	HeldAccounts(ctx context.Context, network string, through int64, most int) ([]Account, error)
	// SendHoldings compares a reading with the books, keeps it, and sends it to payments. It does nothing, and names an
	// own transaction that is not booked, while a block of the reading has it or may have it.
	SendHoldings(ctx context.Context, r Reading) (waits string, err error)
}

// Chain reads balances.
type Chain interface {
	// Balances reads accounts after the block at a height, or after another one that it names. It fails with
	// chain.ErrNoState when no endpoint keeps that block.
	Balances(ctx context.Context, of []Account, height int64) ([]Balance, error)
}

// Addresses are the places of a network with one address each; unknown are those that it has and nobody knows now.
type Addresses func(ctx context.Context) (at map[Place]string, unknown map[Place]bool)

// Network is one network with its assets and their contracts.
type Network struct {
	Listed    money.Network
	Contracts map[string]string // by the symbols of the tokens
	Chain     Chain
	Addresses Addresses
}

// EveryBelow bounds the time between two readings: a report takes an older one for none.
const EveryBelow = 30 * time.Minute

// Bounds of one reading.
const (
	readMost    = 2_000 // accounts of deposit addresses
	waitingMost = 12    // readings whose blocks are not final
	lookEvery   = 2 * time.Second
)

// Reader reads one network.
type Reader struct {
	Network
	every   time.Duration
	store   Store
	log     *slog.Logger
	next    time.Time
	named   string // transaction that the log has named last
	waiting []Reading
}

// NewReader makes the reader of a network, which reads it once in every.
func NewReader(n Network, every time.Duration, store Store, log *slog.Logger) *Reader {
	return &Reader{Network: n, every: every, store: store, log: log.With("network", n.Listed.Name)}
}

// Run reads until ctx ends.
func (r *Reader) Run(ctx context.Context) error {
	tick := time.NewTicker(min(r.every, lookEvery))
	defer tick.Stop()
	for {
		if err := r.Step(ctx); err != nil && ctx.Err() == nil {
			r.log.WarnContext(ctx, "holdings not read", "err", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Step sends the readings whose blocks have become final, and reads again when that is due. Nothing is read while the
// scan does not follow the chain, because the books are behind it then.
func (r *Reader) Step(ctx context.Context) error {
	name := r.Listed.Name
	scanned, final, err := r.store.Scanned(ctx, name)
	if err != nil {
		return err
	}
	if err := r.tell(ctx, final); err != nil {
		return err
	}
	if time.Now().Before(r.next) || len(r.waiting) == waitingMost {
		return nil
	}
	if follows, err := r.store.Follows(ctx, name); err != nil || !follows {
		return err
	}
	r.next = time.Now().Add(r.every)
	read, err := r.read(ctx, scanned, final)
	if err != nil {
		return err
	}
	r.waiting = append(r.waiting, read)
	return r.tell(ctx, final)
}

// tell sends what is final, oldest first. It drops a reading of a block that has left the chain.
func (r *Reader) tell(ctx context.Context, final int64) error {
	for len(r.waiting) > 0 && r.waiting[0].Height() <= final {
		left, err := r.left(ctx, r.waiting[0])
		if err != nil {
			return err
		}
		if left != "" {
			r.log.WarnContext(ctx, "holdings dropped: their block is not on the chain", "block", left)
			r.waiting = r.waiting[1:]
			continue
		}
		waits, err := r.store.SendHoldings(ctx, r.waiting[0])
		if err != nil {
			return err
		}
		if waits != "" {
			if len(r.waiting) == waitingMost && waits != r.named {
				r.named = waits
				r.log.WarnContext(ctx, "holdings wait for a transaction that is not booked", "outgoing", waits)
			}
			return nil
		}
		r.waiting = r.waiting[1:]
	}
	return nil
}

// left is a block of a reading that the scan has another one for, "" if there is none.
func (r *Reader) left(ctx context.Context, of Reading) (block string, err error) {
	read := map[string]int64{}
	for _, b := range of.Balances {
		if b.Block != "" {
			read[b.Block] = b.Height
		}
	}
	for block, height := range read {
		switch kept, err := r.store.HashAt(ctx, of.Network, height); {
		case err != nil:
			return "", err
		case kept != "" && kept != block:
			return block, nil
		}
	}
	return "", nil
}

// read reads the places of the network, and a part of the deposit addresses. The newest final block is the best one; a
// node that keeps no balances of it gives those of the newest scanned block, which are compared once that is final.
func (r *Reader) read(ctx context.Context, scanned, final int64) (out Reading, err error) {
	out = Reading{Network: r.Listed.Name, Through: final}
	if out.At, err = r.store.Time(ctx); err != nil {
		return out, err
	}
	accounts := r.places(ctx, &out)
	held, err := r.store.HeldAccounts(ctx, out.Network, out.Through, readMost)
	if err != nil {
		return out, err
	}
	for _, a := range held {
		if contract, listed := r.Contracts[a.Asset]; listed || a.Asset == r.Listed.Coin().Symbol {
			a.Contract = contract
			accounts = append(accounts, a)
		}
	}
	out.Balances, err = r.Chain.Balances(ctx, accounts, final)
	if errors.Is(err, chain.ErrNoState) {
		out.Balances, err = r.newest(ctx, accounts, scanned)
	}
	if err != nil {
		return out, fmt.Errorf("read the balances of %s: %w", out.Network, err)
	}
	out.Balances = slices.DeleteFunc(out.Balances, func(b Balance) bool {
		if b.Fault == nil {
			return false
		}
		r.log.WarnContext(ctx, "balance not read", "place", b.Place, "address", b.Address, "asset", b.Asset, "err", b.Fault)
		out.lose(b.Account)
		return true
	})
	return out, nil
}

// newest reads accounts after the newest scanned block, which may still leave the chain.
func (r *Reader) newest(ctx context.Context, of []Account, scanned int64) ([]Balance, error) {
	hash, err := r.store.HashAt(ctx, r.Listed.Name, scanned)
	if err != nil {
		return nil, err
	}
	list, err := r.Chain.Balances(ctx, of, scanned)
	for i := range list {
		list[i].Block = cmp.Or(list[i].Block, hash)
	}
	return list, err
}

// lose notes that an account was not read. A deposit address stays unread until a later reading has it.
func (r *Reading) lose(a Account) {
	if a.Place != Deposits {
		r.Unknown[a.Place] = true
	}
}

// places adds the assets and the unknown places to a reading, and lists the accounts of the others.
func (r *Reader) places(ctx context.Context, out *Reading) (accounts []Account) {
	at, unknown := r.Addresses(ctx)
	out.Unknown = unknown
	for _, asset := range r.Listed.Assets {
		contract, listed := r.Contracts[asset.Symbol]
		if !asset.Native && !listed {
			continue
		}
		out.Assets = append(out.Assets, asset.Symbol)
		for _, place := range []Place{Treasury, GasStation, RefundStation} {
			if address := at[place]; address != "" {
				accounts = append(accounts, Account{Place: place, Address: address, Asset: asset.Symbol, Contract: contract})
			}
		}
	}
	return accounts
}
