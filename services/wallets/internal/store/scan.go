package store

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"causeway.internal/libs/address"
	"causeway.internal/libs/money"
	"causeway.internal/libs/outbox"
	"causeway.internal/libs/postgres"
	"causeway.internal/services/wallets/internal/chain"
	"causeway.internal/services/wallets/internal/scanner"
	"causeway.internal/services/wallets/internal/wallet"
)

var _ scanner.Store = (*Store)(nil)

const (
	adoptSQL = `UPDATE cursors SET epoch = $3 WHERE mode = $1 AND network = $2 AND epoch <= $3
RETURNING height, hash, block_time, finalized`

	cursorSQL = `SELECT count(*) FROM cursors WHERE mode = $1 AND network = $2`

	beginSQL = `INSERT INTO cursors (mode, network, epoch, height, hash, block_time, finalized) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING`

	// moveSQL compares the whole position before it sets the next one, so a scanner that lost its lease writes nothing.
	moveSQL = `UPDATE cursors SET height = $6, hash = $7, block_time = $8, finalized = $9, moved_at = now()
WHERE mode = $1 AND network = $2 AND epoch = $3 AND height = $4 AND hash = $5`

	// The caller holds the row's lock, so that the times of two messages are in the order of their commits.
	toldSQL = `UPDATE cursors SET told = told + $3 WHERE mode = $1 AND network = $2 RETURNING told, clock_timestamp()`

	judgeSQL = `UPDATE cursors SET scan_state = $3, judged_at = now(), head = $4, head_time = $5 WHERE mode = $1 AND network = $2`

	headerSQL = `SELECT height, hash, parent, time FROM headers WHERE mode = $1 AND network = $2 AND height = $3`

	oldestSQL = `SELECT coalesce(min(height), 0) FROM headers WHERE mode = $1 AND network = $2`

	addHeadersSQL = `INSERT INTO headers (mode, network, height, hash, parent, time)
SELECT $1, $2, * FROM unnest($3::bigint[], $4::text[], $5::text[], $6::timestamptz[])`

	pruneSQL = `DELETE FROM headers WHERE mode = $1 AND network = $2 AND height < $3`

	cutSQL = `DELETE FROM headers WHERE mode = $1 AND network = $2 AND height > $3`

	orphanSQL = `UPDATE transfers SET orphaned_at = now() WHERE mode = $1 AND network = $2 AND height > $3 AND orphaned_at IS NULL`

	ownersSQL = `SELECT a.address, a.wallet_id, coalesce((SELECT t.trace FROM address_traces t
	WHERE t.mode = a.mode AND t.family = a.family AND t.address = a.address LIMIT 1), '')
FROM addresses a WHERE a.mode = $1 AND a.family = $2 AND a.address = ANY($3)`

	depositColumns = `d.mode, d.network, d.tx_hash, d.ordinal, d.version, d.family, d.address, d.wallet_id, d.asset, d.contract, d.amount::text,
d.senders, CASE WHEN d.state = 'reverted' AND d.height = 0 AND EXISTS (SELECT FROM mempool m WHERE m.mode = d.mode AND m.network = d.network
	AND m.tx_hash = d.tx_hash AND m.ordinal = d.ordinal) THEN 'seen' ELSE d.state END, d.height, d.block_hash, d.block_time, d.depth, d.head, d.finalized, d.due_height, d.first_seen_at, coalesce(d.trace, ''), d.witness`

	knownSQL = `SELECT ` + depositColumns + ` FROM deposits d
JOIN unnest($3::text[], $4::int[]) AS k(tx_hash, ordinal) ON d.tx_hash = k.tx_hash AND d.ordinal = k.ordinal
WHERE d.mode = $1 AND d.network = $2 FOR UPDATE OF d`

	// dueSQL looks at each index by itself, and runs in order.
	dueSQL = `WITH deep AS MATERIALIZED (
	SELECT * FROM deposits WHERE mode = $1 AND network = $2 AND due_height > 0 AND due_height <= $3
	ORDER BY height, tx_hash, ordinal FOR UPDATE
), final AS MATERIALIZED (
	SELECT * FROM deposits WHERE mode = $1 AND network = $2 AND NOT finalized AND state <> 'reverted' AND height <= $4
	AND NOT (due_height > 0 AND due_height <= $3) ORDER BY height, tx_hash, ordinal FOR UPDATE
)
SELECT ` + depositColumns + ` FROM (SELECT * FROM deep UNION ALL SELECT * FROM final) AS d ORDER BY d.height, d.tx_hash, d.ordinal`

	aboveSQL = `SELECT ` + depositColumns + ` FROM deposits d WHERE d.mode = $1 AND d.network = $2 AND d.height > $3
AND d.state <> 'reverted' ORDER BY d.height, d.tx_hash, d.ordinal FOR UPDATE`

	// The senders of a deposit are lines of one text.
	putDepositsSQL = `INSERT INTO deposits AS d (mode, network, tx_hash, ordinal, version, family, address, wallet_id, asset, contract, amount,
senders, state, height, block_hash, block_time, depth, head, finalized, due_height, first_seen_at, trace, witness)
SELECT mode, network, tx_hash, ordinal, version, family, address, wallet_id, asset, contract, amount::numeric, string_to_array(senders, E'\n'), state, height,
	block_hash, block_time, depth, head, finalized, due_height, first_seen_at, nullif(trace, ''), witness
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
	$13::text[], $14::bigint[], $15::text[], $16::timestamptz[], $17::bigint[], $18::bigint[], $19::boolean[], $20::bigint[], $21::timestamptz[], $22::text[],
	$23::text[]) AS k(mode, network, tx_hash, ordinal, version, family, address, wallet_id, asset, contract, amount, senders, state, height, block_hash,
	block_time, depth, head, finalized, due_height, first_seen_at, trace, witness)
ON CONFLICT (mode, network, tx_hash, ordinal) DO UPDATE SET version = excluded.version, address = excluded.address,
wallet_id = excluded.wallet_id, asset = excluded.asset, contract = excluded.contract, amount = excluded.amount, senders = excluded.senders,
state = excluded.state, height = excluded.height, block_hash = excluded.block_hash, block_time = excluded.block_time,
depth = excluded.depth, head = excluded.head, finalized = excluded.finalized, due_height = excluded.due_height, witness = excluded.witness, changed_at = now()`

	putTransfersSQL = `INSERT INTO transfers (mode, network, height, block_hash, tx_hash, ordinal, address, asset, amount)
SELECT $1, $2, height, block_hash, tx_hash, ordinal, address, asset, amount::numeric
FROM unnest($3::bigint[], $4::text[], $5::text[], $6::int[], $7::text[], $8::text[], $9::text[]) AS k(height, block_hash, tx_hash, ordinal, address, asset, amount)
ON CONFLICT (mode, network, block_hash, tx_hash, ordinal) DO UPDATE SET orphaned_at = NULL, scanned_at = now()`
)

