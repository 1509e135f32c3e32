package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/id"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/libs/tenant"
	"causeway.internal/services/wallets/internal/intent"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/sweep"
	"causeway.internal/services/wallets/internal/sweeper"
	"causeway.internal/services/wallets/internal/wallet"
)

// Sweeps is the part of the database that sweeps live in.
type Sweeps struct{ *Store }

var _ sweeper.Store = Sweeps{}

// Sweeps is the database as sweeps see it.
func (s *Store) Sweeps() Sweeps { return Sweeps{s} }

// Only live money is swept: the chains of test mode are simulated.
const (
	finalSQL = `SELECT coalesce((SELECT finalized FROM cursors WHERE mode = 'live' AND network = $1), 0)`

	keepStationSQL = `WITH kept AS (INSERT INTO own_accounts (mode, family, address) VALUES ('live', $1, $2) ON CONFLICT DO NOTHING)
INSERT INTO house_addresses (mode, family, address) VALUES ('live', $1, $2) ON CONFLICT DO NOTHING`

	// Final deposits in no sweep, where no sweep is under way, with a sum that is worth one.
	dueSweepsSQL = `SELECT d.address, d.asset, sum(d.amount)::text FROM deposits d
JOIN unnest($2::text[], $3::text[]) AS worth(asset, amount) ON worth.asset = d.asset
WHERE d.mode = 'live' AND d.network = $1 AND d.sweep IS NULL AND d.finalized AND d.state = 'confirmed' AND d.due_height = 0
AND NOT EXISTS (SELECT FROM sweeps s WHERE s.mode = d.mode AND s.network = d.network AND s.address = d.address AND s.asset = d.asset
	AND s.state IN ('open', 'blocked')) AND d.amount >= $5::text::numeric
GROUP BY d.address, d.asset, worth.amount HAVING sum(d.amount) >= worth.amount::numeric ORDER BY sum(d.amount) DESC LIMIT $4`

	toSweepSQL = `SELECT d.tx_hash, d.ordinal, d.amount::text, d.contract, d.wallet_id, a.account, a.idx, d.family FROM deposits d
JOIN addresses a ON a.mode = d.mode AND a.family = d.family AND a.address = d.address
WHERE d.mode = 'live' AND d.network = $1 AND d.address = $2 AND d.asset = $3 AND d.sweep IS NULL AND d.finalized
AND d.state = 'confirmed' AND d.due_height = 0 AND d.amount >= $4::text::numeric ORDER BY d.height LIMIT $5 FOR UPDATE OF d`

	openSweepSQL = `INSERT INTO sweeps (id, mode, network, family, account, idx, address, wallet_id, asset, contract, amount, treasury, state)
VALUES ($1, 'live', $2, $3, $4, $5, $6, $7, $8, $9, $10::text::numeric, $11, 'open') ON CONFLICT DO NOTHING`

	markSweptSQL = `UPDATE deposits d SET sweep = $2 FROM unnest($3::text[], $4::int[]) AS k(tx_hash, ordinal)
WHERE d.mode = 'live' AND d.network = $1 AND d.tx_hash = k.tx_hash AND d.ordinal = k.ordinal`

	sweepColumns = `s.id, s.mode, s.network, s.family, s.account, s.idx, s.address, s.wallet_id, s.asset,
s.contract, s.amount::text, s.treasury, extract(epoch FROM now() - s.created_at)::bigint,
(SELECT count(*) FROM outgoing_parts f WHERE f.sweep = s.id AND f.kind = 'sweep' AND f.state = 'failed'), s.together,
coalesce((SELECT min(a.from_height) FROM outgoing_tx a WHERE a.sweep = s.id AND a.authorized), 0)`

	idleSQL = `SELECT ` + sweepColumns + ` FROM sweeps s WHERE s.mode = 'live' AND s.network = $1 AND s.state = 'open' AND s.due_at <= now()
AND NOT EXISTS (SELECT FROM outgoing_parts o WHERE o.sweep = s.id AND (o.state IN ('planned', 'signed', 'broadcast')
	OR (o.kind = 'sweep' AND o.state IN ('mined', 'final')))) ORDER BY s.due_at LIMIT $2`

	fundingSQL = `SELECT count(*) FROM outgoing_tx WHERE sweep = $1 AND kind IN ('fund', 'delegate') AND state = 'mined'`

	togetherSQL = `UPDATE sweeps SET together = $2, due_at = now(), reason = $3 WHERE id = ANY($1) AND state = 'open'`

	leaveSQL = `UPDATE deposits d SET sweep = NULL FROM unnest($2::text[], $3::int[]) AS k(tx_hash, ordinal)
WHERE d.sweep = $1 AND d.tx_hash = k.tx_hash AND d.ordinal = k.ordinal`

	keptSQL = `UPDATE sweeps SET amount = d.sum FROM (SELECT sum(amount) AS sum FROM deposits WHERE sweep = $1) d
WHERE id = $1 AND d.sum > 0`

	// A sweep is locked before its transactions are counted, so that no plan of it comes in between.
	lockSweepSQL = `SELECT state IN ('open', 'blocked') FROM sweeps WHERE id = $1 FOR UPDATE`

	waitSweepSQL = `UPDATE sweeps SET due_at = now() + $2::interval, reason = $3 WHERE id = $1 AND state = 'open'`

	blockSweepSQL = `UPDATE sweeps SET state = 'blocked', reason = $2 WHERE id = $1 AND state = 'open'`

	// A sweep is planned again after a failure, up to the number of its tries.
	failedSweepSQL = `UPDATE sweeps SET reason = $2, state = CASE WHEN (SELECT count(*) FROM outgoing_parts p
	WHERE p.sweep = sweeps.id AND p.kind = 'sweep' AND p.state = 'failed') >= $3 THEN 'blocked' ELSE 'open' END WHERE id = $1 AND state = 'open'`

	endSweepSQL = `UPDATE sweeps SET state = $2, reason = $3, ended_at = now() WHERE id = $1 AND state IN ('open', 'blocked')`

	heldSQL = `SELECT coalesce(sum(d.amount), 0)::text FROM deposits d LEFT JOIN sweeps s ON s.id = d.sweep
WHERE d.mode = 'live' AND d.network = $1 AND d.address = $2 AND d.contract = '' AND d.state <> 'reverted'
AND s.state IS DISTINCT FROM 'swept' AND NOT EXISTS (SELECT FROM lost_sweeps l WHERE l.sweep = d.sweep)`

	// A nonce is free for a sender when nodes have every transaction before it.
	queueSQL = `SELECT coalesce(max(nonce) + 1, 0), count(*) FILTER (WHERE state IN ('planned', 'signed')),
count(*) FILTER (WHERE state = 'broadcast') FROM outgoing_tx WHERE mode = 'live' AND network = $1 AND sender = $2`

	planSQL = `INSERT INTO outgoing_tx (id, sweep, kind, mode, network, sender, nonce, state, version, attempt, from_height, authorized)
SELECT $1, s.id, $3, 'live', $4, $5, $6, $8, 1, 1, $7, $9 FROM sweeps s
WHERE s.id = $2 AND (s.state = 'open' OR $3 = 'undelegate') FOR SHARE OF s ON CONFLICT DO NOTHING`

	// A blocked sweep is presented as well: its money has arrived.
	presentSweepSQL = `INSERT INTO outgoing_tx (id, sweep, kind, mode, network, sender, nonce, state, version, attempt, from_height, authorized, presented)
SELECT $1, s.id, $3, 'live', $4, $5, $6, $8, 1, 1, $7, true, true FROM sweeps s
WHERE s.id = $2 AND s.state IN ('open', 'blocked') FOR SHARE OF s ON CONFLICT DO NOTHING`

	// An own transaction that seemed to be replaced is followed again.
	adoptSweepSQL = `UPDATE outgoing_tx o SET state = 'broadcast', version = version + 1, changed_at = now() FROM outgoing_attempts a
WHERE o.sweep = $1 AND o.state = 'replaced' AND a.outgoing = o.id AND a.raw IS NOT NULL AND lower(a.tx_hash) = $2`

	// Blocked sweeps whose authorization another party may have presented.
	blockedAuthorizedSQL = `SELECT ` + sweepColumns + ` FROM sweeps s WHERE s.mode = 'live' AND s.network = $1 AND s.state = 'blocked'
AND s.due_at <= now() AND EXISTS (SELECT FROM outgoing_tx o WHERE o.sweep = s.id AND o.authorized)
AND NOT EXISTS (SELECT FROM outgoing_tx o WHERE o.sweep = s.id AND o.kind = 'sweep'
	AND o.state IN ('planned', 'signed', 'broadcast', 'mined', 'final')) ORDER BY s.due_at LIMIT $2`

	unusedSQL = `UPDATE sweeps SET unused_until = greatest(unused_until, $2),
due_at = CASE WHEN state = 'blocked' THEN now() + interval '1 minute' ELSE due_at END WHERE id = $1 AND state IN ('open', 'blocked')`

	bindSweepsSQL = `INSERT INTO outgoing_sweeps (outgoing, sweep)
SELECT $1, s.id FROM sweeps s WHERE s.id = ANY($2) AND s.state = 'open' ORDER BY s.id FOR SHARE OF s ON CONFLICT DO NOTHING`

	bindInputsSQL = `INSERT INTO outgoing_inputs (outgoing, mode, network, sweep, tx_hash, ordinal, amount, idx, block)
SELECT $1, 'live', $2, nullif(i.sweep, ''), i.tx_hash, i.ordinal, i.amount::numeric, i.idx, i.block
FROM unnest($3::text[], $4::text[], $5::int[], $6::text[], $7::bigint[], $8::text[]) AS i(sweep, tx_hash, ordinal, amount, idx, block)
ON CONFLICT DO NOTHING`

	batchOfSQL = `SELECT c.outgoing, ` + sweepColumns + ` FROM outgoing_sweeps c JOIN sweeps s ON s.id = c.sweep
WHERE c.outgoing = ANY($1) ORDER BY c.outgoing, s.id`

	inputsOfSQL = `SELECT outgoing, coalesce(sweep, ''), tx_hash, ordinal, amount::text, idx, block FROM outgoing_inputs
WHERE outgoing = ANY($1) ORDER BY outgoing, tx_hash, ordinal`

	outputsSQL = `SELECT '', d.sweep, d.tx_hash, d.ordinal, d.amount::text, s.idx, d.block_hash FROM deposits d JOIN sweeps s ON s.id = d.sweep
WHERE d.sweep = ANY($1) ORDER BY d.sweep, d.height, d.tx_hash, d.ordinal`

	unboundSQL = `WITH sweeps AS (UPDATE outgoing_sweeps SET live = false WHERE outgoing = $1)
UPDATE outgoing_inputs SET live = false WHERE outgoing = $1`

	// The proofs of a transaction's inputs are of no use once it has ended.
	unprovedSQL = `UPDATE outgoing_attempts SET request = (request::jsonb #- '{bitcoin,psbt}')::text
WHERE outgoing = $1 AND request::jsonb #> '{bitcoin,psbt}' IS NOT NULL`

	partSQL = `UPDATE outgoing_sweeps SET amount = $3::text::numeric, fee = $4::text::numeric, returned = $5::text::numeric WHERE outgoing = $1 AND sweep = $2`

	attemptSQL = `INSERT INTO outgoing_attempts (outgoing, number, request) VALUES ($1, $2, $3)`

	foreignSQL = `UPDATE outgoing_attempts SET tx_hash = $2, sent_at = now() WHERE outgoing = $1`

	dropSQL = `WITH gone AS (DELETE FROM outgoing_tx WHERE id = $1 AND version = $2 AND state = 'planned' AND attempt = 1 RETURNING id),
carried AS (DELETE FROM outgoing_sweeps WHERE outgoing IN (SELECT id FROM gone)),
spent AS (DELETE FROM outgoing_inputs WHERE outgoing IN (SELECT id FROM gone)) SELECT id FROM gone`

	underwaySQL = `SELECT o.id, o.kind, o.sender, o.nonce, o.state, o.version, o.tx_hash, o.height, o.block_hash, o.from_height, o.presented, ` + sweepColumns + `
FROM outgoing_tx o JOIN sweeps s ON s.id = o.sweep WHERE o.mode = 'live' AND o.network = $1
AND o.state IN ('planned', 'signed', 'broadcast', 'mined') ORDER BY o.created_at, o.id LIMIT $2`

	lookedSQL = `INSERT INTO sweep_rounds (network, refunds, height) VALUES ($1, $2, $3)
ON CONFLICT (network, refunds) DO UPDATE SET height = excluded.height WHERE sweep_rounds.height <> excluded.height`

	attemptsSQL = `SELECT outgoing, number, request, tx_hash, raw, sent_at IS NOT NULL,
extract(epoch FROM now() - coalesce(signed_at, now()))::bigint, extract(epoch FROM now() - coalesce(sent_at, now()))::bigint FROM outgoing_attempts WHERE outgoing = ANY($1) ORDER BY outgoing, number`

	stepSQL = `UPDATE outgoing_tx SET state = $3, version = version + 1, attempt = $4, changed_at = now() WHERE id = $1 AND version = $2`

	landedSQL = `UPDATE outgoing_tx SET state = $3, version = version + 1, tx_hash = $4, height = $5, block_hash = $6,
amount = $7::text::numeric, fee = $8::text::numeric, changed_at = now() WHERE id = $1 AND version = $2`

	withdrawSQL = `DELETE FROM outgoing_attempts WHERE outgoing = $1 AND number = $2 AND raw IS NULL`

	anotherWhileSQL = `UPDATE outgoing_attempts SET signed_at = now(), sent_at = to_timestamp(0) WHERE outgoing = $1 AND number = $2`

	signedSQL = `UPDATE outgoing_attempts SET raw = $3, tx_hash = $4, signed_at = now() WHERE outgoing = $1 AND number = $2 AND raw IS NULL`

	sentSQL = `UPDATE outgoing_attempts SET sent_at = now() WHERE outgoing = $1 AND number = $2`

	// The newest signed form is due to be sent again.
	unsentSQL = `UPDATE outgoing_attempts SET sent_at = to_timestamp(0) WHERE outgoing = $1
AND number = (SELECT max(number) FROM outgoing_attempts WHERE outgoing = $1 AND raw IS NOT NULL) RETURNING tx_hash`

	// A form without a signature is of no use once a block holds an older one.
	unsignedSQL = `WITH gone AS (DELETE FROM outgoing_attempts WHERE outgoing = $1 AND number > 1 AND raw IS NULL AND tx_hash = '' RETURNING number)
UPDATE outgoing_tx SET attempt = (SELECT min(number) FROM gone) - 1 WHERE id = $1 AND EXISTS (SELECT FROM gone)`

	sweptOfWalletSQL = `SELECT d.tx_hash, d.ordinal FROM deposits d JOIN sweeps s ON s.id = d.sweep AND s.state = 'swept'
WHERE d.wallet_id = $1`

	releaseSweepSQL = `UPDATE deposits SET sweep = NULL WHERE sweep = $1`

	blockedSweepSQL = `SELECT (SELECT count(*) FROM outgoing_parts o WHERE o.sweep = $1 AND o.kind = 'sweep'
	AND o.state IN ('planned', 'signed', 'broadcast', 'mined'))
+ (SELECT count(*) FROM outgoing_tx o JOIN outgoing_attempts a ON a.outgoing = o.id JOIN sweeps s ON s.id = o.sweep
	WHERE o.sweep = $1 AND o.authorized
	AND to_timestamp((a.request::jsonb #>> '{evm,authorization,before}')::bigint) > s.unused_until - interval '10 minutes')`

	sweepCountsSQL = `SELECT network, state, count(*) FROM sweeps WHERE mode = 'live' AND state IN ('open', 'blocked') GROUP BY network, state`

	unfinishedSQL = `SELECT s.id, s.network, s.address, s.asset, s.amount::text, s.state, s.reason, s.created_at,
coalesce(o.kind, ''), coalesce(o.state, ''), coalesce(o.attempt, 0), coalesce((SELECT a.tx_hash FROM outgoing_attempts a WHERE a.outgoing = o.id ORDER BY a.number DESC LIMIT 1), '')
FROM sweeps s LEFT JOIN LATERAL (SELECT o.* FROM outgoing_parts p JOIN outgoing_tx o ON o.id = p.outgoing WHERE p.sweep = s.id
	ORDER BY o.created_at DESC LIMIT 1) o ON true
WHERE s.state IN ('open', 'blocked') ORDER BY s.created_at LIMIT 1000`

	// The final transactions of a range of blocks, with their parts about addresses that no wallet here owns.
	finalAgainSQL = `SELECT o.id, o.presented, o.sweep, o.kind, o.tx_hash, o.height, sum(p.fee)::text, sum(p.returned)::text, CASE WHEN o.kind = 'sweep' THEN sum(p.amount) ELSE 0 END::text, s.mode, s.network, s.asset
FROM outgoing_tx o JOIN outgoing_parts p ON p.outgoing = o.id JOIN sweeps s ON s.id = p.sweep
WHERE o.mode = $1 AND o.network = $2 AND o.state IN ('final', 'failed') AND o.height BETWEEN $3 AND $4 AND (o.height, o.id) > ($5, $6)
AND NOT EXISTS (SELECT FROM wallets w WHERE w.id = s.wallet_id)
GROUP BY o.id, s.mode, s.network, s.asset ORDER BY o.height, o.id LIMIT $7`

	stationsSQL = `SELECT address FROM house_addresses WHERE mode = $1 AND family = $2`
)

