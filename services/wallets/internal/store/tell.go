package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/inbox"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/libs/wire"
)

const (
	// anyUntoldSQL asks first, without a transaction, because addresses are made rarely.
	anyUntoldSQL = `SELECT EXISTS (SELECT FROM own_accounts WHERE NOT told)
	OR EXISTS (SELECT FROM told_addresses t JOIN counters c USING (mode, family) WHERE c.last_seq > t.seq)`
	untoldSQL = `SELECT t.mode, t.family, t.seq FROM told_addresses t JOIN counters c USING (mode, family)
WHERE c.last_seq > t.seq ORDER BY t.mode, t.family FOR UPDATE OF t SKIP LOCKED`

	// The last seq of a page, and the addresses of standalone wallets in it.
	tellPageSQL = `SELECT coalesce(max(a.seq), $3), coalesce(array_agg(w.address ORDER BY a.seq) FILTER (WHERE w.id IS NOT NULL), '{}'), count(*)
FROM (SELECT seq, wallet_id FROM addresses WHERE mode = $1 AND family = $2 AND seq > $3 ORDER BY seq LIMIT $4) AS a
LEFT JOIN wallets w ON w.id = a.wallet_id`

	toldToSQL = `UPDATE told_addresses SET seq = $3 WHERE mode = $1 AND family = $2`

	tellAccountsSQL = `UPDATE own_accounts SET told = true WHERE NOT told RETURNING mode, family, address`

	keepAccountsSQL = `INSERT INTO own_accounts (mode, family, address) SELECT m, f, a
FROM unnest($1::text[], $2::text[], $3::text[]) AS o(m, f, a) ORDER BY m, f, a ON CONFLICT DO NOTHING`

	tellAllSQL         = `UPDATE told_addresses SET seq = 0`
	tellAllAccountsSQL = `UPDATE own_accounts SET told = false`
)

// tellPage bounds how many addresses of a family one transaction looks at.
const tellPage = 5000

// KeepAccounts notes treasuries, for TellOwned to send.
func (s *Store) KeepAccounts(ctx context.Context, accounts []wire.OwnedAddress) error {
	var modes, families, addresses []string
	for _, a := range accounts {
		modes, families, addresses = append(modes, string(a.Mode)), append(families, string(a.Family)), append(addresses, a.Address)
	}
	if _, err := s.pool.Exec(ctx, keepAccountsSQL, modes, families, addresses); err != nil {
		return fmt.Errorf("storing treasuries: %w", err)
	}
	return nil
}

// TellOwned sends payments addresses that it has not been sent yet; more says that some may be left. Several processes
// may call it at the same time.
func (s *Store) TellOwned(ctx context.Context) (more bool, err error) {
	var any bool
	if err := s.pool.QueryRow(ctx, anyUntoldSQL).Scan(&any); err != nil {
		return false, fmt.Errorf("looking for addresses to publish: %w", err)
	}
	if !any {
		return false, nil
	}
	wrote := false
	err = s.tx(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, tellAccountsSQL)
		if err != nil {
			return err
		}
		owned, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wire.OwnedAddress])
		if err != nil {
			return err
		}
		made, full, err := s.untold(ctx, tx)
		if err != nil {
			return err
		}
		owned, more = append(owned, made...), full
		wrote = len(owned) > 0
		for some := range slices.Chunk(owned, wire.AddressesMax) {
			m, err := s.messages.AddressesOwned(ctx, some)
			if err != nil {
				return err
			}
			if err := outbox.Insert(ctx, tx, m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("publishing owned addresses: %w", err)
	}
	if wrote {
		s.wake()
	}
	return more, nil
}

// untold reads the next page of each family and moves past it; full says that one of them was full.
func (s *Store) untold(ctx context.Context, tx pgx.Tx) (owned []wire.OwnedAddress, full bool, err error) {
	type place struct {
		Mode, Family string
		Seq          int64
	}
	rows, err := tx.Query(ctx, untoldSQL)
	if err != nil {
		return nil, false, err
	}
	places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[place])
	if err != nil {
		return nil, false, err
	}
	for _, p := range places {
		var addresses []string
		var read int
		if err := tx.QueryRow(ctx, tellPageSQL, p.Mode, p.Family, p.Seq, tellPage).Scan(&p.Seq, &addresses, &read); err != nil {
			return nil, false, err
		}
		for _, a := range addresses {
			owned = append(owned, wire.OwnedAddress{Mode: tenant.Mode(p.Mode), Family: money.Family(p.Family), Address: a})
		}
		if _, err := tx.Exec(ctx, toldToSQL, p.Mode, p.Family, p.Seq); err != nil {
			return nil, false, err
		}
		full = full || read == tellPage
	}
	return owned, full, nil
}

// Answer implements app.Answers.
func (s *Store) Answer(ctx context.Context, messageID string, found wire.TransferFound) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if fresh, err := inbox.Fresh(ctx, tx, messageID); err != nil || !fresh {
			return err
		}
		m, err := s.messages.TransferFound(ctx, found)
		if err != nil {
			return err
		}
		return outbox.Insert(ctx, tx, m)
	})
	if err != nil {
		return fmt.Errorf("answering about transaction %s: %w", found.TxHash, err)
	}
	s.wake()
	return nil
}

// TellAll makes TellOwned begin again, for a payments whose database was restored.
func (s *Store) TellAll(ctx context.Context) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		var batch pgx.Batch
		batch.Queue(tellAllSQL)
		batch.Queue(tellAllAccountsSQL)
		return tx.SendBatch(ctx, &batch).Close()
	})
}