// Adopt implements scanner.Store.
func (s *Store) Adopt(ctx context.Context, l scanner.Lease) (at scanner.Cursor, found bool, err error) {
	err = s.pool.QueryRow(ctx, adoptSQL, l.Mode, l.Network, l.Epoch).Scan(&at.Height, &at.Hash, &at.Time, &at.Finalized)
	if err == nil {
		return at, true, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return at, false, err
	}
	var n int
	if err := s.pool.QueryRow(ctx, cursorSQL, l.Mode, l.Network).Scan(&n); err != nil {
		return at, false, err
	}
	if n > 0 { // it is there, under a larger epoch
		return at, false, scanner.ErrFenced
	}
	return at, false, nil
}

// Begin implements scanner.Store.
func (s *Store) Begin(ctx context.Context, l scanner.Lease, at scanner.Cursor) error {
	return s.tx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, beginSQL, l.Mode, l.Network, l.Epoch, at.Height, at.Hash, at.Time, at.Finalized)
		if err != nil {
			return err
		}
		if tag.RowsAffected() == 0 {
			return errors.New("the chain has a cursor already") // a former owner's, committed just now: Adopt will find it
		}
		return addHeaders(ctx, tx, l.Chain, []chain.Header{at.Header})
	})
}

// Header implements scanner.Store.
func (s *Store) Header(ctx context.Context, c scanner.Chain, height int64) (h chain.Header, found bool, err error) {
	err = s.pool.QueryRow(ctx, headerSQL, c.Mode, c.Network, height).Scan(&h.Height, &h.Hash, &h.Parent, &h.Time)
	if errors.Is(err, pgx.ErrNoRows) {
		return h, false, nil
	}
	return h, err == nil, err
}

