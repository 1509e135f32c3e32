package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/app"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/derivation"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

var (
	_ app.Recovery   = (*Store)(nil)
	_ scanner.Second = (*Store)(nil)
)

const (
	openRecoverySQL = `INSERT INTO recoveries (version_base) VALUES ($1) ON CONFLICT ((true)) WHERE ended_at IS NULL DO NOTHING RETURNING id`

	// Every next index is moved past the largest that this database knows, and past those that others may know.
	targetsSQL = `INSERT INTO recovery_targets (recovery, mode, family, target)
SELECT $1, c.mode, c.family, least(greatest(c.next_index, coalesce((SELECT max(a.idx) + 1 FROM addresses a
	WHERE a.mode = c.mode AND a.family = c.family), 0)) + $2, 2147483648) FROM counters c`

	recoveryCursorsSQL = `INSERT INTO recovery_cursors (recovery, mode, network, height, block_time)
SELECT $1, mode, network, height, block_time FROM cursors`

	// The signer may have been asked for such a plan since the backup. A plan of the released refund takes its place: the
	// signer refuses that one if it has signed for the order.
	forgetPlansSQL = `WITH gone AS (DELETE FROM outgoing_tx o USING refunds r WHERE r.id = o.refund AND r.mode = 'live' AND r.state = 'signing'
	AND ` + unaskedPlan + ` RETURNING o.id)
DELETE FROM outgoing_inputs WHERE outgoing IN (SELECT id FROM gone)`

	// Payments may have refunded the money of such a refund again since the backup: nothing was signed for it, or each of
	// its forms on tron had expired.
	holdRefundsSQL = `UPDATE refunds SET blocked = true, reason = ` + restoredReason + `
WHERE mode = 'live' AND (family = 'tron' AND state IN ('signing', 'sent')
	OR state = 'signing' AND NOT EXISTS (SELECT FROM outgoing_tx o WHERE o.refund = refunds.id))`

	restoredReason = `'the database was restored: compare the refund with payments'`

	endRecoverySQL = `UPDATE recoveries SET ended_at = now() WHERE ended_at IS NULL`

	versionBaseSQL = `SELECT coalesce(max(version_base), 0) FROM recoveries`

	targetSQL = `SELECT t.target, c.next_index, c.last_seq FROM recovery_targets t JOIN recoveries r ON r.id = t.recovery AND r.ended_at IS NULL
JOIN counters c ON c.mode = t.mode AND c.family = t.family WHERE t.mode = $1 AND t.family = $2 FOR UPDATE OF c`

	// Several processes may recover at once, and wait for each other: longer than a statement may otherwise take.
	jumpPatientSQL = `SELECT set_config('lock_timeout', '120s', true), set_config('statement_timeout', '150s', true)`

	jumpSQL = `UPDATE counters SET next_index = $3, last_seq = $4 WHERE mode = $1 AND family = $2`

	pendingRescansSQL = `SELECT k.mode, k.network, k.height, k.block_time FROM recovery_cursors k
JOIN recoveries r ON r.id = k.recovery AND r.ended_at IS NULL WHERE NOT k.done ORDER BY k.mode, k.network`

	rescanDoneSQL = `UPDATE recovery_cursors k SET done = true FROM recoveries r
WHERE r.id = k.recovery AND r.ended_at IS NULL AND k.mode = $1 AND k.network = $2`

	heightAtSQL = `SELECT height, time FROM headers WHERE mode = $1 AND network = $2 ORDER BY abs(extract(epoch FROM time - $3)) LIMIT 1`

	lockCursorSQL = `SELECT height, hash, block_time, finalized FROM cursors WHERE mode = $1 AND network = $2 FOR UPDATE`

	againSQL = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.mode = $1 AND d.network = $2 AND d.height BETWEEN $3 AND $4
AND (d.height, d.tx_hash, d.ordinal) > ($5, $6, $7) ORDER BY d.height, d.tx_hash, d.ordinal LIMIT $8 FOR UPDATE`

	depositsOfTxSQL = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.tx_hash = ANY($1) ORDER BY d.mode, d.network, d.ordinal`

	ownersOfTxSQL = `SELECT w.id, w.merchant_id, w.status FROM wallets w WHERE w.id = ANY($1)`
)

// Recover implements app.Recovery. It notes a restore once, in any number of calls and processes, until EndRecovery,
// and blocks the refunds that may have failed since the backup.
func (s *Store) Recover(ctx context.Context, margin int64) error {
	err := s.tx(ctx, func(tx pgx.Tx) error {
		var recovery int64
		err := tx.QueryRow(ctx, openRecoverySQL, s.now().UnixMilli()).Scan(&recovery)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // noted already
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, targetsSQL, recovery, margin); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, recoveryCursorsSQL, recovery); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, forgetPlansSQL); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, holdRefundsSQL)
		return err
	})
	if err != nil {
		return fmt.Errorf("noting the restore: %w", err)
	}
	return s.LoadVersions(ctx)
}