// Final implements sweeper.Store.
func (s Sweeps) Final(ctx context.Context, network string) (height int64, err error) {
	if err = s.pool.QueryRow(ctx, finalSQL, network).Scan(&height); err != nil {
		return 0, fmt.Errorf("reading the final height: %w", err)
	}
	return height, nil
}

// Looked implements sweeper.Store.
func (s Sweeps) Looked(ctx context.Context, network string, final int64) error {
	_, err := s.pool.Exec(ctx, lookedSQL, network, false, final)
	return err
}

// Canonical implements sweeper.Store.
func (s Sweeps) Canonical(ctx context.Context, network string, height int64, hash string) (bool, error) {
	var kept, parent string
	var at time.Time
	err := s.pool.QueryRow(ctx, headerSQL, tenant.Live, network, height).Scan(&height, &kept, &parent, &at)
	if errors.Is(err, pgx.ErrNoRows) {
		return true, nil // headers are kept far beyond finality
	}
	return kept == hash, err
}

// KeepStation implements sweeper.Store.
func (s Sweeps) KeepStation(ctx context.Context, family money.Family, address string) error {
	_, err := s.pool.Exec(ctx, keepStationSQL, family, address)
	return err
}

// Due implements sweeper.Store.
func (s Sweeps) Due(ctx context.Context, network string, least sweeper.Least, most int) ([]sweeper.Due, error) {
	assets, amounts := make([]string, 0, len(least.Sum)), make([]string, 0, len(least.Sum))
	for asset, n := range least.Sum {
		assets, amounts = append(assets, asset), append(amounts, n.String())
	}
	var due []sweeper.Due
	if err := postgres.Planned(ctx, s.pool, postgres.InOrderSQL, func(rows pgx.Rows) (err error) {
		due, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (d sweeper.Due, err error) {
			var amount string
			if err := row.Scan(&d.Address, &d.Asset, &amount); err != nil {
				return d, err
			}
			d.Amount, err = integer(amount)
			d.Least, d.Most = least.Deposit, least.Most
			return d, err
		})
		return err
	}, dueSweepsSQL, network, assets, amounts, most, each(least.Deposit)); err != nil {
		return nil, fmt.Errorf("reading due sums: %w", err)
	}
	return due, nil
}