// Oldest implements scanner.Store.
func (s *Store) Oldest(ctx context.Context, c scanner.Chain) (height int64, err error) {
	err = s.pool.QueryRow(ctx, oldestSQL, c.Mode, c.Network).Scan(&height)
	return height, err
}

func addHeaders(ctx context.Context, tx pgx.Tx, c scanner.Chain, hs []chain.Header) error {
	heights, hashes, parents, times := make([]int64, len(hs)), make([]string, len(hs)), make([]string, len(hs)), make([]time.Time, len(hs))
	for i, h := range hs {
		heights[i], hashes[i], parents[i], times[i] = h.Height, h.Hash, h.Parent, h.Time
	}
	_, err := tx.Exec(ctx, addHeadersSQL, c.Mode, c.Network, heights, hashes, parents, times)
	return err
}

// move sets the cursor if it is at from under the lease's epoch.
func move(ctx context.Context, tx pgx.Tx, l scanner.Lease, from scanner.Cursor, to chain.Header, finalized int64) error {
	tag, err := tx.Exec(ctx, moveSQL, l.Mode, l.Network, l.Epoch, from.Height, from.Hash, to.Height, to.Hash, to.Time, finalized)
	if err != nil {
		return err
	}
	if tag.RowsAffected() != 1 {
		return scanner.ErrFenced
	}
	return nil
}

// Advance implements scanner.Store.
func (s *Store) Advance(ctx context.Context, l scanner.Lease, from scanner.Cursor, step scanner.Step) error {
	woken := false
	err := s.tx(ctx, func(tx pgx.Tx) error {
		last := step.Last()
		if err := move(ctx, tx, l, from, last, step.Finalized); err != nil {
			return err
		}
		if err := addHeaders(ctx, tx, l.Chain, step.Headers); err != nil {
			return fmt.Errorf("storing headers: %w", err)
		}
		changed, err := s.settle(ctx, tx, l.Chain, step)
		if err != nil {
			return err
		}
		theirs, wrote, err := s.apply(ctx, tx, changed, last.Height)
		if err != nil {
			return err
		}
		msgs, told, err := s.tell(ctx, tx, l.Chain, theirs)
		if err != nil {
			return err
		}
		if step.Announce {
			m, err := s.through(ctx, tx, scanner.Cursor{Header: last, Finalized: step.Finalized}, announced{l, told, step.Health})
			if err != nil {
				return err
			}
			msgs = append(msgs, m)
		}
		if step.KeepFrom > 0 {
			if _, err := tx.Exec(ctx, pruneSQL, l.Mode, l.Network, step.KeepFrom); err != nil {
				return fmt.Errorf("pruning headers: %w", err)
			}
		}
		woken = wrote || len(msgs) > 0
		return outbox.Insert(ctx, tx, msgs...)
	})
	if err == nil && woken {
		s.wake()
	}
	return err
}

// settle stores the step's transfers and returns every deposit that has a new version: those seen in the last block and
// those that became deep enough or final.
func (s *Store) settle(ctx context.Context, tx pgx.Tx, c scanner.Chain, step scanner.Step) ([]wallet.Deposit, error) {
	last := step.Last()
	tip := wallet.Tip{Height: last.Height, Finalized: step.Finalized}
	left, err := s.simLeave(ctx, tx, c, tip.Height)
	if err != nil {
		return nil, err
	}
	var due []wallet.Deposit
	if err := postgres.Planned(ctx, tx, postgres.InOrderSQL, func(rows pgx.Rows) (err error) {
		due, err = pgx.CollectRows(rows, toDeposit)
		return err
	}, dueSQL, c.Mode, c.Network, tip.Height, tip.Finalized); err != nil {
		return nil, fmt.Errorf("reading due deposits: %w", err)
	}
	var changed []wallet.Deposit
	for _, d := range due {
		if next, ok := d.Deepen(tip, s.set.Depths.Of(d.Network, d.Asset)); ok {
			changed = append(changed, next)
		}
	}
	seen, err := s.see(ctx, tx, c, step, tip)
	if err != nil {
		return nil, err
	}
	changed = append(changed, seen...)
	s.raise(changed)
	return append(left, changed...), s.putDeposits(ctx, tx, changed)
}