// EndRecovery notes that the database is in normal service again.
func (s *Store) EndRecovery(ctx context.Context) error {
	if _, err := s.pool.Exec(ctx, endRecoverySQL); err != nil {
		return fmt.Errorf("ending the recovery: %w", err)
	}
	return s.LoadVersions(ctx)
}

// LoadVersions reads the version above which deposits are published. Call it before anything is scanned.
func (s *Store) LoadVersions(ctx context.Context) error {
	var base int64
	if err := s.pool.QueryRow(ctx, versionBaseSQL).Scan(&base); err != nil {
		return fmt.Errorf("reading the base of versions: %w", err)
	}
	s.base.Store(base)
	return nil
}

// raise lifts versions above every version that was published before the last restore.
func (s *Store) raise(list []wallet.Deposit) {
	base := s.base.Load()
	for i := range list {
		list[i].Version = max(list[i].Version, base+1)
	}
}

// jumpMost bounds one transaction of Jump.
const jumpMost = 2_500

// Jump implements app.Recovery: it makes and watches the next addresses below the target, which are never issued again,
// and reports whether more are to be made. Without a source only the counter moves: nothing can have been issued.
func (s *Store) Jump(ctx context.Context, mode tenant.Mode, family money.Family, source derivation.Source) (more bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		var target, next, seq int64
		if _, err := tx.Exec(ctx, jumpPatientSQL); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, targetSQL, mode, family).Scan(&target, &next, &seq)
		if more = false; errors.Is(err, pgx.ErrNoRows) || (err == nil && next >= target) {
			return nil
		}
		if err != nil {
			return err
		}
		if source == nil {
			_, err := tx.Exec(ctx, jumpSQL, mode, family, target, seq)
			return err
		}
		if _, imported := source.(derivation.Pooled); imported {
			more, err = s.jumpStock(ctx, tx, counter{wallet.Slot{Mode: mode, Family: family}, next, seq}, target)
			return err
		}
		count := int(min(target-next, jumpMost))
		made, err := source.Derive(uint32(next), count) //nolint:gosec // an index has 31 bits
		if err != nil {
			return fmt.Errorf("deriving from index %d: %w", next, err)
		}
		keys, texts, wallets := make([][]byte, count), make([]string, count), make([]string, count)
		now := s.now()
		for i, d := range made {
			keys[i], texts[i], wallets[i] = d.Key, d.Address, id.New(id.Wallet, now)
		}
		if _, err := tx.Exec(ctx, addSQL, mode, family, seq+1, int64(source.Account()), next, keys, texts, wallets); err != nil {
			return err
		}
		more = next+int64(count) < target
		_, err = tx.Exec(ctx, jumpSQL, mode, family, next+int64(count), seq+int64(count))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("moving the next %s %s index: %w", mode, family, err)
	}
	return more, nil
}

// jumpStock is Jump for imported addresses: it watches the stock below the target, which is never issued.
func (s *Store) jumpStock(ctx context.Context, tx pgx.Tx, at counter, target int64) (more bool, err error) {
	rows, err := tx.Query(ctx, stockSQL, at.Mode, at.Family, at.next, target, jumpMost)
	if err != nil {
		return false, err
	}
	list, err := stock(rows)
	if err != nil {
		return false, err
	}
	if more = len(list) == jumpMost; more {
		target = list[len(list)-1].idx + 1
	}
	return more, s.watchStock(ctx, tx, at, list, s.newIDs(len(list)), target)
}

// PendingRescans implements scanner.Second.
func (s *Store) PendingRescans(ctx context.Context) ([]scanner.Rescan, error) {
	rows, err := s.pool.Query(ctx, pendingRescansSQL)
	if err != nil {
		return nil, fmt.Errorf("reading pending rescans: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (r scanner.Rescan, err error) {
		err = row.Scan(&r.Mode, &r.Network, &r.To, &r.Stood)
		return r, err
	})
}

// RescanDone implements scanner.Second.
func (s *Store) RescanDone(ctx context.Context, c scanner.Chain) error {
	_, err := s.pool.Exec(ctx, rescanDoneSQL, c.Mode, c.Network)
	return err
}

