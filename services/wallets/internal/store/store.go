// Package store is the wallets database: addresses, cursors, headers, deposits and the simulated chains. Each exported
// method is one transaction. It is the only package of the service that knows SQL; the rules it applies inside a
// transaction are those of the pure packages.
package store

import (
	"context"
	"log/slog"
	"math/big"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"causeway.internal/libs/address"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/tick"
	"causeway.internal/libs/wire"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/wallet"
)

// Messages makes the outgoing messages that a transaction writes with its rows.
type Messages interface {
	DepositChanged(ctx context.Context, d wallet.Deposit, number int64) (outbox.Message, error)
	ScannedThrough(ctx context.Context, p wallet.Progress) (outbox.Message, error)
	OutgoingFinal(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, amount *big.Int) (outbox.Message, error)
	AddressesAllocated(ctx context.Context, a wallet.Allocation) ([]outbox.Message, error)
	AddressesOwned(ctx context.Context, addresses []wire.OwnedAddress) (outbox.Message, error)
	WalletChanged(ctx context.Context, w wallet.Wallet) (outbox.Message, error)
	RefundChanged(ctx context.Context, c wire.RefundChanged) (outbox.Message, error)
	HoldingsRead(ctx context.Context, read wire.HoldingsRead) (outbox.Message, error)
	TransferFound(ctx context.Context, found wire.TransferFound) (outbox.Message, error)
}

// Settings are what the store needs in addition to its pool.
type Settings struct {
	Nets   map[tenant.Mode]address.Net // how bitcoin addresses of each mode are written
	Depths wallet.Depths
	Now    func() time.Time
	Wake   func() // called after a commit that wrote messages
	// Strayed receives a new deposit on a standalone wallet that is not of the wallet's asset, perhaps twice.
	Strayed func(ctx context.Context, w wallet.Wallet, d wallet.Deposit)
	// Changed receives every new version of a deposit, perhaps twice.
	Changed func(ctx context.Context, d wallet.Deposit)
	// Found receives every new deposit, perhaps twice.
	Found func(d wallet.Deposit)
}

// Store is the database. It is safe for concurrent use.
type Store struct {
	pool     *pgxpool.Pool
	messages Messages
	set      Settings
	base     atomic.Int64 // versions above it are published, see recover.go
	telling  tick.Turns   // of scans that announce themselves at the same moments
}

// New makes a store over an open pool.
func New(pool *pgxpool.Pool, messages Messages, set Settings) *Store {
	return &Store{pool: pool, messages: messages, set: set, telling: tick.NewTurns(1)}
}

// RotateInbox empties the part of the inbox that the next week will use; call it every hour.
func (s *Store) RotateInbox(ctx context.Context) error { return inbox.Rotate(ctx, s.pool) }

func (s *Store) tx(ctx context.Context, f func(pgx.Tx) error) error {
	return postgres.Tx(ctx, s.pool, f)
}

// now is the time of rows and messages: UTC in whole milliseconds, so that both are equal.
func (s *Store) now() time.Time { return s.set.Now().UTC().Truncate(time.Millisecond) }

func (s *Store) wake() {
	if s.set.Wake != nil {
		s.set.Wake()
	}
}

// aliveSQL takes the lock by which others know that an owner's process lives.
const aliveSQL = `SELECT pg_advisory_lock(hashtextextended('scanners of ' || $1, 0))`

// Alive runs f while a session of its own holds the owner's lock. A killed process loses its sockets and with them the
// lock, so others take its leases over at once instead of waiting until they expire.
func (s *Store) Alive(ctx context.Context, cfg postgres.Config, owner string, log *slog.Logger, f func(context.Context) error) error {
	return postgres.LeadSession(ctx, cfg, "scanners of "+owner, log, func(ctx context.Context, session *postgres.Session) error {
		err := session.Do(ctx, func(conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, aliveSQL, owner)
			return err
		})
		if err != nil {
			return err
		}
		return f(ctx)
	})
}

// acquireSQL takes every named lease that the owner holds already, that has expired, or that belongs to a dead process.
// The epoch grows when the owner changes.
const acquireSQL = `INSERT INTO leases AS l (name, owner, epoch, until)
SELECT n, $2, 1, now() + $3::interval FROM unnest($1::text[]) AS n ORDER BY n
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, until = excluded.until,
	epoch = l.epoch + CASE WHEN l.owner = excluded.owner THEN 0 ELSE 1 END
WHERE l.owner = excluded.owner OR l.until < now() OR pg_try_advisory_xact_lock(hashtextextended('scanners of ' || l.owner, 0))
RETURNING name, epoch`

const releaseSQL = `UPDATE leases SET until = now() - interval '1 second' WHERE owner = $1`

// Acquire takes or renews the named leases for an owner and returns the epochs of those it now holds.
func (s *Store) Acquire(ctx context.Context, owner string, names []string, ttl time.Duration) (map[string]int64, error) {
	rows, err := s.pool.Query(ctx, acquireSQL, names, owner, ttl)
	if err != nil {
		return nil, err
	}
	held := make(map[string]int64, len(names))
	var name string
	var epoch int64
	_, err = pgx.ForEachRow(rows, []any{&name, &epoch}, func() error {
		held[name] = epoch
		return nil
	})
	return held, err
}

// Release releases every lease of an owner, so that another replica need not wait for them to expire.
func (s *Store) Release(ctx context.Context, owner string) error {
	_, err := s.pool.Exec(ctx, releaseSQL, owner)
	return err
}