// see turns the transfers of the step's last block into deposits. It drops a transfer to an address that was not
// issued: the set in memory has rare false positives.
func (s *Store) see(ctx context.Context, tx pgx.Tx, c scanner.Chain, step scanner.Step, tip wallet.Tip) ([]wallet.Deposit, error) {
	if len(step.Transfers) == 0 {
		return nil, nil
	}
	network, ok := money.NetworkOf(c.Network)
	if !ok {
		return nil, fmt.Errorf("unknown network %q", c.Network)
	}
	ours, err := s.sightings(ctx, tx, c, network.Family, step)
	if err != nil {
		return nil, err
	}
	if ours, err = merged(ctx, tx, c, ours); err != nil {
		return nil, err
	}
	known, err := s.known(ctx, tx, c, ours)
	if err != nil {
		return nil, err
	}
	var out []wallet.Deposit
	now := s.now()
	for _, sight := range ours {
		depths := s.set.Depths.Of(c.Network, sight.Asset)
		before, ok := known[sight.ID]
		if !ok {
			first := wallet.See(c.Mode, network, sight, tip, depths, now)
			if s.set.Found != nil {
				s.set.Found(first)
			}
			out = append(out, first)
			continue
		}
		if next, ok := before.SeeAgain(sight, tip, depths); ok {
			out = append(out, next)
		}
	}
	return out, putTransfers(ctx, tx, c, ours)
}

// sightings keeps the transfers of a positive amount to issued addresses.
func (s *Store) sightings(ctx context.Context, tx pgx.Tx, c scanner.Chain, family money.Family, step scanner.Step) ([]wallet.Sighting, error) {
	texts := make([]string, len(step.Transfers))
	for i, t := range step.Transfers {
		text, err := address.Encode(family, s.set.Nets[c.Mode], t.To)
		if err != nil {
			return nil, fmt.Errorf("writing the address of %s: %w", t.TxHash, err)
		}
		texts[i] = text
	}
	rows, err := tx.Query(ctx, ownersSQL, c.Mode, family, texts)
	if err != nil {
		return nil, fmt.Errorf("looking addresses up: %w", err)
	}
	type owner struct{ walletID, trace string }
	owners := make(map[string]owner, len(texts))
	var text string
	var o owner
	if _, err := pgx.ForEachRow(rows, []any{&text, &o.walletID, &o.trace}, func() error {
		owners[text] = o
		return nil
	}); err != nil {
		return nil, fmt.Errorf("looking addresses up: %w", err)
	}
	stations, err := s.stations(ctx, tx, c, family, len(owners))
	if err != nil {
		return nil, err
	}
	last := step.Last()
	var out []wallet.Sighting
	for i, t := range step.Transfers {
		ours := len(t.Senders) > 0 && stations[t.Senders[0]] // a gas station's transfer is no deposit
		if o, ok := owners[texts[i]]; ok && !ours && t.Amount.Sign() > 0 {
			out = append(out, wallet.Sighting{
				ID: wallet.ID{TxHash: t.TxHash, Ordinal: t.Ordinal}, Address: texts[i], WalletID: o.walletID, Trace: o.trace, Asset: t.Asset, Contract: t.Contract,
				Amount: t.Amount, Senders: append([]string{}, t.Senders...), BlockHeight: last.Height, BlockHash: last.Hash, BlockTime: last.Time,
			})
		}
	}
	return out, nil
}