// each is the smallest deposit of a sweep as a statement takes it.
func each(least *big.Int) string {
	if least == nil {
		return "0"
	}
	return least.String()
}

// openMost bounds the deposits of a sweep.
const openMost = 500

// Open implements sweeper.Store.
func (s Sweeps) Open(ctx context.Context, network string, d sweeper.Due, treasury string) (opened bool, err error) {
	err = s.tx(ctx, func(tx pgx.Tx) error {
		opened = false
		rows, err := tx.Query(ctx, toSweepSQL, network, d.Address, d.Asset, each(d.Least), cmp.Or(d.Most, openMost))
		if err != nil {
			return err
		}
		w := sweep.Sweep{ID: id.New("swp_", s.now()), Amount: new(big.Int)}
		var hashes []string
		var ordinals []int32
		var hash, amount string
		var ordinal int32
		_, err = pgx.ForEachRow(rows, []any{&hash, &ordinal, &amount, &w.Contract, &w.WalletID, &w.Account, &w.Index, &w.Family}, func() error {
			n, err := integer(amount)
			w.Amount.Add(w.Amount, n)
			hashes, ordinals = append(hashes, hash), append(ordinals, ordinal)
			return err
		})
		if err != nil || len(hashes) == 0 {
			return err
		}
		tag, err := tx.Exec(ctx, openSweepSQL, w.ID, network, w.Family, w.Account, w.Index, d.Address, w.WalletID, d.Asset, w.Contract,
			w.Amount.String(), treasury)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		opened = true
		_, err = tx.Exec(ctx, markSweptSQL, network, w.ID, hashes, ordinals)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("opening a sweep: %w", err)
	}
	return opened, nil
}

// sweepRow reads a sweep.
type sweepRow struct {
	sweep  sweep.Sweep
	amount string
	age    int64
}

// fields are the places of sweepColumns.
func (r *sweepRow) fields() []any {
	w := &r.sweep
	return []any{
		&w.ID, &w.Mode, &w.Network, &w.Family, &w.Account, &w.Index, &w.Address, &w.WalletID, &w.Asset, &w.Contract, &r.amount, &w.Treasury, &r.age, &w.Failed,
		&w.Together, &w.Authorized,
	}
}

func (r *sweepRow) read() (w sweep.Sweep, err error) {
	w = r.sweep
	w.Age = time.Duration(r.age) * time.Second
	w.Amount, err = integer(r.amount)
	return w, err
}

// Idle implements sweeper.Store.
func (s Sweeps) Idle(ctx context.Context, network string, most int) ([]sweep.Sweep, error) {
	return s.sweeps(ctx, idleSQL, network, most)
}

func (s Sweeps) sweeps(ctx context.Context, sql, network string, most int) ([]sweep.Sweep, error) {
	rows, err := s.pool.Query(ctx, sql, network, most)
	if err != nil {
		return nil, fmt.Errorf("reading sweeps: %w", err)
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (w sweep.Sweep, err error) {
		var r sweepRow
		if err := row.Scan(r.fields()...); err != nil {
			return w, err
		}
		return r.read()
	})
}

// Funding implements sweeper.Store.
func (s Sweeps) Funding(ctx context.Context, w sweep.Sweep) (bool, error) {
	var n int64
	err := s.pool.QueryRow(ctx, fundingSQL, w.ID).Scan(&n)
	return n > 0, err
}

// Wait implements sweeper.Store.
func (s Sweeps) Wait(ctx context.Context, w sweep.Sweep, d time.Duration, reason string) error {
	_, err := s.pool.Exec(ctx, waitSweepSQL, w.ID, d, reason)
	return err
}

// Block implements sweeper.Store.
func (s Sweeps) Block(ctx context.Context, w sweep.Sweep, reason string) error {
	_, err := s.pool.Exec(ctx, blockSweepSQL, w.ID, reason)
	return err
}

// Together implements sweeper.Store.
func (s Sweeps) Together(ctx context.Context, of []sweep.Sweep, most int, reason string) error {
	ids := make([]string, len(of))
	for i, w := range of {
		ids[i] = w.ID
	}
	_, err := s.pool.Exec(ctx, togetherSQL, ids, most, reason)
	return err
}

// Leave implements sweeper.Store. The deposits may enter another sweep once this one has ended.
func (s Sweeps) Leave(ctx context.Context, w sweep.Sweep, outputs []sweep.Input) error {
	hashes, ordinals := make([]string, len(outputs)), make([]int, len(outputs))
	for i, out := range outputs {
		hashes[i], ordinals[i] = out.TxHash, out.Output
	}
	return s.tx(ctx, func(tx pgx.Tx) error {
		if err := lockFree(ctx, tx, w.ID); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, leaveSQL, w.ID, hashes, ordinals); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, keptSQL, w.ID)
		if err != nil || tag.RowsAffected() > 0 {
			return err
		}
		_, err = tx.Exec(ctx, endSweepSQL, w.ID, "released", sweep.ErrSmall.Error())
		return err
	})
}

