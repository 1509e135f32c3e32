package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/inbox"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
	"causeway.internal/services/payments/internal/change"
	"causeway.internal/services/payments/internal/stock"
)

// Lease implements stock.Leaser.
func (s *Store) Lease(ctx context.Context, mode tenant.Mode, family money.Family, n int, owner string, d time.Duration) ([]stock.Address, error) {
	rows, err := s.pool.Query(ctx, leaseAddresses, string(mode), string(family), n, owner, d.Seconds())
	if err != nil {
		return nil, fmt.Errorf("lease addresses: %w", err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[stock.Address])
	if err != nil {
		return nil, fmt.Errorf("lease addresses: %w", err)
	}
	return got, nil
}

// Release implements stock.Leaser.
func (s *Store) Release(ctx context.Context, mode tenant.Mode, family money.Family, owner string, addresses []string) error {
	if len(addresses) == 0 {
		return nil
	}
	if _, err := s.pool.Exec(ctx, releaseAddresses, string(mode), string(family), owner, addresses); err != nil {
		return fmt.Errorf("release addresses: %w", err)
	}
	return nil
}

// CleanStock removes addresses of payments from the stock, returns those of expired leases, and deletes old usage
// counts.
func (s *Store) CleanStock(ctx context.Context) error {
	if err := s.dropUsed(ctx); err != nil {
		return fmt.Errorf("drop used addresses: %w", err)
	}
	if err := s.once(ctx, freeDeadLeases); err != nil {
		return fmt.Errorf("free dead leases: %w", err)
	}
	return wrap(s.once(ctx, forgetUsage), "forget old usage")
}

// once runs a statement that keeps its plan. Exec without arguments would plan it anew.
func (s *Store) once(ctx context.Context, sql string) error {
	batch := &pgx.Batch{}
	batch.Queue(sql)
	return s.pool.SendBatch(ctx, batch).Close()
}

// dropUsed removes used addresses from the stock and sends wallets the trace of each one's payment. The create does not
// send it, to stay fast: a payer needs longer than the two seconds until this runs.
func (s *Store) dropUsed(ctx context.Context) error {
	sent := false
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, dropUsedAddresses)
		if err != nil {
			return err
		}
		used, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wire.UsedAddress])
		if err != nil {
			return err
		}
		sent = len(used) > 0
		for some := range slices.Chunk(used, wire.AddressesMax) {
			msg, err := outbox.Encode(ctx, wire.AddressesUsedV1, id.New(id.Message, s.now()), wire.AddressesUsed{Addresses: some})
			if err != nil {
				return err
			}
			if err := outbox.Insert(ctx, tx, msg); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && sent {
		s.Wake()
	}
	return err
}

// Levels implements stock.Shelves.
func (s *Store) Levels(ctx context.Context, of []stock.Shelf, stale time.Duration) ([]stock.Level, error) {
	modes, families := make([]string, len(of)), make([]string, len(of))
	for i, k := range of {
		modes[i], families[i] = string(k.Mode), string(k.Family)
	}
	rows, err := s.pool.Query(ctx, stockLevels, modes, families, stale.Seconds())
	if err != nil {
		return nil, fmt.Errorf("read the stock of addresses: %w", err)
	}
	levels, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (l stock.Level, err error) {
		var open *string
		var r stock.Request
		err = row.Scan(&l.Mode, &l.Family, &l.Free, &l.Peak, &l.Hour, &open, &r.Count, &r.Stale)
		if open != nil {
			r.ID = *open
			l.Open = &r
		}
		return l, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the stock of addresses: %w", err)
	}
	return levels, nil
}

// Request implements stock.Shelves.
func (s *Store) Request(ctx context.Context, mode tenant.Mode, family money.Family, count int, c change.Command) error {
	asked, ok := c.Payload.(wire.AllocateAddresses)
	if !ok {
		return fmt.Errorf("a %T asks for no addresses", c.Payload)
	}
	return s.command(ctx, c, insertRequest, string(mode), string(family), asked.RequestID, count)
}

// Repeat implements stock.Shelves.
func (s *Store) Repeat(ctx context.Context, mode tenant.Mode, family money.Family, c change.Command) error {
	asked, ok := c.Payload.(wire.AllocateAddresses)
	if !ok {
		return fmt.Errorf("a %T asks for no addresses", c.Payload)
	}
	return s.command(ctx, c, touchRequest, string(mode), string(family), asked.RequestID)
}

// command sends a message if and only if the statement changes a row.
func (s *Store) command(ctx context.Context, c change.Command, sql string, args ...any) error {
	msg, err := outbox.Encode(ctx, c.Name, c.ID, c.Payload)
	if err != nil {
		return err
	}
	err = postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return outbox.Insert(ctx, tx, msg)
	})
	if err != nil {
		return fmt.Errorf("send %s: %w", c.Name, err)
	}
	s.Wake()
	return nil
}

// Fill implements stock.Shelves. It skips an address of a payment, an address that has received money, and every answer
// to a request that is not open: after a restore, payers of lost payments may have seen its addresses.
func (s *Store) Fill(ctx context.Context, messageID string, m wire.AddressesAllocated) error {
	addresses, wallets := make([]string, 0, len(m.Addresses)), make([]string, 0, len(m.Addresses))
	for _, a := range m.Addresses {
		addresses, wallets = append(addresses, a.Address), append(wallets, a.WalletID)
	}
	mode, family := string(m.Mode), string(m.Family)
	err := postgres.Tx(ctx, s.pool, func(tx pgx.Tx) error {
		if fresh, err := inbox.Fresh(ctx, tx, messageID); err != nil || !fresh {
			return err
		}
		batch := &pgx.Batch{}
		batch.Queue(addStock, mode, family, addresses, wallets, m.RequestID)
		batch.Queue(answerRequest, mode, family, m.RequestID)
		batch.Queue(finishRequest, mode, family, m.RequestID, m.Parts)
		return tx.SendBatch(ctx, batch).Close()
	})
	if err != nil {
		return fmt.Errorf("fill the stock of addresses: %w", err)
	}
	return nil
}