// stations are the addresses that pay for gas; empty if there is no transfer to an issued address.
func (s *Store) stations(ctx context.Context, tx pgx.Tx, c scanner.Chain, family money.Family, owners int) (map[string]bool, error) {
	if owners == 0 {
		return nil, nil
	}
	rows, err := tx.Query(ctx, stationsSQL, c.Mode, family)
	if err != nil {
		return nil, fmt.Errorf("reading the gas stations' addresses: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("reading the gas stations' addresses: %w", err)
	}
	out := make(map[string]bool, len(list))
	for _, a := range list {
		out[a] = true
	}
	return out, nil
}

func (s *Store) known(ctx context.Context, tx pgx.Tx, c scanner.Chain, ours []wallet.Sighting) (map[wallet.ID]wallet.Deposit, error) {
	if len(ours) == 0 {
		return nil, nil
	}
	hashes, ordinals := make([]string, len(ours)), make([]int32, len(ours))
	for i, o := range ours {
		hashes[i], ordinals[i] = o.TxHash, int32(o.Ordinal) //nolint:gosec // a place in one transaction
	}
	rows, err := tx.Query(ctx, knownSQL, c.Mode, c.Network, hashes, ordinals)
	if err != nil {
		return nil, fmt.Errorf("reading known deposits: %w", err)
	}
	list, err := pgx.CollectRows(rows, toDeposit)
	if err != nil {
		return nil, fmt.Errorf("reading known deposits: %w", err)
	}
	out := make(map[wallet.ID]wallet.Deposit, len(list))
	for _, d := range list {
		out[d.ID] = d
	}
	return out, nil
}

// Rewind implements scanner.Store.
func (s *Store) Rewind(ctx context.Context, l scanner.Lease, from scanner.Cursor, ancestor chain.Header) error {
	woken := false
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := move(ctx, tx, l, from, ancestor, min(from.Finalized, ancestor.Height)); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, cutSQL, l.Mode, l.Network, ancestor.Height); err != nil {
			return fmt.Errorf("cutting headers: %w", err)
		}
		if _, err := tx.Exec(ctx, orphanSQL, l.Mode, l.Network, ancestor.Height); err != nil {
			return fmt.Errorf("marking transfers: %w", err)
		}
		rows, err := tx.Query(ctx, aboveSQL, l.Mode, l.Network, ancestor.Height)
		if err != nil {
			return fmt.Errorf("reading deposits above the ancestor: %w", err)
		}
		above, err := pgx.CollectRows(rows, toDeposit)
		if err != nil {
			return fmt.Errorf("reading deposits above the ancestor: %w", err)
		}
		var changed []wallet.Deposit
		for _, d := range above {
			if next, ok := d.Revert(ancestor.Height); ok {
				changed = append(changed, next)
			}
		}
		woken, err = s.publish(ctx, tx, l.Chain, changed, ancestor.Height)
		return err
	})
	if err == nil && woken {
		s.wake()
	}
	return err
}

// Announce implements scanner.Store.
func (s *Store) Announce(ctx context.Context, l scanner.Lease, at scanner.Cursor, health scanner.Health) error {
	defer s.telling.Take()()
	err := s.tx(ctx, func(tx pgx.Tx) error {
		if err := move(ctx, tx, l, at, at.Header, at.Finalized); err != nil {
			return err
		}
		_, told, err := s.tell(ctx, tx, l.Chain, nil)
		if err != nil {
			return err
		}
		m, err := s.through(ctx, tx, at, announced{l, told, health})
		if err != nil {
			return err
		}
		return outbox.Insert(ctx, tx, m)
	})
	if err == nil {
		s.wake()
	}
	return err
}

// announced is the state of a scan at a block.
type announced struct {
	lease  scanner.Lease
	told   mark
	health scanner.Health
}

// through is the message of how far a chain is scanned. Refunds read the health from the cursor's row.
func (s *Store) through(ctx context.Context, tx pgx.Tx, at scanner.Cursor, a announced) (outbox.Message, error) {
	var headTime *time.Time
	if head := a.health.Head; !head.Time.IsZero() {
		headTime = &head.Time
	}
	if _, err := tx.Exec(ctx, judgeSQL, a.lease.Mode, a.lease.Network, a.health.State, a.health.Head.Height, headTime); err != nil {
		return outbox.Message{}, fmt.Errorf("storing the health of the scan: %w", err)
	}
	return s.messages.ScannedThrough(ctx, wallet.Progress{
		Mode: a.lease.Mode, Network: a.lease.Network, Height: at.Height, Finalized: at.Finalized, BlockTime: at.Time, Deposits: a.told.number,
		State: a.health.State, Head: a.health.Head.Height, HeadTime: a.health.Head.Time, ToldAt: a.told.at,
	})
}

// mark is the number of the last deposit message of a chain, and its time.
type mark struct {
	number int64
	at     time.Time
}