// lockFree locks a sweep that has not ended, and fails with ErrSweepBusy if a transaction of it may still be mined.
func lockFree(ctx context.Context, tx pgx.Tx, sweepID string) error {
	var unfinished bool
	err := tx.QueryRow(ctx, lockSweepSQL, sweepID).Scan(&unfinished)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if !unfinished {
		return fmt.Errorf("%.40q %w", sweepID, errEnded)
	}
	var busy int64
	if err := tx.QueryRow(ctx, blockedSweepSQL, sweepID).Scan(&busy); err != nil {
		return err
	}
	if busy > 0 {
		return ErrSweepBusy
	}
	return nil
}

// Held implements sweeper.Store.
func (s Sweeps) Held(ctx context.Context, network, address string) (*big.Int, error) {
	var text string
	if err := s.pool.QueryRow(ctx, heldSQL, network, address).Scan(&text); err != nil {
		return nil, fmt.Errorf("reading held balances: %w", err)
	}
	return integer(text)
}

// Queue implements sweeper.Store.
func (s Sweeps) Queue(ctx context.Context, network, sender string) (q sweep.Queue, err error) {
	if err := s.pool.QueryRow(ctx, queueSQL, network, sender).Scan(&q.Next, &q.Unsent, &q.Sent); err != nil {
		return q, fmt.Errorf("reading the transactions of a sender: %w", err)
	}
	return q, nil
}