// Again implements scanner.Second.
func (s *Store) Again(ctx context.Context, c scanner.Chain, at chain.Header, transfers []chain.Transfer) (found int, err error) {
	woken := false
	err = s.tx(ctx, func(tx pgx.Tx) error {
		cursor, err := lockCursor(ctx, tx, c)
		if err != nil {
			return err
		}
		if at.Height > cursor.Height {
			return fmt.Errorf("block %d is not scanned yet: the scan is at %d", at.Height, cursor.Height)
		}
		var kept chain.Header
		err = tx.QueryRow(ctx, headerSQL, c.Mode, c.Network, at.Height).Scan(&kept.Height, &kept.Hash, &kept.Parent, &kept.Time)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		if err == nil && kept.Hash != at.Hash {
			return fmt.Errorf("the node's block %d is %s, but %s was scanned", at.Height, at.Hash, kept.Hash)
		}
		tip := wallet.Tip{Height: cursor.Height, Finalized: cursor.Finalized}
		changed, err := s.see(ctx, tx, c, scanner.Step{Headers: []chain.Header{at}, Transfers: transfers}, tip)
		if err != nil {
			return err
		}
		found = len(changed)
		woken, err = s.publish(ctx, tx, c, changed, cursor.Height)
		return err
	})
	if err == nil && woken {
		s.wake()
	}
	return found, err
}

// againMost bounds one transaction of Retell.
const againMost = 200

// Retell implements scanner.Second. It publishes outgoing transactions after the deposits.
func (s *Store) Retell(ctx context.Context, c scanner.Chain, from, to int64) (told int, err error) {
	after := wallet.Deposit{Sighting: wallet.Sighting{BlockHeight: -1}}
	for {
		var page []wallet.Deposit
		err := s.tx(ctx, func(tx pgx.Tx) error {
			cursor, err := lockCursor(ctx, tx, c)
			if err != nil {
				return err
			}
			rows, err := tx.Query(ctx, againSQL, c.Mode, c.Network, from, to, after.BlockHeight, after.TxHash, after.Ordinal, againMost)
			if err != nil {
				return err
			}
			if page, err = pgx.CollectRows(rows, toDeposit); err != nil {
				return err
			}
			for i := range page {
				page[i].Version++
			}
			_, err = s.publish(ctx, tx, c, page, cursor.Height)
			return err
		})
		if err != nil {
			return told, fmt.Errorf("publishing the deposits of %s again: %w", c, err)
		}
		if told += len(page); len(page) > 0 {
			s.wake()
		}
		if len(page) < againMost {
			return told, s.Sweeps().tellAgain(ctx, c, from, to)
		}
		after = page[len(page)-1]
	}
}

// publish writes changed deposits with everything that follows from them. The cursor's row is locked.
func (s *Store) publish(ctx context.Context, tx pgx.Tx, c scanner.Chain, changed []wallet.Deposit, head int64) (wrote bool, err error) {
	s.raise(changed)
	if err := s.putDeposits(ctx, tx, changed); err != nil {
		return false, err
	}
	theirs, wrote, err := s.apply(ctx, tx, changed, head)
	if err != nil {
		return false, err
	}
	msgs, _, err := s.tell(ctx, tx, c, theirs)
	if err != nil {
		return false, err
	}
	return wrote || len(msgs) > 0, outbox.Insert(ctx, tx, msgs...)
}

func lockCursor(ctx context.Context, tx pgx.Tx, c scanner.Chain) (at scanner.Cursor, err error) {
	err = tx.QueryRow(ctx, lockCursorSQL, c.Mode, c.Network).Scan(&at.Height, &at.Hash, &at.Time, &at.Finalized)
	if errors.Is(err, pgx.ErrNoRows) {
		return at, fmt.Errorf("%s was never scanned", c)
	}
	return at, err
}

// KeptNear implements scanner.Second.
func (s *Store) KeptNear(ctx context.Context, c scanner.Chain, at time.Time) (h chain.Header, found bool, err error) {
	err = s.pool.QueryRow(ctx, heightAtSQL, c.Mode, c.Network, at).Scan(&h.Height, &h.Time)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, false, nil
	}
	return h, err == nil, err
}

// DepositsOf returns every deposit of a transaction, in both modes and on every network, for an operator.
func (s *Store) DepositsOf(ctx context.Context, txs ...string) ([]wallet.Deposit, error) {
	rows, err := s.pool.Query(ctx, depositsOfTxSQL, txs)
	if err != nil {
		return nil, fmt.Errorf("reading deposits: %w", err)
	}
	return pgx.CollectRows(rows, toDeposit)
}

// OwnersOf returns the standalone wallets among wallet ids, for an operator.
func (s *Store) OwnersOf(ctx context.Context, ids []string) ([]wallet.Wallet, error) {
	rows, err := s.pool.Query(ctx, ownersOfTxSQL, ids)
	if err != nil {
		return nil, fmt.Errorf("reading wallets: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w wallet.Wallet, err error) {
		err = row.Scan(&w.ID, &w.MerchantID, &w.Status)
		return w, err
	})
}