// tell numbers the deposits' messages and returns them with the last number of the chain. The caller has locked the
// cursor's row, so the order of numbers is the order of commits (docs/decisions/0006-scan-order.md).
func (s *Store) tell(ctx context.Context, tx pgx.Tx, c scanner.Chain, changed []wallet.Deposit) (msgs []outbox.Message, told mark, err error) {
	if err := tx.QueryRow(ctx, toldSQL, c.Mode, c.Network, len(changed)).Scan(&told.number, &told.at); err != nil {
		return nil, mark{}, fmt.Errorf("numbering messages: %w", err)
	}
	msgs = make([]outbox.Message, 0, len(changed)+1)
	for i, d := range changed {
		m, err := s.messages.DepositChanged(ctx, d, told.number-int64(len(changed)-i-1))
		if err != nil {
			return nil, mark{}, err
		}
		msgs = append(msgs, m)
	}
	return msgs, told, nil
}

// putDeposits stores versions of deposits and reports them.
func (s *Store) putDeposits(ctx context.Context, tx pgx.Tx, list []wallet.Deposit) error {
	if len(list) == 0 {
		return nil
	}
	if s.set.Changed != nil {
		for _, d := range list {
			s.set.Changed(ctx, d)
		}
	}
	last := make(map[string]int, len(list)) // of several versions of one deposit
	for i, d := range list {
		last[string(d.Mode)+d.Key()] = i
	}
	columns := make([][]any, depositColumnsPut)
	for i, d := range list {
		if last[string(d.Mode)+d.Key()] != i {
			continue
		}
		state := d.State
		if d.Waits() { // the row in mempool has its state
			state = wallet.Reverted
		}
		for n, v := range [depositColumnsPut]any{
			string(d.Mode), d.Network, d.TxHash, d.Ordinal, d.Version, string(d.Family), d.Address, d.WalletID, d.Asset, d.Contract, d.Amount.String(),
			strings.Join(d.Senders, "\n"), string(state), d.BlockHeight, d.BlockHash, d.BlockTime, d.Depth, d.Head, d.Finalized, d.DueHeight, d.FirstSeenAt,
			d.Trace, string(d.Witness),
		} {
			columns[n] = append(columns[n], v)
		}
	}
	args := make([]any, len(columns))
	for n, c := range columns {
		args[n] = c
	}
	if _, err := tx.Exec(ctx, putDepositsSQL, args...); err != nil {
		return fmt.Errorf("storing deposits: %w", err)
	}
	return nil
}

// depositColumnsPut is how many columns putDepositsSQL writes.
const depositColumnsPut = 23

func putTransfers(ctx context.Context, tx pgx.Tx, c scanner.Chain, list []wallet.Sighting) error {
	if len(list) == 0 {
		return nil
	}
	heights, ordinals := make([]int64, len(list)), make([]int32, len(list))
	blocks, hashes, addresses, assets, amounts := make([]string, len(list)), make([]string, len(list)), make([]string, len(list)), make([]string, len(list)), make([]string, len(list))
	for i, t := range list {
		heights[i], ordinals[i] = t.BlockHeight, int32(t.Ordinal) //nolint:gosec // a place in one transaction
		blocks[i], hashes[i], addresses[i], assets[i], amounts[i] = t.BlockHash, t.TxHash, t.Address, t.Asset, t.Amount.String()
	}
	if _, err := tx.Exec(ctx, putTransfersSQL, c.Mode, c.Network, heights, blocks, hashes, ordinals, addresses, assets, amounts); err != nil {
		return fmt.Errorf("storing transfers: %w", err)
	}
	return nil
}

func toDeposit(row pgx.CollectableRow) (d wallet.Deposit, err error) {
	var amount string
	err = row.Scan(&d.Mode, &d.Network, &d.TxHash, &d.Ordinal, &d.Version, &d.Family, &d.Address, &d.WalletID, &d.Asset, &d.Contract, &amount,
		&d.Senders, &d.State, &d.BlockHeight, &d.BlockHash, &d.BlockTime, &d.Depth, &d.Head, &d.Finalized, &d.DueHeight, &d.FirstSeenAt, &d.Trace, &d.Witness)
	if err != nil {
		return d, err
	}
	var ok bool
	if d.Amount, ok = new(big.Int).SetString(amount, 10); !ok {
		return d, fmt.Errorf("amount %q of %s is not an integer", amount, d.TxHash)
	}
	return d, nil
}