// Plan implements sweeper.Store.
func (s Sweeps) Plan(ctx context.Context, o sweep.Outgoing) error {
	return s.plan(ctx, o, planSQL, o.ID, o.Sweep.ID, o.Kind, o.Sweep.Network, o.Sender, o.Nonce, o.From, o.State, o.Authorized())
}

// Present implements sweeper.Store.
func (s Sweeps) Present(ctx context.Context, o sweep.Outgoing) error {
	tag, err := s.pool.Exec(ctx, adoptSweepSQL, o.Sweep.ID, o.Newest().TxHash)
	if err != nil || tag.RowsAffected() > 0 {
		return err
	}
	return s.plan(ctx, o, presentSweepSQL, o.ID, o.Sweep.ID, o.Kind, o.Sweep.Network, o.Sender, o.Nonce, o.From, o.State)
}

// Blocked implements sweeper.Store.
func (s Sweeps) Blocked(ctx context.Context, network string, most int) ([]sweep.Sweep, error) {
	return s.sweeps(ctx, blockedAuthorizedSQL, network, most)
}

// Unused implements sweeper.Store.
func (s Sweeps) Unused(ctx context.Context, w sweep.Sweep, until time.Time) error {
	_, err := s.pool.Exec(ctx, unusedSQL, w.ID, until)
	return err
}

// plan writes a transaction by a statement that inserts its row, and its first form.
func (s Sweeps) plan(ctx context.Context, o sweep.Outgoing, insertSQL string, args ...any) error {
	request, err := json.Marshal(o.Attempts[0].Request)
	if err != nil {
		return err
	}
	return s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, insertSQL, args...)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return sweeper.ErrStale
		}
		if err := bind(ctx, tx, o); err != nil {
			return err
		}
		if _, err = tx.Exec(ctx, attemptSQL, o.ID, 1, string(request)); err != nil || !o.Presented {
			return err
		}
		_, err = tx.Exec(ctx, foreignSQL, o.ID, o.Attempts[0].TxHash)
		return err
	})
}

// bind keeps the sweeps of a batch and the outputs that it spends to this transaction. It fails with ErrStale when one
// of them has ended or belongs to another.
func bind(ctx context.Context, tx pgx.Tx, o sweep.Outgoing) error {
	if len(o.Batch) > 0 {
		ids := make([]string, len(o.Batch))
		for i, w := range o.Batch {
			ids[i] = w.ID
		}
		tag, err := tx.Exec(ctx, bindSweepsSQL, o.ID, ids)
		if err == nil && tag.RowsAffected() != int64(len(ids)) {
			err = sweeper.ErrStale
		}
		if err != nil {
			return err
		}
	}
	if len(o.Inputs) == 0 {
		return nil
	}
	var sweeps, hashes, amounts, blocks []string
	var ordinals []int
	var indices []int64
	for _, i := range o.Inputs {
		sweeps, hashes, ordinals = append(sweeps, i.Sweep), append(hashes, i.TxHash), append(ordinals, i.Output)
		amounts, indices, blocks = append(amounts, i.Amount.String()), append(indices, int64(i.Index)), append(blocks, i.Block)
	}
	tag, err := tx.Exec(ctx, bindInputsSQL, o.ID, o.Sweep.Network, sweeps, hashes, ordinals, amounts, indices, blocks)
	if err == nil && tag.RowsAffected() != int64(len(o.Inputs)) {
		err = sweeper.ErrStale
	}
	return err
}

// Outputs implements sweeper.Store.
func (s Sweeps) Outputs(ctx context.Context, of []sweep.Sweep) ([]sweep.Input, error) {
	ids := make([]string, len(of))
	for i, w := range of {
		ids[i] = w.ID
	}
	var list []sweep.Input
	err := s.inputs(ctx, outputsSQL, ids, func(_ string, i sweep.Input) { list = append(list, i) })
	return list, err
}

// inputs reads outputs of deposits, each with the id that the statement gives first.
func (s Sweeps) inputs(ctx context.Context, sql string, ids []string, f func(outgoing string, i sweep.Input)) error {
	rows, err := s.pool.Query(ctx, sql, ids)
	if err != nil {
		return fmt.Errorf("reading outputs: %w", err)
	}
	var outgoing, amount string
	var i sweep.Input
	_, err = pgx.ForEachRow(rows, []any{&outgoing, &i.Sweep, &i.TxHash, &i.Output, &amount, &i.Index, &i.Block}, func() (err error) {
		i.Amount, err = integer(amount)
		f(outgoing, i)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading outputs: %w", err)
	}
	return nil
}

// Drop implements sweeper.Store.
func (s Sweeps) Drop(ctx context.Context, o sweep.Outgoing) error {
	tag, err := s.pool.Exec(ctx, dropSQL, o.ID, o.Version)
	if err == nil && tag.RowsAffected() == 0 {
		err = sweeper.ErrStale
	}
	return err
}

// Underway implements sweeper.Store.
func (s Sweeps) Underway(ctx context.Context, network string, most int) ([]sweep.Outgoing, error) {
	rows, err := s.pool.Query(ctx, underwaySQL, network, most)
	if err != nil {
		return nil, fmt.Errorf("reading transactions under way: %w", err)
	}
	return s.outgoing(ctx, rows, func() sweepReader { return &sweepRow{} })
}

// sweepReader reads a sweep, or a refund as one.
type sweepReader interface {
	fields() []any
	read() (sweep.Sweep, error)
}

// outgoing reads transactions with their forms.
func (s Sweeps) outgoing(ctx context.Context, rows pgx.Rows, reader func() sweepReader) ([]sweep.Outgoing, error) {
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (o sweep.Outgoing, err error) {
		r := reader()
		fields := []any{&o.ID, &o.Kind, &o.Sender, &o.Nonce, &o.State, &o.Version, &o.TxHash, &o.Height, &o.Block, &o.From, &o.Presented}
		if err := row.Scan(append(fields, r.fields()...)...); err != nil {
			return o, err
		}
		o.Sweep, err = r.read()
		return o, err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids, at := make([]string, len(list)), make(map[string]int, len(list))
	for i, o := range list {
		ids[i], at[o.ID] = o.ID, i
	}
	if err := s.batches(ctx, list, ids, at); err != nil {
		return nil, err
	}
	return list, s.attempts(ctx, list, ids, at)
}

// batches fills in the sweeps of batches and the spent outputs.
func (s Sweeps) batches(ctx context.Context, list []sweep.Outgoing, ids []string, at map[string]int) error {
	rows, err := s.pool.Query(ctx, batchOfSQL, ids)
	if err != nil {
		return fmt.Errorf("reading batches: %w", err)
	}
	var outgoing string
	var r sweepRow
	_, err = pgx.ForEachRow(rows, append([]any{&outgoing}, r.fields()...), func() error {
		w, err := r.read()
		o := &list[at[outgoing]]
		o.Batch = append(o.Batch, w)
		return err
	})
	if err != nil {
		return fmt.Errorf("reading batches: %w", err)
	}
	return s.inputs(ctx, inputsOfSQL, ids, func(outgoing string, i sweep.Input) {
		o := &list[at[outgoing]]
		o.Inputs = append(o.Inputs, i)
	})
}

// attempts fills in the signed forms.
func (s Sweeps) attempts(ctx context.Context, list []sweep.Outgoing, ids []string, at map[string]int) error {
	rows, err := s.pool.Query(ctx, attemptsSQL, ids)
	if err != nil {
		return fmt.Errorf("reading signed forms: %w", err)
	}
	var outgoing, request string
	var a sweep.Attempt
	var signed, sent int64
	_, err = pgx.ForEachRow(rows, []any{&outgoing, &a.Number, &request, &a.TxHash, &a.Raw, &a.Sent, &signed, &sent}, func() error {
		a.Request = intent.Request{}
		if err := json.Unmarshal([]byte(request), &a.Request); err != nil {
			return fmt.Errorf("request of %s: %w", outgoing, err)
		}
		a.SignedAgo, a.SentAgo = time.Duration(signed)*time.Second, time.Duration(sent)*time.Second
		o := &list[at[outgoing]]
		o.Attempts = append(o.Attempts, a)
		a.Raw = nil
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading signed forms: %w", err)
	}
	for _, o := range list {
		if len(o.Attempts) == 0 {
			return fmt.Errorf("transaction %s has no form", o.ID)
		}
	}
	return nil
}

// step moves a transaction on by compare-and-set on its version, with f in the same transaction.
func (s Sweeps) step(ctx context.Context, o sweep.Outgoing, to sweep.State, attempt int, f func(tx pgx.Tx) error) error {
	if !sweep.May(o.State, to) {
		return fmt.Errorf("transaction %s cannot go from %s to %s", o.ID, o.State, to)
	}
	return s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, stepSQL, o.ID, o.Version, to, attempt)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return sweeper.ErrStale
		}
		return f(tx)
	})
}

// Again implements sweeper.Store.
func (s Sweeps) Again(ctx context.Context, o sweep.Outgoing, next sweep.Attempt) error {
	return s.again(ctx, o, next, func(pgx.Tx) error { return nil })
}

// again adds a form to a transaction if may allows it.
func (s Sweeps) again(ctx context.Context, o sweep.Outgoing, next sweep.Attempt, may func(tx pgx.Tx) error) error {
	request, err := json.Marshal(next.Request)
	if err != nil {
		return err
	}
	return s.step(ctx, o, sweep.Planned, next.Number, func(tx pgx.Tx) error {
		if err := may(tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, attemptSQL, o.ID, next.Number, string(request))
		return err
	})
}

// Withdraw implements sweeper.Store. The form before it counts as signed just now, so that it is not raised again at
// once.
func (s Sweeps) Withdraw(ctx context.Context, o sweep.Outgoing) error {
	n := o.Newest().Number
	return s.step(ctx, o, sweep.Broadcast, n-1, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, withdrawSQL, o.ID, n)
		if err == nil && tag.RowsAffected() == 0 {
			err = sweeper.ErrStale
		}
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, anotherWhileSQL, o.ID, n-1)
		return err
	})
}

// Signed implements sweeper.Store.
func (s Sweeps) Signed(ctx context.Context, o sweep.Outgoing, raw []byte, hash string) error {
	n := o.Newest().Number
	return s.step(ctx, o, sweep.Signed, n, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, signedSQL, o.ID, n, raw, hash)
		if err == nil && tag.RowsAffected() == 0 {
			err = sweeper.ErrStale
		}
		return err
	})
}

// Sent implements sweeper.Store.
func (s Sweeps) Sent(ctx context.Context, o sweep.Outgoing, _ bool) error {
	n := o.Newest().Number
	return s.step(ctx, o, sweep.Broadcast, n, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sentSQL, o.ID, n)
		return err
	})
}

// Unmined implements sweeper.Store. The newest signed form is due to be sent again at once.
func (s Sweeps) Unmined(ctx context.Context, o sweep.Outgoing) error {
	return s.land(ctx, o, sweep.Broadcast, sweep.Receipt{Fee: new(big.Int)}, new(big.Int), func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, unsignedSQL, o.ID); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, unsentSQL, o.ID)
		return err
	})
}

// Mined implements sweeper.Store.
func (s Sweeps) Mined(ctx context.Context, o sweep.Outgoing, r sweep.Receipt) error {
	return s.land(ctx, o, sweep.Mined, r, new(big.Int), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, unsignedSQL, o.ID)
		return err
	})
}

// Replaced implements sweeper.Store.
func (s Sweeps) Replaced(ctx context.Context, o sweep.Outgoing) error {
	return s.land(ctx, o, sweep.Replaced, sweep.Receipt{Fee: new(big.Int)}, new(big.Int), nil)
}

// land is step with a block's receipt.
func (s Sweeps) land(ctx context.Context, o sweep.Outgoing, to sweep.State, r sweep.Receipt, amount *big.Int,
	f func(tx pgx.Tx) error,
) error {
	if !sweep.May(o.State, to) {
		return fmt.Errorf("transaction %s cannot go from %s to %s", o.ID, o.State, to)
	}
	return s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, landedSQL, o.ID, o.Version, to, r.TxHash, r.Height, r.Block, amount.String(), r.Fee.String())
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return sweeper.ErrStale
		}
		if to.Over() && len(o.Inputs) > 0 && o.Kind != intent.Refund { // a rewind may take a refund back
			if _, err := tx.Exec(ctx, unprovedSQL, o.ID); err != nil {
				return err
			}
		}
		if to.Over() && to != sweep.Final { // its sweeps and outputs may enter another transaction
			if _, err := tx.Exec(ctx, unboundSQL, o.ID); err != nil {
				return err
			}
		}
		if f == nil {
			return nil
		}
		return f(tx)
	})
}

// ending is a transaction in its final block.
type ending struct {
	sweep.Outgoing
	sweep.Outcome
	txHash  string
	starved bool // of energy
}

// Finish implements sweeper.Store. The wallets' rows are locked before their deposits are read, as a scan does.
func (s Sweeps) Finish(ctx context.Context, o sweep.Outgoing, r sweep.Receipt, ok bool, amount *big.Int) error {
	state := sweep.Final
	if !ok {
		state = sweep.Failed
	}
	wrote := false
	err := s.land(ctx, o, state, r, amount, func(tx pgx.Tx) (err error) {
		wrote, err = s.finish(ctx, tx, ending{
			o, sweep.Outcome{OK: ok, Amount: amount, Fee: r.Fee, Returned: r.Returned}, r.TxHash, r.Starved,
		})
		return err
	})
	if err == nil && wrote {
		s.wake()
	}
	return err
}

// finish books each part of a transaction for its wallet, or for payments, which gets one message about all of its
// parts: they have one hash and one asset.
func (s Sweeps) finish(ctx context.Context, tx pgx.Tx, e ending) (wrote bool, err error) {
	owners, err := s.lockOwners(ctx, tx, e.Sweeps())
	if err != nil {
		return false, err
	}
	ofPayments, amount, fee, returned := false, new(big.Int), new(big.Int), new(big.Int)
	for _, p := range e.Parts(e.Outcome) {
		owner := owners[p.Sweep.WalletID]
		if err := e.book(ctx, tx, p, owner); err != nil {
			return false, err
		}
		if owner == nil {
			ofPayments = true
			amount.Add(amount, p.Amount)
			fee.Add(fee, p.Fee)
			if p.Returned != nil {
				returned.Add(returned, p.Returned)
			}
		}
		if e.Kind != intent.Sweep {
			continue
		}
		changed, err := s.endSweep(ctx, tx, e, p.Sweep, owner)
		if err != nil {
			return false, err
		}
		wrote = wrote || changed
	}
	if !ofPayments {
		return wrote, nil
	}
	if !e.OK || e.Kind != intent.Sweep {
		amount.SetInt64(0)
	}
	m, err := s.messages.OutgoingFinal(ctx, e.Outgoing, sweep.Receipt{TxHash: e.txHash, Fee: fee, Returned: returned}, amount)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, outbox.InsertSQL, m.Args()...)
	return true, err
}

// lockOwners locks the standalone wallets of sweeps. An address of payments has none.
func (s Sweeps) lockOwners(ctx context.Context, tx pgx.Tx, of []sweep.Sweep) (map[string]*wallet.Wallet, error) {
	ids := make([]string, len(of))
	for i, w := range of {
		ids[i] = w.WalletID
	}
	rows, err := tx.Query(ctx, lockWalletsSQL, ids)
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, scanWallet)
	owners := make(map[string]*wallet.Wallet, len(list))
	for i := range list {
		owners[list[i].ID] = &list[i]
	}
	return owners, err
}

// endSweep ends a sweep whose transaction is final, and blocks it if that moved nothing.
func (s Sweeps) endSweep(ctx context.Context, tx pgx.Tx, e ending, w sweep.Sweep, owner *wallet.Wallet) (wrote bool, err error) {
	if !e.OK && e.starved { // the next one gets a higher limit
		_, err := tx.Exec(ctx, waitSweepSQL, w.ID, time.Duration(0), "the transaction "+e.txHash+" ran out of energy")
		return false, err
	}
	if !e.OK {
		_, err := tx.Exec(ctx, failedSweepSQL, w.ID, "the transaction "+e.txHash+" is final and moved nothing", e.Tries())
		return false, err
	}
	if _, err := tx.Exec(ctx, endSweepSQL, w.ID, "swept", ""); err != nil || owner == nil {
		return false, err
	}
	return s.sweepWallet(ctx, tx, *owner)
}

// tellAgain publishes every final transaction of a range of blocks again, under the same ids.
func (s Sweeps) tellAgain(ctx context.Context, c scanner.Chain, from, to int64) error {
	after := sweep.Outgoing{Height: -1}
	for {
		var page []sweep.Outgoing
		err := s.tx(ctx, func(tx pgx.Tx) (err error) {
			var msgs []outbox.Message
			if page, msgs, err = s.finalAgain(ctx, tx, c, from, to, after); err != nil {
				return err
			}
			return outbox.Insert(ctx, tx, msgs...)
		})
		if err != nil {
			return fmt.Errorf("publishing the final transactions of %s again: %w", c, err)
		}
		if len(page) > 0 {
			s.wake()
		}
		if len(page) < againMost {
			return nil
		}
		after = page[len(page)-1]
	}
}

// finalAgain reads the next page of tellAgain with its messages.
func (s Sweeps) finalAgain(ctx context.Context, tx pgx.Tx, c scanner.Chain, from, to int64, after sweep.Outgoing,
) (page []sweep.Outgoing, msgs []outbox.Message, err error) {
	rows, err := tx.Query(ctx, finalAgainSQL, c.Mode, c.Network, from, to, after.Height, after.ID, againMost)
	if err != nil {
		return nil, nil, err
	}
	var o sweep.Outgoing
	var hash, fee, rent, amount string
	_, err = pgx.ForEachRow(rows, []any{&o.ID, &o.Presented, &o.Sweep.ID, &o.Kind, &hash, &o.Height, &fee, &rent, &amount, &o.Sweep.Mode, &o.Sweep.Network, &o.Sweep.Asset}, func() error {
		cost, err := integer(fee)
		if err != nil {
			return err
		}
		moved, err := integer(amount)
		if err != nil {
			return err
		}
		returned, err := integer(rent)
		if err != nil {
			return err
		}
		m, err := s.messages.OutgoingFinal(ctx, o, sweep.Receipt{TxHash: hash, Fee: cost, Returned: returned}, moved)
		page, msgs = append(page, o), append(msgs, m)
		return err
	})
	return page, msgs, err
}

// sweepWallet updates a standalone wallet, whose row is locked, after a sweep.
func (s Sweeps) sweepWallet(ctx context.Context, tx pgx.Tx, w wallet.Wallet) (wrote bool, err error) {
	rows, err := tx.Query(ctx, sweptOfWalletSQL, w.ID)
	if err != nil {
		return false, err
	}
	swept := map[wallet.ID]bool{}
	var one wallet.ID
	if _, err := pgx.ForEachRow(rows, []any{&one.TxHash, &one.Ordinal}, func() error { swept[one] = true; return nil }); err != nil {
		return false, err
	}
	if rows, err = tx.Query(ctx, ofWalletsSQL, []string{w.ID}); err != nil {
		return false, err
	}
	all, err := pgx.CollectRows(rows, toDeposit)
	if err != nil {
		return false, err
	}
	next, entered := w.Sweep(all, func(d wallet.Deposit) bool { return swept[d.ID] })
	if len(entered) == 0 {
		return false, nil
	}
	return true, s.putWallet(ctx, tx, next, entered)
}

// book writes the journal of a part. Its key is the transaction's, with the sweep's in a batch.
func (e ending) book(ctx context.Context, tx pgx.Tx, p sweep.Part, owner *wallet.Wallet) error {
	from, merchant := sweep.Payments, ""
	if owner != nil {
		from, merchant = sweep.Custody, owner.MerchantID
	}
	network, _ := money.NetworkOf(p.Sweep.Network)
	event, entries := sweep.Book(e.Kind, p, network.Coin().Symbol, from)
	var b pgx.Batch
	key := string(p.Sweep.Mode) + ":" + e.ID
	if len(e.Batch) > 0 {
		key += ":" + p.Sweep.ID
		rent := new(big.Int)
		if p.Returned != nil {
			rent = p.Returned
		}
		b.Queue(partSQL, e.ID, p.Sweep.ID, p.Amount.String(), p.Fee.String(), rent.String())
	}
	b.Queue(journalSQL, key, event, p.Sweep.Mode, merchant, p.Sweep.WalletID, p.Sweep.ID)
	for i, line := range entries {
		b.Queue(entrySQL, key, i+1, p.Sweep.Mode, merchant, line.Account, p.Sweep.Network, line.Asset, line.Debit.String(), line.Credit.String())
	}
	if err := tx.SendBatch(ctx, &b).Close(); err != nil {
		return fmt.Errorf("booking %s: %w", key, err)
	}
	return nil
}

// ErrSweepBusy means that a transaction of a sweep may still be mined, or that anybody may present its authorization.
var ErrSweepBusy = errors.New("a transaction of this sweep is under way, or its authorization is valid, or the sweeper has not yet seen " +
	"on the chain that it ended unused: it cannot be released yet")

var errEnded = errors.New("is not an open or blocked sweep")

// ReleaseSweep ends a sweep that is blocked, so that its deposits may enter another; for an operator who has removed
// the cause.
func (s Sweeps) ReleaseSweep(ctx context.Context, sweepID string) error {
	return s.tx(ctx, func(tx pgx.Tx) error { return release(ctx, tx, sweepID) })
}

func release(ctx context.Context, tx pgx.Tx, sweepID string) error {
	if err := lockFree(ctx, tx, sweepID); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, endSweepSQL, sweepID, "released", "released by an operator"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, releaseSweepSQL, sweepID)
	return err
}

// Unfinished is a sweep that has not ended, in the form for an operator.
type Unfinished struct {
	ID        string    `json:"id"`
	Network   string    `json:"network"`
	Address   string    `json:"address"`
	Asset     string    `json:"asset"`
	Units     string    `json:"units"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	Kind      string    `json:"lastTransaction,omitempty"` // sweep or fund
	Outgoing  string    `json:"lastState,omitempty"`
	Attempt   int       `json:"attempt,omitempty"`
	TxHash    string    `json:"txHash,omitempty"`
}

// Unfinished lists the oldest sweeps that have not ended.
func (s Sweeps) Unfinished(ctx context.Context) ([]Unfinished, error) {
	rows, err := s.pool.Query(ctx, unfinishedSQL)
	if err != nil {
		return nil, fmt.Errorf("reading sweeps: %w", err)
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Unfinished])
}

// Counts implements sweeper.Store.
func (s Sweeps) Counts(ctx context.Context) (map[[2]string]int64, error) {
	rows, err := s.pool.Query(ctx, sweepCountsSQL)
	if err != nil {
		return nil, err
	}
	return countsByTwo(rows)
}
